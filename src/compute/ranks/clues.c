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
#define PAUSE_TICKS 3
#define OTHERS_WORK 0.3 /* kernels ran on the others for more of a pause */
#define SAME_RANK 0.7
#define SLOW_LEAST 3 /* steps that were slow for all, to ask who did something else then */

static const struct {
        int sign;
        double least;
        bool relative;
} rows[COMPARED_COUNT] = {
#define COMPARED(id, sign, least, relative) {sign, least, relative},
    COMPARISONS(COMPARED)
#undef COMPARED
};

static double ratio(double a, double b)
{
        return b > 0 ? a / b : NAN;
}

static double errors_of(const struct job_gpu *g)
{
        if (!g->has_errors && !g->remap)
                return NAN;
        return g->errors_last - g->errors_first + (g->remap ? 1 : 0);
}

static double value_or_nan(struct value v)
{
        return value_there(v) ? v.v : NAN;
}

static double since_start(const struct job *j, const struct job_rank *r, int64_t ns)
{
        return ns ? clock_to_seconds(ns - j->start_ns) - r->offset_s : NAN;
}

/* As the host tells, or the list of processes: one of them may not know all. */
static double holders_of(const struct job_rank *r)
{
        double listed = r->use.holders > 0 ? r->use.holders / r->use.ticks : NAN;
        return fmax(value_or_nan(r->mean[JOB_HOLDERS]), listed);
}

static void take_rank(struct clues *c, size_t i)
{
        const struct job_rank *r = &c->j->ranks[i];
        const struct job_gpu *g = &r->use;
        double engine = value_or_nan(r->mean[JOB_ENGINE]), work = value_or_nan(r->mean[JOB_WORK]);
        double thread = value_or_nan(r->mean[JOB_GAP_THREAD]);
        double v[COMPARED_COUNT] = {
            [COMPARED_HOLDERS] = holders_of(r),
            [COMPARED_LINK_SPEED] = g->links > 0 ? pcie_bytes_per_s(round(g->generation / g->links),
                                                                    g->lanes / g->links)
                                                 : NAN,
            [COMPARED_CLOCK] = ratio(g->clock, g->clocks),
            [COMPARED_LIMIT] = ratio(g->limit, g->limits),
            [COMPARED_ERRORS] = errors_of(g),
            [COMPARED_IO_WAIT] = value_or_nan(r->mean[JOB_IO_WAIT]),
            [COMPARED_THREAD] = isnan(thread) ? value_or_nan(r->mean[JOB_THREAD]) : thread,
            [COMPARED_CPU] = value_or_nan(r->own_cpu),
            [COMPARED_IDLES] = engine,
            [COMPARED_BUSIER] = engine,
            [COMPARED_DENSE] = engine > 0.05 ? work / engine : NAN,
            [COMPARED_LATE] = since_start(c->j, r, g->first_ns),
            [COMPARED_HELD] =
                since_start(c->j, r, r->shared ? g->own_ns : MAX(g->own_ns, g->held_ns)),
            [COMPARED_BEGUN] = since_start(c->j, r, r->start_ns),
            [COMPARED_PAUSED] = 0,
            [COMPARED_IN_SLOW] = NAN,
        };
        if (isnan(v[COMPARED_CPU]))
                v[COMPARED_CPU] = value_or_nan(r->mean[JOB_CPU]);
        for (size_t k = 0; k < COMPARED_COUNT; k++)
                c->v[k][i] = v[k];
        /* A share of the cycles: the same work takes a larger one at a lower clock. */
        c->work[i] = isnan(v[COMPARED_CLOCK]) ? work : work * v[COMPARED_CLOCK];
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
                double begin = clock_to_seconds(p.begin_ns - c->j->start_ns);
                c->v[COMPARED_PAUSED][rank] += clock_to_seconds(p.end_ns - p.begin_ns);
                if (c->n_pauses[rank]++ == 0 || begin < c->pause_s[rank])
                        c->pause_s[rank] = begin;
        }
}

/* ---- steps that are slow for all ---- */

/* A figure of one rank in one slow step, of what it usually is. */
static double unlike(const struct clues *c, size_t rank, size_t step, enum job_figure figure)
{
        const struct job_rank *r = &c->j->ranks[rank];
        const struct job_pause *p = &c->steps.slow[step];
        double usual = value_or_nan(r->mean[figure]);
        if (p->end_ns - p->begin_ns < r->track.width_ns || !(usual > 0))
                return NAN;
        return job_mean(r, figure, p->begin_ns, p->end_ns) / usual;
}

static double greater(double a, double b)
{
        return isnan(a) ? b : isnan(b) ? a : MAX(a, b);
}

/* In one slow step: who works on while the others wait, or does nothing; the place of the rank that
 * is farthest from the others. */
static size_t most_unlike(struct clues *c, size_t step, double *engine, double *work)
{
        size_t n = c->j->n, at = n;
        double most = 0;
        for (size_t i = 0; i < n; i++) {
                engine[i] = unlike(c, i, step, JOB_ENGINE);
                work[i] = unlike(c, i, step, JOB_WORK);
        }
        for (size_t i = 0; i < n; i++) {
                double far =
                    greater(job_others(engine, n, i) - engine[i], work[i] - job_others(work, n, i));
                if (isnan(far))
                        continue;
                c->v[COMPARED_IN_SLOW][i] =
                    (isnan(c->v[COMPARED_IN_SLOW][i]) ? 0 : c->v[COMPARED_IN_SLOW][i]) +
                    far / (double)c->steps.n_slow;
                at = far > most ? i : at;
                most = MAX(most, far);
        }
        return at;
}

/* It must be the same one nearly always. */
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
                if ((double)times[i] < SAME_RANK * (double)c->steps.n_slow)
                        c->v[COMPARED_IN_SLOW][i] = 0;
        }
        free(engine);
        free(work);
        free(times);
}

/* ---- all of it ---- */

static void divide(double *v, size_t n)
{
        double middle = job_others(v, n, n);
        for (size_t i = 0; i < n; i++)
                v[i] = middle > 0 ? v[i] / middle : NAN;
}

/* When all ranks are there and at work; all of the time where they never are together. */
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

static void take_means(struct clues *c)
{
        for (size_t i = 0; i < c->j->n; i++) {
                struct job_rank *r = &c->j->ranks[i];
                for (enum job_figure f = 0; f < JOB_FIGURE_COUNT; f++) {
                        double v = job_mean(r, f, c->from_ns, c->to_ns);
                        r->mean[f] = isnan(v) ? value_missing(STATE_NONE) : value_ok(v);
                }
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
        divide(c->work, j->n);
}

static int reserve(struct clues *c)
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
        c->n_pauses = calloc(n, sizeof(size_t));
        c->pause_s = calloc(n, sizeof(double));
        return fine && c->work && c->alike && c->n_pauses && c->pause_s ? 0 : -ENOMEM;
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
                if (middle > 0)
                        job_outliers(c->v[k], n, rows[k].sign, rows[k].least * middle, c->out[k]);
        }
}

int clues_take(const struct job *j, const struct step_view *steps, struct clues *ret)
{
        *ret = (struct clues){.j = j, .steps = *steps};
        int r = reserve(ret);
        if (r < 0)
                return r;
        find_time(ret);
        take_means(ret);
        for (size_t i = 0; i < j->n; i++)
                take_rank(ret, i);
        for (size_t i = 0; i < j->n; i++)
                take_pauses(ret, i);
        take_slow(ret);
        find_alike(ret);
        compare_all(ret);
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
        free(c->n_pauses);
        free(c->pause_s);
}
