/* The stretches of a run: merged buckets, each judged, those of several GPUs together. */
#include "base/attr.h"
#include "base/clock.h"
#include "base/list.h"
#include "compute/ceilings.h"
#include "compute/stretch_merge.h"
#include "compute/stretch_work.h"
#include "compute/stretches.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define CUT_TOGETHER 0.02 /* of the run: GPUs that change so near each other change together */

struct cutting {
        struct merging merging;
        struct program_times programs;
};

/* ---- boundaries that are known ---- */

static void cut_at_phases(struct cutting *c, const struct stretches *s, const struct phase *phases,
                          size_t n)
{
        double seconds = clock_to_seconds(s->last_ns - s->first_ns);
        double least = MAX(1, CUT_SHARE * seconds);
        int64_t offset = s->first_ns - s->first_wall_ns;
        for (size_t i = 0; i < n; i++) {
                int64_t end = MIN(phases[i].end_ns, s->first_wall_ns + s->last_ns - s->first_ns);
                if (clock_to_seconds(end - phases[i].begin_ns) < least)
                        continue;
                merging_cut_at(&c->merging, stretch_bucket_at(s, phases[i].begin_ns + offset));
                merging_cut_at(&c->merging, stretch_bucket_at(s, end + offset));
        }
}

/* ---- deciding ---- */

struct pipe_sums {
        double lo, hi, seconds;
};

struct sums {
        double seconds, square, active;
        struct pipe_sums pipes[FLOPS_PIPE_COUNT];
        double sum[CEILING_COUNT], weight[CEILING_COUNT];
        double gap[STRETCH_HOST_COUNT], gap_weight[STRETCH_HOST_COUNT];
};

static void add_up(const struct stretch_track *t, size_t from, size_t to, struct sums *ret)
{
        *ret = (struct sums){0};
        for (size_t i = from; i < to; i++) {
                const struct stretch_bucket *b = &t->buckets[i];
                ret->seconds += (double)b->seconds;
                ret->square += (double)b->square;
                ret->active += (double)b->active;
                for (size_t k = 0; k < FLOPS_PIPE_COUNT; k++) {
                        ret->pipes[k].lo += (double)b->pipes[k].lo;
                        ret->pipes[k].hi += (double)b->pipes[k].hi;
                        ret->pipes[k].seconds += (double)b->pipes[k].seconds;
                }
                for (size_t k = 0; k < CEILING_COUNT; k++) {
                        ret->sum[k] += (double)b->sum[k];
                        ret->weight[k] += (double)b->weight[k];
                }
                for (size_t k = 0; k < STRETCH_HOST_COUNT; k++) {
                        ret->gap[k] += (double)b->gap[k];
                        ret->gap_weight[k] += (double)b->gap_weight[k];
                }
        }
}

#define CUT_QUIET 0.02 /* of a stretch's ticks: what recurs seldomer is not work */
#define CUT_KNOWN 0.5  /* of a stretch's time a value must be there to stand for it */
#define CUT_GAPS 0.05  /* of a stretch's time: less is not enough to know the host in gaps */

static void means_of(const struct sums *s, struct ceilings *all, struct ceilings *gaps)
{
        *all = *gaps = (struct ceilings){0};
        for (enum ceiling i = 0; i < CEILING_COUNT; i++) {
                if (s->weight[i] > 0 && s->weight[i] >= CUT_KNOWN * s->seconds)
                        ceiling_set(all, i, s->sum[i] / s->weight[i]);
        }
        for (size_t i = 0; i < STRETCH_HOST_COUNT; i++) {
                if (s->gap_weight[i] > CUT_GAPS * s->seconds)
                        ceiling_set(gaps, STRETCH_HOST_FIRST + (enum ceiling)i,
                                    s->gap[i] / s->gap_weight[i]);
        }
}

#define CUT_EDGE                                                                                   \
        0.25 /* a difference of the engine or the link at an edge that is another thing's */

struct edge_means {
        double engine, link;
};

static bool bucket_differs(const struct stretch_bucket *b, struct edge_means m)
{
        return fabs(stretch_bucket_mean(b, CEILING_ENGINE) - m.engine) > CUT_EDGE ||
               fabs(bucket_link(b) - m.link) > CUT_EDGE;
}

/*
 * Something too short for a stretch of its own, such as the end of a program, lies at an edge of
 * its neighbour. The neighbour is decided without it.
 */
static void trim_idle_ends(const struct stretches *s, const struct stretch_track *t, size_t *from,
                           size_t *to)
{
        size_t third = (*to - *from) / 3;
        size_t most = MIN(third, (size_t)(CUT_SHORTEST_S / clock_to_seconds(s->width_ns)));
        struct sums core;
        add_up(t, *from + third, *to - third, &core);
        if (most == 0 || core.weight[CEILING_ENGINE] <= 0)
                return;
        struct edge_means mean = {.engine = core.sum[CEILING_ENGINE] / core.weight[CEILING_ENGINE]};
        for (enum ceiling i = CEILING_PCIE_IN; i <= CEILING_NVLINK_OUT; i++)
                mean.link = MAX(mean.link, core.weight[i] > 0 ? core.sum[i] / core.weight[i] : 0);
        double variance = core.square / core.seconds - mean.engine * mean.engine;
        if (variance > LIMIT_UNEVEN * LIMIT_UNEVEN)
                return;
        size_t first = *from + most, last = *to - most;
        while (first > *from && !bucket_differs(&t->buckets[first - 1], mean))
                first--;
        while (last < *to && !bucket_differs(&t->buckets[last], mean))
                last++;
        *from = first;
        *to = last;
}

/* Most of a stretch comes before the GPU is used, or all of it, up to its last bucket that is not
 * another thing's, before work begins. */
static bool before_work(const struct stretch_track *t, size_t middle, size_t last,
                        const struct program_time *p)
{
        if (!works_between(t, middle, p->to))
                return false;
        return (p->touched != SIZE_MAX && middle < p->touched) || last <= p->begins;
}

/* Whether something runs again and again: what happens at the beginning alone is not a work. */
static bool work_recurs(const struct stretch_track *t, size_t from, size_t to)
{
        double active = 0, seconds = 0;
        for (size_t i = from + (to - from) / 3; i < to; i++) {
                active += (double)t->buckets[i].active;
                seconds += (double)t->buckets[i].seconds;
        }
        return active >= CUT_QUIET * seconds;
}

/* Whether any profiling counter was read in that time. */
static bool has_counters(const struct sums *s)
{
        for (enum ceiling i = 0; i < CEILING_COUNT; i++) {
                if (CEILINGS_PROFILING & CEILING_AT(i) && s->weight[i] > 0)
                        return true;
        }
        return false;
}

static bool others_used(const struct stretches *s, size_t track)
{
        for (size_t i = 0; i < s->n; i++) {
                if (i != track && s->tracks[i].use.touched)
                        return true;
        }
        return false;
}

static void classify_stretch(const struct stretches *s, size_t track,
                             const struct program_times *programs, size_t from, size_t to,
                             struct sums *ret_sums, struct stretch *ret)
{
        const struct stretch_track *t = &s->tracks[track];
        const struct program_time *program = program_at(programs, (from + to) / 2);
        struct ceilings all, gaps;
        size_t first = from, last = to;
        trim_idle_ends(s, t, &first, &last);
        add_up(t, first, last, ret_sums);
        means_of(ret_sums, &all, &gaps);
        double width = clock_to_seconds(s->width_ns);
        bool before = before_work(t, (from + to) / 2, last, program);
        double engine = (double)all.v[CEILING_ENGINE];
        double variance =
            ret_sums->seconds > 0 ? ret_sums->square / ret_sums->seconds - engine * engine : 0;
        struct situation context = {
            .touched = (from + to) / 2 >= program->touched,
            .worked = !before && works_between(t, 0, to),
            .before = before,
            .ended = is_given_back(s, t, to),
            /* A GPU that is never used is not the one that a program starts on. */
            .elsewhere = !t->use.touched,
            .peers = s->n > 1,
            .peers_used = others_used(s, track),
            .quiet_s = work_recurs(t, from, to) ? 0 : (double)(to - from) * width,
            .uneven = variance > 0 ? sqrt(variance) : 0,
            .seconds = ret_sums->seconds,
            .link_traffic = peak_link_traffic(t->peak, t->link),
            .framework = s->framework,
            .basis = has_counters(ret_sums) ? BASIS_COUNTERS : BASIS_DRIVER,
            .floor = floor_known(&t->floor, t->peak, t->power_limit, t->at_rest),
            .gaps = &gaps,
        };
        double end = clock_to_seconds(s->last_ns - s->first_ns);
        *ret = (struct stretch){.begin_s = (double)from * width,
                                .end_s = MIN((double)to * width, end),
                                .uneven = context.uneven,
                                .before_work = before,
                                .limit = limiter_decide(&all, &context, false)};
        gpu_set_add(&ret->gpus, track);
}

/* FLOP/s over its time, if all of it was of the type that was declared for it. */
static void count_flops(const struct stretch_track *t, const struct sums *sums,
                        enum flops_type type, struct stretch *ret)
{
        if (type >= FLOPS_COUNT)
                return;
        const struct pipe_sums *p = &sums->pipes[flops_pipe(type)];
        ret->flops.missing = flops_missing(type);
        if (p->seconds <= 0)
                return;
        struct flops f = flops_from(t->peak, type, p->lo / p->seconds, p->hi / p->seconds);
        if (f.known)
                ret->flops = (struct flops_rated){.type = flops_name(type), .lo = f.lo, .hi = f.hi};
}

/* ---- putting them together ---- */

static bool limits_are_alike(const struct limit *a, const struct limit *b)
{
        return a->limiter == b->limiter && a->held_by == b->held_by;
}

static int append_stretch(struct stretch_list *list, const struct stretch *s)
{
        if (!LIST_ONE_MORE(list->list, list->n))
                return -ENOMEM;
        list->list[list->n++] = *s;
        return 0;
}

/* Means of GPUs that are reported together. */
static void blend_stretches(struct stretch *to, const struct stretch *s)
{
        float n = (float)stretch_gpus(to);
        to->limit.ceilings.present &= s->limit.ceilings.present;
        for (size_t i = 0; i < CEILING_COUNT; i++)
                to->limit.ceilings.v[i] +=
                    (s->limit.ceilings.v[i] - to->limit.ceilings.v[i]) / (n + 1);
        to->flops.lo += (s->flops.lo - to->flops.lo) / (double)(n + 1);
        to->flops.hi += (s->flops.hi - to->flops.hi) / (double)(n + 1);
        to->flops.type = to->flops.type == s->flops.type ? to->flops.type : NULL;
        to->begin_s = MIN(to->begin_s, s->begin_s);
        to->end_s = MAX(to->end_s, s->end_s);
        gpu_set_join(&to->gpus, &s->gpus);
}

static int place_stretch(struct stretch_list *list, const struct stretch *s)
{
        double near = MAX(CUT_SHORTEST_S, CUT_TOGETHER * list->seconds);
        for (size_t i = 0; i < list->n; i++) {
                struct stretch *to = &list->list[i];
                if (!gpu_set_meets(&to->gpus, &s->gpus) &&
                    limits_are_alike(&to->limit, &s->limit) &&
                    fabs(to->begin_s - s->begin_s) <= near && fabs(to->end_s - s->end_s) <= near &&
                    strcmp(to->phase, s->phase) == 0) {
                        blend_stretches(to, s);
                        return 0;
                }
        }
        return append_stretch(list, s);
}

/* The innermost phase around the middle of a stretch; its type of FLOP, else the run's. */
static enum flops_type name_phase(const struct stretches *s, const struct phase *phases, size_t n,
                                  struct stretch *to)
{
        int64_t at = s->first_wall_ns + clock_from_seconds((to->begin_s + to->end_s) / 2);
        int64_t shortest = INT64_MAX;
        enum flops_type type = FLOPS_COUNT;
        for (size_t i = 0; i < n; i++) {
                int64_t length = phases[i].end_ns - phases[i].begin_ns;
                if (!phase_holds(&phases[i], at) || length >= shortest)
                        continue;
                shortest = length;
                snprintf(to->phase, sizeof(to->phase), "%s", phases[i].name);
                type = s->phase_flops ? (enum flops_type)s->phase_flops[i] : FLOPS_COUNT;
        }
        return type < FLOPS_COUNT || !s->has_flops ? type : s->flops;
}

static void classify_segment(const struct cutting *c, const struct stretches *s, size_t track,
                             size_t i, struct stretch *ret)
{
        struct sums sums;
        classify_stretch(s, track, &c->programs, c->merging.segs[i]->from, c->merging.segs[i]->to,
                         &sums, ret);
}

/* Neighbours in which the GPU waits for the same are one, whatever else differs. */
static void merge_waiting(struct cutting *c, const struct stretches *s, size_t track)
{
        struct stretch a, b;
        if (c->merging.n > 1)
                classify_segment(c, s, track, 0, &a);
        for (size_t i = 0; i + 1 < c->merging.n;) {
                classify_segment(c, s, track, i + 1, &b);
                enum limiter_side side = limiter_side((enum limiter)a.limit.limiter);
                if (c->merging.segs[i + 1]->hard || !limits_are_alike(&a.limit, &b.limit) ||
                    side == LIMITER_SIDE_DEVICE || a.before_work != b.before_work) {
                        a = b;
                        i++;
                } else {
                        merging_join(&c->merging, i);
                        classify_segment(c, s, track, i, &a);
                }
        }
}

static int cut_track(const struct stretches *s, size_t track, struct cutting *c,
                     const struct phase *phases, size_t n_phases, struct stretch_list *ret)
{
        const struct stretch_track *t = &s->tracks[track];
        int r = 0;
        merging_fill(&c->merging, s, t);
        programs_find(s, t, &c->programs);
        if (t->use.touched)
                merging_cut_at(&c->merging, c->programs.list[0].touched);
        cut_at_phases(c, s, phases, n_phases);
        merging_run(&c->merging, ret->seconds);
        merge_waiting(c, s, track);
        for (size_t i = 0; i < c->merging.n && r == 0; i++) {
                struct stretch stretch;
                struct sums sums;
                /* Where nothing was sampled the neighbour continues. */
                size_t to =
                    i + 1 < c->merging.n ? c->merging.segs[i + 1]->from : c->merging.segs[i]->to;
                classify_stretch(s, track, &c->programs, c->merging.segs[i]->from, to, &sums,
                                 &stretch);
                /* Buckets begin and end with the first and the last tick. */
                stretch.begin_s =
                    i == 0 && c->merging.segs[0]->from * clock_to_seconds(s->width_ns) <
                                  CUT_SHORTEST_S
                        ? 0
                        : stretch.begin_s;
                if (i + 1 == c->merging.n && ret->seconds - stretch.end_s < CUT_SHORTEST_S)
                        stretch.end_s = ret->seconds;
                count_flops(t, &sums, name_phase(s, phases, n_phases, &stretch), &stretch);
                r = place_stretch(ret, &stretch);
        }
        return r;
}

static int by_time(const void *a, const void *b)
{
        const struct stretch *x = a, *y = b;
        if (x->begin_s != y->begin_s)
                return x->begin_s < y->begin_s ? -1 : 1;
        /* As numbers of many digits: the GPU that comes last decides. */
        for (size_t i = ARRAY_LEN(x->gpus.bits); i-- > 0;) {
                uint64_t p = x->gpus.bits[i], q = y->gpus.bits[i];
                if (p != q)
                        return p < q ? -1 : 1;
        }
        return 0;
}

/* Whether a label means GPUs of several hosts. */
static struct gpu_identity identity_of_track(const void *list, size_t i)
{
        const struct stretch_track *t = (const struct stretch_track *)list + i;
        return (struct gpu_identity){.host = t->host, .label = t->label, .id = t->id};
}

void stretches_name_gpus(const struct stretches *s, struct naming *ret)
{
        naming_make(ret, s->n, s->tracks, identity_of_track);
}

#define STALL_ONGOING_S 3.0 /* the last ticks of a recording may be late */

static void take_stalls(const struct stretches *s, struct stretch_list *ret)
{
        ret->n_stalls = s->n_stalls;
        for (size_t i = 0; i < s->n_stalls; i++) {
                ret->stalls[i] = s->stalls[i];
                ret->stalls[i].is_ongoing = s->stalls[i].end_s >= ret->seconds - STALL_ONGOING_S;
        }
}

int stretches_cut(const struct stretches *s, const struct phase *phases, size_t n_phases,
                  struct stretch_list *ret)
{
        struct cutting *c = malloc(sizeof(*c));
        struct stretch_gpu *gpus = calloc(MAX(s->n, (size_t)1), sizeof(*gpus));
        int r = c && gpus ? 0 : -ENOMEM;
        *ret = (struct stretch_list){.seconds = clock_to_seconds(s->last_ns - s->first_ns),
                                     .n_gpus = s->n,
                                     .gpus = gpus,
                                     .left_out = s->left_out,
                                     .framework = s->framework};
        for (size_t i = 0; i < s->n && r == 0; i++) {
                naming_put(&s->naming, identity_of_track(s->tracks, i), gpus[i].label,
                           sizeof(gpus[i].label));
                snprintf(gpus[i].source_label, sizeof(gpus[i].source_label), "%s",
                         s->tracks[i].label);
                gpus[i].clock_max = s->tracks[i].clock_max;
                gpus[i].power_limit = s->tracks[i].power_limit;
                r = cut_track(s, i, c, phases, n_phases, ret);
        }
        free(c);
        take_stalls(s, ret);
        if (r < 0) {
                stretch_list_finish(ret);
                return r;
        }
        if (ret->n > 0)
                qsort(ret->list, ret->n, sizeof(*ret->list), by_time);
        findings_rank(ret);
        return 0;
}
