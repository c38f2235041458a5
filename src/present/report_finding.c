/* The finding in words: what, how much, and the numbers that say so. */
#include "present/format.h"
#include "present/report.h"

#include <stdio.h>

static void put_metric(struct strbuf *out, const char *word, enum metric metric,
                       const struct spread *spread)
{
        char number[FORMAT_MAX];
        if (spread->n == 0)
                return;
        format_with_unit(number, sizeof(number), metric, spread_mean(spread));
        strbuf_putf(out, ", %s %s", word, number);
}

/* The evidence that a kind of finding rests on; what was not measured is left out. */
static void put_evidence(struct strbuf *out, const struct scope *scope, const struct gpu_summary *g)
{
        char number[FORMAT_MAX];
        size_t start = out->len;
        put_metric(out, "SM active", METRIC_SM_ACTIVE, &g->m[METRIC_SM_ACTIVE]);
        put_metric(out, "engine active", METRIC_GR_ACTIVE, &g->m[METRIC_GR_ACTIVE]);
        if (g->m[METRIC_GR_ACTIVE].n == 0)
                put_metric(out, "GPU utilization", METRIC_GPU_UTIL, &g->m[METRIC_GPU_UTIL]);
        switch (g->hold.what) {
        case HOLD_COPIES:
                put_metric(out, "PCIe in", METRIC_PCIE_RX, &g->m[METRIC_PCIE_RX]);
                put_metric(out, "out", METRIC_PCIE_TX, &g->m[METRIC_PCIE_TX]);
                break;
        case HOLD_IDLE_ALLOCATED:
                format_with_unit(number, sizeof(number), METRIC_FB_USED,
                                 spread_max(&g->m[METRIC_FB_USED]));
                strbuf_putf(out, ", %s held", number);
                break;
        case HOLD_MEMORY:
                put_metric(out, "DRAM active", METRIC_DRAM_ACTIVE, &g->m[METRIC_DRAM_ACTIVE]);
                break;
        case HOLD_HEAT:
        case HOLD_UNHEALTHY:
                put_metric(out, "GPU", METRIC_GPU_TEMP, &g->m[METRIC_GPU_TEMP]);
                break;
        case HOLD_NOTHING:
        case HOLD_STARVED:
        case HOLD_SMALL_KERNELS:
                put_metric(out, "tensor active", METRIC_TENSOR_ACTIVE, &g->m[METRIC_TENSOR_ACTIVE]);
                break;
        case HOLD_UNKNOWN:
        case HOLD_IDLE:
        case HOLD_COUNT:
                break;
        }
        if (scope->cpu.n > 0) {
                format_percent(number, sizeof(number), spread_mean(&scope->cpu));
                strbuf_putf(out, ", CPU %s of what it may use", number);
        }
        if (out->len > start) /* the first comma becomes the colon */
                out->s[start] = ':';
}

static const char *conclusion(const struct scope *scope, enum hold what)
{
        switch (what) {
        case HOLD_NOTHING:
                return "nothing held it back";
        case HOLD_UNKNOWN:
                return "SM counters are missing, so nobody can tell; NVML GPM (Hopper or newer) or "
                       "DCGM gives them";
        case HOLD_UNHEALTHY:
                return "have the hardware looked at first";
        case HOLD_HEAT:
                return "heat is the limit: look at cooling and neighbours";
        case HOLD_STARVED:
                return scope->cpu.n > 0 && spread_mean(&scope->cpu).v >= 0.7
                           ? "it waits for the CPU, which is busy: input pipeline or host code is "
                             "the limit"
                           : "it works in bursts and waits between them: the input pipeline or "
                             "host code is the limit";
        case HOLD_COPIES:
                return "copies between host and GPU are the limit";
        case HOLD_IDLE_ALLOCATED:
                return "memory is held and nothing computed";
        case HOLD_SMALL_KERNELS:
                return "kernels are too small to fill the GPU: launches are the limit";
        case HOLD_MEMORY:
                return "device memory bandwidth is the limit";
        case HOLD_IDLE:
                return "nothing ran there";
        case HOLD_COUNT:
                break;
        }
        return "";
}

static const char *verb(enum hold what)
{
        switch (what) {
        case HOLD_NOTHING:
                return "computed for";
        case HOLD_UNKNOWN:
                return "was unknown for";
        case HOLD_UNHEALTHY:
                return "was in a critical state for";
        case HOLD_HEAT:
                return "was slowed down by heat for";
        case HOLD_STARVED:
        case HOLD_IDLE_ALLOCATED:
        case HOLD_IDLE:
                return "was idle for";
        case HOLD_COPIES:
                return "did little but copy for";
        case HOLD_SMALL_KERNELS:
                return "looked busy without using its SMs for";
        case HOLD_MEMORY:
                return "waited for its memory for";
        case HOLD_COUNT:
                break;
        }
        return "";
}

void report_finding(const struct summary *s, const struct hold_back *h, struct strbuf *out)
{
        const struct scope *scope = &s->scopes[h->scope];
        const struct gpu_summary *g = scope->gpus[h->gpu];
        strbuf_putf(out, "GPU %s %s %.0f %% of %s", g->who.label, verb(h->what), h->share * 100,
                    scope->name[0] ? scope->name : "the run");
        put_evidence(out, scope, g);
        strbuf_putf(out, ": %s", conclusion(scope, h->what));
}
