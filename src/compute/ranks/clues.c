/* What is compared, rank by rank. */
#include "base/attr.h"
#include "base/clock.h"
#include "compute/ceilings.h"
#include "compute/ranks/ranks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALIKE 0.10  /* memory within this of the others' */
#define WARM_UP 0.2 /* of the time: pauses in it are nobody's */
#define PAUSE_LEAST_S 1.0
#define PAUSE_TICKS 2
#define CLOCKS_APART_NS (5 * NS_PER_S) /* nodes' clocks, at most */
#define PEERS 32                       /* how many report all */
#define OTHERS_WORK 0.3                /* kernels ran on the others for more of a pause */
#define SAME_RANK 0.7
#define SAVING 0.3    /* of a pause */
#define FOR_ALL 0.1   /* of its usual work more than the others do */
#define HALF_GROWTH 2 /* places of grown_ns */
#define PREPARES 0.5  /* cores: less is waiting */
#define SLOW_LEAST                                                                                 \
        3 /* steps that were slow for all ranks, to find which rank did something else then */

static const struct {
        int sign;
        double least;
        bool relative;
} rows[COMPARED_COUNT] = {
#define COMPARED(id, sign, least, relative) {sign, least, relative},
    COMPARISONS(COMPARED)
#undef COMPARED
};

static double ratio_or_nan(double a, double b)
{
        return b > 0 ? a / b : NAN;
}

static double errors_of(const struct job_gpu *g)
{
        if (!g->has_errors && !g->remap)
                return NAN;
        return g->errors_last - g->errors_first + (g->remap ? 1 : 0);
}

static double since_start(const struct job *j, const struct job_rank *r, int64_t ns)
{
        return ns ? clock_to_seconds(ns - j->start_ns) - r->offset_s : NAN;
}

/* As the host reports, or the list of processes: one of them may not know all. */
static double holders_of(const struct job_rank *r)
{
        double listed = r->use.holders > 0 ? r->use.holders / r->use.ticks : NAN;
        return fmax(value_or_nan(r->mean[JOB_HOLDERS]), listed);
}

/* The memory that ranks usually have grown to, as a place of grown_ns. */
static size_t usual_growth(const struct job *j)
{
        double *most = calloc(j->n + 1, sizeof(*most));
        for (size_t i = 0; most && i < j->n; i++) {
                size_t k = 0;
                while (k < JOB_GROWTH_MAX && j->ranks[i].own.grown_ns[k])
                        k++;
                most[i] = (double)k;
        }
        size_t usual = most ? (size_t)job_median(most, j->n) : 0;
        free(most);
        return usual;
}

/* Until its processes had half of the usual memory: programs are loaded by then. */
static double grown_after(const struct clues *c, const struct job_rank *r)
{
        if (c->growth <= HALF_GROWTH)
                return NAN;
        return since_start(c->j, r, r->own.grown_ns[c->growth - 1 - HALF_GROWTH]);
}

static int64_t first_kernel(const struct job *j)
{
        int64_t first = INT64_MAX;
        for (size_t i = 0; i < j->n; i++) {
                const struct job_rank *r = &j->ranks[i];
                if (r->use.first_ns)
                        first = MIN(first, r->use.first_ns - clock_from_seconds(r->offset_s));
        }
        return first;
}

/* How long its processes were busy before the first kernel of any rank: who has prepared waits. */
static double prepared_for(const struct clues *c, const struct job_rank *r)
{
        const struct job_own *own = &r->own;
        int64_t move = clock_from_seconds(r->offset_s), busy = 0;
        if (own->n < 2 || r->shared)
                return NAN;
        for (size_t i = 1; i < own->n && own->at_ns[i] - move <= c->first_ns; i++) {
                int64_t ns = own->at_ns[i] - own->at_ns[i - 1];
                double cpu_s = own->cpu_s[i] - own->cpu_s[i - 1];
                busy += cpu_s >= PREPARES * clock_to_seconds(ns) ? ns : 0;
        }
        return clock_to_seconds(busy);
}

/* The busiest thread is that of the processes on the GPU. Where ranks share one, their own
 * processes report. */
static double thread_of(const struct job_rank *r)
{
        double thread = value_or_nan(r->mean[JOB_GAP_THREAD]);
        if (r->shared)
                return fmin(value_or_nan(r->own_cpu), 1);
        return isnan(thread) ? value_or_nan(r->mean[JOB_THREAD]) : thread;
}

double job_saves(const struct job_rank *r, int64_t from_ns, int64_t to_ns)
{
        int64_t sum = 0, move = clock_from_seconds(r->offset_s);
        for (size_t i = 0; i < r->use.n_saves; i++)
                sum += MAX(MIN(r->use.saves[i].end_ns - move, to_ns) -
                               MAX(r->use.saves[i].begin_ns - move, from_ns),
                           0);
        return clock_to_seconds(sum);
}

static void take_rank(struct clues *c, size_t i)
{
        const struct job_rank *r = &c->j->ranks[i];
        const struct job_gpu *g = &r->use;
        double engine = value_or_nan(r->mean[JOB_ENGINE]), work = value_or_nan(r->mean[JOB_WORK]);
        /* One rank saves for all: that is how jobs are made. */
        double saving = ratio_or_nan(job_saves(r, c->from_ns, c->to_ns), c->seconds);
        double v[COMPARED_COUNT] = {
            [COMPARED_HOLDERS] = holders_of(r),
            [COMPARED_LINK_SPEED] = g->links > 0 ? pcie_bytes_per_s(round(g->generation / g->links),
                                                                    g->lanes / g->links)
                                                 : NAN,
            [COMPARED_CLOCK] = ratio_or_nan(g->clock, g->clocks),
            [COMPARED_LIMIT] = ratio_or_nan(g->limit, g->limits),
            [COMPARED_ERRORS] = errors_of(g),
            [COMPARED_IO_WAIT] = value_or_nan(r->mean[JOB_IO_WAIT]),
            [COMPARED_THREAD] = thread_of(r),
            [COMPARED_CPU] = value_or_nan(r->own_cpu),
            [COMPARED_IDLES] = engine + saving,
            [COMPARED_BUSIER] = engine,
            [COMPARED_DENSE] = engine > 0.05 ? work / engine : NAN,
            [COMPARED_LATE] = since_start(c->j, r, g->first_ns),
            [COMPARED_HELD] =
                since_start(c->j, r, r->shared ? g->own_ns : MAX(g->own_ns, g->held_ns)),
            [COMPARED_BEGUN] = since_start(c->j, r, r->start_ns),
            [COMPARED_GROWN] = grown_after(c, r),
            [COMPARED_PREPARED] = prepared_for(c, r),
            [COMPARED_DRAWS_LESS] = isnan(work) ? value_or_nan(r->mean[JOB_POWER]) : NAN,
            [COMPARED_PAUSED] = 0,
            [COMPARED_IN_SLOW] = NAN,
        };
        if (isnan(v[COMPARED_CPU]))
                v[COMPARED_CPU] = value_or_nan(r->mean[JOB_CPU]);
        for (size_t k = 0; k < COMPARED_COUNT; k++)
                c->v[k][i] = v[k];
        c->work[i] = work;
}

/* A share of the cycles: the same work takes a larger one at a lower clock. One that is not known,
 * since kernels hardly ever fill a sample, is as the others'. */
static void weigh_work(struct clues *c)
{
        const double *clock = c->v[COMPARED_CLOCK];
        for (size_t i = 0; i < c->j->n; i++) {
                double hz = isnan(clock[i]) ? job_others(clock, c->j->n, i) : clock[i];
                c->work[i] *= isnan(hz) ? 1 : hz;
        }
}

/* ---- pauses ---- */

static bool others_work(const struct job *j, size_t rank, const struct job_pause *p)
{
        size_t n = 0, work = 0;
        for (size_t i = 0; i < j->n; i++) {
                double engine =
                    i == rank ? NAN : job_mean(&j->ranks[i], JOB_ENGINE, p->begin_ns, p->end_ns);
                n += !isnan(engine);
                work += engine >= OTHERS_WORK;
        }
        return n > 0 && 2 * work > n;
}

static bool pauses_near(const struct job_rank *r, const struct job_pause *p)
{
        int64_t move = clock_from_seconds(r->offset_s);
        for (size_t i = 0; i < r->use.n_pauses; i++) {
                const struct job_pause *own = &r->use.pauses[i];
                if (own->begin_ns - move < p->end_ns + CLOCKS_APART_NS &&
                    own->end_ns - move > p->begin_ns - CLOCKS_APART_NS &&
                    2 * (own->end_ns - own->begin_ns) >= p->end_ns - p->begin_ns)
                        return true;
        }
        return false;
}

/* Most others pause as well at about that time: all wait, and clocks that differ hide that. */
static bool all_pause(const struct job *j, size_t rank, const struct job_pause *p)
{
        size_t n = MIN(j->n - 1, (size_t)PEERS), with = 0;
        for (size_t i = 1; i <= n; i++)
                with += pauses_near(&j->ranks[(rank + i) % j->n], p);
        return 2 * with > n;
}

static void take_pauses(struct clues *c, size_t rank)
{
        const struct job_rank *r = &c->j->ranks[rank];
        int64_t tick = r->use.ticks > 0 && r->use.last_ns > r->use.first_ns
                           ? (r->use.last_ns - r->use.first_ns) / (int64_t)MAX(r->use.ticks, 1)
                           : 0;
        int64_t least = MAX(clock_from_seconds(PAUSE_LEAST_S), PAUSE_TICKS * tick);
        int64_t move = clock_from_seconds(r->offset_s);
        /* Steps say when the warm-up was over. */
        int64_t warm_ns = c->steps.n > 0 ? c->j->start_ns + clock_from_seconds(c->steps.warm_s)
                                         : c->from_ns + clock_from_seconds(WARM_UP * c->seconds);
        for (size_t i = 0; i < r->use.n_pauses; i++) {
                struct job_pause p = {r->use.pauses[i].begin_ns - move,
                                      r->use.pauses[i].end_ns - move};
                if (p.end_ns - p.begin_ns < least || p.begin_ns < warm_ns || p.end_ns > c->to_ns ||
                    !others_work(c->j, rank, &p))
                        continue;
                if (job_saves(r, p.begin_ns, p.end_ns) >=
                    SAVING * clock_to_seconds(p.end_ns - p.begin_ns))
                        continue;
                double begin = clock_to_seconds(p.begin_ns - c->j->start_ns);
                c->n_common[rank] += all_pause(c->j, rank, &p);
                c->v[COMPARED_PAUSED][rank] += clock_to_seconds(p.end_ns - p.begin_ns);
                if (c->n_pauses[rank]++ == 0 || begin < c->pause_s[rank])
                        c->pause_s[rank] = begin;
        }
}

/* ---- steps that are slow for all ---- */

/* A figure of one rank in one slow step, of what it usually is. */
static double relative_deviation(const struct clues *c, size_t rank, size_t step,
                                 enum job_figure figure)
{
        const struct job_rank *r = &c->j->ranks[rank];
        const struct job_pause *p = &c->steps.slow[step];
        double usual = value_or_nan(r->mean[figure]);
        if (p->end_ns - p->begin_ns < r->track.width_ns || !(usual > 0) ||
            job_saves(r, p->begin_ns, p->end_ns) > 0)
                return NAN;
        return job_mean(r, figure, p->begin_ns, p->end_ns) / usual;
}

static double larger_or_number(double a, double b)
{
        return isnan(a) ? b : isnan(b) ? a : MAX(a, b);
}

/* In one slow step: who works on while the others wait, or does nothing; the place of the rank that
 * is farthest from the others. Who works between steps, as for an evaluation, does so for all. */
static size_t most_unlike(struct clues *c, size_t step, double *engine, double *work)
{
        size_t n = c->j->n, at = n;
        double most = 0;
        for (size_t i = 0; i < n; i++) {
                engine[i] = relative_deviation(c, i, step, JOB_ENGINE);
                work[i] = relative_deviation(c, i, step, JOB_WORK);
                if (isnan(work[i])) /* a driver without these counters: waiting draws little */
                        work[i] = relative_deviation(c, i, step, JOB_POWER);
        }
        for (size_t i = 0; i < n; i++) {
                double far = larger_or_number(job_others(engine, n, i) - engine[i],
                                              work[i] - job_others(work, n, i));
                bool for_all =
                    c->steps.between[step] && work[i] - job_others(work, n, i) >= FOR_ALL;
                if (isnan(far) || for_all)
                        continue;
                c->v[COMPARED_IN_SLOW][i] =
                    (isnan(c->v[COMPARED_IN_SLOW][i]) ? 0 : c->v[COMPARED_IN_SLOW][i]) +
                    far / (double)c->steps.n_slow;
                at = far > most ? i : at;
                most = MAX(most, far);
        }
        return at;
}

/* It must be the same one nearly always, and not by chance. */
static void take_slow(struct clues *c)
{
        size_t n = c->j->n;
        if (c->steps.n_slow < SLOW_LEAST || 5 * c->steps.n_slow > c->steps.n)
                return;
        double *engine = calloc(n, sizeof(*engine)), *work = calloc(n, sizeof(*work));
        size_t *times = calloc(n + 1, sizeof(*times));
        for (size_t k = 0; engine && work && times && k < c->steps.n_slow; k++)
                times[most_unlike(c, k, engine, work)]++;
        for (size_t i = 0; times && i < n; i++) {
                double own = (double)times[i], all = (double)c->steps.n_slow;
                if (own < SAME_RANK * all || !job_more_often(own, all - own, n - 1))
                        c->v[COMPARED_IN_SLOW][i] = 0;
        }
        free(engine);
        free(work);
        free(times);
}

/* ---- all of it ---- */

static void divide_by_count(double *v, size_t n)
{
        double middle = job_others(v, n, n);
        for (size_t i = 0; i < n; i++)
                v[i] = middle > 0 ? v[i] / middle : NAN;
}

/* When all ranks are present and at work; all of the time where they never are together. */
static void find_time(struct clues *c)
{
        const struct job *j = c->j;
        c->from_ns = INT64_MIN;
        c->to_ns = INT64_MAX;
        for (size_t i = 0; i < j->n; i++) {
                const struct job_rank *r = &j->ranks[i];
                int64_t move = clock_from_seconds(r->offset_s);
                if (r->use.work_ns)
                        c->from_ns = MAX(c->from_ns, r->use.work_ns - move);
                if (r->use.last_ns)
                        c->to_ns = MIN(c->to_ns, r->use.last_ns - move);
        }
        if (c->from_ns >= c->to_ns || c->from_ns == INT64_MIN || c->to_ns == INT64_MAX) {
                c->from_ns = j->start_ns;
                c->to_ns = j->end_ns;
        }
        c->seconds = clock_to_seconds(c->to_ns - c->from_ns);
}

/* Without the long times between marked steps, in which one rank evaluates or saves for all. */
static double mean_in_steps(const struct clues *c, const struct job_rank *r, enum job_figure f)
{
        double all = job_mean(r, f, c->from_ns, c->to_ns), seconds = c->seconds;
        double sum = all * seconds;
        if (isnan(all))
                return NAN;
        for (size_t i = 0; i < c->steps.n_slow; i++) {
                const struct job_pause *p = &c->steps.slow[i];
                double v = job_mean(r, f, p->begin_ns, p->end_ns);
                if (!c->steps.between[i] || p->begin_ns < c->from_ns || p->end_ns > c->to_ns ||
                    isnan(v))
                        continue;
                sum -= v * clock_to_seconds(p->end_ns - p->begin_ns);
                seconds -= clock_to_seconds(p->end_ns - p->begin_ns);
        }
        return seconds > c->seconds / 2 ? MAX(sum, 0) / seconds : all;
}

static void take_means(struct clues *c)
{
        for (size_t i = 0; i < c->j->n; i++) {
                struct job_rank *r = &c->j->ranks[i];
                for (enum job_figure f = 0; f < JOB_FIGURE_COUNT; f++) {
                        double v = mean_in_steps(c, r, f);
                        r->mean[f] = isnan(v) ? value_missing(STATE_NONE) : value_ok(v);
                }
                double cpu = job_own_cpu(r, c->from_ns, c->to_ns);
                r->own_cpu = isnan(cpu) ? r->own_cpu : value_ok(cpu);
        }
}

static void find_alike(struct clues *c)
{
        const struct job *j = c->j;
        double *memory = calloc(j->n + 1, sizeof(*memory));
        for (size_t i = 0; memory && i < j->n; i++)
                memory[i] = value_or_nan(j->ranks[i].peak_memory);
        for (size_t i = 0; i < j->n; i++) {
                double others = memory ? job_others(memory, j->n, i) : NAN;
                c->alike[i] = !memory || isnan(memory[i]) || isnan(others) ||
                              fabs(memory[i] - others) <= ALIKE * others;
        }
        free(memory);
        divide_by_count(c->work, j->n);
}

static int reserve_clues(struct clues *c)
{
        size_t n = c->j->n + 1;
        bool fine = true;
        for (size_t k = 0; k < COMPARED_COUNT; k++) {
                c->v[k] = calloc(n, sizeof(double));
                c->out[k] = calloc(n, sizeof(bool));
                fine &= c->v[k] && c->out[k];
        }
        c->work = calloc(n, sizeof(double));
        c->alike = calloc(n, sizeof(bool));
        c->by_node = calloc(n, sizeof(bool));
        c->n_pauses = calloc(n, sizeof(size_t));
        c->n_common = calloc(n, sizeof(size_t));
        c->pause_s = calloc(n, sizeof(double));
        return c->n_common && fine && c->work && c->alike && c->by_node && c->n_pauses && c->pause_s
                   ? 0
                   : -ENOMEM;
}

static bool same_node(const struct job *j, size_t a, size_t b)
{
        return strcmp(j->ranks[a].node, j->ranks[b].node) == 0;
}

/* Whether all ranks of a node are beyond all others by so much; they must be GPUs of one kind. */
static bool node_is_apart(const struct clues *c, enum compared k, size_t first, double least)
{
        const struct job *j = c->j;
        double near = -INFINITY, far = INFINITY, clock = value_or_nan(j->ranks[first].clock_max);
        size_t n = 0, others = 0;
        for (size_t i = 0; i < j->n; i++) {
                double v = rows[k].sign * c->v[k][i];
                bool own = same_node(j, i, first);
                if (isnan(v) || value_or_nan(j->ranks[i].clock_max) != clock)
                        return false;
                n += own;
                others += !own;
                far = own ? MIN(far, v) : far;
                near = own ? near : MAX(near, v);
        }
        return n > 1 && others > 1 && far - near >= least;
}

/* Half of the ranks cannot stand out, one of two nodes can: by what its machine does to all of its
 * GPUs. */
static void compare_nodes(struct clues *c, enum compared k, double least)
{
        size_t n = c->j->n;
        for (size_t i = 0; i < n; i++) {
                if (c->out[k][i])
                        return;
        }
        for (size_t first = 0; first < n; first++) {
                if ((first > 0 && same_node(c->j, first, first - 1)) ||
                    !node_is_apart(c, k, first, least))
                        continue;
                for (size_t i = 0; i < n; i++)
                        c->out[k][i] = c->by_node[i] = same_node(c->j, i, first);
                return;
        }
}

static void compare_all(struct clues *c)
{
        size_t n = c->j->n;
        for (enum compared k = 0; k < COMPARED_COUNT; k++) {
                if (!rows[k].relative) {
                        job_outliers(c->v[k], n, rows[k].sign, rows[k].least, c->out[k]);
                        continue;
                }
                double middle = job_others(c->v[k], n, n);
                if (!(middle > 0))
                        continue;
                job_outliers(c->v[k], n, rows[k].sign, rows[k].least * middle, c->out[k]);
                if (k == COMPARED_CLOCK || k == COMPARED_LIMIT || k == COMPARED_LINK_SPEED)
                        compare_nodes(c, k, rows[k].least * middle);
        }
}

/* Counters of a GPU that ranks share are those of all of them. */
static void leave_shared(struct clues *c)
{
        static const enum compared counters[] = {COMPARED_IDLES, COMPARED_BUSIER, COMPARED_DENSE,
                                                 COMPARED_LATE,  COMPARED_PAUSED, COMPARED_IN_SLOW};
        for (size_t i = 0; i < c->j->n; i++) {
                for (size_t k = 0; c->j->ranks[i].shared && k < ARRAY_LEN(counters); k++)
                        c->out[counters[k]][i] = false;
        }
}

int clues_take(const struct job *j, const struct step_view *steps, bool later, struct clues *ret)
{
        *ret = (struct clues){.j = j, .steps = *steps};
        int r = reserve_clues(ret);
        if (r < 0)
                return r;
        find_time(ret);
        if (later) {
                ret->from_ns += (ret->to_ns - ret->from_ns) / 2;
                ret->seconds /= 2;
        }
        take_means(ret);
        ret->growth = usual_growth(j);
        ret->first_ns = first_kernel(j);
        for (size_t i = 0; i < j->n; i++)
                take_rank(ret, i);
        weigh_work(ret);
        for (size_t i = 0; i < j->n; i++)
                take_pauses(ret, i);
        take_slow(ret);
        find_alike(ret);
        compare_all(ret);
        leave_shared(ret);
        return 0;
}

void clues_finish(struct clues *c)
{
        for (size_t k = 0; k < COMPARED_COUNT; k++) {
                free(c->v[k]);
                free(c->out[k]);
        }
        free(c->work);
        free(c->alike);
        free(c->by_node);
        free(c->n_pauses);
        free(c->n_common);
        free(c->pause_s);
}
