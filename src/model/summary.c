#include "model/summary.h"

#include "base/attr.h"

#include <string.h>

/* Makes room for a step; grows by whole octaves so it is rarely. */
bool spread_reach(struct spread *s, unsigned step)
{
        unsigned first = s->steps_n ? s->first : step, end = first + s->steps_n;
        if (s->steps_n && step >= first && step < end)
                return true;
        unsigned from = MIN(first, step) & ~7U;
        unsigned to = (MAX(end, step + 1) + 7) & ~7U;
        struct step *more = calloc(to - from, sizeof(*more));
        if (!more)
                return false;
        if (s->steps_n)
                memcpy(more + (first - from), s->steps, s->steps_n * sizeof(*more));
        free(s->steps);
        s->steps = more;
        s->first = (uint16_t)from;
        s->steps_n = (uint16_t)(to - from);
        return true;
}

void spread_finish(struct spread *s)
{
        free(s->steps);
        *s = (struct spread){0};
}

struct value spread_mean(const struct spread *s)
{
        return s->n ? value_ok(s->sum / (double)s->n) : value_missing(STATE_NONE);
}

struct value spread_max(const struct spread *s)
{
        return s->n ? value_ok(s->max) : value_missing(STATE_NONE);
}

struct value spread_min(const struct spread *s)
{
        return s->n ? value_ok(s->min) : value_missing(STATE_NONE);
}

struct value spread_quantile(const struct spread *s, double q)
{
        bool kept = s->below > 0 || s->steps_n > 0;
        if (s->n == 0 || !kept)
                return value_missing(STATE_NONE);
        double rank = q * (double)(s->n - 1);
        double seen = (double)s->below;
        if (rank < seen)
                return value_ok(s->min < 0 ? s->min : 0);
        for (size_t i = 0; i < s->steps_n; i++) {
                seen += (double)s->steps[i].n;
                if (s->steps[i].n > 0 && rank < seen)
                        return value_ok(s->steps[i].sum / (double)s->steps[i].n);
        }
        return value_ok(s->max);
}

void level_summary_finish(struct level_summary *l)
{
        struct spread *const all[] = {&l->cpu,  &l->cpu_share, &l->memory,    &l->memory_share,
                                      &l->read, &l->write,     &l->processes, &l->usr,
                                      &l->idle, &l->io_wait};
        for (size_t i = 0; i < ARRAY_LEN(all); i++)
                spread_finish(all[i]);
}

static const char *const tag_names[TAG_COUNT] = {
    [TAG_ALLOCATED_UNUSED] = "gpu-allocated-but-not-used",
    [TAG_CPU_BOUND] = "cpu-bound",
    [TAG_MEMORY_BOUND] = "memory-bound",
    [TAG_GPU_UTIL_BOUND] = "gpu-util-bound",
    [TAG_GPU_MEMORY_BOUND] = "gpu-memory-bound",
    [TAG_NORMAL] = "normal",
};

const char *tag_name(enum tag tag)
{
        return tag_names[tag];
}
