/* Findings in words: what, why, so what, and what to try. */
#include "base/attr.h"
#include "base/text.h"
#include "present/format.h"
#include "present/report/parts.h"
#include "present/report/report.h"
#include "present/text/explain.h"
#include "present/text/where.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define STORAGE_SOME 0.05  /* of the bytes: less is not reported beside the other way */
#define LONG_S 99.95       /* from here on in minutes */
#define GAP_S 0.05         /* between stretches: less is none */
#define WORKERS_MORE 1.15  /* times as many: less is not worth the words */
#define ENGINE_LEAST 0.002 /* of the time: of less nobody knows what a full GPU would need */

/* A pattern with its "%s", if it has one, replaced. */
static void put_filled(struct strbuf *out, const char *pattern, const char *with)
{
        const char *mark = strstr(pattern, "%s");
        size_t n = mark ? (size_t)(mark - pattern) : strlen(pattern);
        strbuf_put(out, pattern, n);
        strbuf_puts(out, mark ? with : "");
        strbuf_puts(out, mark ? mark + 2 : "");
}

/* "1.8 GB/s read from storage"; both ways only where both are much. */
static void put_storage(struct strbuf *out, const struct ceilings *c)
{
        double written = (double)c->v[CEILING_WRITTEN], all = (double)c->v[CEILING_STORAGE];
        double read = MAX(all - written, 0), least = STORAGE_SOME * all;
        if (read >= least || written < least) {
                explain_ceiling(CEILING_STORAGE, read, out);
                strbuf_puts(out, " read from storage");
        }
        if (written >= least && written > 0) {
                strbuf_puts(out, read >= least ? ", " : "");
                explain_ceiling(CEILING_WRITTEN, written, out);
                strbuf_puts(out, " written to storage");
        }
}

/* "7.9 cores busy in 8 workers (99 % each), 16 CPUs may be used". */
static void put_workers(struct strbuf *out, const struct ceilings *c)
{
        char share[FORMAT_MAX];
        double n = round((double)c->v[CEILING_WORKERS]), cpus = limit_allowed_cpus(c);
        explain_ceiling(CEILING_CPU_CHILDREN, (double)c->v[CEILING_CPU_CHILDREN], out);
        strbuf_putf(out, " cores busy in %.0f %s (%s%s)", n, n > 1 ? "workers" : "worker",
                    format_share(share, limit_worker_share(c)), n > 1 ? " each" : "");
        if (cpus > 0)
                strbuf_putf(out, ", %.3g %s may be used", cpus, cpus > 1 ? "CPUs" : "CPU");
}

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
            [CEILING_CLOCK] = "clock %s of its maximum",
            [CEILING_CONTROLLER] = "memory controller %s",
            [CEILING_DECODER] = "video decoder %s",
            [CEILING_ENCODER] = "video encoder %s",
            [CEILING_JPEG] = "JPEG decoder %s",
            [CEILING_POWER] = "power %s of the limit",
            [CEILING_MEMORY] = "%s of device memory in use",
            [CEILING_CPU_MAIN] = "%s cores busy in the program",
            [CEILING_CPU_THREAD] = "busiest thread %s",
            [CEILING_CPU_FIRST] = "%s of them in its main thread",
            [CEILING_CPU_QUEUED] = "waited for a CPU %s of the time, as others used them",
            [CEILING_CPU_CHILDREN] = "%s cores busy in its other processes",
            [CEILING_IO_WAIT] = "%s threads waiting for storage",
            [CEILING_STORAGE] = "%s to and from storage",
            [CEILING_NETWORK] = "%s over the network",
        };
        struct strbuf number = {0};
        if (at == CEILING_STORAGE && c->present & CEILING_BIT(WRITTEN)) {
                put_storage(out, c);
                return;
        }
        if (at == CEILING_CPU_CHILDREN && limit_worker_share(c) > 0) {
                put_workers(out, c);
                return;
        }
        explain_ceiling(at, (double)c->v[at], &number);
        put_filled(out, words[at], strbuf_str(&number));
        strbuf_finish(&number);
}

/* A figure of the host or of a video engine that is 0 says nothing beside others. */
static bool is_worth_reporting_ceiling(const struct ceilings *c, enum ceiling at, size_t nth)
{
        if (!(c->present & CEILING_AT(at)))
                return false;
        bool host = ceiling_info(at)->kind == CEILING_HOST && at != CEILING_CPU_MAIN &&
                    at != CEILING_CPU_FIRST;
        bool codec = CEILINGS_CODEC & CEILING_AT(at);
        double least =
            ceiling_info(at)->unit == UNIT_BYTES_PER_S ? LIMIT_BYTES_MIN : LIMIT_GAIN_MIN;
        return nth == 0 || !(host || codec) || (double)c->v[at] >= least;
}

/* Threads that take turns are busy together, not each: as one runs the forward and another the
 * backward pass. */
static bool take_turns(const struct ceilings *c)
{
        double thread = (double)c->v[CEILING_CPU_THREAD], main = (double)c->v[CEILING_CPU_MAIN];
        return c->present & CEILING_BIT(CPU_THREAD) && thread < LIMIT_TURNS &&
               main > thread + LIMIT_TURNS_MORE;
}

/* The reason that is reported in the place of another one. */
static enum ceiling reason_of(const struct limit_finding *f, enum ceiling at)
{
        if (f->limiter != LIMITER_KERNEL || at != CEILING_FP32)
                return at;
        for (enum ceiling i = CEILING_FP64; i <= CEILING_INT; i++) {
                if (f->why.present & CEILING_AT(i) && f->why.v[i] > f->why.v[at])
                        at = i;
        }
        return at;
}

static const char *put_reasons(struct strbuf *out, const struct limit_finding *f)
{
        const enum ceiling *r = limiter_sight(f->limiter, f->basis)->reasons;
        bool turns = f->limiter == LIMITER_LAUNCH && take_turns(&f->why);
        const char *gap = "";
        for (size_t i = 0; i < LIMITER_REASONS_MAX && (i == 0 || r[i] != CEILING_ENGINE); i++) {
                enum ceiling at = reason_of(f, r[i]);
                if (!is_worth_reporting_ceiling(&f->why, at, i) ||
                    (turns && at == CEILING_CPU_THREAD))
                        continue;
                strbuf_puts(out, gap);
                put_reason(out, &f->why, at);
                gap = ", ";
        }
        if (turns)
                strbuf_puts(out, ", in threads that take turns");
        return gap;
}

static void put_missing(struct strbuf *out, uint64_t missing, const char *gap)
{
        strbuf_puts(out, gap[0] ? "; missing:" : "missing:");
        gap = " ";
        for (enum ceiling i = 0; i < CEILING_COUNT; i++) {
                if (!(missing & CEILING_AT(i)))
                        continue;
                /* What it is a share of stands after a comma. */
                const char *help = ceiling_info(i)->help;
                strbuf_puts(out, gap);
                strbuf_put(out, help, strcspn(help, ","));
                gap = ", ";
        }
}

/* Labels that differ in their numbers alone: "0" and "7", "node1:0" and "node2:3". */
static bool same_kind(const char *a, const char *b)
{
        static const char digits[] = "0123456789";
        while (*a && *b) {
                size_t n = strcspn(a, digits), m = strcspn(b, digits);
                if (n != m || memcmp(a, b, n) != 0)
                        return false;
                a += n + strspn(a + n, digits);
                b += m + strspn(b + m, digits);
        }
        return *a == *b;
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
                while (to + 1 < list->n_gpus && gpu_set_has(gpus, to + 1) &&
                       same_kind(list->gpus[i].label, list->gpus[to + 1].label))
                        to++;
                strbuf_putf(out, "%s%s", gap, list->gpus[i].label);
                if (to > i)
                        strbuf_putf(out, "%s%s", to > i + 1 ? "-" : ", ", list->gpus[to].label);
                gap = ", ";
                i = to;
        }
}

/* "held at 1466 of 1980 MHz by the power limit (700 W)". */
static void put_held(struct strbuf *out, const struct stretch_list *list,
                     const struct limit_finding *f)
{
        const struct stretch_gpu *gpu = &list->gpus[gpu_set_first(&f->gpus)];
        double most = gpu->clock_max, clock = (double)f->why.v[CEILING_CLOCK];
        if (f->held_by == HELD_BY_NOTHING)
                return;
        strbuf_puts(out, ", held");
        if (most > 0)
                strbuf_putf(out, " at %.0f of %.0f MHz", clock * most / 1e6, most / 1e6);
        strbuf_putf(out, " by %s", held_by_words(f->held_by));
        if (f->held_by == HELD_BY_POWER && gpu->power_limit > 0)
                strbuf_putf(out, " (%.0f W)", gpu->power_limit);
}

/* When; stretches that follow one another without a gap are one time. */
static void put_from_to(struct strbuf *out, const struct limit_finding *f)
{
        if (f->until_s - f->from_s > f->seconds + GAP_S) {
                strbuf_putf(out, ", in %zu stretches", f->n);
                return;
        }
        if (f->until_s < LONG_S) {
                strbuf_putf(out, ", from %.1f to %.1f s", f->from_s, f->until_s);
                return;
        }
        strbuf_puts(out, ", from ");
        report_put_seconds(out, f->from_s);
        strbuf_puts(out, " to ");
        report_put_seconds(out, f->until_s);
}

double report_finding_share(const struct stretch_list *list, const struct limit_finding *f)
{
        return list->seconds > 0 ? f->seconds / list->seconds : 1;
}

static void put_subject(struct strbuf *out, const struct stretch_list *list,
                        const struct limit_finding *f)
{
        const struct stretch *s = &list->list[f->stretch];
        char text[FORMAT_MAX];
        double share = report_finding_share(list, f);
        bool startup = f->limiter == LIMITER_HOST_STARTING, several = gpu_set_count(&f->gpus) > 1;
        strbuf_puts(out, several ? "GPUs " : "GPU ");
        report_stretch_gpus(list, &f->gpus, out);
        const char *past = limiter_info(f->limiter)->past;
        strbuf_puts(out, past[0] ? ": " : " ");
        if (!past[0])
                strbuf_putf(out, "%s ", limiter_lead(f->basis));
        put_filled(out, past[0] ? past : limiter_sight(f->limiter, f->basis)->words,
                   several ? "them" : "it");
        if (f->limiter == LIMITER_UNKNOWN && s->limit.or_else != LIMITER_UNKNOWN) {
                strbuf_puts(out, ", ");
                explain_candidates(&s->limit, out);
                strbuf_putc(out, ',');
        }
        put_held(out, list, f);
        strbuf_puts(out, f->limiter == LIMITER_UNKNOWN && s->limit.or_else ? " for " : ", for ");
        report_put_seconds(out, f->seconds);
        strbuf_putf(out, " (%s of the run", format_share(text, share));
        put_from_to(out, f);
        if (f->before_work && !startup)
                strbuf_puts(out, ", before its work began");
        if (s->phase[0]) {
                strbuf_puts(out, f->phases_differ ? ", the longest in " : ", in ");
                text_put(out, s->phase, PHASE_NAME_MAX);
        }
        strbuf_putc(out, ')');
}

#define WON_LEAST 0.005 /* of the run: less cannot be seen in its length */

/* "this run: 15.3 s → about 8.1 s at best". A start-up is won once, however long the run is. */
static void put_run_at_best(struct strbuf *out, const struct stretch_list *list,
                            const struct limit_finding *f, const char *before)
{
        size_t gpus = gpu_set_count(&f->gpus);
        double best_s = stretch_list_at_best(list, f);
        if (list->seconds - best_s < WON_LEAST * list->seconds)
                return;
        strbuf_puts(out, before);
        strbuf_puts(out, gpus == list->n_gpus ? "this run: "
                         : gpus == 1          ? "this GPU: "
                                              : "these GPUs: ");
        report_put_seconds(out, list->seconds);
        strbuf_puts(out, " → about ");
        report_put_seconds(out, best_s);
        strbuf_puts(out, " at best");
        if (f->before_work || f->limiter == LIMITER_HOST_STARTING)
                strbuf_puts(out, ", once for each start");
}

/* What would have to be full. Memory has a clock of its own. */
static const char *full_words(const struct limit_finding *f)
{
        bool held = f->held_by != HELD_BY_NOTHING;
        if (f->limiter == LIMITER_MEMORY_BANDWIDTH || f->limiter == LIMITER_MEMORY_ACCESS)
                return "with device memory full";
        if (f->limiter == LIMITER_KERNEL)
                return held ? "at full clock and with the busiest unit full"
                            : "with the busiest unit full";
        return held ? "at full clock and a full unit" : "with that unit full";
}

/* What more workers can give, and how much cheaper a sample must be for a full GPU. */
static void put_workers_gain(struct strbuf *out, const struct limit_finding *f)
{
        const struct ceilings *c = &f->why;
        double engine = value_or(ceiling_value(c, CEILING_ENGINE), 0),
               used = value_or(ceiling_value(c, CEILING_CPU), 0);
        if (f->limiter != LIMITER_HOST_INPUT || limit_worker_share(c) < LIMIT_WORKERS_FULL ||
            used <= 0)
                return;
        if (used < 1 / WORKERS_MORE)
                strbuf_putf(out, "; more workers: at most %.1f × before all CPUs are busy",
                            1 / used);
        else
                strbuf_puts(out, "; no CPU is left for more workers");
        if (engine > ENGINE_LEAST && engine < 1 / WORKERS_MORE)
                strbuf_putf(out, "; a full GPU needs %.2g × as many samples", 1 / engine);
}

static void put_gain(struct strbuf *out, const struct stretch_list *list,
                     const struct limit_finding *f)
{
        /* Other engines leave kernels no work: what can be won is the time without kernels. */
        bool device =
            limiter_side(f->limiter) == LIMITER_SIDE_DEVICE && f->limiter != LIMITER_CODEC;
        if (f->limiter == LIMITER_UNKNOWN || f->limiter == LIMITER_IDLE || (f->unbounded && device))
                return;
        if (f->gain == 0 || !device) {
                put_run_at_best(out, list, f, "; ");
                if (f->gain >= 1.05 && f->gain < 10)
                        strbuf_putf(out, "; the %s would be busy %.1f × as much",
                                    f->limiter == LIMITER_LAUNCH ? "SMs" : "GPU", f->gain);
                put_workers_gain(out, f);
        } else if (f->limiter == LIMITER_PARALLELISM) {
                strbuf_putf(out, "; up to %.0f × the work fits", f->gain);
        } else if (f->gain >= 1.05) {
                strbuf_putf(out, "; at most %.1f × faster %s", f->gain, full_words(f));
                put_run_at_best(out, list, f, "; ");
        } else {
                strbuf_puts(out, "; it is as good as full");
        }
}

void report_finding(const struct stretch_list *list, const struct limit_finding *f,
                    struct strbuf *out)
{
        put_subject(out, list, f);
        strbuf_puts(out, ": ");
        const struct stretch *s = &list->list[f->stretch];
        const char *gap = put_reasons(out, f);
        if (f->limiter == LIMITER_UNKNOWN && s->limit.or_else == LIMITER_UNKNOWN)
                put_missing(out, s->limit.missing, gap);
        if (s->flops.type) {
                char rate[2 * FORMAT_MAX];
                format_flops(rate, sizeof(rate), s->flops.lo, s->flops.hi);
                strbuf_putf(out, ", %s %s%s", rate, s->flops.type,
                            stretch_gpus(s) > 1 ? " a GPU" : "");
        }
        put_gain(out, list, f);
}

/* A line in code that many programs spend their time in has advice of its own, unless it is the
 * CPU that the program waits for. */
const char *report_finding_try(const struct stretch_list *list, const struct limit_finding *f)
{
        const char *advice = limiter_side(f->limiter) == LIMITER_SIDE_HOST
                                 ? where_advice(stretch_list_where(list, f->where))
                                 : NULL;
        if (advice && !limit_lacks_cpus(&f->why))
                return advice;
        return limiter_try(f->limiter, &f->why, f->framework);
}
