/* Tags for each phase, as existing tools read them. */
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
static struct value mean_or_max_of_gpus(const struct scope *scope, enum metric metric, bool largest)
{
        double sum = 0, most = 0;
        size_t n = 0;
        for (size_t i = 0; i < scope->n; i++) {
                struct value v = spread_mean(&scope->gpus[i]->m[metric]);
                if (!value_is_set(v))
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
        return (struct gpu_load){.util = mean_or_max_of_gpus(scope, METRIC_GPU_UTIL, false),
                                 .memory = mean_or_max_of_gpus(scope, METRIC_FB_USED_RATIO, true),
                                 .unused = unused_share(scope)};
}

/* Where the level has processes, a sample without any is one without use. */
static struct gpu_load level_load(const struct scope *scope)
{
        const struct level_summary *l = &scope->level;
        const double samples = (double)MAX(l->samples, (uint64_t)1);
        const struct value total = mean_or_max_of_gpus(scope, METRIC_FB_TOTAL, true);
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
        if (n_memory > 0 && value_is_set(total) && total.v > 0)
                load.memory = value_ok(memory / total.v);
        return load;
}

static size_t tags_of(const struct scope *scope, enum level level,
                      const struct tag_thresholds *thresholds, struct tag_score ret[TAG_COUNT])
{
        /* Others' work is not a property of the level. */
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
                if (!value_is_set(rules[i].v) || rules[i].v.v < rules[i].threshold)
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

void summary_set_tags(struct summary *s, const struct tag_thresholds *thresholds)
{
        summary_settle_energy(s);
        for (size_t i = 0; i < s->n; i++)
                s->scopes[i].n_tags =
                    tags_of(&s->scopes[i], s->level, thresholds, s->scopes[i].tags);
}
