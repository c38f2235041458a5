#include "base/attr.h"
#include "base/clock.h"
#include "compute/ranks/ranks.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_ranks(const void *a, const void *b)
{
        const struct job_rank *x = a, *y = b;
        double p = value_there(x->rank) ? x->rank.v : INFINITY;
        double q = value_there(y->rank) ? y->rank.v : INFINITY;
        if (p != q)
                return p < q ? -1 : 1;
        int by_node = strverscmp(x->node, y->node);
        return by_node ? by_node : strverscmp(x->gpu, y->gpu);
}

/* ---- one row a rank: who differs in what ---- */

static void values_of(const struct job *j, enum job_figure figure, double *ret)
{
        for (size_t i = 0; i < j->n; i++)
                ret[i] = value_there(j->ranks[i].mean[figure]) ? j->ranks[i].mean[figure].v : NAN;
}

/* What is worth a mark in the table: a share of the middle, or an amount. */
static const struct {
        enum job_figure figure;
        double share, least;
} marked[] = {{JOB_ENGINE, 0, 0.05}, {JOB_SM, 0, 0.07},       {JOB_WORK, 0.12, 0.02},
              {JOB_POWER, 0.08, 10}, {JOB_CLOCK, 0.04, 0},    {JOB_LINK, 0.5, 0.05},
              {JOB_CPU, 0.25, 0.3},  {JOB_IO_WAIT, 0.5, 0.2}, {JOB_STORAGE, 0.5, 5e6},
              {JOB_HOLDERS, 0, 0.4}, {JOB_THREAD, 0, 0.15}};

static int mark_outliers(struct job *j)
{
        double *v = calloc(j->n + 1, sizeof(*v));
        bool *out = calloc(j->n + 1, sizeof(*out));
        for (size_t i = 0; v && out && i < ARRAY_LEN(marked); i++) {
                enum job_figure f = marked[i].figure;
                values_of(j, f, v);
                double middle = job_others(v, j->n, j->n);
                double least = MAX(marked[i].least, isnan(middle) ? 0 : marked[i].share * middle);
                for (int sign = -1; j->n > 2 && sign <= 1; sign += 2) {
                        job_outliers(v, j->n, sign, least, out);
                        for (size_t k = 0; k < j->n; k++) {
                                if (out[k])
                                        j->ranks[k].outlier[f] = sign < 0 ? JOB_LOW : JOB_HIGH;
                        }
                }
        }
        bool fine = v && out;
        free(v);
        free(out);
        return fine ? 0 : -ENOMEM;
}

/* ---- findings of all ranks, joined ---- */

static struct job_joined *joined_for(struct job *j, const struct job_finding *f)
{
        for (size_t i = 0; i < j->n_joined; i++) {
                const struct job_finding *have = &j->joined[i].finding;
                if (have->limiter == f->limiter && have->held_by == f->held_by &&
                    have->before_work == f->before_work)
                        return &j->joined[i];
        }
        if (j->n_joined == JOB_JOINED_MAX)
                return NULL;
        struct job_joined *to = &j->joined[j->n_joined];
        *to = (struct job_joined){.finding = *f, .has = calloc(j->n, 1)};
        if (!to->has)
                return NULL;
        to->finding.gpu_s = to->finding.won_s = to->finding.share = 0;
        j->n_joined++;
        return to;
}

static void join_findings(struct job *j)
{
        double most[JOB_JOINED_MAX] = {0};
        for (size_t i = 0; i < j->n; i++) {
                for (size_t k = 0; k < j->ranks[i].n_findings; k++) {
                        const struct job_finding *f = &j->ranks[i].findings[k];
                        struct job_joined *to = joined_for(j, f);
                        if (!to)
                                continue;
                        size_t at = (size_t)(to - j->joined);
                        to->finding.gpu_s += f->gpu_s;
                        to->finding.won_s += f->won_s;
                        to->finding.share += f->share;
                        to->n += !to->has[i];
                        to->has[i] = 1;
                        if (f->gpu_s > most[at]) {
                                most[at] = f->gpu_s;
                                to->first = i;
                        }
                }
        }
        for (size_t i = 0; i < j->n_joined; i++)
                j->joined[i].finding.share /= (double)j->joined[i].n;
        for (size_t i = 1; i < j->n_joined; i++) {
                struct job_joined f = j->joined[i];
                size_t at = i;
                for (; at > 0 && j->joined[at - 1].finding.won_s < f.finding.won_s; at--)
                        j->joined[at] = j->joined[at - 1];
                j->joined[at] = f;
        }
}

/* ---- who there is ---- */

static void find_missing(struct job *j)
{
        double world = 0;
        size_t at = 0;
        for (size_t i = 0; i < j->n; i++) {
                if (value_there(j->ranks[i].world))
                        world = MAX(world, j->ranks[i].world.v);
        }
        j->world = world;
        j->n_missing = 0;
        for (double rank = 0; rank < world; rank++) {
                while (at < j->n && value_there(j->ranks[at].rank) && j->ranks[at].rank.v < rank)
                        at++;
                if (at < j->n && value_there(j->ranks[at].rank) && j->ranks[at].rank.v == rank)
                        continue;
                if (j->n_missing < ARRAY_LEN(j->missing))
                        j->missing[j->n_missing] = (size_t)rank;
                j->n_missing++;
        }
}

static void name_ranks(struct job *j)
{
        for (size_t i = 0; i < j->n; i++) {
                struct job_rank *r = &j->ranks[i];
                bool twice =
                    (i > 0 && value_there(r->rank) && value_there(j->ranks[i - 1].rank) &&
                     j->ranks[i - 1].rank.v == r->rank.v) ||
                    (i + 1 < j->n && value_there(r->rank) && value_there(j->ranks[i + 1].rank) &&
                     j->ranks[i + 1].rank.v == r->rank.v);
                if (value_there(r->rank) && !twice)
                        snprintf(r->label, sizeof(r->label), "%.0f", r->rank.v);
                else
                        snprintf(r->label, sizeof(r->label), "%.20s:%.8s", r->node, r->gpu);
        }
}

static void add_stragglers(struct job *j, const struct clues *c)
{
        struct straggler s;
        for (size_t i = 0; i < j->n; i++) {
                if (job_cause(c, i, &s) == CAUSE_COUNT)
                        continue;
                snprintf(s.step, sizeof(s.step), "%s", c->steps.name);
                size_t at = MIN(j->n_stragglers, (size_t)STRAGGLERS_MAX - 1);
                for (; at > 0 && j->stragglers[at - 1].cost_s < s.cost_s; at--)
                        j->stragglers[at] = j->stragglers[at - 1];
                j->stragglers[at] = s;
                j->n_stragglers = MIN(j->n_stragglers + 1, (size_t)STRAGGLERS_MAX);
        }
}

int job_judge(struct job *j)
{
        struct clues clues = {0};
        struct step_view steps = {.ranks = calloc(j->n + 1, sizeof(struct step_late))};
        if (!steps.ranks)
                return -ENOMEM;
        if (j->n > 1)
                qsort(j->ranks, j->n, sizeof(*j->ranks), compare_ranks);
        find_missing(j);
        name_ranks(j);
        int r = job_steps(j, &steps);
        if (r == 0)
                r = clues_take(j, &steps, &clues);
        if (r == 0 && j->n > 1)
                add_stragglers(j, &clues);
        if (r == 0)
                r = mark_outliers(j);
        if (r == 0)
                join_findings(j);
        memcpy(j->step, steps.name, sizeof(j->step));
        j->step_s = steps.step_s;
        j->n_steps = steps.n;
        clues_finish(&clues);
        free(steps.ranks);
        return r;
}
