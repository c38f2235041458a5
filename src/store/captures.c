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
        enum metric metric;
        double scale;
        int decimals;
} columns[] = {
    {"SMCLK", "", METRIC_SM_CLOCK, 1e-6, 0},
    {"MMCLK", "", METRIC_MEM_CLOCK, 1e-6, 0},
    {"MMTMP", "C", METRIC_MEM_TEMP, 1, 0},
    {"TMPTR", "C", METRIC_GPU_TEMP, 1, 0},
    {"POWER", "W", METRIC_POWER, 1, 3},
    {"TOTEC", "mJ", METRIC_ENERGY, 1000, 0},
    {"RPCTR", "#", METRIC_PCIE_REPLAY, 1, 0},
    {"GPUTL", "", METRIC_GPU_UTIL, 100, 0},
    {"MCUTL", "", METRIC_MEM_COPY_UTIL, 100, 0},
    {"FBTTL", "", METRIC_FB_TOTAL, 1 / 1048576.0, 0},
    {"FBFRE", "", METRIC_FB_FREE, 1 / 1048576.0, 0},
    {"FBUSD", "", METRIC_FB_USED, 1 / 1048576.0, 0},
    {"FBRSV", "", METRIC_FB_RESERVED, 1 / 1048576.0, 0},
    {"GRACT", "", METRIC_GR_ACTIVE, 1, 3},
    {"SMACT", "", METRIC_SM_ACTIVE, 1, 3},
    {"SMOCC", "", METRIC_SM_OCCUPANCY, 1, 3},
    {"TENSO", "", METRIC_TENSOR_ACTIVE, 1, 3},
    {"DRAMA", "", METRIC_DRAM_ACTIVE, 1, 3},
    {"FP64A", "", METRIC_FP64_ACTIVE, 1, 3},
    {"FP32A", "", METRIC_FP32_ACTIVE, 1, 3},
    {"FP16A", "", METRIC_FP16_ACTIVE, 1, 3},
    {"INTAC", "", METRIC_INT_ACTIVE, 1, 3},
    {"TIMMA", "", METRIC_TENSOR_IMMA_ACTIVE, 1, 3},
    {"THMMA", "", METRIC_TENSOR_HMMA_ACTIVE, 1, 3},
    {"TDFMA", "", METRIC_TENSOR_DFMA_ACTIVE, 1, 3},
    {"PCITX", "", METRIC_PCIE_TX, 1, 0},
    {"PCIRX", "", METRIC_PCIE_RX, 1, 0},
    {"NVLTX", "", METRIC_NVLINK_TX, 1, 0},
    {"NVLRX", "", METRIC_NVLINK_RX, 1, 0},
    {"XIDER", "", METRIC_XID_LAST, 1, 0},
    {"URMPS", "", METRIC_REMAPPED_UNCORRECTABLE, 1, 0},
    {"CRMPS", "", METRIC_REMAPPED_CORRECTABLE, 1, 0},
    {"RRF", "", METRIC_REMAP_FAILURE, 1, 0},
    {"RRP", "", METRIC_REMAP_PENDING, 1, 0},
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
        enum metric metric;
        double scale;
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
        static const struct smi_field fields[] = {{METRIC_GPU_UTIL, 100, 0},
                                                  {METRIC_MEM_COPY_UTIL, 100, 0},
                                                  {METRIC_FB_USED, 1 / 1048576.0, 0},
                                                  {METRIC_FB_TOTAL, 1 / 1048576.0, 0},
                                                  {METRIC_POWER, 1, 2},
                                                  {METRIC_GPU_TEMP, 1, 0},
                                                  {METRIC_SM_CLOCK, 1e-6, 0},
                                                  {METRIC_MEM_CLOCK, 1e-6, 0}};
        put_time(out, f->wall_ns);
        for (size_t i = 0; i < ARRAY_LEN(fields); i++)
                put_field(out, s, fields[i]);
        strbuf_putc(out, '\n');
}

static void put_dmon(struct strbuf *out, const struct sample *s)
{
        static const struct smi_field fields[] = {
            {METRIC_FB_USED, 1 / 1048576.0, 0},
            {METRIC_BAR1_USED, 1 / 1048576.0, 0},
            {METRIC_COUNT, 0, 0}, /* ccpm: protected memory, which nobody measures */
            {METRIC_GPU_UTIL, 100, 0},
            {METRIC_MEM_COPY_UTIL, 100, 0},
            {METRIC_ENC_UTIL, 100, 0},
            {METRIC_DEC_UTIL, 100, 0},
            {METRIC_JPG_UTIL, 100, 0},
            {METRIC_OFA_UTIL, 100, 0}};
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
                        struct strbuf *out =
                            file_for(files, "cpu_metrics.csv", "timestamp,usr_pct,idle_pct\n");
                        if (!out)
                                return -ENOMEM;
                        strbuf_putf(out, "%.3f,%.1f,%.1f\n", clock_to_seconds(m->wall_ns), usr,
                                    m->value);
                        has_usr = false;
                }
        }
        return 0;
}
