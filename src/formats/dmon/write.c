#include "formats/dmon/write.h"

#include "base/attr.h"
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

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
                        if (value_is_set(v))
                                snprintf(text, sizeof(text), "%.*f", columns[k].decimals,
                                         v.v * columns[k].scale);
                        else
                                snprintf(text, sizeof(text), "N/A");
                        put_cell(out, text, CELL_WIDTH);
                }
                strbuf_putc(out, '\n');
        }
}
