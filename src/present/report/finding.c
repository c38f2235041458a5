/* The finding in words: what, how much, and the numbers that say so. */
#include "base/attr.h"
#include "base/text.h"
#include "present/format.h"
#include "present/report/report.h"

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

/* Whether a GPU that is held back so may be waiting for the host. */
static bool asks_the_host(enum hold what)
{
        switch (what) {
        case HOLD_STARVED:
        case HOLD_STARTING:
        case HOLD_STORAGE:
        case HOLD_COPIES:
        case HOLD_MIXED:
        case HOLD_IDLE_ALLOCATED:
        case HOLD_SMALL_KERNELS:
        case HOLD_IDLE:
                return true;
        case HOLD_NOTHING:
        case HOLD_UNKNOWN:
        case HOLD_UNHEALTHY:
        case HOLD_HEAT:
        case HOLD_MEMORY:
        case HOLD_COUNT:
                break;
        }
        return false;
}

static void put_host(struct strbuf *out, const struct level_summary *l, const struct hold_back *h)
{
        double cores = spread_mean(&l->cpu).v;
        switch (h->wait) {
        case WAIT_UNKNOWN:
                return;
        case WAIT_ONE_CORE:
                strbuf_putf(out, ", one core at %.0f %%", 100 * MIN(cores, 1));
                break;
        case WAIT_CPU:
        case WAIT_IO:
        case WAIT_SOME:
        case WAIT_OTHER:
                strbuf_putf(out, ", %.1f of %g core%s busy", cores, l->cpus.v,
                            l->cpus.v == 1 ? "" : "s");
                break;
        }
        if (h->no_io_wait)
                strbuf_puts(out, ", no I/O wait");
        else if (l->io_wait.n > 0)
                strbuf_putf(out, ", %.1f cores wait for I/O", spread_mean(&l->io_wait).v);
}

static void put_storage(struct strbuf *out, const struct level_summary *l)
{
        char number[FORMAT_MAX];
        format_with_unit(number, sizeof(number), METRIC_PCIE_RX, spread_mean(&l->read));
        strbuf_putf(out, ", %s read from storage", number);
        format_with_unit(number, sizeof(number), METRIC_PCIE_RX, spread_mean(&l->write));
        strbuf_putf(out, ", %s written", number);
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
        case HOLD_STORAGE:
                put_storage(out, &scope->level);
                break;
        case HOLD_COPIES:
                put_metric(out, "PCIe in", METRIC_PCIE_RX, &g->m[METRIC_PCIE_RX]);
                put_metric(out, "out", METRIC_PCIE_TX, &g->m[METRIC_PCIE_TX]);
                break;
        case HOLD_IDLE_ALLOCATED:
                format_with_unit(number, sizeof(number), METRIC_FB_USED,
                                 spread_max(&g->m[METRIC_FB_USED]));
                strbuf_putf(out, ", up to %s held", number);
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
        case HOLD_STARTING:
        case HOLD_MIXED:
        case HOLD_SMALL_KERNELS:
                put_metric(out, "tensor active", METRIC_TENSOR_ACTIVE, &g->m[METRIC_TENSOR_ACTIVE]);
                break;
        case HOLD_UNKNOWN:
        case HOLD_IDLE:
        case HOLD_COUNT:
                break;
        }
        if (asks_the_host(g->hold.what))
                put_host(out, &scope->level, &g->hold);
        if (out->len > start) /* the first comma becomes the colon */
                out->s[start] = ':';
}

static const char *starved(enum wait wait)
{
        switch (wait) {
        case WAIT_ONE_CORE:
                return "the input pipeline is the limit";
        case WAIT_CPU:
                return "the CPUs are busy: input pipeline or host code is the limit";
        case WAIT_IO:
                return "it waits for storage: I/O is the limit";
        case WAIT_OTHER:
                return "neither CPUs nor storage are busy: it waits for something else, such as "
                       "the network, a lock or a sleep";
        case WAIT_SOME:
        case WAIT_UNKNOWN:
                break;
        }
        return "it works in bursts and waits between them: the input pipeline or host code is the "
               "limit";
}

/* Of the time: what computes less was held back by something. */
#define MOSTLY 0.75

static const char *conclusion(const struct hold_back *h)
{
        switch (h->what) {
        case HOLD_NOTHING:
                return h->share >= MOSTLY ? "nothing held it back" : "no one limit stands out";
        case HOLD_UNKNOWN:
                return "SM counters are missing, so nobody can tell; NVML GPM (Hopper or newer) or "
                       "DCGM gives them";
        case HOLD_UNHEALTHY:
                return "have the hardware looked at first";
        case HOLD_HEAT:
                return "heat is the limit: look at cooling and neighbours";
        case HOLD_STARVED:
                return starved(h->wait);
        case HOLD_STARTING:
                return "it waited for the program to start: imports, loading, compiling";
        case HOLD_STORAGE:
                return "storage is the limit";
        case HOLD_COPIES:
                return "copies between host and GPU are the limit";
        case HOLD_SMALL_KERNELS:
                return "kernels are too small to fill the GPU: launches are the limit";
        case HOLD_MIXED:
                return "it did a little of everything, and no one limit stands out";
        case HOLD_MEMORY:
                return "device memory bandwidth is the limit";
        case HOLD_IDLE_ALLOCATED:
        case HOLD_IDLE: /* put_idle has the words */
        case HOLD_COUNT:
                break;
        }
        return "";
}

/* Activity that is written as 0. */
#define NO_ACTIVITY 0.0005
/* Of the idle time: as good as all of it. */
#define ALL_OF_IT 0.95

/* A GPU is idle with a few percent of activity, too. */
static bool did_nothing(const struct gpu_summary *g)
{
        static const enum metric work[] = {METRIC_SM_ACTIVE, METRIC_GR_ACTIVE, METRIC_GPU_UTIL};
        size_t known = 0;
        for (size_t i = 0; i < ARRAY_LEN(work); i++) {
                struct value most = spread_max(&g->m[work[i]]);
                if (value_there(most) && most.v >= NO_ACTIVITY)
                        return false;
                known += value_there(most);
        }
        return known > 0;
}

static void put_idle(struct strbuf *out, const struct gpu_summary *g, const struct hold_back *h)
{
        const char *what = did_nothing(g) ? "nothing" : "next to nothing";
        double idle_s = h->share * g->seconds;
        if (h->what == HOLD_IDLE)
                strbuf_putf(out, "%s ran in that time", what);
        else if (g->idle_allocated_s >= ALL_OF_IT * idle_s)
                strbuf_putf(out, "memory was held all that time, and %s computed", what);
        else
                strbuf_putf(out, "memory was held for %.0f %% of that time, and %s computed",
                            100 * g->idle_allocated_s / idle_s, what);
}

static const char *verb(enum hold what)
{
        switch (what) {
        case HOLD_NOTHING:
                return "computed for";
        case HOLD_UNKNOWN:
                return "cannot be judged for";
        case HOLD_UNHEALTHY:
                return "was in a critical state for";
        case HOLD_HEAT:
                return "was slowed down by heat for";
        case HOLD_STARVED:
        case HOLD_IDLE_ALLOCATED:
        case HOLD_IDLE:
                return "was idle for";
        case HOLD_STARTING:
                return "had nothing to do yet for";
        case HOLD_STORAGE:
        case HOLD_COPIES:
                return "did little but copy for";
        case HOLD_MIXED:
                return "was not computing for";
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
        strbuf_putf(out, "GPU %s %s %.0f %% of ", g->who.label, verb(h->what), h->share * 100);
        text_put(out, scope->name[0] ? scope->name : "the run", PHASE_NAME_MAX);
        put_evidence(out, scope, g);
        strbuf_puts(out, ": ");
        if (h->what == HOLD_IDLE || h->what == HOLD_IDLE_ALLOCATED)
                put_idle(out, g, h);
        else
                strbuf_puts(out, conclusion(h));
}
