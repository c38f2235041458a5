#include "translate/translate.h"

#include "base/attr.h"
#include "base/num.h"
#include "model/throttle.h"
#include "translate/map.h"

#include <math.h>
#include <string.h>

#define MIB 1048576.0

static const struct map_row *translate_find(enum dialect dialect, const char *name, size_t len)
{
        const struct map *map = map_for(dialect);
        for (size_t i = 0; len > 0 && i < map->n; i++) {
                if (strncmp(map->rows[i].name, name, len) == 0 && map->rows[i].name[len] == '\0')
                        return &map->rows[i];
        }
        return NULL;
}

bool translate_wants(enum dialect dialect, const char *field, size_t len)
{
        return translate_find(dialect, field, len) != NULL;
}

/* What sources call those fields: NVML's GPM, DCGM's profiling module. */
static bool is_profiling(const char *field, size_t len)
{
        static const char *const begins[] = {"gpm.", "DCGM_FI_PROF_"};
        for (size_t i = 0; i < ARRAY_LEN(begins); i++) {
                size_t n = strlen(begins[i]);
                if (len >= n && memcmp(field, begins[i], n) == 0)
                        return true;
        }
        return false;
}

bool translate_wants_unprofiled(enum dialect dialect, const char *field, size_t len)
{
        return !is_profiling(field, len) && translate_wants(dialect, field, len);
}

void translate_drop_profiling(enum dialect dialect, struct sample *s)
{
        for (enum metric m = 0; m < METRIC_COUNT && !map_for(dialect)->unprofiled; m++) {
                if (metric_is_profiling(m))
                        s->m[m] = value_missing(STATE_NONE);
        }
}

/* Groups of reasons as the bits that NVIDIA's driver has for the same. */
static double drm_throttle(double v)
{
        static const unsigned bits[] = {
            THROTTLE_POWER_CAP,     /* power */
            THROTTLE_SLOWDOWN,      /* current */
            THROTTLE_HEAT_SOFTWARE, /* heat */
            THROTTLE_HEAT_HARDWARE, /* the board asks for it */
            0,                      /* others have no bit */
        };
        unsigned groups = v < 32 ? (unsigned)v : 0, reasons = 0;
        for (size_t i = 0; i < ARRAY_LEN(bits); i++)
                reasons |= groups & (1u << i) ? bits[i] : 0;
        return reasons;
}

/* Number × times ÷ over: one of them is 1, so it is rounded once. Those that are not listed are in
 * the metric's unit already. */
static const struct {
        double times, over;
} scales[CONVERSION_COUNT] = {
    [CONVERT_PERCENT] = {1, 100},      [CONVERT_MIB] = {MIB, 1},
    [CONVERT_MIB_PER_S] = {MIB, 1},    [CONVERT_DCGM_MB_PER_S] = {1000 * 1024, 1},
    [CONVERT_NANOSECONDS] = {1, 1e9},  [CONVERT_MB_PER_S] = {1e6, 1},
    [CONVERT_MHZ] = {1e6, 1},          [CONVERT_GB_PER_S] = {1e9, 1},
    [CONVERT_KB_PER_S] = {1e3, 1},     [CONVERT_MILLIWATTS] = {1, 1000},
    [CONVERT_MILLIJOULES] = {1, 1000}, [CONVERT_MICROWATTS] = {1, 1e6},
    [CONVERT_MICROJOULES] = {1, 1e6},  [CONVERT_MILLICELSIUS] = {1, 1000},
    [CONVERT_JOULES_16] = {1, 65536},
};

/* Ratios are estimates: counters of two clocks are divided, and a little more than all of it
 * happens. What is further off makes no sense. */
#define RATIO_MOST 2
#define RATIO_LEAST (-0.01)

/* Below zero only a temperature can be; "-0.000" of anything else is a small negative number that
 * was rounded. */
static struct metric_target metric_target(size_t field, enum metric metric, enum conversion c)
{
        const struct metric_info *info = metric_info(metric);
        bool ratio = info->unit == UNIT_RATIO, scaled = scales[c].over != 0;
        bool quantity = c != CONVERT_FLAG && c != CONVERT_DRM_THROTTLE;
        double least = ratio ? RATIO_LEAST : metric_least(metric);
        double most = ratio ? RATIO_MOST : info->most, ceil = ratio ? 1 : INFINITY;
        return (struct metric_target){
            .field = (uint16_t)field,
            .to = (uint8_t)metric,
            .conversion = (uint8_t)c,
            .may_be_negative = least < 0,
            .times = scaled ? scales[c].times : 1,
            .over = scaled ? scales[c].over : 1,
            .least = least,
            .most = most,
            .floor = ratio ? 0 : -INFINITY,
            .ceil = ceil,
            .plain = quantity ? num_bits(MIN(ceil, most)) : 0,
        };
}

/* What the older tools make of the same cell, for --missing zero: they believe every number. */
static struct metric_target older_target(size_t field, enum metric metric, enum conversion c)
{
        enum conversion decimal = c == CONVERT_DCGM_MB_PER_S ? CONVERT_MB_PER_S : c;
        struct metric_target t = metric_target(field, metric, decimal);
        t.least = -INFINITY;
        t.most = INFINITY;
        t.may_be_negative = true;
        return t;
}

void translate_bind(struct binding *b, const struct schema *schema)
{
        if (LIKELY(b->bound && b->dialect == schema->dialect && b->revision == schema->revision))
                return;
        b->dialect = schema->dialect;
        b->revision = schema->revision;
        b->bound = true;
        b->n_metrics = b->n_texts = b->n_either = 0;
        for (size_t i = 0; i < schema->n; i++) {
                const char *name = schema->names[i];
                const struct map_row *row = translate_find(schema->dialect, name, strlen(name));
                if (!row)
                        continue;
                b->n_either += !row->text && row->conversion == CONVERT_RATIO_OR_PERCENT;
                if (row->text)
                        b->texts[b->n_texts++] =
                            (struct text_target){(uint16_t)i, row->to, row->conversion};
                else
                        b->metrics[b->n_metrics++] =
                            (b->as_older_tools ? older_target : metric_target)(
                                i, (enum metric)row->to, (enum conversion)row->conversion);
        }
}

static double convert_unit(const struct metric_target *t, double v)
{
        return t->over != 1 ? v / t->over : v * t->times; /* to divide is slow */
}

/* Numbers that are not plain: they make no sense, are estimates a little off, or no quantities. */
NOINLINE static void set_odd(struct value *to, const struct raw *raw, const struct metric_target *t)
{
        double v = convert_unit(t, raw->num);
        if (t->conversion == CONVERT_DRM_THROTTLE)
                v = drm_throttle(v);
        bool flag_below = t->conversion == CONVERT_FLAG && v < 0;
        if (t->conversion == CONVERT_FLAG)
                v = v > 0 ? 1 : 0;
        bool sensible = v >= t->least && v <= t->most && (t->may_be_negative || !signbit(v));
        if (raw->text || flag_below || !sensible) {
                to->state = STATE_ERROR;
                return;
        }
        v = v > t->floor ? v : t->floor;
        *to = (struct value){v < t->ceil ? v : t->ceil, raw->age_ms, raw->state};
}

static inline void set_value(struct value *to, const struct raw *raw, const struct metric_target *t)
{
        if (raw->state != STATE_OK && raw->state != STATE_STALE) {
                to->state = raw->state;
                return;
        }
        double v = convert_unit(t, raw->num);
        if (UNLIKELY(raw->text || num_bits(v) > t->plain))
                set_odd(to, raw, t);
        else
                *to = (struct value){v, raw->age_ms, raw->state};
}

void translate_detect_units(struct binding *b, const struct batch *batch)
{
        for (size_t i = 0; b->n_either > 0 && i < b->n_metrics; i++) {
                if (b->metrics[i].conversion != CONVERT_RATIO_OR_PERCENT)
                        continue;
                for (size_t k = 0; k < batch->n; k++) {
                        const struct reading *r = &batch->readings[k];
                        const struct raw *raw = &r->values[b->metrics[i].field];
                        if (raw->state == STATE_OK && !raw->text && raw->num > 1)
                                b->percent[r->origin / 64] |= 1ULL << (r->origin % 64);
                }
        }
}

static bool is_percent(const struct binding *b, const struct reading *r)
{
        return b->percent[r->origin / 64] >> (r->origin % 64) & 1;
}

/* The busier one of two engines. */
static void take_busier(struct value *to, const struct raw *raw, const struct metric_target *t)
{
        struct value other = {.state = STATE_NONE};
        set_value(&other, raw, t);
        if (value_is_set(other) && other.v > to->v)
                *to = other;
}

/* The same field where its source has shown that it reports percent. */
static struct metric_target in_percent(const struct metric_target *t)
{
        return metric_target(t->field, (enum metric)t->to, CONVERT_PERCENT);
}

void translate_reading(const struct binding *b, const struct reading *reading, struct sample *ret)
{
        memset(ret->m, 0, sizeof(ret->m));
        bool percent = b->n_either > 0 && is_percent(b, reading);
        for (size_t i = 0; i < b->n_metrics; i++) {
                const struct metric_target *t = &b->metrics[i];
                const struct raw *raw = &reading->values[t->field];
                struct value *to = &ret->m[t->to];
                struct metric_target other;
                if (UNLIKELY(percent && t->conversion == CONVERT_RATIO_OR_PERCENT)) {
                        other = in_percent(t);
                        t = &other;
                }
                /* A field the source does not have is no reason; another field's may be. */
                if (raw->state == STATE_NONE)
                        continue;
                if (LIKELY(!value_is_set(*to)))
                        set_value(to, raw, t);
                else if (t->conversion == CONVERT_ENGINE_RATIO)
                        take_busier(to, raw, t);
        }
}

/* A GPU keeps its name, but its job ends. */
static bool is_temporary(enum entity_text text)
{
        return text == ENTITY_TEXT_JOB || text == ENTITY_TEXT_CONTAINER ||
               text == ENTITY_TEXT_NAMESPACE || text == ENTITY_TEXT_POD;
}

void translate_identity(const struct binding *b, const struct reading *reading, struct entity *ret)
{
        /* Several fields may report the same: those that are missing do not undo the one that is
         * not. */
        for (size_t i = 0; i < b->n_texts; i++) {
                if (is_temporary((enum entity_text)b->texts[i].to))
                        ret->text[b->texts[i].to][0] = '\0';
        }
        for (size_t i = 0; i < b->n_texts; i++) {
                struct text_target t = b->texts[i];
                const struct raw *raw = &reading->values[t.field];
                if (raw->state != STATE_OK)
                        continue;
                /* dcgmi has the profile where a GPU has its name. */
                if (t.kind == TEXT_NAME_OR_PROFILE && reading->who.kind != ENTITY_GPU)
                        t.to = ENTITY_TEXT_MIG_PROFILE;
                char number[NUM_FORMAT_MAX]; /* a serial number reads as a number */
                bool is_text = raw->text != NULL;
                size_t len = is_text ? raw->len : num_format(number, raw->num, 0);
                if (len > 0)
                        entity_set_text(ret, (enum entity_text)t.to, is_text ? raw->text : number,
                                        len);
        }
}
