#include "base/attr.h"
#include "base/clock.h"
#include "compute/ranks/ranks.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUSIER 0.05 /* of the time: it had kernels running, the other not */

/* ---- one row a rank: which rank differs in what ---- */

static void values_of(const struct job *j, enum job_figure figure, double *ret)
{
        for (size_t i = 0; i < j->n; i++)
                ret[i] = value_or_nan(j->ranks[i].mean[figure]);
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
                    have->basis == f->basis && have->before_work == f->before_work)
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
                                to->finding.why = f->why;
                                to->finding.rule = f->rule;
                                to->finding.place = f->place;
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

/* ---- which ranks there are ---- */

static void find_missing(struct job *j)
{
        double world = 0;
        size_t at = 0;
        for (size_t i = 0; i < j->n; i++) {
                if (value_is_set(j->ranks[i].world))
                        world = MAX(world, j->ranks[i].world.v);
        }
        j->world = world;
        j->n_missing = 0;
        for (double rank = 0; rank < world; rank++) {
                while (at < j->n && value_is_set(j->ranks[at].rank) && j->ranks[at].rank.v < rank)
                        at++;
                if (at < j->n && value_is_set(j->ranks[at].rank) && j->ranks[at].rank.v == rank)
                        continue;
                if (j->n_missing < ARRAY_LEN(j->missing))
                        j->missing[j->n_missing] = (size_t)rank;
                j->n_missing++;
        }
}

static struct gpu_identity identity_of_rank(const void *list, size_t i)
{
        const struct job_rank *ranks = list;
        return (struct gpu_identity){.host = ranks[i].node, .label = ranks[i].gpu, .id = ""};
}

/* A rank without a number is a GPU of a node, even when there is only one node. */
static void name_ranks(struct job *j)
{
        struct naming naming;
        naming_make(&naming, j->n, j->ranks, identity_of_rank);
        naming.with_host = true;
        for (size_t i = 0; i < j->n; i++) {
                struct job_rank *r = &j->ranks[i];
                bool twice =
                    (i > 0 && value_is_set(r->rank) && value_is_set(j->ranks[i - 1].rank) &&
                     j->ranks[i - 1].rank.v == r->rank.v) ||
                    (i + 1 < j->n && value_is_set(r->rank) && value_is_set(j->ranks[i + 1].rank) &&
                     j->ranks[i + 1].rank.v == r->rank.v);
                if (value_is_set(r->rank) && !twice)
                        snprintf(r->label, sizeof(r->label), "%.0f", r->rank.v);
                else
                        naming_put(&naming, identity_of_rank(r, 0), r->label, sizeof(r->label));
        }
}

/* How much a cause says of the rank itself: its steps are late too when it waits for its group, and
 * its GPU may idle then. */
static int cause_strength(enum straggler_cause cause)
{
        return cause == CAUSE_UNKNOWN      ? 0
               : cause == CAUSE_SLOW_STEPS ? 1
               : cause == CAUSE_PAUSES     ? 2
                                           : 3;
}

/* How long kernels ran while it was late. */
static double busy_when_late(const struct clues *c, const struct straggler *s)
{
        double sum = 0, n = 0;
        if (s->cause != CAUSE_SLOW_STEPS || c->steps.n_slow == 0)
                return c->v[COMPARED_IDLES][s->rank];
        for (size_t i = 0; i < c->steps.n_slow; i++) {
                const struct job_pause *p = &c->steps.slow[i];
                double v = job_mean(&c->j->ranks[s->rank], JOB_ENGINE, p->begin_ns, p->end_ns);
                sum += isnan(v) ? 0 : v;
                n += !isnan(v);
        }
        return n > 0 ? sum / n : NAN;
}

/* Of ranks that are late together by their steps, one may only have waited for the other: for that
 * which has a cause, or whose GPU had nothing to do meanwhile. */
static bool waits_for(const struct clues *c, const struct straggler *s, const struct straggler *t)
{
        const struct step_late *ranks = c->steps.ranks;
        if (s->rank == t->rank || !s->by_marks || !ranks[t->rank].late ||
            ranks[s->rank].with != ranks[t->rank].with)
                return false;
        if (cause_strength(s->cause) != cause_strength(t->cause))
                return cause_strength(s->cause) < cause_strength(t->cause);
        return cause_strength(s->cause) < 2 &&
               busy_when_late(c, s) - busy_when_late(c, t) >= BUSIER;
}

static bool waits_for_any(const struct job *j, const struct clues *c, const struct straggler *s)
{
        struct straggler t;
        for (size_t i = 0; i < j->n; i++) {
                if (c->steps.ranks[i].late && job_cause(c, i, &t) != CAUSE_COUNT &&
                    waits_for(c, s, &t))
                        return true;
        }
        return false;
}

static void add_stragglers(struct job *j, const struct clues *c)
{
        struct straggler s;
        for (size_t i = 0; i < j->n; i++) {
                if (job_cause(c, i, &s) == CAUSE_COUNT || waits_for_any(j, c, &s))
                        continue;
                snprintf(s.step, sizeof(s.step), "%s", c->steps.name);
                size_t at = MIN(j->n_stragglers, (size_t)STRAGGLERS_MAX - 1);
                for (; at > 0 && j->stragglers[at - 1].cost_s < s.cost_s; at--)
                        j->stragglers[at] = j->stragglers[at - 1];
                j->stragglers[at] = s;
                j->n_stragglers = MIN(j->n_stragglers + 1, (size_t)STRAGGLERS_MAX);
        }
}

static int name_in(struct job *j, const struct step_view *steps, bool later)
{
        struct clues clues;
        int r = clues_take(j, steps, later, &clues);
        j->n_stragglers = 0;
        if (r == 0 && j->n > 1)
                add_stragglers(j, &clues);
        clues_finish(&clues);
        return r;
}

static bool has_cause(const struct job *j)
{
        for (size_t i = 0; i < j->n_stragglers; i++) {
                if (j->stragglers[i].cause == CAUSE_UNKNOWN)
                        return false;
        }
        return j->n_stragglers > 0;
}

/* What began in the middle shows in the second half. Means are reported all of the time. */
static int name_stragglers(struct job *j, const struct step_view *steps)
{
        struct straggler later[STRAGGLERS_MAX];
        size_t n = 0;
        int r = name_in(j, steps, false);
        if (r < 0 || has_cause(j))
                return r;
        r = name_in(j, steps, true);
        if (r == 0 && has_cause(j)) {
                n = j->n_stragglers;
                memcpy(later, j->stragglers, n * sizeof(later[0]));
        }
        if (r == 0)
                r = name_in(j, steps, false);
        if (r == 0 && n > 0) {
                memcpy(j->stragglers, later, n * sizeof(later[0]));
                j->n_stragglers = n;
        }
        return r;
}

int job_find_stragglers(struct job *j)
{
        struct step_view steps = {.ranks = calloc(j->n + 1, sizeof(struct step_late))};
        if (!steps.ranks)
                return -ENOMEM;
        job_sort(j);
        find_missing(j);
        name_ranks(j);
        int r = job_steps(j, &steps);
        if (r == 0)
                r = name_stragglers(j, &steps);
        if (r == 0)
                r = mark_outliers(j);
        if (r == 0) {
                join_findings(j);
                job_compare_lines(j);
        }
        memcpy(j->step, steps.name, sizeof(j->step));
        j->step_s = steps.step_s;
        j->n_steps = steps.n;
        free(steps.ranks);
        return r;
}
