/* Findings in words: what, why, so what, and what to try. */
#include "base/attr.h"
#include "base/text.h"
#include "present/format.h"
#include "present/report/report.h"
#include "present/text/explain.h"

#include <stdio.h>
#include <string.h>

#define WHY_MAX 4

/* The numbers that a limiter rests on, those people ask for first. */
static const enum ceiling reasons[LIMITER_COUNT][WHY_MAX] = {
    [LIMITER_UNKNOWN] = {CEILING_ENGINE, CEILING_MEMORY},
    [LIMITER_IDLE] = {CEILING_ENGINE, CEILING_MEMORY},
    [LIMITER_IDLE_ALLOCATED] = {CEILING_ENGINE, CEILING_MEMORY, CEILING_CPU_MAIN},
    [LIMITER_HOST_STARTING] = {CEILING_CPU_MAIN, CEILING_CPU_CHILDREN, CEILING_STORAGE},
    [LIMITER_HOST_INPUT] = {CEILING_ENGINE, CEILING_CPU_CHILDREN, CEILING_CPU_MAIN,
                            CEILING_CPU_FIRST},
    [LIMITER_HOST_STORAGE] = {CEILING_ENGINE, CEILING_STORAGE, CEILING_IO_WAIT},
    [LIMITER_HOST_NETWORK] = {CEILING_ENGINE, CEILING_NETWORK, CEILING_CPU_MAIN},
    [LIMITER_HOST_CODE] = {CEILING_ENGINE, CEILING_CPU_MAIN, CEILING_CPU_FIRST,
                           CEILING_CPU_CHILDREN},
    [LIMITER_HOST_WAITING] = {CEILING_ENGINE, CEILING_CPU_MAIN, CEILING_IO_WAIT},
    [LIMITER_LAUNCH] = {CEILING_ENGINE, CEILING_SM, CEILING_CPU_THREAD, CEILING_CPU_MAIN},
    [LIMITER_PARALLELISM] = {CEILING_ENGINE, CEILING_SM, CEILING_DRAM},
    [LIMITER_COPY_LINK] = {CEILING_ENGINE, CEILING_PCIE_IN, CEILING_PCIE_OUT, CEILING_PCIE_RATE},
    [LIMITER_COPY_HOST] = {CEILING_ENGINE, CEILING_PCIE_IN, CEILING_PCIE_OUT, CEILING_CPU_MAIN},
    [LIMITER_MEMORY_BANDWIDTH] = {CEILING_DRAM, CEILING_SM, CEILING_TENSOR},
    [LIMITER_MEMORY_ACCESS] = {CEILING_SM, CEILING_DRAM, CEILING_OCCUPANCY},
    [LIMITER_COMPUTE_TENSOR] = {CEILING_TENSOR, CEILING_SM, CEILING_DRAM},
    [LIMITER_COMPUTE_FP64] = {CEILING_FP64, CEILING_SM, CEILING_DRAM},
    [LIMITER_COMPUTE_FP32] = {CEILING_FP32, CEILING_SM, CEILING_DRAM},
    [LIMITER_COMPUTE_FP16] = {CEILING_FP16, CEILING_SM, CEILING_DRAM},
    [LIMITER_COMPUTE_INT] = {CEILING_INT, CEILING_SM, CEILING_DRAM},
    [LIMITER_KERNEL] = {CEILING_SM, CEILING_TENSOR, CEILING_FP32, CEILING_DRAM},
    [LIMITER_COLLECTIVE] = {CEILING_SM, CEILING_TENSOR, CEILING_NVLINK_IN, CEILING_POWER},
};

static void put_reason(struct strbuf *out, const struct ceilings *c, enum ceiling at)
{
        static const char *const words[CEILING_COUNT] = {
            [CEILING_ENGINE] = "kernels ran %s of the time",
            [CEILING_SM] = "SMs %s",
            [CEILING_OCCUPANCY] = "occupancy %s",
            [CEILING_TENSOR] = "tensor cores %s",
            [CEILING_FP64] = "FP64 %s",
            [CEILING_FP32] = "FP32 %s",
            [CEILING_FP16] = "FP16 %s",
            [CEILING_INT] = "integer units %s",
            [CEILING_DRAM] = "device memory %s",
            [CEILING_PCIE_IN] = "PCIe in %s of the link",
            [CEILING_PCIE_OUT] = "out %s",
            [CEILING_PCIE_RATE] = "PCIe %s",
            [CEILING_NVLINK_IN] = "NVLink in %s of the links",
            [CEILING_POWER] = "power %s of the limit",
            [CEILING_MEMORY] = "%s of device memory in use",
            [CEILING_CPU_MAIN] = "%s cores busy in the program",
            [CEILING_CPU_THREAD] = "busiest thread %s",
            [CEILING_CPU_FIRST] = "%s of them in its main thread",
            [CEILING_CPU_CHILDREN] = "%s cores busy in its children",
            [CEILING_IO_WAIT] = "%s threads waiting for storage",
            [CEILING_STORAGE] = "%s to and from storage",
            [CEILING_NETWORK] = "%s over the network",
        };
        struct strbuf number = {0};
        explain_ceiling(at, (double)c->v[at], &number);
        const char *mark = strstr(words[at], "%s");
        strbuf_put(out, words[at], (size_t)(mark - words[at]));
        strbuf_puts(out, strbuf_str(&number));
        strbuf_puts(out, mark + 2);
        strbuf_finish(&number);
}

/* A host figure of 0 says nothing beside others. */
static bool worth_telling(const struct ceilings *c, enum ceiling at, size_t nth)
{
        if (!(c->there & (1u << at)))
                return false;
        bool host = ceiling_info(at)->kind == CEILING_HOST && at != CEILING_CPU_MAIN &&
                    at != CEILING_CPU_FIRST;
        double least = ceiling_info(at)->unit == UNIT_BYTES_PER_S ? 1e6 : 0.05;
        return nth == 0 || !host || (double)c->v[at] >= least;
}

void report_stretch_reasons(const struct stretch *s, struct strbuf *out)
{
        const struct ceilings *c = &s->limit.ceilings;
        const enum ceiling *r = reasons[s->limit.limiter];
        const char *gap = "";
        for (size_t i = 0; i < WHY_MAX && (i == 0 || r[i] != CEILING_ENGINE); i++) {
                if (!worth_telling(c, r[i], i))
                        continue;
                strbuf_puts(out, gap);
                put_reason(out, c, r[i]);
                gap = ", ";
        }
        if (s->limit.limiter != LIMITER_UNKNOWN)
                return;
        strbuf_puts(out, gap[0] ? "; missing:" : "missing:");
        gap = " ";
        for (enum ceiling i = 0; i < CEILING_COUNT; i++) {
                if (!(s->limit.missing & (1u << i)))
                        continue;
                strbuf_putf(out, "%s%s", gap, ceiling_info(i)->help);
                gap = ", ";
        }
}

/* "0", "0-3", "0, 2". */
void report_stretch_gpus(const struct stretch_list *list, const struct gpu_set *gpus,
                         struct strbuf *out)
{
        const char *gap = "";
        for (size_t i = 0; i < list->n_gpus; i++) {
                size_t to = i;
                if (!gpu_set_has(gpus, i))
                        continue;
                while (to + 1 < list->n_gpus && gpu_set_has(gpus, to + 1))
                        to++;
                strbuf_putf(out, "%s%s", gap, list->gpus[i].label);
                if (to > i)
                        strbuf_putf(out, "%s%s", to > i + 1 ? "-" : ", ", list->gpus[to].label);
                gap = ", ";
                i = to;
        }
}

/* "held at 1466 of 1980 MHz by the power limit (700 W)". */
static void put_held(struct strbuf *out, const struct stretch_list *list, const struct stretch *s)
{
        const struct stretch_gpu *gpu = &list->gpus[gpu_set_first(&s->gpus)];
        double most = gpu->clock_max, clock = (double)s->limit.ceilings.v[CEILING_CLOCK];
        if (s->limit.held_by == HELD_BY_NOTHING)
                return;
        strbuf_puts(out, ", held");
        if (most > 0)
                strbuf_putf(out, " at %.0f of %.0f MHz", clock * most / 1e6, most / 1e6);
        strbuf_putf(out, " by %s", held_by_words((enum held_by)s->limit.held_by));
        if (s->limit.held_by == HELD_BY_POWER && gpu->power_limit > 0)
                strbuf_putf(out, " (%.0f W)", gpu->power_limit);
}

static void put_what(struct strbuf *out, const struct stretch_list *list,
                     const struct limit_finding *f)
{
        const struct stretch *s = &list->list[f->stretch];
        double share = list->seconds > 0 ? 100 * f->seconds / list->seconds : 100;
        bool startup = f->limiter == LIMITER_HOST_STARTING;
        strbuf_puts(out, gpu_set_count(&f->gpus) > 1 ? "GPUs " : "GPU ");
        report_stretch_gpus(list, &f->gpus, out);
        if (startup)
                strbuf_puts(out, ": start-up, the program had not begun its work");
        else if (f->limiter == LIMITER_UNKNOWN)
                strbuf_puts(out, ": the limit is unknown");
        else if (f->limiter == LIMITER_IDLE)
                strbuf_puts(out, ": no program used it");
        else if (f->limiter == LIMITER_IDLE_ALLOCATED)
                strbuf_puts(out, ": memory is allocated, but nothing runs");
        else if (f->limiter == LIMITER_HOST_WAITING)
                strbuf_puts(out, ": the program waits, neither the GPU nor the CPU works");
        else
                strbuf_putf(out, " limited by %s", limiter_words(f->limiter));
        put_held(out, list, s);
        strbuf_putf(out, ", for %.1f s (%.0f %% of the run", f->seconds, share);
        if (f->n > 1)
                strbuf_putf(out, ", in %zu stretches", f->n);
        else
                strbuf_putf(out, ", from %.1f to %.1f s", s->begin_s, s->end_s);
        if (f->before_work && !startup)
                strbuf_puts(out, ", before its work began");
        if (s->phase[0]) {
                strbuf_puts(out, ", in ");
                text_put(out, s->phase, PHASE_NAME_MAX);
        }
        strbuf_putc(out, ')');
}

static void put_gain(struct strbuf *out, const struct limit_finding *f)
{
        bool device = limiter_side(f->limiter) == LIMITER_SIDE_DEVICE;
        if (f->limiter == LIMITER_UNKNOWN || f->limiter == LIMITER_IDLE)
                return;
        if (f->gain == 0 || !device) {
                strbuf_putf(out, "; at most %.1f GPU-seconds to win", f->won_s);
                if (f->gain >= 1.05 && f->gain < 10)
                        strbuf_putf(out, ": the GPU would be busy %.1f × as much", f->gain);
        } else if (f->limiter == LIMITER_PARALLELISM) {
                strbuf_putf(out, "; up to %.0f × the work fits", f->gain);
        } else if (f->gain >= 1.05) {
                strbuf_putf(out, "; at most %.1f × faster%s", f->gain,
                            f->held_by != HELD_BY_NOTHING ? " at full clock and a full unit"
                                                          : " with that unit full");
        } else {
                strbuf_puts(out, "; it is as good as full");
        }
}

void report_finding(const struct stretch_list *list, const struct limit_finding *f,
                    struct strbuf *out)
{
        put_what(out, list, f);
        strbuf_puts(out, ": ");
        const struct stretch *s = &list->list[f->stretch];
        report_stretch_reasons(s, out);
        if (s->flops.type) {
                char rate[2 * FORMAT_MAX];
                format_flops(rate, sizeof(rate), s->flops.lo, s->flops.hi);
                strbuf_putf(out, ", %s %s%s", rate, s->flops.type,
                            stretch_gpus(s) > 1 ? " a GPU" : "");
        }
        put_gain(out, f);
}

const char *report_finding_try(const struct limit_finding *f)
{
        return limiter_try(f->limiter, f->framework);
}
