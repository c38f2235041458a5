/*
 * Where one stretch ends and the next begins. Buckets are merged from below: neighbours that do
 * not differ by more than their own spread are one; what is shorter than half the longest period
 * of bursts joins the neighbour that it differs from least. While too many are left, the shortest
 * length grows: so a rhythm of any period becomes one stretch. Everything is a function of the
 * buckets, so the same ticks give the same cuts.
 */
#include "base/attr.h"
#include "base/clock.h"
#include "base/list.h"
#include "compute/ceilings.h"
#include "compute/stretch_work.h"
#include "compute/stretches.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define CUT_SHARE 0.01    /* of the run: nothing shorter */
#define CUT_LONGER 1.3    /* the shortest length grows by this while there are too many */
#define CUT_MOST 24       /* stretches of a GPU */
#define CUT_MOST_LONG 48  /* of a run that is longer than an hour */
#define CUT_SLIVER_S 1    /* what is shorter between two boundaries is not told */
#define CUT_FLOOR 0.1     /* a difference of a share below which nothing has changed */
#define CUT_HOST 0.4      /* what a difference of the host counts beside one of the GPU */
#define CUT_TOGETHER 0.02 /* of the run: GPUs that change so near each other change together */

enum {
        F_ENGINE,
        F_SM,
        F_TENSOR,
        F_PIPE,
        F_DRAM,
        F_LINK,
        F_THREAD,
        F_CHILDREN,
        F_IO,
        F_STORAGE,
        F_HELD,
        F_COUNT
};

struct seg {
        size_t from, to; /* buckets */
        double w;        /* seconds */
        double sum[F_COUNT], square[F_COUNT];
        bool hard; /* a boundary before it that nothing crosses */
};

struct cutting {
        size_t n;
        struct seg *segs[STRETCH_BUCKETS]; /* those that are left, in order, of all */
        struct seg all[STRETCH_BUCKETS];
        double cost[STRETCH_BUCKETS]; /* of joining a segment with the next */
        bool same[STRETCH_BUCKETS];
        struct program_times programs;
};

static double mean_of(const struct stretch_bucket *b, enum ceiling at)
{
        return b->weight[at] > 0 ? (double)(b->sum[at] / b->weight[at]) : 0;
}

static double capped(double v, double full)
{
        return v < full ? v / full : 1;
}

/* The busiest direction of the busiest link. */
static double link_mean(const struct stretch_bucket *b)
{
        double link = capped(mean_of(b, CEILING_PCIE_RATE), PCIE_FASTEST);
        for (enum ceiling i = CEILING_PCIE_IN; i <= CEILING_NVLINK_OUT; i++)
                link = MAX(link, mean_of(b, i));
        return link;
}

static void features(const struct stretch_bucket *b, double ret[F_COUNT])
{
        static const enum ceiling pipes[] = {CEILING_FP64, CEILING_FP32, CEILING_FP16, CEILING_INT};
        ret[F_ENGINE] = mean_of(b, CEILING_ENGINE);
        ret[F_SM] = mean_of(b, CEILING_SM);
        ret[F_TENSOR] = mean_of(b, CEILING_TENSOR);
        ret[F_DRAM] = mean_of(b, CEILING_DRAM);
        ret[F_PIPE] = 0;
        ret[F_LINK] = link_mean(b);
        for (size_t i = 0; i < ARRAY_LEN(pipes); i++)
                ret[F_PIPE] = MAX(ret[F_PIPE], mean_of(b, pipes[i]));
        double thread = b->weight[CEILING_CPU_THREAD] > 0 ? mean_of(b, CEILING_CPU_THREAD)
                                                          : mean_of(b, CEILING_CPU_MAIN);
        ret[F_THREAD] = CUT_HOST * capped(thread, 1);
        ret[F_CHILDREN] = CUT_HOST * capped(mean_of(b, CEILING_CPU_CHILDREN), 4);
        ret[F_IO] = CUT_HOST * capped(mean_of(b, CEILING_IO_WAIT), 1);
        ret[F_HELD] = CUT_HOST * (mean_of(b, CEILING_MEMORY) >= LIMIT_HELD_BYTES);
        ret[F_STORAGE] = CUT_HOST * capped(mean_of(b, CEILING_STORAGE), 1e9);
}

/* ---- merging ---- */

static void weigh(struct cutting *c, size_t i)
{
        if (i + 1 >= c->n)
                return;
        const struct seg *a = c->segs[i], *b = c->segs[i + 1];
        double distance = 0;
        bool same = true;
        for (size_t k = 0; k < F_COUNT; k++) {
                double ma = a->sum[k] / a->w, mb = b->sum[k] / b->w, d = ma - mb;
                double va = a->square[k] / a->w - ma * ma, vb = b->square[k] / b->w - mb * mb;
                double spread = sqrt(MAX(MIN(va, vb), 0));
                same = same && fabs(d) <= MAX(spread, CUT_FLOOR);
                distance += d * d;
        }
        c->cost[i] = distance * a->w * b->w / (a->w + b->w);
        c->same[i] = same;
}

static void join(struct cutting *c, size_t i)
{
        struct seg *a = c->segs[i], *b = c->segs[i + 1];
        /* A sliver that crosses a boundary moves it to its own other side. */
        if (b->hard && a->w < b->w)
                a->hard = true;
        else if (b->hard && i + 2 < c->n)
                c->segs[i + 2]->hard = true;
        a->to = b->to;
        a->w += b->w;
        for (size_t k = 0; k < F_COUNT; k++) {
                a->sum[k] += b->sum[k];
                a->square[k] += b->square[k];
        }
        size_t after = c->n - i - 2;
        memmove(&c->segs[i + 1], &c->segs[i + 2], after * sizeof(c->segs[0]));
        if (after > 0) {
                memmove(&c->cost[i + 1], &c->cost[i + 2], (after - 1) * sizeof(c->cost[0]));
                memmove(&c->same[i + 1], &c->same[i + 2], (after - 1) * sizeof(c->same[0]));
        }
        c->n--;
        if (i > 0)
                weigh(c, i - 1);
        weigh(c, i);
}

/* Joins the cheapest pair that may be joined; false when there is none. shortest_s is 0 for pairs
 * that are the same; across: boundaries do not count. */
static bool join_one(struct cutting *c, double shortest_s, bool across)
{
        size_t best = c->n;
        for (size_t i = 0; i + 1 < c->n; i++) {
                const struct seg *a = c->segs[i], *b = c->segs[i + 1];
                bool wanted = shortest_s > 0 ? a->w < shortest_s || b->w < shortest_s : c->same[i];
                if (!wanted || (b->hard && !across))
                        continue;
                if (best == c->n || c->cost[i] < c->cost[best])
                        best = i;
        }
        if (best == c->n)
                return false;
        join(c, best);
        return true;
}

static void merge(struct cutting *c, double shortest_s)
{
        while (join_one(c, shortest_s, false))
                ;
        while (join_one(c, 0, false))
                ;
}

static void merge_all(struct cutting *c, double seconds)
{
        double shortest = MAX(CUT_SHORTEST_S, CUT_SHARE * seconds);
        size_t hard = 0, most = seconds > 3600 ? CUT_MOST_LONG : CUT_MOST;
        for (size_t i = 0; i < c->n; i++) {
                weigh(c, i);
                hard += c->segs[i]->hard;
        }
        while (join_one(c, 0, false))
                ;
        merge(c, shortest);
        while (c->n > most + hard && shortest < seconds) {
                shortest *= CUT_LONGER;
                merge(c, shortest);
        }
        while (join_one(c, CUT_SLIVER_S, true))
                ;
}

/* ---- boundaries that are known ---- */

static void cut_at(struct cutting *c, size_t bucket)
{
        size_t i = 0;
        while (i < c->n && c->segs[i]->from < bucket)
                i++;
        if (i > 0 && i < c->n)
                c->segs[i]->hard = true;
}

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
                cut_at(c, stretch_bucket_at(s, phases[i].begin_ns + offset));
                cut_at(c, stretch_bucket_at(s, end + offset));
        }
}

static void stretch_cut_fill(struct cutting *c, const struct stretches *s,
                             const struct stretch_track *t)
{
        c->n = 0;
        for (size_t i = 0; i < s->n_buckets; i++) {
                double f[F_COUNT], w = (double)t->buckets[i].seconds;
                if (w <= 0)
                        continue;
                struct seg *seg = c->segs[c->n] = &c->all[c->n];
                c->n++;
                *seg = (struct seg){.from = i, .to = i + 1, .w = w};
                features(&t->buckets[i], f);
                for (size_t k = 0; k < F_COUNT; k++) {
                        seg->sum[k] = w * f[k];
                        seg->square[k] = w * f[k] * f[k];
                }
        }
}

/* ---- judging ---- */

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

static bool differs(const struct stretch_bucket *b, struct edge_means m)
{
        return fabs(mean_of(b, CEILING_ENGINE) - m.engine) > CUT_EDGE ||
               fabs(link_mean(b) - m.link) > CUT_EDGE;
}

/*
 * Something too short for a stretch of its own, such as the end of a program, lies at an edge of
 * its neighbour. The neighbour is judged without it.
 */
static void trim(const struct stretches *s, const struct stretch_track *t, size_t *from, size_t *to)
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
        while (first > *from && !differs(&t->buckets[first - 1], mean))
                first--;
        while (last < *to && !differs(&t->buckets[last], mean))
                last++;
        *from = first;
        *to = last;
}

/* Most of a stretch comes before the GPU is used, or all of it before work begins. */
static bool before_work(const struct stretches *s, const struct stretch_track *t, size_t from,
                        size_t to, const struct program_time *p)
{
        size_t middle = (from + to) / 2;
        if (work_between(t, middle, p->to) <= 0)
                return false;
        if (p->touched != SIZE_MAX && middle < p->touched)
                return true;
        trim(s, t, &from, &to);
        return to <= p->begins;
}

/* Whether something runs again and again: what happens at the beginning alone is no work. */
static bool recurs(const struct stretch_track *t, size_t from, size_t to)
{
        struct sums later;
        add_up(t, from + (to - from) / 3, to, &later);
        return later.active >= CUT_QUIET * later.seconds;
}

static void judge(const struct stretches *s, size_t track, const struct program_times *programs,
                  size_t from, size_t to, struct sums *ret_sums, struct stretch *ret)
{
        const struct stretch_track *t = &s->tracks[track];
        const struct program_time *program = program_at(programs, (from + to) / 2);
        struct ceilings all, gaps;
        size_t first = from, last = to;
        trim(s, t, &first, &last);
        add_up(t, first, last, ret_sums);
        means_of(ret_sums, &all, &gaps);
        double width = clock_to_seconds(s->width_ns);
        bool before = before_work(s, t, from, to, program);
        double engine = (double)all.v[CEILING_ENGINE];
        double variance =
            ret_sums->seconds > 0 ? ret_sums->square / ret_sums->seconds - engine * engine : 0;
        struct situation around = {
            .touched = (from + to) / 2 >= program->touched,
            .worked = !before && work_between(t, 0, to) > 0,
            .before = before,
            /* A GPU that is never used is not the one that a program starts on. */
            .elsewhere = !t->use.touched,
            .peers = s->n > 1,
            .quiet_s = recurs(t, from, to) ? 0 : (double)(to - from) * width,
            .uneven = variance > 0 ? sqrt(variance) : 0,
            .framework = s->framework,
            .gaps = &gaps,
        };
        double end = clock_to_seconds(s->last_ns - s->first_ns);
        *ret = (struct stretch){.begin_s = (double)from * width,
                                .end_s = MIN((double)to * width, end),
                                .uneven = around.uneven,
                                .before_work = before,
                                .limit = limiter_decide(&all, &around, true)};
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
                ret->flops = (struct flops_told){.type = flops_name(type), .lo = f.lo, .hi = f.hi};
}

/* ---- putting them together ---- */

static bool alike(const struct limit *a, const struct limit *b)
{
        return a->limiter == b->limiter && a->held_by == b->held_by;
}

static int append(struct stretch_list *list, const struct stretch *s)
{
        if (!LIST_ONE_MORE(list->list, list->n))
                return -ENOMEM;
        list->list[list->n++] = *s;
        return 0;
}

/* Means of GPUs that are told together. */
static void blend(struct stretch *to, const struct stretch *s)
{
        float n = (float)stretch_gpus(to);
        to->limit.ceilings.there &= s->limit.ceilings.there;
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

static int place(struct stretch_list *list, const struct stretch *s)
{
        double near = MAX(CUT_SHORTEST_S, CUT_TOGETHER * list->seconds);
        for (size_t i = 0; i < list->n; i++) {
                struct stretch *to = &list->list[i];
                if (!gpu_set_meets(&to->gpus, &s->gpus) && alike(&to->limit, &s->limit) &&
                    fabs(to->begin_s - s->begin_s) <= near && fabs(to->end_s - s->end_s) <= near &&
                    strcmp(to->phase, s->phase) == 0) {
                        blend(to, s);
                        return 0;
                }
        }
        return append(list, s);
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

/* Neighbours in which the GPU waits for the same are one, whatever else differs. */
static void merge_waiting(struct cutting *c, const struct stretches *s, size_t track)
{
        for (size_t i = 0; i + 1 < c->n;) {
                struct stretch a, b;
                struct sums sums;
                judge(s, track, &c->programs, c->segs[i]->from, c->segs[i]->to, &sums, &a);
                judge(s, track, &c->programs, c->segs[i + 1]->from, c->segs[i + 1]->to, &sums, &b);
                enum limiter_side side = limiter_side((enum limiter)a.limit.limiter);
                if (c->segs[i + 1]->hard || !alike(&a.limit, &b.limit) ||
                    side == LIMITER_SIDE_DEVICE || a.before_work != b.before_work)
                        i++;
                else
                        join(c, i);
        }
}

static int cut_track(const struct stretches *s, size_t track, struct cutting *c,
                     const struct phase *phases, size_t n_phases, struct stretch_list *ret)
{
        const struct stretch_track *t = &s->tracks[track];
        int r = 0;
        stretch_cut_fill(c, s, t);
        programs_find(s, t, &c->programs);
        if (t->use.touched)
                cut_at(c, c->programs.list[0].touched);
        cut_at_phases(c, s, phases, n_phases);
        merge_all(c, ret->seconds);
        merge_waiting(c, s, track);
        for (size_t i = 0; i < c->n && r == 0; i++) {
                struct stretch stretch;
                struct sums sums;
                /* Where nothing was sampled the neighbour goes on. */
                size_t to = i + 1 < c->n ? c->segs[i + 1]->from : c->segs[i]->to;
                judge(s, track, &c->programs, c->segs[i]->from, to, &sums, &stretch);
                /* Buckets begin and end with the first and the last tick. */
                stretch.begin_s =
                    i == 0 && c->segs[0]->from * clock_to_seconds(s->width_ns) < CUT_SHORTEST_S
                        ? 0
                        : stretch.begin_s;
                if (i + 1 == c->n && ret->seconds - stretch.end_s < CUT_SHORTEST_S)
                        stretch.end_s = ret->seconds;
                count_flops(t, &sums, name_phase(s, phases, n_phases, &stretch), &stretch);
                r = place(ret, &stretch);
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
static bool labels_clash(const struct stretches *s)
{
        for (size_t i = 1; i < s->n; i++) {
                if (strcmp(s->tracks[i].label, s->tracks[0].label) == 0 &&
                    strcmp(s->tracks[i].host, s->tracks[0].host) != 0)
                        return true;
        }
        return false;
}

int stretches_cut(const struct stretches *s, const struct phase *phases, size_t n_phases,
                  struct stretch_list *ret)
{
        struct cutting *c = malloc(sizeof(*c));
        struct stretch_gpu *gpus = calloc(MAX(s->n, (size_t)1), sizeof(*gpus));
        int r = c && gpus ? 0 : -ENOMEM;
        bool clash = labels_clash(s);
        *ret = (struct stretch_list){.seconds = clock_to_seconds(s->last_ns - s->first_ns),
                                     .n_gpus = s->n,
                                     .gpus = gpus,
                                     .left_out = s->left_out,
                                     .framework = s->framework};
        for (size_t i = 0; i < s->n && r == 0; i++) {
                memcpy(gpus[i].label, s->tracks[i].label, STRETCH_LABEL_MAX);
                if (clash)
                        entity_qualify(s->tracks[i].host, gpus[i].label);
                gpus[i].clock_max = s->tracks[i].clock_max;
                gpus[i].power_limit = s->tracks[i].power_limit;
                r = cut_track(s, i, c, phases, n_phases, ret);
        }
        free(c);
        if (r < 0) {
                stretch_list_finish(ret);
                return r;
        }
        if (ret->n > 0)
                qsort(ret->list, ret->n, sizeof(*ret->list), by_time);
        findings_rank(ret);
        return 0;
}
