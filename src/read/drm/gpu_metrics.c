#include "read/drm/gpu_metrics.h"

#include "base/attr.h"

#include <string.h>

#define ATTRIBUTES_FORMAT 1 /* a table of attributes instead of a fixed layout: version 1.9 */
#define ATTRIBUTES_CONTENT 9
#define SKIP GM_COUNT          /* a field nobody asks for */
#define RECORDS (GM_COUNT + 1) /* where the partitions' records stand */

/* One member of a layout: count numbers of width bytes, aligned as a compiler aligns them. */
struct member {
        uint8_t field;
        uint8_t width;
        uint8_t count;
};

#define U8(id)                                                                                     \
        {                                                                                          \
                GM_##id, 1, 1                                                                      \
        }
#define U16(id)                                                                                    \
        {                                                                                          \
                GM_##id, 2, 1                                                                      \
        }
#define U32(id)                                                                                    \
        {                                                                                          \
                GM_##id, 4, 1                                                                      \
        }
#define U64(id)                                                                                    \
        {                                                                                          \
                GM_##id, 8, 1                                                                      \
        }
#define MANY(id, width, count)                                                                     \
        {                                                                                          \
                GM_##id, width, count                                                              \
        }
#define PAST(width, count)                                                                         \
        {                                                                                          \
                SKIP, width, count                                                                 \
        }

/* Temperatures, activity, power: how the tables of discrete GPUs up to 1.3 begin. */
#define HEAD_1                                                                                     \
        U16(TEMP_EDGE), U16(TEMP_HOTSPOT), U16(TEMP_MEM), PAST(2, 3), U16(GFX_ACTIVITY),           \
            U16(UMC_ACTIVITY), U16(MM_ACTIVITY), U16(SOCKET_POWER)
/* Average clocks, then current ones: gfx, soc, memory, two pairs of video clocks. */
#define CLOCKS_1                                                                                   \
        U16(GFXCLK_AVERAGE), PAST(2, 1), U16(UCLK_AVERAGE), PAST(2, 4), U16(GFXCLK), U16(SOCCLK),  \
            U16(UCLK), PAST(2, 4), U32(THROTTLE), U16(FAN)

static const struct member v1_0[] = {
    U64(CLOCK_COUNTER), HEAD_1, U32(ENERGY), CLOCKS_1, U8(PCIE_WIDTH), U8(PCIE_SPEED),
};

/* 1.1, 1.2 and 1.3: each is the one before with more at its end. */
static const struct member v1_3[] = {
    HEAD_1,
    U64(ENERGY),
    U64(CLOCK_COUNTER),
    CLOCKS_1,
    U16(PCIE_WIDTH),
    U16(PCIE_SPEED),
    PAST(2, 1),
    U32(GFX_ACTIVITY_ACC),
    U32(MEM_ACTIVITY_ACC),
    PAST(2, 4), /* temperature_hbm */
#define V1_1_MEMBERS (ARRAY_LEN(v1_3) - 4)
    U64(FIRMWARE_TIME),
#define V1_2_MEMBERS (ARRAY_LEN(v1_3) - 3)
    PAST(2, 3), /* voltages */
    PAST(2, 1),
    U64(THROTTLE_INDEP),
};

/* Data-centre GPUs: 1.4 and later. */
#define HEAD_4                                                                                     \
        U16(TEMP_HOTSPOT), U16(TEMP_MEM), PAST(2, 1), U16(CURR_SOCKET_POWER), U16(GFX_ACTIVITY),   \
            U16(UMC_ACTIVITY)
#define RESIDENCY                                                                                  \
        U32(ACCUMULATIONS), U32(PROCHOT_ACC), U32(PPT_ACC), U32(SOCKET_THM_ACC), U32(VR_THM_ACC),  \
            U32(HBM_THM_ACC)
/* From the clock lock status to the PCIe replay counts. */
#define LINKS                                                                                      \
        PAST(4, 1), U16(PCIE_WIDTH), U16(PCIE_SPEED), U16(XGMI_WIDTH), U16(XGMI_SPEED),            \
            U32(GFX_ACTIVITY_ACC), U32(MEM_ACTIVITY_ACC), PAST(8, 3), U64(PCIE_REPLAY), PAST(8, 1)
#define XGMI MANY(XGMI_READ, 8, 8), MANY(XGMI_WRITE, 8, 8)
#define CLOCKS_4 U64(FIRMWARE_TIME), MANY(GFXCLK, 2, 8), MANY(SOCCLK, 2, 4), PAST(2, 8), U16(UCLK)

static const struct member v1_4[] = {
    HEAD_4,        MANY(VCN_ACTIVITY, 2, 4),
    U64(ENERGY),   U64(CLOCK_COUNTER),
    U32(THROTTLE), LINKS,
    XGMI,          CLOCKS_4,
    PAST(2, 1),
};

static const struct member v1_5[] = {
    HEAD_4,
    MANY(VCN_ACTIVITY, 2, 4),
    PAST(2, 32),
    U64(ENERGY),
    U64(CLOCK_COUNTER),
    U32(THROTTLE),
    LINKS,
    PAST(4, 2),
    XGMI,
    CLOCKS_4,
    PAST(2, 1),
};

/* Kernels between 6.10 and 6.12 had a 1.6 without partitions; the size distinguishes the two. */
static const struct member v1_6_early[] = {
    HEAD_4,
    MANY(VCN_ACTIVITY, 2, 4),
    PAST(2, 32),
    U64(ENERGY),
    U64(CLOCK_COUNTER),
    RESIDENCY,
    U32(THROTTLE),
    LINKS,
    PAST(4, 2),
    XGMI,
    CLOCKS_4,
    PAST(2, 1),
};

static const struct member v1_6[] = {
    HEAD_4,     U64(ENERGY), U64(CLOCK_COUNTER), RESIDENCY,       LINKS,
    PAST(4, 2), XGMI,        CLOCKS_4,           U16(PARTITIONS), {RECORDS, 8, GM_PARTITIONS_MAX},
    PAST(4, 1),
};

/* 1.7 and 1.8 differ in the partitions' records only. */
static const struct member v1_7[] = {
    HEAD_4,
    PAST(8, 1),
    U64(ENERGY),
    U64(CLOCK_COUNTER),
    RESIDENCY,
    LINKS,
    PAST(4, 2),
    XGMI,
    PAST(2, 8),
    PAST(2, 1),
    CLOCKS_4,
    U16(PARTITIONS),
    {RECORDS, 8, GM_PARTITIONS_MAX},
    PAST(4, 1),
};

/* APUs: 2.0, and 2.1 to 2.4, where each is the one before with more at its end. */
#define TEMPS_2 U16(TEMP_GFX), PAST(2, 11), U16(GFX_ACTIVITY), U16(MM_ACTIVITY)
#define POWER_2                                                                                    \
        U16(SOCKET_POWER), PAST(2, 2), U16(GFX_POWER), PAST(2, 8), U16(GFXCLK_AVERAGE),            \
            PAST(2, 1), U16(UCLK_AVERAGE), PAST(2, 3), U16(GFXCLK), U16(SOCCLK), U16(UCLK),        \
            PAST(2, 13), U32(THROTTLE), U16(FAN)

static const struct member v2_0[] = {
    U64(CLOCK_COUNTER),
    TEMPS_2,
    POWER_2,
    PAST(2, 1),
};

static const struct member v2_4[] = {
    TEMPS_2,
    U64(CLOCK_COUNTER),
    POWER_2,
    PAST(2, 3),
#define V2_1_MEMBERS (ARRAY_LEN(v2_4) - 3)
    U64(THROTTLE_INDEP),
#define V2_2_MEMBERS (ARRAY_LEN(v2_4) - 2)
    PAST(2, 12), /* average temperatures */
#define V2_3_MEMBERS (ARRAY_LEN(v2_4) - 1)
    PAST(2, 6), /* voltages and currents */
};

static const struct member v3_0[] = {
    U16(TEMP_GFX),       PAST(2, 18),         U16(GFX_ACTIVITY), U16(MM_ACTIVITY),
    PAST(2, 28),         U64(CLOCK_COUNTER),  U32(SOCKET_POWER), PAST(2, 1),
    PAST(4, 1),          U32(GFX_POWER),      PAST(4, 2),        PAST(2, 19),
    U16(GFXCLK_AVERAGE), PAST(2, 5),          U16(UCLK_AVERAGE), PAST(2, 1),
    PAST(2, 18),         U32(PROCHOT_ACC),    PAST(4, 1),        U32(PPT_ACC),
    PAST(4, 2),          U32(SOCKET_THM_ACC), PAST(4, 2),
};

struct layout {
        uint8_t format, content;
        uint16_t size;
        uint16_t record; /* bytes of a partition's record; 0 without partitions */
        uint8_t n;
        const struct member *members;
        struct gm_units units;
};

/* Units: °C, percent and watts in 1.x; not reported for APUs before 2.4 except for clocks. */
#define WHOLE                                                                                      \
        {                                                                                          \
                1, 1, 1                                                                            \
        }
#define NOT_REPORTED                                                                               \
        {                                                                                          \
                0, 0, 0                                                                            \
        }
static const struct layout layouts[] = {
    {1, 0, 80, 0, ARRAY_LEN(v1_0), v1_0, WHOLE},
    {1, 1, 96, 0, V1_1_MEMBERS, v1_3, WHOLE},
    {1, 2, 104, 0, V1_2_MEMBERS, v1_3, WHOLE},
    {1, 3, 120, 0, ARRAY_LEN(v1_3), v1_3, WHOLE},
    {1, 4, 288, 0, ARRAY_LEN(v1_4), v1_4, WHOLE},
    {1, 5, 360, 0, ARRAY_LEN(v1_5), v1_5, WHOLE},
    {1, 6, 384, 0, ARRAY_LEN(v1_6_early), v1_6_early, WHOLE},
    {1, 6, 1664, 168, ARRAY_LEN(v1_6), v1_6, WHOLE},
    {1, 7, 2208, 232, ARRAY_LEN(v1_7), v1_7, WHOLE},
    {1, 8, 3872, 440, ARRAY_LEN(v1_7), v1_7, WHOLE},
    {2, 0, 120, 0, ARRAY_LEN(v2_0), v2_0, NOT_REPORTED},
    {2, 1, 120, 0, V2_1_MEMBERS, v2_4, NOT_REPORTED},
    {2, 2, 128, 0, V2_2_MEMBERS, v2_4, NOT_REPORTED},
    {2, 3, 152, 0, V2_3_MEMBERS, v2_4, NOT_REPORTED},
    {2, 4, 168, 0, ARRAY_LEN(v2_4), v2_4, {0.01, 0.01, 0.001}},
    {3, 0, 264, 0, ARRAY_LEN(v3_0), v3_0, {0, 1, 0.001}},
};

/* The rest of a table. Reading past its end sets ended and gives 0. */
struct cursor {
        const uint8_t *data;
        size_t size, at;
        bool ended;
};

static void align_cursor(struct cursor *c, size_t width)
{
        c->at = (c->at + width - 1) & ~(width - 1);
}

static uint64_t gpu_metrics_take(struct cursor *c, size_t width)
{
        uint64_t v = 0;
        if (width > c->size || c->at > c->size - width) {
                c->ended = true;
                return 0;
        }
        for (size_t i = 0; i < width; i++)
                v |= (uint64_t)c->data[c->at + i] << (8 * i);
        c->at += width;
        return v;
}

/* The firmware leaves all bits set where it has no value. */
static bool is_present(uint64_t v, size_t width)
{
        return v != (width < 8 ? ((uint64_t)1 << (8 * width)) - 1 : UINT64_MAX);
}

static void take_value(struct cursor *c, size_t width, size_t count, struct gm_value *ret)
{
        if (ret)
                *ret =
                    (struct gm_value){0}; /* an attribute that comes twice: the last one counts */
        for (size_t i = 0; i < count; i++) {
                uint64_t v = gpu_metrics_take(c, width);
                if (!ret || i >= GM_INSTANCES_MAX)
                        continue;
                ret->v[i] = v;
                ret->n = (uint8_t)(i + 1);
                if (is_present(v, width))
                        ret->present |= (uint8_t)(1u << i);
        }
}

/* A record begins with the busy shares; jpeg and video engines and accumulators follow. */
static void take_records(struct cursor *c, size_t record, struct gm_partition *ret)
{
        for (size_t p = 0; p < GM_PARTITIONS_MAX; p++) {
                size_t start = c->at;
                for (size_t i = 0; i < GM_INSTANCES_MAX; i++) {
                        uint64_t v = gpu_metrics_take(c, 4);
                        ret[p].busy[i] = (uint32_t)v;
                        if (is_present(v, 4))
                                ret[p].present |= (uint8_t)(1u << i);
                }
                c->at = start + record;
        }
}

/* The fields by attribute number. */
static const uint8_t attributes[] = {
    GM_TEMP_HOTSPOT,
    GM_TEMP_MEM,
    SKIP,
    GM_CURR_SOCKET_POWER,
    GM_GFX_ACTIVITY,
    GM_UMC_ACTIVITY,
    SKIP,
    GM_ENERGY,
    GM_CLOCK_COUNTER,
    GM_ACCUMULATIONS,
    GM_PROCHOT_ACC,
    GM_PPT_ACC,
    GM_SOCKET_THM_ACC,
    GM_VR_THM_ACC,
    GM_HBM_THM_ACC,
    SKIP,
    GM_PCIE_WIDTH,
    GM_PCIE_SPEED,
    GM_XGMI_WIDTH,
    GM_XGMI_SPEED,
    GM_GFX_ACTIVITY_ACC,
    GM_MEM_ACTIVITY_ACC,
    SKIP,
    SKIP,
    SKIP,
    GM_PCIE_REPLAY,
    SKIP,
    SKIP,
    SKIP,
    GM_XGMI_READ,
    GM_XGMI_WRITE,
    SKIP,
    GM_FIRMWARE_TIME,
    GM_GFXCLK,
    GM_SOCCLK,
    SKIP,
    SKIP,
    GM_UCLK,
    GM_PARTITIONS,
    SKIP,
    SKIP,
    SKIP,
    SKIP,
    SKIP,
    GM_BELOW_BY_POWER, /* 44 */
    GM_BELOW_BY_HEAT,
};

/*
 * A count, then for each attribute 64 bits that report its unit, type, number and how many values
 * follow. Types are bytes to 64 bits, unsigned and signed in turn.
 */
static bool walk_attributes(struct cursor *c, struct gpu_metrics *m)
{
        uint64_t count = gpu_metrics_take(c, 4);
        for (uint64_t i = 0; i < count && !c->ended; i++) {
                uint64_t code = gpu_metrics_take(c, 8);
                size_t type = code >> 20 & 0xf, id = code >> 10 & 0x3ff, n = code & 0x3ff;
                if (type > 7)
                        return false;
                uint8_t field = id < ARRAY_LEN(attributes) ? attributes[id] : SKIP;
                take_value(c, (size_t)1 << (type / 2), n, field == SKIP ? NULL : &m->f[field]);
        }
        return !c->ended;
}

static const struct layout *find_layout(uint8_t format, uint8_t content, size_t size,
                                        bool *ret_known)
{
        *ret_known = false;
        for (size_t i = 0; i < ARRAY_LEN(layouts); i++) {
                const struct layout *l = &layouts[i];
                if (l->format != format || l->content != content)
                        continue;
                *ret_known = true;
                if (l->size == size)
                        return l;
        }
        return NULL;
}

static void walk_layout(const struct layout *l, struct cursor *c, struct gpu_metrics *m)
{
        for (size_t i = 0; i < l->n && !c->ended; i++) {
                struct member w = l->members[i];
                align_cursor(c, w.width);
                if (w.field == RECORDS)
                        take_records(c, l->record, m->partitions);
                else
                        take_value(c, w.width, w.count, w.field == SKIP ? NULL : &m->f[w.field]);
        }
}

enum gm_result gpu_metrics_decode(const void *data, size_t len, struct gpu_metrics *ret)
{
        struct cursor c = {.data = data, .size = len};
        uint64_t size = gpu_metrics_take(&c, 2);
        uint8_t format = (uint8_t)gpu_metrics_take(&c, 1),
                content = (uint8_t)gpu_metrics_take(&c, 1);
        bool known;
        if (c.ended || size > len)
                return GM_TOO_SHORT;
        c.size = size;
        if (format == ATTRIBUTES_FORMAT && content == ATTRIBUTES_CONTENT) {
                struct gpu_metrics m = {.format = format, .content = content, .units = WHOLE};
                if (!walk_attributes(&c, &m))
                        return GM_WRONG_SIZE;
                *ret = m;
                return GM_FINE;
        }
        const struct layout *l = find_layout(format, content, size, &known);
        if (!l)
                return known ? GM_WRONG_SIZE : GM_UNKNOWN_VERSION;
        struct gpu_metrics m = {.format = format, .content = content, .units = l->units};
        walk_layout(l, &c, &m);
        align_cursor(&c, 8);
        if (c.ended || c.at != size)
                return GM_WRONG_SIZE;
        *ret = m;
        return GM_FINE;
}

const char *gm_result_text(enum gm_result result)
{
        switch (result) {
        case GM_FINE:
                return "it is fine";
        case GM_TOO_SHORT:
                return "it is shorter than it says";
        case GM_UNKNOWN_VERSION:
                return "its version is not known";
        case GM_WRONG_SIZE:
                return "its size does not fit its version";
        }
        return "";
}

const char *gm_field_name(enum gm_field field)
{
        static const char *const names[] = {
#define GM_FIELD(id, name) name,
            GM_FIELDS(GM_FIELD)
#undef GM_FIELD
        };
        return names[field];
}

bool gm_get(const struct gpu_metrics *m, enum gm_field field, uint64_t *ret)
{
        if (!(m->f[field].present & 1))
                return false;
        *ret = m->f[field].v[0];
        return true;
}

static double unit_of(const struct gpu_metrics *m, enum gm_field field)
{
        if (field <= GM_TEMP_GFX)
                return m->units.celsius;
        if (field <= GM_VCN_ACTIVITY)
                return m->units.percent;
        return field <= GM_GFX_POWER ? m->units.watts : 0;
}

bool gm_get_scaled(const struct gpu_metrics *m, enum gm_field field, double *ret)
{
        uint64_t v;
        double unit = unit_of(m, field);
        if (unit == 0 || !gm_get(m, field, &v))
                return false;
        *ret = (double)v * unit;
        return true;
}

bool gm_sum(const struct gpu_metrics *m, enum gm_field field, uint64_t *ret)
{
        const struct gm_value *c = &m->f[field];
        uint64_t sum = 0;
        for (size_t i = 0; i < c->n; i++)
                sum += c->present & (1u << i) ? c->v[i] : 0;
        if (!c->present)
                return false;
        *ret = sum;
        return true;
}

bool gm_partition_busy(const struct gpu_metrics *m, size_t partition, double *ret)
{
        const struct gm_partition *p = &m->partitions[partition];
        double sum = 0;
        unsigned n = 0;
        for (size_t i = 0; i < GM_INSTANCES_MAX; i++) {
                if (p->present & (1u << i)) {
                        sum += p->busy[i];
                        n++;
                }
        }
        if (n == 0)
                return false;
        *ret = sum / n;
        return true;
}
