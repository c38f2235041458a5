#include "store/captures.h"

#include "base/attr.h"
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

/* ---- dcgmi dmon ---- */

#define ENTITY_WIDTH 16

/* The columns dcgmi dmon has for what we know: its name, our metric, our value × scale. */
static const struct {
        const char *name, *unit;
        double scale;
        enum metric metric;
        int decimals;
} columns[] = {
    {"SMCLK", "", 1e-6, METRIC_SM_CLOCK, 0},
    {"MMCLK", "", 1e-6, METRIC_MEM_CLOCK, 0},
    {"MMTMP", "C", 1, METRIC_MEM_TEMP, 0},
    {"TMPTR", "C", 1, METRIC_GPU_TEMP, 0},
    {"POWER", "W", 1, METRIC_POWER, 3},
    {"TOTEC", "mJ", 1000, METRIC_ENERGY, 0},
    {"RPCTR", "#", 1, METRIC_PCIE_REPLAY, 0},
    {"GPUTL", "", 100, METRIC_GPU_UTIL, 0},
    {"MCUTL", "", 100, METRIC_MEM_COPY_UTIL, 0},
    {"FBTTL", "", 1 / 1048576.0, METRIC_FB_TOTAL, 0},
    {"FBFRE", "", 1 / 1048576.0, METRIC_FB_FREE, 0},
    {"FBUSD", "", 1 / 1048576.0, METRIC_FB_USED, 0},
    {"FBRSV", "", 1 / 1048576.0, METRIC_FB_RESERVED, 0},
    {"GRACT", "", 1, METRIC_GR_ACTIVE, 3},
    {"SMACT", "", 1, METRIC_SM_ACTIVE, 3},
    {"SMOCC", "", 1, METRIC_SM_OCCUPANCY, 3},
    {"TENSO", "", 1, METRIC_TENSOR_ACTIVE, 3},
    {"DRAMA", "", 1, METRIC_DRAM_ACTIVE, 3},
    {"FP64A", "", 1, METRIC_FP64_ACTIVE, 3},
    {"FP32A", "", 1, METRIC_FP32_ACTIVE, 3},
    {"FP16A", "", 1, METRIC_FP16_ACTIVE, 3},
    {"INTAC", "", 1, METRIC_INT_ACTIVE, 3},
    {"TIMMA", "", 1, METRIC_TENSOR_IMMA_ACTIVE, 3},
    {"THMMA", "", 1, METRIC_TENSOR_HMMA_ACTIVE, 3},
    {"TDFMA", "", 1, METRIC_TENSOR_DFMA_ACTIVE, 3},
    {"PCITX", "", 1, METRIC_PCIE_TX, 0},
    {"PCIRX", "", 1, METRIC_PCIE_RX, 0},
    {"NVLTX", "", 1, METRIC_NVLINK_TX, 0},
    {"NVLRX", "", 1, METRIC_NVLINK_RX, 0},
    {"XIDER", "", 1, METRIC_XID_LAST, 0},
    {"URMPS", "", 1, METRIC_REMAPPED_UNCORRECTABLE, 0},
    {"CRMPS", "", 1, METRIC_REMAPPED_CORRECTABLE, 0},
    {"RRF", "", 1, METRIC_REMAP_FAILURE, 0},
    {"RRP", "", 1, METRIC_REMAP_PENDING, 0},
};

#define CELL_WIDTH 22 /* the widest number and a gap */

static void put_cell(struct strbuf *out, const char *s, int width)
{
        strbuf_putf(out, "%-*s", width, s);
}

void dmon_write_header(struct strbuf *out)
{
        put_cell(out, "#Entity", ENTITY_WIDTH);
        for (size_t i = 0; i < ARRAY_LEN(columns); i++)
                put_cell(out, columns[i].name, CELL_WIDTH);
        strbuf_putc(out, '\n');
        put_cell(out, "ID", ENTITY_WIDTH);
        for (size_t i = 0; i < ARRAY_LEN(columns); i++)
                put_cell(out, columns[i].unit, CELL_WIDTH);
        strbuf_putc(out, '\n');
}

static void entity_name(const struct entity *e, char *buf, size_t size)
{
        switch (e->kind) {
        case ENTITY_GPU_INSTANCE:
                snprintf(buf, size, "GPU-I %d", e->flat >= 0 ? e->flat : e->gi);
                return;
        case ENTITY_COMPUTE_INSTANCE:
                snprintf(buf, size, "GPU-CI %d", e->flat >= 0 ? e->flat : e->ci);
                return;
        case ENTITY_GPU:
        case ENTITY_OTHER:
                snprintf(buf, size, "GPU %d", e->index >= 0 ? e->index : (int)e->slot);
                return;
        }
}

void dmon_write_frame(const struct frame *f, struct strbuf *out)
{
        for (size_t i = 0; i < f->n; i++) {
                char text[64];
                const struct sample *s = &f->rows[i].sample;
                entity_name(s->who, text, sizeof(text));
                put_cell(out, text, ENTITY_WIDTH);
                for (size_t k = 0; k < ARRAY_LEN(columns); k++) {
                        struct value v = s->m[columns[k].metric];
                        if (value_there(v))
                                snprintf(text, sizeof(text), "%.*f", columns[k].decimals,
                                         v.v * columns[k].scale);
                        else
                                snprintf(text, sizeof(text), "N/A");
                        put_cell(out, text, CELL_WIDTH);
                }
                strbuf_putc(out, '\n');
        }
}

/* ---- the hardware monitor's folder ---- */

static void put_time(struct strbuf *out, int64_t ns)
{
        int64_t ms = ns / NS_PER_MS;
        time_t t = (time_t)(ms / 1000);
        struct tm tm;
        char text[40];
        localtime_r(&t, &tm);
        strftime(text, sizeof(text), "%Y/%m/%d %H:%M:%S", &tm);
        strbuf_putf(out, "%s.%03d", text, (int)(ms % 1000));
}

struct smi_field {
        double scale;
        enum metric metric;
        int decimals;
};

static void put_field(struct strbuf *out, const struct sample *s, struct smi_field f)
{
        struct value v = s->m[f.metric];
        if (value_there(v))
                strbuf_putf(out, ", %.*f", f.decimals, v.v * f.scale);
        else
                strbuf_puts(out, ", [N/A]");
}

static void put_query(struct strbuf *out, const struct frame *f, const struct sample *s)
{
        static const struct smi_field fields[] = {{100, METRIC_GPU_UTIL, 0},
                                                  {100, METRIC_MEM_COPY_UTIL, 0},
                                                  {1 / 1048576.0, METRIC_FB_USED, 0},
                                                  {1 / 1048576.0, METRIC_FB_TOTAL, 0},
                                                  {1, METRIC_POWER, 2},
                                                  {1, METRIC_GPU_TEMP, 0},
                                                  {1e-6, METRIC_SM_CLOCK, 0},
                                                  {1e-6, METRIC_MEM_CLOCK, 0}};
        put_time(out, f->wall_ns);
        for (size_t i = 0; i < ARRAY_LEN(fields); i++)
                put_field(out, s, fields[i]);
        strbuf_putc(out, '\n');
}

static void put_dmon(struct strbuf *out, const struct sample *s)
{
        static const struct smi_field fields[] = {
            {1 / 1048576.0, METRIC_FB_USED, 0},
            {1 / 1048576.0, METRIC_BAR1_USED, 0},
            {0, METRIC_COUNT, 0}, /* ccpm: protected memory, which nobody measures */
            {100, METRIC_GPU_UTIL, 0},
            {100, METRIC_MEM_COPY_UTIL, 0},
            {100, METRIC_ENC_UTIL, 0},
            {100, METRIC_DEC_UTIL, 0},
            {100, METRIC_JPG_UTIL, 0},
            {100, METRIC_OFA_UTIL, 0}};
        strbuf_putf(out, "%5d ", s->who->index >= 0 ? s->who->index : (int)s->who->slot);
        for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
                struct value v = fields[i].metric == METRIC_COUNT ? value_missing(STATE_NONE)
                                                                  : s->m[fields[i].metric];
                if (value_there(v))
                        strbuf_putf(out, "%6.0f ", v.v * fields[i].scale);
                else
                        strbuf_putf(out, "%6s ", "-");
        }
        strbuf_putc(out, '\n');
}

static struct strbuf *file_for(struct bundle *files, const char *name, const char *header)
{
        struct strbuf *out = bundle_find(files, name);
        if (out)
                return out;
        out = bundle_add(files, name);
        if (out)
                strbuf_puts(out, header);
        return out;
}

int hwmon_write_frame(struct bundle *files, const struct frame *f)
{
        struct strbuf *query = file_for(files, "hw_metrics.csv", "");
        struct strbuf *dmon =
            file_for(files, "hw_dmon.csv",
                     "# gpu     fb   bar1   ccpm     sm    mem    enc    dec    jpg    ofa \n"
                     "# Idx     MB     MB     MB      %      %      %      %      %      % \n");
        if (!query || !dmon)
                return -ENOMEM;
        for (size_t i = 0; i < f->n; i++) {
                put_query(query, f, &f->rows[i].sample);
                put_dmon(dmon, &f->rows[i].sample);
        }
        return query->failed || dmon->failed || query->len > BUNDLE_FILE_MAX ? -ENOMEM : 0;
}

#define CPU_HEADER "timestamp,usr_pct,idle_pct\n"

int hwmon_write_host(struct bundle *files, const struct host *h)
{
        struct value usr = h->system[SYSTEM_USER], idle = h->system[SYSTEM_IDLE];
        if (!value_there(usr) || !value_there(idle))
                return 0;
        struct strbuf *out = file_for(files, "cpu_metrics.csv", CPU_HEADER);
        if (!out)
                return -ENOMEM;
        if (value_there(h->system[SYSTEM_NICE]))
                usr.v += h->system[SYSTEM_NICE].v;
        strbuf_putf(out, "%.3f,%.1f,%.1f\n", clock_to_seconds(h->wall_ns), usr.v * 100,
                    idle.v * 100);
        return out->failed || out->len > BUNDLE_FILE_MAX ? -ENOMEM : 0;
}

int hwmon_write_cpu(struct bundle *files, const struct mark *marks, size_t n)
{
        double usr = 0;
        bool has_usr = false;
        for (size_t i = 0; i < n; i++) {
                const struct mark *m = &marks[i];
                if (m->type != MARK_METRIC)
                        continue;
                if (strcmp(m->name, "cpu_usr_pct") == 0) {
                        usr = m->value;
                        has_usr = true;
                } else if (strcmp(m->name, "cpu_idle_pct") == 0 && has_usr) {
                        struct strbuf *out = file_for(files, "cpu_metrics.csv", CPU_HEADER);
                        if (!out)
                                return -ENOMEM;
                        strbuf_putf(out, "%.3f,%.1f,%.1f\n", clock_to_seconds(m->wall_ns), usr,
                                    m->value);
                        has_usr = false;
                }
        }
        return 0;
}
