/* From stretches to findings: what could be won, and which is reported first. */
#include "base/attr.h"
#include "compute/stretches.h"

#include <string.h>

/* What the GPU's units reach at most in real programs, while kernels run. */
static const double full_share[CEILING_COUNT] = {
    [CEILING_TENSOR] = 0.93, [CEILING_FP64] = 0.95, [CEILING_FP32] = 0.95,
    [CEILING_FP16] = 0.95,   [CEILING_INT] = 0.95,  [CEILING_DRAM] = 0.92,
};

#define START_SHARE 0.8  /* of the run: it is nearly all start-up */
#define SMALL_STAKE 0.02 /* GPUs that nobody uses are reported last */

static double share_of(const struct ceilings *c, enum ceiling at)
{
        return c->present & CEILING_AT(at) ? (double)c->v[at] : 0;
}

static double busy_share(const struct ceilings *c, enum ceiling at)
{
        double engine = share_of(c, CEILING_ENGINE);
        double share = engine > 0 ? share_of(c, at) / engine : 0;
        return MIN(share / full_share[at], 1);
}

static double best_pipe(const struct ceilings *c)
{
        double best = 0;
        for (enum ceiling i = 0; i < CEILING_COUNT; i++)
                best = full_share[i] > 0 ? MAX(best, busy_share(c, i)) : best;
        return best;
}

/* Clocks that are held down count when the work follows them: memory has a clock of its own. */
static double clock_share(const struct limit *l)
{
        bool follows = l->limiter != LIMITER_MEMORY_BANDWIDTH;
        double clock = share_of(&l->ceilings, CEILING_CLOCK);
        return l->held_by != HELD_BY_NOTHING && follows && clock > 0 ? MIN(clock, 1) : 1;
}

/* The share in use of what could be used at most, 0 to 1. */
static double used_share(const struct limit *l)
{
        const struct ceilings *c = &l->ceilings;
        unsigned fills = limiter_info((enum limiter)l->limiter)->fills;
        if (fills == FILLS_NOTHING)
                return 0;
        if (fills == FILLS_UNKNOWN)
                return c->present & CEILING_BIT(ENGINE) ? share_of(c, CEILING_ENGINE) : 1;
        if (fills == FILLS_BUSIEST)
                return best_pipe(c) * clock_share(l);
        if (full_share[fills] == 0)
                return share_of(c, (enum ceiling)fills);
        bool pipe = CEILINGS_PIPES & CEILING_AT(fills);
        return busy_share(c, (enum ceiling)fills) * (pipe ? clock_share(l) : 1);
}

/* Whether it is known how full that is which would be full. */
static bool is_bounded(const struct limit *l)
{
        unsigned fills = limiter_info((enum limiter)l->limiter)->fills;
        if (fills == FILLS_BUSIEST)
                return l->ceilings.present & CEILINGS_PROFILING;
        return fills >= CEILING_COUNT || l->ceilings.present & CEILING_AT(fills);
}

#define UNBOUNDED_STAKE (1.0 / 3) /* of a time that kernels fill, nobody knows how well */

/* Where it is not, kernels that do not fill the GPU leave the time without any, others a third. */
static double won_share(const struct limit *l)
{
        if (l->basis == BASIS_COUNTERS || is_bounded(l))
                return 1 - used_share(l);
        bool device = limiter_side((enum limiter)l->limiter) == LIMITER_SIDE_DEVICE;
        return device ? UNBOUNDED_STAKE : 1 - share_of(&l->ceilings, CEILING_ENGINE);
}

/* Below this share a factor says nothing but "much". */
#define SHARE_LEAST 0.01

/* Means by GPU-seconds of what all have. */
static void add_why(struct limit_finding *f, const struct ceilings *c, double gpu_s)
{
        f->why.present &= c->present;
        for (size_t i = 0; i < CEILING_COUNT && gpu_s > 0; i++)
                f->why.v[i] += (c->v[i] - f->why.v[i]) * (float)(gpu_s / (f->gpu_s + gpu_s));
}

/* Adds what a stretch reports some of its GPUs. */
static void add_stretch(struct stretch_list *list, size_t at, const struct gpu_set *gpus)
{
        const struct stretch *s = &list->list[at];
        struct limit_finding *f = NULL;
        double seconds = s->end_s - s->begin_s, gpu_s = seconds * (double)gpu_set_count(gpus);
        for (size_t i = 0; i < list->n_findings && !f; i++) {
                struct limit_finding *have = &list->findings[i];
                if (have->limiter == s->limit.limiter && have->held_by == s->limit.held_by &&
                    have->basis == s->limit.basis && have->before_work == s->before_work)
                        f = have;
        }
        if (!f && list->n_findings == FINDINGS_MAX)
                return;
        if (!f) {
                f = &list->findings[list->n_findings++];
                *f = (struct limit_finding){.limiter = (enum limiter)s->limit.limiter,
                                            .held_by = (enum held_by)s->limit.held_by,
                                            .basis = (enum basis)s->limit.basis,
                                            .before_work = s->before_work,
                                            .framework = list->framework,
                                            .stretch = at,
                                            .from_s = s->begin_s,
                                            .why = s->limit.ceilings};
        }
        const struct stretch *longest = &list->list[f->stretch];
        f->phases_differ = f->phases_differ || strcmp(longest->phase, s->phase) != 0;
        if (seconds > longest->end_s - longest->begin_s)
                f->stretch = at;
        f->n++;
        gpu_set_join(&f->gpus, gpus);
        /* They come by their beginning; those of several GPUs overlap. */
        f->seconds += MAX(s->end_s - MAX(s->begin_s, f->until_s), 0);
        f->until_s = MAX(f->until_s, s->end_s);
        add_why(f, &s->limit.ceilings, gpu_s);
        f->gpu_s += gpu_s;
        f->won_s += gpu_s * won_share(&s->limit);
        f->unbounded = f->unbounded || (f->basis == BASIS_DRIVER && !is_bounded(&s->limit));
}

#define WIN_LEAST 0.1 /* share of the run, of the GPUs of a finding */

/*
 * What wins most comes first. What wins little comes after all that, by the time it takes:
 * a run that fills the tensor cores is limited by these and not by the few seconds in which it
 * waits.
 */
static double seconds_at_stake(const struct stretch_list *list, const struct limit_finding *f)
{
        double won = list->seconds - stretch_list_at_best(list, f);
        if (f->limiter == LIMITER_IDLE)
                return SMALL_STAKE * f->gpu_s;
        return won >= WIN_LEAST * list->seconds ? list->seconds * STRETCH_GPUS_MAX + f->won_s
                                                : f->gpu_s;
}

static bool is_startup(const struct limit_finding *f)
{
        return f->before_work || f->limiter == LIMITER_HOST_STARTING;
}

static void move_first(struct stretch_list *list, size_t at)
{
        struct limit_finding f = list->findings[at];
        memmove(&list->findings[1], &list->findings[0], at * sizeof(f));
        list->findings[0] = f;
}

/* The part of the time in which GPUs are used that is start-up. */
static double startup_share(const struct stretch_list *list)
{
        double all = 0, startup = 0;
        for (size_t i = 0; i < list->n_findings; i++) {
                const struct limit_finding *f = &list->findings[i];
                all += f->limiter == LIMITER_IDLE ? 0 : f->gpu_s;
                startup += is_startup(f) ? f->gpu_s : 0;
        }
        return all > 0 ? startup / all : 0;
}

/* The start-up comes first only when it is nearly all: it is present once, however long the program
 * runs. */
static void put_startup_behind(struct stretch_list *list)
{
        if (!is_startup(&list->findings[0]) || startup_share(list) >= START_SHARE)
                return;
        for (size_t i = 1; i < list->n_findings; i++) {
                const struct limit_finding *f = &list->findings[i];
                if (!is_startup(f) && f->limiter != LIMITER_IDLE) {
                        move_first(list, i);
                        return;
                }
        }
}

static void put_in_order(struct stretch_list *list)
{
        for (size_t i = 0; i < list->n_findings; i++) {
                struct limit_finding *f = &list->findings[i];
                double used = f->gpu_s > 0 ? 1 - f->won_s / f->gpu_s : 1;
                f->gain = used > SHARE_LEAST && !f->unbounded ? 1 / used : 0;
        }
        for (size_t i = 1; i < list->n_findings; i++) {
                struct limit_finding f = list->findings[i];
                size_t at = i;
                for (; at > 0 &&
                       seconds_at_stake(list, &list->findings[at - 1]) < seconds_at_stake(list, &f);
                     at--)
                        list->findings[at] = list->findings[at - 1];
                list->findings[at] = f;
        }
        if (list->n_findings > 0)
                put_startup_behind(list);
}

void findings_rank(struct stretch_list *list)
{
        list->n_findings = 0;
        for (size_t i = 0; i < list->n; i++)
                add_stretch(list, i, &list->list[i].gpus);
        put_in_order(list);
}

/* Whatever holds the clocks; what comes before the work has begun is another finding. */
static bool is_same_limiter(const struct limit_finding *a, const struct limit_finding *b)
{
        return a->limiter == b->limiter && a->before_work == b->before_work;
}

void findings_limit(const struct stretch_list *list, const char *phase, const struct gpu_set *gpus,
                    double seconds, struct limited *ret)
{
        /* The stretches are borrowed; the findings are those of the part alone. */
        struct stretch_list part = {
            .seconds = seconds, .n = list->n, .list = list->list, .framework = list->framework};
        struct limited l = {0};
        double all = 0, same = 0;
        for (size_t i = 0; i < list->n; i++) {
                struct gpu_set of = list->list[i].gpus;
                if (phase && strcmp(phase, list->list[i].phase) != 0)
                        continue;
                gpu_set_intersect(&of, gpus);
                if (gpu_set_first(&of) < STRETCH_GPUS_MAX)
                        add_stretch(&part, i, &of);
        }
        put_in_order(&part);
        if (part.n_findings > 0)
                l = (struct limited){.is_known = true,
                                     .limiter = part.findings[0].limiter,
                                     .held_by = part.findings[0].held_by,
                                     .basis = part.findings[0].basis,
                                     .before_work = part.findings[0].before_work};
        for (size_t i = 0; i < part.n_findings; i++) {
                all += part.findings[i].gpu_s;
                if (is_same_limiter(&part.findings[0], &part.findings[i]))
                        same += part.findings[i].gpu_s;
        }
        l.share = all > 0 ? same / all : 0;
        *ret = l;
}
