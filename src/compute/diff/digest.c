/* The digest of a run, also of the ranks of one job. */
#include "base/attr.h"
#include "base/list.h"
#include "compute/diff/diff.h"

#include <stdio.h>
#include <string.h>

#define SERIES_MAX 4000000 /* numbers of one name; later ones are left out */

static struct diff_series *series_for(struct diff_run *run, const char *name, enum diff_kind kind)
{
        for (size_t i = 0; i < run->n_series; i++) {
                struct diff_series *s = &run->series[i];
                if (s->kind == kind && strcmp(s->name, name) == 0)
                        return s;
        }
        if (run->n_series == DIFF_SERIES_MAX)
                return NULL;
        struct diff_series *s = &run->series[run->n_series++];
        *s = (struct diff_series){.kind = kind,
                                  .speed = kind == DIFF_PHASE ? speed_of_phase(name)
                                                              : speed_of_number(name),
                                  .energy = -1};
        snprintf(s->name, sizeof(s->name), "%s", name);
        return s;
}

bool diff_run_add(struct diff_run *run, const char *name, enum diff_kind kind, double v)
{
        struct diff_series *s = series_for(run, name, kind);
        if (!s || s->n == SERIES_MAX || !LIST_ROOM(s->v, s->n, s->room))
                return false;
        s->v[s->n++] = s->speed.seconds > 0 ? v * s->speed.seconds : v;
        return true;
}

void diff_run_finish(struct diff_run *run)
{
        for (size_t i = 0; i < run->n_series; i++)
                free(run->series[i].v);
        run->n_series = 0;
        line_profile_finish(&run->lines);
}

const struct diff_series *diff_series_find(const struct diff_run *run, const char *name,
                                           enum diff_kind kind)
{
        for (size_t i = 0; i < run->n_series; i++) {
                const struct diff_series *s = &run->series[i];
                if (s->kind == kind && strcmp(s->name, name) == 0)
                        return s;
        }
        return NULL;
}

double diff_series_total(const struct diff_series *s)
{
        double sum = 0;
        for (size_t i = 0; i < s->n; i++)
                sum += s->v[i];
        return sum;
}

const struct diff_series *diff_longest_phase(const struct diff_run *run)
{
        const struct diff_series *best = NULL;
        for (size_t i = 0; i < run->n_series; i++) {
                const struct diff_series *s = &run->series[i];
                if (s->kind != DIFF_PHASE || s->speed.speed == SPEED_PREPARATION)
                        continue;
                bool is_part = s->speed.speed == SPEED_PART;
                bool was_part = best && best->speed.speed == SPEED_PART;
                if (!best || (was_part && !is_part) ||
                    (was_part == is_part && diff_series_total(s) > diff_series_total(best)))
                        best = s;
        }
        return best;
}

#define MOST 0.5 /* of the longest phase */

bool diff_is_steps(const struct diff_run *run, const struct diff_series *s)
{
        if (s->n < DIFF_STEPS_LEAST || diff_is_clock(s))
                return false;
        if (s->speed.speed == SPEED_STEP || s->kind != DIFF_PHASE)
                return s->speed.speed == SPEED_STEP;
        double total = diff_series_total(s);
        const struct diff_series *longest = diff_longest_phase(run);
        return s->speed.speed != SPEED_PREPARATION && longest &&
               total >= MOST * diff_series_total(longest) &&
               total >= DIFF_PHASE_SHARE * run->seconds;
}

#define CLOCK_GROWS 1.5 /* from its first value to its last, and each time */

bool diff_is_clock(const struct diff_series *s)
{
        bool grows = s->kind == DIFF_USER && !s->speed.is_rate && s->n >= STATS_LEAST;
        for (size_t i = 1; grows && i < s->n; i++)
                grows = s->v[i] > s->v[i - 1];
        return grows && s->v[s->n - 1] > CLOCK_GROWS * s->v[0];
}

double diff_sample_s(const struct diff_run *run)
{
        if (value_is_set(run->interval_s) && run->interval_s.v > 0)
                return MIN(run->interval_s.v, run->seconds);
        return run->ticks > 0 ? run->seconds / (double)run->ticks : 0;
}

static bool is_same_series(const struct diff_series *a, const struct diff_series *b)
{
        return a->kind == b->kind && a->n == b->n && strcmp(a->name, b->name) == 0 &&
               (a->n == 0 || memcmp(a->v, b->v, a->n * sizeof(*a->v)) == 0);
}

bool diff_is_same_run(const struct diff_run *a, const struct diff_run *b)
{
        bool same = a->ticks == b->ticks && a->start_ns == b->start_ns && a->gpus == b->gpus &&
                    a->seconds == b->seconds && a->n_series == b->n_series &&
                    a->print == b->print && strcmp(a->command, b->command) == 0 &&
                    strcmp(a->model_short, b->model_short) == 0 &&
                    memcmp(a->windows, b->windows, sizeof(a->windows)) == 0;
        for (size_t i = 0; same && i < a->n_series; i++)
                same = is_same_series(&a->series[i], &b->series[i]);
        return same;
}

/* A step is over when the slowest rank's is. */
static void join_series(struct diff_run *run, struct diff_run *rank)
{
        for (size_t i = 0; i < rank->n_series; i++) {
                struct diff_series *from = &rank->series[i];
                struct diff_series *s = series_for(run, from->name, from->kind);
                bool energy = s && s->energy >= 0 && from->energy >= 0;
                double both = energy ? s->energy + from->energy : -1;
                if (!s)
                        continue;
                both = s->n == 0 && s->energy < 0 ? from->energy : both;
                if (diff_series_total(from) > diff_series_total(s) || s->n == 0) {
                        struct diff_series old = *s;
                        *s = *from;
                        *from = old;
                }
                s->energy = both;
        }
}

static struct value sum_of(struct value a, struct value b)
{
        return value_is_set(a) && value_is_set(b) ? value_ok(a.v + b.v) : value_missing(STATE_NONE);
}

void diff_run_join(struct diff_run *run, struct diff_run *rank)
{
        join_series(run, rank);
        run->ranks += rank->ranks;
        run->gpus += rank->gpus;
        run->busy += rank->busy;
        run->woken += rank->woken;
        run->print += rank->print;
        run->ticks += rank->ticks;
        run->seconds = MAX(run->seconds, rank->seconds);
        run->has_seconds &= rank->has_seconds;
        run->observed = MIN(run->observed, rank->observed);
        run->startup_s = MAX(run->startup_s, rank->startup_s);
        run->energy_j = sum_of(run->energy_j, rank->energy_j);
        if (!value_is_set(run->peak_memory) ||
            (value_is_set(rank->peak_memory) && rank->peak_memory.v > run->peak_memory.v))
                run->peak_memory = rank->peak_memory;
        if (rank->ended[0])
                memcpy(run->ended, rank->ended, sizeof(run->ended));
        if (rank->lost[0])
                memcpy(run->lost, rank->lost, sizeof(run->lost));
        /* Whose lines they would be, nobody asks: ranks wait for each other. */
        line_profile_finish(&run->lines);
        diff_run_finish(rank);
}
