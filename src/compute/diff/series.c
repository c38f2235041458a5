/* Rows of steps, phases and the user's numbers, and what each may say of the whole. */
#include "base/attr.h"
#include "compute/diff/measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Numbers of speed may begin with a warm-up. */
static size_t warm_up_of(const struct diff_series *s)
{
        return s->speed.speed != SPEED_NONE ? stats_warm_up(s->v, s->n) : 0;
}

static struct estimate series_mean(const struct diff_series *s)
{
        size_t warm = warm_up_of(s);
        return stats_mean(s->v + warm, s->n - warm);
}

static bool take_series(const struct diff_run *run, const void *arg, struct estimate *ret)
{
        const struct diff_series *as = arg, *s = diff_series_find(run, as->name, as->kind);
        if (s)
                *ret = series_mean(s);
        return s && s->n > 0;
}

/* Where repeats are too few to estimate noise, the usual variation of runs is assumed. */
static bool take_series_once(const struct diff_run *run, const void *arg, struct estimate *ret)
{
        const struct diff_series *as = arg;
        if (!take_series(run, arg, ret))
                return false;
        double least_s = as->kind == DIFF_PHASE ? DIFF_ONCE_S : 0;
        ret->se = hypot(DIFF_ONCE_SPREAD * ret->mean, least_s);
        ret->df = INFINITY;
        return true;
}

static bool take_warm_up(const struct diff_run *run, const void *arg, struct estimate *ret)
{
        const struct diff_series *as = arg, *s = diff_series_find(run, as->name, as->kind);
        double sum = 0;
        size_t n = s ? warm_up_of(s) : 0;
        for (size_t i = 0; i < n; i++)
                sum += s->v[i];
        return measure_plain(sum, s != NULL, ret);
}

/* Energy of a step: as sure as the step's time and the power are together. */
static bool take_step_energy(const struct diff_run *run, const void *arg, struct estimate *ret)
{
        const struct diff_series *as = arg, *s = diff_series_find(run, as->name, as->kind);
        if (!s || s->n == 0 || s->energy < 0)
                return false;
        struct estimate time = series_mean(s),
                        power = measure_windows_mean(&run->windows[TRACE_POWER], true);
        *ret = (struct estimate){
            .mean = s->energy / (double)s->n, .se = -1, .df = MIN(time.df, power.df), .n = s->n};
        if (time.se >= 0 && power.se >= 0 && time.mean > 0 && power.mean > 0)
                ret->se = ret->mean * hypot(time.se / time.mean, power.se / power.mean);
        return true;
}

static const struct diff_run *nth_run(const struct diff_side *base, const struct diff_side *now,
                                      size_t i)
{
        return i < base->n ? &base->runs[i] : &now->runs[i - base->n];
}

const struct diff_series *diff_steps(const struct diff_side *base, const struct diff_side *now)
{
        const struct diff_series *best = NULL;
        double longest = 0;
        for (size_t i = 0; i < base->runs[0].n_series; i++) {
                const struct diff_series *s = &base->runs[0].series[i];
                bool all = true, named = s->speed.speed == SPEED_STEP;
                for (size_t k = 0; all && k < base->n + now->n; k++) {
                        const struct diff_run *run = nth_run(base, now, k);
                        const struct diff_series *t = diff_series_find(run, s->name, s->kind);
                        all = t && diff_is_steps(run, t);
                }
                bool was_named = best && best->speed.speed == SPEED_STEP;
                double total = diff_series_total(s);
                if (all &&
                    (!best || (named && !was_named) || (named == was_named && total > longest))) {
                        best = s;
                        longest = total;
                }
        }
        return best;
}

bool measure_same_steps(const struct measurer *m, const struct diff_series *steps)
{
        for (size_t i = 0; steps && i < m->now->n; i++) {
                const struct diff_series *t =
                    diff_series_find(&m->now->runs[i], steps->name, steps->kind);
                if (!t || t->n != steps->n)
                        return false;
        }
        return true;
}

void measure_steps(struct measurer *m, const struct diff_series *steps)
{
        struct diff_row as = {
            .unit = UNIT_SECONDS, .better = DIFF_LESS_IS_FASTER, .evidence = DIFF_EVIDENCE_STEPS};
        char name[sizeof(as.name)];
        snprintf(as.name, sizeof(as.name), "%s", steps->name);
        measure_row(m, &as, take_series, steps, DIFF_BY_STEPS);
        as.evidence = DIFF_EVIDENCE_NONE;
        snprintf(name, sizeof(name), "warm-up of %s", steps->name);
        memcpy(as.name, name, sizeof(name));
        struct diff_row *row = measure_row(m, &as, take_warm_up, steps, DIFF_BY_NOTHING);
        if (row && row->base.v == 0 && row->now.v == 0)
                m->d->n_rows--;
        as = (struct diff_row){.unit = UNIT_JOULES};
        snprintf(as.name, sizeof(as.name), "energy a %.100s", steps->name);
        measure_row(m, &as, take_step_energy, steps, DIFF_BY_STEPS);
}

/* ---- phases and the user's numbers ---- */

/* Whether it came equally often in each run, and steps did: then it was the same work. */
static bool is_equally_frequent(const struct measurer *m, const struct diff_series *s,
                                const struct diff_series *steps)
{
        for (size_t k = 0; k < m->base->n + m->now->n; k++) {
                const struct diff_run *run = nth_run(m->base, m->now, k);
                const struct diff_series *t = diff_series_find(run, s->name, s->kind);
                const struct diff_series *own =
                    steps ? diff_series_find(run, steps->name, steps->kind) : NULL;
                if (!t || t->n != s->n || (steps && (!own || own->n != steps->n)))
                        return false;
        }
        return true;
}

static bool is_main_phase(const struct measurer *m, const struct diff_series *s,
                          const struct diff_series *steps)
{
        if (s->kind != DIFF_PHASE || !is_equally_frequent(m, s, steps))
                return false;
        bool is = false;
        for (size_t k = 0; k < m->base->n + m->now->n; k++) {
                const struct diff_run *run = nth_run(m->base, m->now, k);
                const struct diff_series *t = diff_series_find(run, s->name, s->kind);
                if (diff_series_total(t) < DIFF_PHASE_SHARE * run->seconds)
                        return false;
                is |= diff_longest_phase(run) == t;
        }
        return is;
}

/* What a row of the user's may say of the whole. */
static enum diff_evidence evidence_of(const struct measurer *m, const struct diff_series *s,
                                      const struct diff_series *steps)
{
        if (s->kind == DIFF_PHASE)
                return is_main_phase(m, s, steps) ? DIFF_EVIDENCE_PHASE : DIFF_EVIDENCE_NONE;
        for (size_t k = 0; k < m->base->n + m->now->n; k++) {
                const struct diff_series *t =
                    diff_series_find(nth_run(m->base, m->now, k), s->name, s->kind);
                if (!t || diff_is_clock(t))
                        return DIFF_EVIDENCE_NONE;
        }
        switch (s->speed.speed) {
        case SPEED_STEP:
        case SPEED_TIME:
        case SPEED_RATE:
                return DIFF_EVIDENCE_NUMBERS;
        case SPEED_NONE:
        case SPEED_PART:
        case SPEED_PREPARATION:
                break;
        }
        return DIFF_EVIDENCE_NONE;
}

/* Numbers of one run that are too few to report their noise. */
static bool is_rare(const struct measurer *m, const struct diff_series *s)
{
        for (size_t k = 0; k < m->base->n + m->now->n; k++) {
                const struct diff_series *t =
                    diff_series_find(nth_run(m->base, m->now, k), s->name, s->kind);
                if (!t || t->n < STATS_LEAST)
                        return true;
        }
        return false;
}

static void measure_series(struct measurer *m, const struct diff_series *s,
                           const struct diff_series *steps)
{
        bool is_time = s->kind == DIFF_PHASE || (!s->speed.is_rate && s->speed.speed != SPEED_NONE);
        struct diff_row as = {.unit = s->speed.seconds > 0 ? UNIT_SECONDS : UNIT_NUMBER,
                              .better = s->speed.is_rate ? DIFF_MORE_IS_FASTER
                                        : is_time        ? DIFF_LESS_IS_FASTER
                                                         : DIFF_BETTER_UNKNOWN,
                              .evidence = evidence_of(m, s, steps),
                              .is_phase = true};
        bool once = as.evidence != DIFF_EVIDENCE_NONE && is_rare(m, s);
        snprintf(as.name, sizeof(as.name), "%s", s->name);
        measure_row(m, &as, once ? take_series_once : take_series, s,
                    once ? DIFF_BY_ASSUMPTION : DIFF_BY_STEPS);
}

void measure_phases(struct measurer *m, const struct diff_series *steps)
{
        const struct diff_run *runs[] = {&m->base->runs[0], &m->now->runs[0]};
        for (size_t k = 0; k < 2; k++) {
                for (size_t i = 0; i < runs[k]->n_series; i++) {
                        const struct diff_series *s = &runs[k]->series[i];
                        if (s == steps || (k == 1 && diff_series_find(runs[0], s->name, s->kind)) ||
                            (k == 1 && steps && s->kind == steps->kind &&
                             strcmp(s->name, steps->name) == 0))
                                continue;
                        measure_series(m, s, steps);
                }
        }
}
