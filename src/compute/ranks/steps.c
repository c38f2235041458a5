/*
 * Steps of the ranks side by side. In a step each rank works, then waits for the others: only what
 * is its own says who is late. Marks around a rank's own work show it by their length, marks around
 * the waiting by theirs (who comes last waits least), marks around whole steps not at all, since
 * all steps are as long as the slowest.
 */
#include "base/attr.h"
#include "base/clock.h"
#include "compute/ranks/ranks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MIN 8      /* fewer say nothing */
#define RANKS_SHARE 0.75 /* of the ranks must have them */
#define WARM_UP 0.05     /* of the steps, at least 3, at most 20 */
#define WARM 1.25        /* times the usual: a step of the warm-up */
#define WARM_STEPS 5     /* usual ones end it */
#define LATE_SHARE 0.03  /* of a step: less is not worth reporting */
#define SOME_SHARE 0.01  /* of all the time, lost by steps that are late now and then */
#define SELDOM 4         /* one in that many at most: else it lasts, or ranks take turns */
#define SLOW 0.3         /* of a step: one that is late by so much is a slow one */
#define SLOW_FOR_ALL 1.4 /* times the usual */
#define MOST 0.5
#define NEARLY_ALL 0.9
#define SIGMAS 4
#define BATCHES 8
#define SYNC_SHARE 0.01  /* of a step: what is within this is together */
#define WAIT_SHORT 0.2   /* of a step: the last one waits for less */
#define WAIT_SHARE 0.005 /* of a step: less is not a waiting */
#define OWN_SHARE 0.03   /* of a step: ends that are farther apart are each rank's own */
#define TO_SIGMA 1.4826
#define TOGETHER 0.8 /* of the late steps */

/* One name's steps: rank × step. */
struct grid {
        size_t n, k; /* ranks of the job; steps of each */
        const char *name;
        bool *present;       /* by rank */
        double *begin, *own; /* own: seconds that say how late, not yet relative */
        double *mid;         /* by step: the middle of own */
        double *longest;     /* by step: of all ranks */
        double *scratch;
        double step_s, sigma;
        bool waits;          /* they are waiting, not work */
        double ends, begins; /* how far apart ranks are, typically */
        size_t skip;
};

static void grid_finish(struct grid *g)
{
        free(g->present);
        free(g->begin);
        free(g->own);
        free(g->mid);
        free(g->longest);
        free(g->scratch);
}

static double *row_of(double *v, const struct grid *g, size_t rank)
{
        return &v[rank * g->k];
}

static const struct job_series *steps_find(const struct job_rank *r, const char *name)
{
        for (size_t i = 0; i < r->n_series; i++) {
                if (strcmp(r->series[i].name, name) == 0)
                        return &r->series[i];
        }
        return NULL;
}

static size_t usual_count(const struct job *j, const char *name, double *scratch)
{
        size_t n = 0;
        for (size_t i = 0; i < j->n; i++) {
                const struct job_series *s = steps_find(&j->ranks[i], name);
                if (s && s->n >= STEPS_MIN)
                        scratch[n++] = (double)s->n;
        }
        return (double)n >= RANKS_SHARE * (double)j->n && n > 1 ? (size_t)job_median(scratch, n)
                                                                : 0;
}

/* Ranks with far fewer steps than the others are left out. */
static bool reserve_grid(struct grid *g, const struct job *j, const char *name)
{
        *g = (struct grid){.n = j->n, .name = name};
        g->present = calloc(j->n, sizeof(*g->present));
        g->scratch = calloc(MAX(j->n, (size_t)JOB_STEPS_MAX) + 1, sizeof(*g->scratch));
        if (!g->present || !g->scratch)
                return false;
        size_t usual = usual_count(j, name, g->scratch), least = SIZE_MAX, n = 0;
        for (size_t i = 0; usual > 0 && i < j->n; i++) {
                const struct job_series *s = steps_find(&j->ranks[i], name);
                g->present[i] = s && s->n >= STEPS_MIN && 10 * s->n >= 9 * usual;
                n += g->present[i];
                if (g->present[i])
                        least = MIN(least, s->n);
        }
        g->k = n > 1 ? least : 0;
        g->begin = calloc(j->n * g->k + 1, sizeof(*g->begin));
        g->own = calloc(j->n * g->k + 1, sizeof(*g->own));
        g->mid = calloc(g->k + 1, sizeof(*g->mid));
        g->longest = calloc(g->k + 1, sizeof(*g->longest));
        return g->begin && g->own && g->mid && g->longest;
}

/* Steps are counted from the end where that brings them closer to the others': a rank that was
 * started again, or marked late, lacks the first ones. */
static size_t shift_of(const struct job_series *s, const struct job_series *like, size_t k)
{
        size_t more = s->n - k, at = k / 2;
        size_t base = like->n - k;
        double from_front = fabs(s->begin_s[at] - like->begin_s[at + base]);
        double from_back = fabs(s->begin_s[at + more] - like->begin_s[at + base]);
        return from_back < from_front ? more : 0;
}

static void steps_fill(struct grid *g, const struct job *j)
{
        const struct job_series *like = NULL;
        for (size_t i = 0; i < g->n; i++) {
                const struct job_series *s =
                    g->present[i] ? steps_find(&j->ranks[i], g->name) : NULL;
                if (!s)
                        continue;
                like = like ? like : s;
                size_t from = s->n > g->k ? shift_of(s, like, g->k) : 0;
                for (size_t k = 0; k < g->k; k++) {
                        row_of(g->begin, g, i)[k] = s->begin_s[from + k];
                        row_of(g->own, g, i)[k] = (double)s->seconds[from + k];
                        g->longest[k] = MAX(g->longest[k], (double)s->seconds[from + k]);
                }
        }
        g->skip = MIN(MAX((size_t)(WARM_UP * (double)g->k), (size_t)3), (size_t)20);
        g->skip = g->k > 4 * g->skip ? g->skip : MIN(g->k / 4, g->skip);
}

/* The middle of a step's values. */
static double column_middle(const struct grid *g, const double *v, size_t k)
{
        size_t n = 0;
        for (size_t i = 0; i < g->n; i++) {
                if (g->present[i])
                        g->scratch[n++] = v[i * g->k + k];
        }
        return job_median(g->scratch, n);
}

/* The moments of a column: its beginnings, or its ends. */
static double step_moment(const struct grid *g, size_t rank, size_t k, bool ends)
{
        return g->begin[rank * g->k + k] + (ends ? g->own[rank * g->k + k] : 0);
}

/*
 * How far apart ranks typically are, each less what it always is: where that is little, they wait
 * for each other. ret: what each always is, compared with the middle of all.
 */
static double spread_of(struct grid *g, bool ends, double *ret, double *all)
{
        for (size_t k = 0; k < g->k; k++) {
                size_t n = 0;
                for (size_t i = 0; i < g->n; i++) {
                        if (g->present[i])
                                g->scratch[n++] = step_moment(g, i, k, ends);
                }
                g->mid[k] = job_median(g->scratch, n);
        }
        for (size_t i = 0; i < g->n; i++) {
                size_t n = 0;
                for (size_t k = g->skip; g->present[i] && k < g->k; k++)
                        all[n++] = step_moment(g, i, k, ends) - g->mid[k];
                ret[i] = job_median(all, n);
        }
        size_t n_all = 0;
        for (size_t k = g->skip; k < g->k; k++) {
                double least = INFINITY, most = -INFINITY;
                for (size_t i = 0; i < g->n; i++) {
                        if (!g->present[i])
                                continue;
                        least = MIN(least, step_moment(g, i, k, ends) - ret[i]);
                        most = MAX(most, step_moment(g, i, k, ends) - ret[i]);
                }
                all[n_all++] = most - least;
        }
        return job_median(all, n_all);
}

/* From one step to the next, and how many steps it takes until that is usual: compilers and caches
 * make the first ones long. */
static void find_period(struct grid *g, double *all)
{
        size_t n = 0, first = 0, usual = 0, k = 0;
        while (first < g->n && !g->present[first])
                first++;
        const double *begin = first < g->n ? &g->begin[first * g->k] : g->begin;
        for (k = g->skip; first < g->n && k + 1 < g->k; k++)
                all[n++] = begin[k + 1] - begin[k];
        g->step_s = job_median(all, n);
        for (k = 0; k + 1 < g->k && usual < WARM_STEPS; k++)
                usual = begin[k + 1] - begin[k] < WARM * g->step_s ? usual + 1 : 0;
        if (usual == WARM_STEPS && k - WARM_STEPS < g->k / 3)
                g->skip = MAX(g->skip, k - WARM_STEPS);
}

static bool is_wait_name(const char *name)
{
        static const char *const parts[] = {
            "wait", "sync",       "barrier",        "allreduce",  "all_reduce", "all-reduce",
            "comm", "collective", "reduce_scatter", "all_gather", "allgather",  "nccl"};
        for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
                if (strcasestr(name, parts[i]))
                        return true;
        }
        return false;
}

/* The shortest of a step, typically. */
static double shortest_step(const struct grid *g, double *all)
{
        size_t n = 0;
        for (size_t k = g->skip; k < g->k; k++) {
                double least = INFINITY;
                for (size_t i = 0; i < g->n; i++)
                        least = g->present[i] ? MIN(least, g->own[i * g->k + k]) : least;
                all[n++] = least;
        }
        return job_median(all, n);
}

/* Marks whose ends are together and whose beginnings are not are around waiting, unless all are
 * long: that is work which is reported when the waiting is over. offsets: of the moments that are
 * together more. */
static int fit_end_times(struct grid *g, double *offsets, double *all)
{
        double *begins = calloc(g->n + 1, sizeof(*begins));
        if (!begins)
                return -ENOMEM;
        g->begins = spread_of(g, false, begins, all);
        g->ends = spread_of(g, true, offsets, all);
        if (g->begins < g->ends)
                memcpy(offsets, begins, g->n * sizeof(*begins));
        free(begins);
        g->waits =
            is_wait_name(g->name) ||
            (g->begins > 4 * g->ends && g->begins > WAIT_SHARE * g->step_s &&
             g->ends < SYNC_SHARE * g->step_s && shortest_step(g, all) < WAIT_SHORT * g->step_s);
        return 0;
}

/* How much later than the others: the one that waits less was later. */
static void make_relative(struct grid *g, double *all)
{
        size_t n = 0, present = 0;
        for (size_t i = 0; i < g->n; i++)
                present += g->present[i];
        /* Each of two is as far from their middle: the other is the measure. */
        double scale = (present == 2 ? 2 : 1) * (g->waits ? -1 : 1);
        for (size_t k = 0; k < g->k; k++) {
                g->mid[k] = column_middle(g, g->own, k);
                for (size_t i = 0; i < g->n; i++)
                        g->own[i * g->k + k] = scale * (g->own[i * g->k + k] - g->mid[k]);
        }
        /* Noise: how far a rank typically is from what it always is. */
        for (size_t i = 0; i < g->n; i++) {
                size_t m = 0;
                for (size_t k = g->skip; g->present[i] && k < g->k; k++)
                        g->scratch[m++] = g->own[i * g->k + k];
                double usual = job_median(g->scratch, m);
                for (size_t k = 0; k < m; k++)
                        g->scratch[k] = fabs(g->scratch[k] - usual);
                if (g->present[i])
                        all[n++] = job_median(g->scratch, m);
        }
        g->sigma = TO_SIGMA * job_median(all, n);
}

/* When lateness began: where the means before and after differ most. 0: from the start. */
static size_t change_at(const struct grid *g, const double *own)
{
        double all = 0, before = 0, best = 0;
        size_t at = g->skip, n = g->k - g->skip;
        for (size_t k = g->skip; k < g->k; k++)
                all += own[k];
        for (size_t k = g->skip; k + 1 < g->k; k++) {
                before += own[k];
                double a = (double)(k + 1 - g->skip), b = (double)n - a;
                double gap = (all - before) / b - before / a;
                if (gap * sqrt(a * b) > best && before / a < 0.3 * (all - before) / b) {
                        best = gap * sqrt(a * b);
                        at = k + 1;
                }
        }
        return at;
}

static double mean_from(const struct grid *g, const double *own, size_t from)
{
        double sum = 0;
        for (size_t k = from; k < g->k; k++)
                sum += own[k];
        return g->k > from ? sum / (double)(g->k - from) : 0;
}

/* How far the mean of steps is off by chance: batches of them report it also where steps that
 * follow each other are alike. */
static double error_of_mean(const double *own, size_t n)
{
        size_t each = n / BATCHES;
        double sum = 0, squares = 0;
        if (each < 2)
                return 0;
        for (size_t b = 0; b < BATCHES; b++) {
                double mean = 0;
                for (size_t k = n - (b + 1) * each; k < n - b * each; k++)
                        mean += own[k] / (double)each;
                sum += mean;
                squares += mean * mean;
        }
        double variance = (squares - sum * sum / BATCHES) / (BATCHES - 1);
        return sqrt(MAX(variance, 0) / BATCHES);
}

/* What a rank's steps look like; whether that is apart from the others is asked later. */
static void measure_rank(const struct grid *g, size_t rank, struct step_late *ret)
{
        const double *own = &g->own[rank * g->k];
        double slow = MAX(SLOW * g->step_s, 2 * SIGMAS * g->sigma);
        size_t slow_steps = 0, first_slow = 0;
        double slow_s = 0;
        size_t at = change_at(g, own);
        for (size_t k = g->skip; k < g->k; k++) {
                if (own[k] <= slow)
                        continue;
                first_slow = slow_steps == 0 ? k : first_slow;
                slow_steps++;
                slow_s += own[k];
        }
        double mean = mean_from(g, own, at);
        double enough = SIGMAS * MAX(TO_SIGMA * g->sigma / sqrt(MAX((double)(g->k - at), 1)),
                                     error_of_mean(own + at, g->k - at));
        *ret = (struct step_late){.of = g->k - g->skip, .slow = slow_steps, .chance_s = enough};
        memcpy(g->scratch, own + at, (g->k - at) * sizeof(*own));
        ret->lasting =
            job_median(g->scratch, g->k - at) > MOST * mean && g->k - at >= STEPS_MIN / 2;
        if (ret->lasting && mean > MAX(LATE_SHARE * g->step_s, enough)) {
                ret->late_s = mean;
                ret->cost_s = mean * (double)(g->k - at);
                ret->begin_s = g->begin[rank * g->k + at];
                ret->times = g->k - at;
        } else if (slow_steps >= 2 && SELDOM * slow_steps <= ret->of) {
                ret->lasting = false;
                ret->late_s = slow_s / (double)slow_steps;
                ret->cost_s = slow_s;
                ret->begin_s = g->begin[rank * g->k + first_slow];
                ret->times = slow_steps;
        }
        ret->usual = mean_from(g, own, g->skip) / MAX(g->step_s, 1e-9);
        double time = g->step_s * (double)(g->k - g->skip);
        ret->share = time > 0 ? ret->cost_s / time : 0;
}

/* Who shares a GPU waits for its turn, so ranks differ much from step to step; who is the last in
 * nearly all of them is late all the same. */
static bool always_last(const struct grid *g, size_t rank)
{
        size_t last = 0;
        for (size_t k = g->skip; k < g->k; k++) {
                double most = -INFINITY;
                for (size_t i = 0; i < g->n; i++)
                        most = g->present[i] ? MAX(most, g->own[i * g->k + k]) : most;
                last += g->own[rank * g->k + k] >= most;
        }
        return (double)last >= NEARLY_ALL * (double)(g->k - g->skip);
}

/* Every rank has a slow step at times: it must have more than chance gives the others. */
static bool slow_more_often(const struct grid *g, const struct step_late *ranks, size_t rank)
{
        double others = 0;
        size_t n = 0;
        for (size_t i = 0; i < g->n; i++) {
                others += i != rank && g->present[i] ? (double)ranks[i].slow : 0;
                n += i != rank && g->present[i];
        }
        return job_more_often((double)ranks[rank].slow, others, n);
}

/* Apart from the others: much more is lost by it than by any other. */
static bool mark_late(const struct job *j, const struct grid *g, struct step_late *ranks, bool *out)
{
        double *cost = calloc(g->n, sizeof(*cost));
        bool any = false;
        if (!cost)
                return false;
        for (size_t i = 0; i < g->n; i++)
                cost[i] = !g->present[i]       ? NAN
                          : ranks[i].share > 0 ? ranks[i].share
                                               : ranks[i].usual;
        job_outliers(cost, g->n, 1, SOME_SHARE, out);
        for (size_t i = 0; i < g->n; i++) {
                struct step_late *s = &ranks[i];
                bool apart = out[i] || (j->ranks[i].shared && s->lasting && g->present[i] &&
                                        g->n > 2 && always_last(g, i));
                s->late = apart && s->share > 0 &&
                          (s->lasting || (s->times >= 2 && slow_more_often(g, ranks, i)));
                any |= s->late;
        }
        free(cost);
        return any;
}

/* Late by the same in nearly all steps in which one of them is. */
static bool are_late_together(const struct grid *g, const struct step_late *ranks, size_t a,
                              size_t b)
{
        double least = MIN(ranks[a].late_s, ranks[b].late_s) / 2;
        size_t late = 0, same = 0;
        for (size_t k = g->skip; k < g->k; k++) {
                double x = g->own[a * g->k + k], y = g->own[b * g->k + k];
                late += MAX(x, y) > least;
                same += MAX(x, y) > least && fabs(x - y) <= SYNC_SHARE * g->step_s;
        }
        return late > 0 && (double)same >= TOGETHER * (double)late;
}

static void find_together(const struct grid *g, struct step_late *ranks)
{
        for (size_t i = 0; i < g->n; i++) {
                ranks[i].with = i;
                for (size_t k = 0; ranks[i].late && ranks[i].with == i && k < i; k++) {
                        if (ranks[k].late && ranks[k].with == k &&
                            are_late_together(g, ranks, i, k))
                                ranks[i].with = k;
                }
        }
}

/* Whether own time shows in these marks at all: ranks come to the waiting, or end their work, one
 * after the other. Where they meet within the work as well, nobody is seen to be late. */
static bool shows_own(const struct grid *g)
{
        return g->waits ? g->begins > WAIT_SHARE * g->step_s : g->ends > OWN_SHARE * g->step_s;
}

static void note_rows(struct job *j, const struct grid *g, double *all)
{
        for (size_t i = 0; i < j->n; i++) {
                size_t n = 0;
                for (size_t k = g->skip; g->present[i] && k < g->k; k++)
                        all[n++] = g->own[i * g->k + k];
                if (n == 0)
                        continue;
                j->ranks[i].late_s = value_ok(job_median(all, n));
                j->ranks[i].step_s = value_ok(g->step_s);
        }
}

/* Steps that took long for everybody: somebody's work, seen by the others as waiting. The time may
 * have passed between what is marked: the marks that leave out least say so. */
static void note_slow(const struct job *j, const struct grid *g, struct step_view *v, double *all)
{
        size_t first = 0, n = 0;
        memcpy(all, g->longest + g->skip, (g->k - g->skip) * sizeof(*all));
        double usual = job_median(all, g->k - g->skip);
        if (usual <= v->covers * g->step_s)
                return;
        v->covers = usual / g->step_s;
        v->n_slow = 0;
        while (first < g->n && !g->present[first])
                first++;
        for (size_t k = g->skip; k + 1 < g->k && first < g->n; k++)
                all[n++] =
                    fabs(g->begin[first * g->k + k + 1] - g->begin[first * g->k + k] - g->step_s);
        double sigma = TO_SIGMA * job_median(all, n);
        double slow = MAX(SLOW_FOR_ALL * g->step_s, g->step_s + 2 * SIGMAS * sigma);
        for (size_t k = g->skip; k + 1 < g->k && first < g->n; k++) {
                const double *begin = &g->begin[first * g->k];
                double s = begin[k + 1] - begin[k];
                if (s < slow || v->n_slow == JOB_PAUSES_MAX)
                        continue;
                v->between[v->n_slow] = g->longest[k] - usual < (s - g->step_s) / 2;
                v->slow[v->n_slow++] =
                    (struct job_pause){j->start_ns + clock_from_seconds(begin[k]),
                                       j->start_ns + clock_from_seconds(begin[k + 1])};
        }
}

/* Clocks are those of nodes: one that is alone with its node keeps its own. */
static void align_clocks(struct job *j, const struct grid *g, const double *offsets)
{
        bool several = false;
        for (size_t i = 1; i < j->n; i++)
                several |= strcmp(j->ranks[i].node, j->ranks[0].node) != 0;
        if (!several || MIN(g->ends, g->begins) > SYNC_SHARE * g->step_s)
                return;
        j->align = JOB_BY_MARKS;
        j->moved_s = 0;
        for (size_t i = 0; i < j->n; i++) {
                size_t n = 0;
                for (size_t k = 0; k < j->n; k++) {
                        if (g->present[k] && strcmp(j->ranks[k].node, j->ranks[i].node) == 0)
                                g->scratch[n++] = offsets[k];
                }
                j->ranks[i].offset_s = job_median(g->scratch, n);
                j->moved_s = MAX(j->moved_s, fabs(j->ranks[i].offset_s));
        }
}

static double worst_share(const struct step_late *ranks, size_t n)
{
        double worst = 0;
        for (size_t i = 0; i < n; i++)
                worst = ranks[i].late ? MAX(worst, ranks[i].share) : worst;
        return worst;
}

struct work {
        double *offsets, *all;
        bool *out;
        struct step_late *ranks;
        double best_ends;
};

/* One name: is it better than what was found so far? */
static int try_name(struct job *j, const char *name, struct work *w, struct step_view *ret)
{
        struct grid g;
        int r = 0;
        if (!reserve_grid(&g, j, name)) {
                grid_finish(&g);
                return -ENOMEM;
        }
        if (g.k >= STEPS_MIN) {
                steps_fill(&g, j);
                find_period(&g, w->all);
                r = fit_end_times(&g, w->offsets, w->all);
                if (g.step_s > 0 && MIN(g.ends, g.begins) / g.step_s < w->best_ends) {
                        w->best_ends = MIN(g.ends, g.begins) / g.step_s;
                        align_clocks(j, &g, w->offsets);
                }
                make_relative(&g, w->all);
                for (size_t i = 0; i < j->n; i++)
                        w->ranks[i] = (struct step_late){0};
                for (size_t i = 0; i < j->n; i++) {
                        if (g.present[i])
                                measure_rank(&g, i, &w->ranks[i]);
                }
                bool late = mark_late(j, &g, w->ranks, w->out);
                find_together(&g, w->ranks);
                bool shows_own_time = late || shows_own(&g);
                bool better = ret->n == 0 || (shows_own_time && !ret->shows_own_time) ||
                              (late && worst_share(w->ranks, j->n) > worst_share(ret->ranks, j->n));
                if (better && g.step_s > 0) {
                        ret->n = g.k;
                        ret->step_s = g.step_s;
                        ret->warm_s = column_middle(&g, g.begin, g.skip);
                        memcpy(ret->name, name, strlen(name) + 1);
                        memcpy(ret->ranks, w->ranks, j->n * sizeof(*w->ranks));
                        note_rows(j, &g, w->all);
                }
                if (g.step_s > 0)
                        note_slow(j, &g, ret, w->all);
                ret->shows_own_time |= shows_own_time;
        }
        grid_finish(&g);
        return r;
}

int job_steps(struct job *j, struct step_view *ret)
{
        struct work w = {.offsets = calloc(j->n + 1, sizeof(double)),
                         .all = calloc(MAX(j->n, (size_t)JOB_STEPS_MAX) + 1, sizeof(double)),
                         .out = calloc(j->n + 1, sizeof(bool)),
                         .ranks = calloc(j->n + 1, sizeof(struct step_late)),
                         .best_ends = INFINITY};
        int r = w.offsets && w.all && w.out && w.ranks ? 0 : -ENOMEM;
        /* A name that most ranks have stands with one of the first two. */
        for (size_t i = 0; r == 0 && i < MIN(j->n, (size_t)2); i++) {
                for (size_t k = 0; r == 0 && k < j->ranks[i].n_series; k++) {
                        const char *name = j->ranks[i].series[k].name;
                        if (i == 0 || !steps_find(&j->ranks[0], name))
                                r = try_name(j, name, &w, ret);
                }
        }
        free(w.offsets);
        free(w.all);
        free(w.out);
        free(w.ranks);
        return r;
}
