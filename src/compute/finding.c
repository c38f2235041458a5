/* What a summary means: tags for each phase, and what held the run back. */
#include "compute/summary.h"

#include "base/attr.h"

/* A share of samples at which memory that nobody uses is worth a tag. */
#define UNUSED_SHARE 0.5

static double unused_share(const struct scope *scope)
{
        double most = 0;
        for (size_t i = 0; i < scope->n; i++) {
                const struct gpu_summary *g = scope->gpus[i];
                double of = (double)g->allocated_unused_of;
                double share = of > 0 ? (double)g->allocated_unused / of : 0;
                most = MAX(most, share);
        }
        return most;
}

/* The mean over GPUs of a metric's mean, or the largest of them; missing when no GPU has it. */
static struct value over_gpus(const struct scope *scope, enum metric metric, bool largest)
{
        double sum = 0, most = 0;
        size_t n = 0;
        for (size_t i = 0; i < scope->n; i++) {
                struct value v = spread_mean(&scope->gpus[i]->m[metric]);
                if (!value_there(v))
                        continue;
                sum += v.v;
                most = MAX(most, v.v);
                n++;
        }
        if (n == 0)
                return value_missing(STATE_NONE);
        return value_ok(largest ? most : sum / (double)n);
}

/* The GPUs' side of the tags. */
struct gpu_load {
        struct value util, memory; /* ratios: mean over GPUs, the fullest GPU */
        double unused;             /* share of the samples of the GPU that has most */
};

static struct gpu_load device_load(const struct scope *scope)
{
        return (struct gpu_load){.util = over_gpus(scope, METRIC_GPU_UTIL, false),
                                 .memory = over_gpus(scope, METRIC_FB_USED_RATIO, true),
                                 .unused = unused_share(scope)};
}

/* Where the level has processes, a sample without any is one without use. */
static struct gpu_load level_load(const struct scope *scope)
{
        const struct level_summary *l = &scope->level;
        const double samples = (double)MAX(l->samples, (uint64_t)1);
        const struct value total = over_gpus(scope, METRIC_FB_TOTAL, true);
        struct gpu_load load = {.util = value_missing(STATE_NONE),
                                .memory = value_missing(STATE_NONE)};
        double util = 0, memory = 0;
        size_t n = 0, n_memory = 0;
        for (size_t i = 0; i < l->n_gpus; i++) {
                const struct level_gpu_summary *g = &l->gpus[i];
                util += g->util / samples;
                n += g->n_util > 0;
                memory = MAX(memory, g->memory / samples);
                n_memory += g->n_memory > 0;
                if (g->both > 0)
                        load.unused = MAX(load.unused, (double)g->allocated_unused / samples);
        }
        if (n > 0)
                load.util = value_ok(util / (double)n);
        if (n_memory > 0 && value_there(total) && total.v > 0)
                load.memory = value_ok(memory / total.v);
        return load;
}

static size_t tags_of(const struct scope *scope, enum level level,
                      const struct tag_thresholds *thresholds, struct tag_score ret[TAG_COUNT])
{
        /* Others' work is no property of the level. */
        bool devices = level == LEVEL_SYSTEM || scope->level.n_gpus == 0;
        const struct gpu_load gpu = devices ? device_load(scope) : level_load(scope);
        const struct {
                enum tag tag;
                struct value v;
                double threshold;
        } rules[] = {
            {TAG_CPU_BOUND, spread_mean(&scope->level.cpu_share), thresholds->cpu},
            /* Memory that nearly ran out once is what ends jobs. */
            {TAG_MEMORY_BOUND, spread_max(&scope->level.memory_share), thresholds->memory},
            {TAG_GPU_UTIL_BOUND, gpu.util, thresholds->gpu_util},
            {TAG_GPU_MEMORY_BOUND, gpu.memory, thresholds->gpu_memory},
        };
        size_t n = 0, first = 0;
        if (gpu.unused >= UNUSED_SHARE)
                ret[n++] = (struct tag_score){TAG_ALLOCATED_UNUSED, gpu.unused};
        first = n;
        for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
                if (!value_there(rules[i].v) || rules[i].v.v < rules[i].threshold)
                        continue;
                size_t at = n++;
                for (; at > first && ret[at - 1].score < rules[i].v.v; at--)
                        ret[at] = ret[at - 1];
                ret[at] = (struct tag_score){rules[i].tag, rules[i].v.v};
        }
        if (n == 0 && (scope->n > 0 || scope->level.samples > 0))
                ret[n++] = (struct tag_score){TAG_NORMAL, 0};
        return n;
}

/* ---- what held it back ---- */

/* Shares of a GPU's time, by what limited it. */
struct shares {
        double idle;
        double lead, between, tail; /* idle before the first work, between works, after the last */
        double compute, memory, io, unknown;
        double gr, sm, dram; /* mean activity; 0 when not measured */
};

static struct shares shares_of(const struct gpu_summary *g)
{
        struct shares s = {0};
        double all = 0;
        for (size_t i = 0; i < WORKLOAD_COUNT; i++)
                all += g->class_s[i];
        for (enum workload w = 0; w < WORKLOAD_COUNT; w++) {
                double share = all > 0 ? g->class_s[w] / all : w == g->newest;
                switch (workload_bottleneck(w)) {
                case BOTTLENECK_IDLE:
                        s.idle += share;
                        break;
                case BOTTLENECK_COMPUTE:
                        s.compute += share;
                        break;
                case BOTTLENECK_MEMORY:
                        s.memory += share;
                        break;
                case BOTTLENECK_IO:
                        s.io += share;
                        break;
                case BOTTLENECK_UNKNOWN:
                        s.unknown += share;
                        break;
                case BOTTLENECK_MIXED:
                        break;
                }
        }
        if (all > 0 && g->worked) {
                s.lead = g->lead_s / all;
                s.tail = g->tail_s / all;
                s.between = s.idle - s.lead - s.tail;
        }
        struct value gr = spread_mean(&g->m[METRIC_GR_ACTIVE]);
        s.gr = value_there(gr) ? gr.v : spread_mean(&g->m[METRIC_GPU_UTIL]).v;
        s.sm = spread_mean(&g->m[METRIC_SM_ACTIVE]).v;
        s.dram = spread_mean(&g->m[METRIC_DRAM_ACTIVE]).v;
        return s;
}

#define MUCH 0.5  /* of the time: it is what the phase is about */
#define A_LOT 0.3 /* of the time idle, between bursts of work: somebody waits */
#define SOME 0.1  /* of the time: it is there */
#define NEARLY_ALL 0.9
#define BUSY 0.25      /* engine activity that should keep the SMs busy */
#define FEW_SMS 0.5    /* SM activity of the engine's: kernels that leave SMs without work */
#define FULL_DRAM 0.7  /* device memory peaks at 80 to 90 % */
#define HEAT_SHARE 0.1 /* of the time slowed down by heat */

#define IO_WAIT 0.3  /* cores that wait for I/O: somebody does so much of the time */
#define IO_NONE 0.1  /* and at most so many is nobody */
#define CORE_LO 0.85 /* cores: one thread that never rests, and little beside it */
#define CORE_HI 1.3
#define CORE_SOME 0.4 /* cores: more than a process that mostly sleeps */
#define CPUS_BUSY 0.7 /* of the CPUs that may be used */

static enum wait wait_of(const struct level_summary *l)
{
        struct value cpu = spread_mean(&l->cpu), share = spread_mean(&l->cpu_share);
        struct value io = spread_mean(&l->io_wait);
        if (!value_there(cpu))
                return WAIT_UNKNOWN;
        if (value_there(share) && share.v >= CPUS_BUSY)
                return WAIT_CPU;
        if (cpu.v >= CORE_LO && cpu.v <= CORE_HI)
                return WAIT_ONE_CORE;
        if (value_there(io) && io.v >= IO_WAIT)
                return WAIT_IO;
        return cpu.v >= CORE_SOME ? WAIT_SOME : WAIT_OTHER;
}

/* Copies that go on to storage, or come from there, are as slow as it is. */
static bool through_storage(const struct gpu_summary *g, const struct level_summary *l)
{
        double link = spread_mean(&g->m[METRIC_PCIE_RX]).v + spread_mean(&g->m[METRIC_PCIE_TX]).v;
        double storage = spread_mean(&l->read).v + spread_mean(&l->write).v;
        return storage > 0 && storage >= MUCH * link;
}

/* Kernels that leave SMs without work; with one thread that never rests also where they are rare.
 */
static bool launches_limit(const struct shares *t, enum wait wait)
{
        return t->gr >= (wait == WAIT_ONE_CORE ? SOME : BUSY) && t->sm < FEW_SMS * t->gr &&
               t->memory < MUCH;
}

static struct hold_back hold_of(const struct summary *s, size_t scope, size_t gpu)
{
        const struct gpu_summary *g = s->scopes[scope].gpus[gpu];
        struct shares t = shares_of(g);
        struct hold_back h = {.scope = scope, .gpu = gpu, .what = HOLD_NOTHING, .share = t.compute};
        struct value io = spread_mean(&s->scopes[scope].level.io_wait);
        h.wait = wait_of(&s->scopes[scope].level);
        h.no_io_wait = value_there(io) && io.v < IO_NONE;
        double heat = g->seconds > 0 ? g->throttle_heat_s / g->seconds : 0;
        double bad = g->seconds > 0 ? g->health_s[HEALTH_CRIT] / g->seconds : 0;
        if (bad > 0)
                h.what = HOLD_UNHEALTHY, h.share = bad;
        else if (heat >= HEAT_SHARE)
                h.what = HOLD_HEAT, h.share = heat;
        else if (t.unknown >= MUCH)
                h.what = HOLD_UNKNOWN, h.share = t.unknown;
        else if (t.io >= MUCH)
                h.what = through_storage(g, &s->scopes[scope].level) ? HOLD_STORAGE : HOLD_COPIES,
                h.share = t.io;
        else if (t.idle >= NEARLY_ALL)
                h.what = g->idle_allocated_s > MUCH * g->seconds ? HOLD_IDLE_ALLOCATED : HOLD_IDLE,
                h.share = t.idle;
        else if (t.idle >= A_LOT && t.compute + t.memory >= SOME && t.tail < MUCH * t.idle)
                h.what = t.between >= t.lead ? HOLD_STARVED : HOLD_STARTING,
                h.share = t.between >= t.lead ? t.idle : t.lead;
        else if (launches_limit(&t, h.wait))
                h.what = HOLD_SMALL_KERNELS, h.share = t.gr - t.sm;
        else if (t.idle >= A_LOT)
                h.what = g->idle_allocated_s > SOME * g->seconds ? HOLD_IDLE_ALLOCATED : HOLD_IDLE,
                h.share = t.idle;
        else if (t.memory >= MUCH || t.dram >= FULL_DRAM)
                h.what = HOLD_MEMORY, h.share = t.memory >= MUCH ? t.memory : t.dram;
        else if (t.compute < A_LOT)
                h.what = HOLD_MIXED, h.share = 1 - t.compute;
        h.lost_s = h.share * g->seconds;
        return h;
}

static double rank(const struct hold_back *h)
{
        static const double weights[HOLD_COUNT] = {
#define HOLD(id, weight) weight,
            HOLDS(HOLD)
#undef HOLD
        };
        return h->lost_s * weights[h->what];
}

static void judge_scope(struct summary *s, size_t at, const struct tag_thresholds *thresholds)
{
        struct scope *scope = &s->scopes[at];
        bool counts = at > 0 || s->n == 1; /* the whole run only when there are no phases */
        scope->n_tags = tags_of(scope, s->level, thresholds, scope->tags);
        for (size_t i = 0; i < scope->n; i++) {
                struct hold_back h = hold_of(s, at, i);
                scope->gpus[i]->hold = h;
                if (!counts || (s->has_finding && rank(&h) <= rank(&s->finding)))
                        continue;
                s->finding = h;
                s->has_finding = true;
        }
}

void summary_judge(struct summary *s, const struct tag_thresholds *thresholds)
{
        s->has_finding = false;
        summary_settle_energy(s);
        for (size_t i = 0; i < s->n; i++)
                judge_scope(s, i, thresholds);
}
