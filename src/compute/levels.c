#include "compute/levels.h"

#include "base/attr.h"
#include "base/clock.h"

#include <stdio.h>

#define BUSY_CORE 0.05

static struct value value_ratio(struct value part, struct value whole)
{
        if (!value_is_set(part))
                return value_missing((enum state)part.state);
        if (!value_is_set(whole) || !(whole.v > 0))
                return value_missing(STATE_NONE);
        return value_ok(part.v / whole.v);
}

static struct value value_less(struct value a, struct value b)
{
        if (!value_is_set(a) || !value_is_set(b))
                return value_missing((enum state)(value_is_set(a) ? b.state : a.state));
        return a.v >= b.v ? value_ok(a.v - b.v) : value_missing(STATE_ERROR);
}

static void compute_level(const struct level_state *before, struct level_state *now, double seconds)
{
        static const struct value nothing = {0};
        if (!now->present)
                return;
        for (enum figure i = 0; i < FIGURE_COUNT; i++) {
                const struct metric_info *info = figure_info(i);
                if (info->kind == METRIC_KIND_RATE)
                        now->f[i] = value_rate(
                            now->f[info->of],
                            before && before->present ? before->f[info->of] : nothing, seconds);
        }
        now->f[FIGURE_CPU_SHARE] = value_ratio(now->f[FIGURE_CPU], now->f[FIGURE_CPUS]);
        /* No limit is called reached on an upper bound. */
        struct value bound = now->f[FIGURE_MEMORY_BOUND];
        now->f[FIGURE_MEMORY_SHARE] =
            value_is_set(bound) && bound.v > 0
                ? value_missing(STATE_BLANK)
                : value_ratio(now->f[FIGURE_MEMORY], now->f[FIGURE_MEMORY_LIMIT]);
}

/* Shares are of the growth of all CPU times together, so that they sum to 1 whatever the clock. */
static void compute_shares(const struct host *before, struct host *now)
{
        double all = 0;
        for (enum system_figure i = SYSTEM_USER_TIME; i <= SYSTEM_STEAL_TIME; i++) {
                struct value d =
                    before ? value_rate(now->system[i], before->system[i], 1) : now->system[i];
                /* iowait may fall by the kernel's own admission (proc(5)): it then did not grow. */
                all += before && value_is_set(d) ? d.v : 0;
        }
        for (enum system_figure i = 0; i < SYSTEM_COUNT; i++) {
                const struct metric_info *info = system_figure_info(i);
                if (info->kind != METRIC_KIND_SHARE)
                        continue;
                struct value d =
                    before ? value_rate(now->system[info->of], before->system[info->of], 1)
                           : value_missing(STATE_BLANK);
                if (d.state == STATE_ERROR && value_is_set(now->system[info->of]))
                        d = value_ok(0);
                now->system[i] = value_is_set(d) && !(all > 0) ? value_missing(STATE_BLANK)
                                 : value_is_set(d)             ? value_ok(d.v / all)
                                                               : d;
        }
}

/* The machine's load by its own clock: at short ticks the wall's does not fit the 10 ms that the
 * kernel counts in. */
static void compute_system_cpu(struct host *now)
{
        struct value *f = now->levels[LEVEL_SYSTEM].f;
        struct value share = host_cpu_busy(now);
        if (!value_is_set(share))
                return;
        f[FIGURE_CPU_SHARE] = share;
        if (value_is_set(f[FIGURE_CPUS]))
                f[FIGURE_CPU] = value_ok(share.v * f[FIGURE_CPUS].v);
}

/* Of every GPU, also of those that the host does not name yet. */
static void compute_evidence(const struct host *before, struct host *now, double seconds)
{
        for (size_t gpu = 0; gpu < HOST_GPUS_MAX; gpu++) {
                struct value *e = now->evidence[gpu].e;
                for (enum evidence i = 0; i < EVIDENCE_COUNT; i++) {
                        const struct metric_info *info = evidence_info(i);
                        if (info->kind == METRIC_KIND_RATE)
                                e[i] = value_rate(e[info->of],
                                                  before ? before->evidence[gpu].e[info->of]
                                                         : value_missing(STATE_BLANK),
                                                  seconds);
                }
                e[EVIDENCE_NET_RX] = now->system[SYSTEM_NET_RX];
                e[EVIDENCE_NET_TX] = now->system[SYSTEM_NET_TX];
                e[EVIDENCE_NET_LOOPBACK] = now->system[SYSTEM_NET_LOOPBACK];
        }
}

static void compute_cores(const struct host *before, struct host *now)
{
        struct value least = value_missing(STATE_BLANK), most = least;
        double busy = 0;
        for (size_t i = 0; i < now->n_cores; i++) {
                struct host_core *c = &now->cores[i];
                const struct host_core *b =
                    before && i < before->n_cores ? &before->cores[i] : NULL;
                if (!b || !(c->total_s > 0) || !(c->total_s > b->total_s)) {
                        c->util = value_missing(c->total_s > 0 ? STATE_BLANK : STATE_NONE);
                        continue;
                }
                double v = (c->busy_s - b->busy_s) / (c->total_s - b->total_s);
                c->util = value_ok(v < 0 ? 0 : v > 1 ? 1 : v);
                if (!value_is_set(least) || c->util.v < least.v)
                        least = c->util;
                if (!value_is_set(most) || c->util.v > most.v)
                        most = c->util;
                busy += c->util.v > BUSY_CORE;
        }
        now->system[SYSTEM_CPU_MIN] = least;
        now->system[SYSTEM_CPU_MAX] = most;
        now->system[SYSTEM_BUSY_CORES] = value_is_set(most) ? value_ok(busy) : most;
}

void levels_compute(const struct host *before, struct host *now)
{
        double seconds = before ? clock_to_seconds(now->mono_ns - before->mono_ns) : 0;
        struct value *v = now->system;
        now->interval_ns = before ? now->mono_ns - before->mono_ns : 0;
        for (enum system_figure i = 0; i < SYSTEM_COUNT; i++) {
                const struct metric_info *info = system_figure_info(i);
                if (info->kind == METRIC_KIND_RATE)
                        v[i] = value_rate(v[info->of],
                                          before ? before->system[info->of]
                                                 : value_missing(STATE_BLANK),
                                          seconds);
                /* Stall times are counted to the microsecond, ticks are not. */
                if (info->kind == METRIC_KIND_RATE && info->unit == UNIT_RATIO && v[i].v > 1)
                        v[i].v = 1;
        }
        compute_shares(before, now);
        compute_evidence(before, now, seconds);
        compute_cores(before, now);
        v[SYSTEM_MEM_USED] = value_less(v[SYSTEM_MEM_TOTAL], v[SYSTEM_MEM_AVAILABLE]);
        v[SYSTEM_SWAP_USED] = value_less(v[SYSTEM_SWAP_TOTAL], v[SYSTEM_SWAP_FREE]);
        now->levels[LEVEL_SYSTEM].f[FIGURE_MEMORY] = v[SYSTEM_MEM_USED];
        for (enum level l = 0; l < LEVEL_COUNT; l++)
                compute_level(before ? &before->levels[l] : NULL, &now->levels[l], seconds);
        if (now->levels[LEVEL_SYSTEM].present)
                compute_system_cpu(now);
}

size_t levels_add_gpu(struct host *h, const char *label)
{
        if (h->n_gpus == HOST_GPUS_MAX)
                return HOST_GPUS_MAX;
        size_t gpu = h->n_gpus++;
        snprintf(h->gpus[gpu], sizeof(h->gpus[gpu]), "%s", label);
        for (enum level l = 0; l < LEVEL_COUNT; l++)
                h->levels[l].gpus[gpu] = (struct level_gpu){0};
        return gpu;
}

void levels_set_device(struct host *h, size_t gpu, struct level_gpu device)
{
        h->levels[LEVEL_SYSTEM].gpus[gpu] = device;
}

static void levels_add(struct value *sum, struct value v, double most)
{
        if (!value_is_set(v))
                return;
        double before = value_is_set(*sum) ? sum->v : 0;
        *sum = value_ok(before + v.v < most ? before + v.v : most);
}

void levels_add_process(struct host *h, unsigned levels, size_t gpu, struct level_gpu process)
{
        for (enum level l = 0; l < LEVEL_SYSTEM; l++) {
                struct level_gpu *g = &h->levels[l].gpus[gpu];
                if (!(levels & LEVEL_BIT(l)))
                        continue;
                levels_add(&g->util, process.util, 1);
                levels_add(&g->mem_copy_util, process.mem_copy_util, 1);
                levels_add(&g->memory, process.memory, 1e18);
        }
}
