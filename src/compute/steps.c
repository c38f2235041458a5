#include "compute/steps.h"

#include "base/attr.h"
#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NORMAL_MAD 1.4826 /* the deviation of a normal spread, of its median deviation */

static int compare_lengths(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;
        return (x > y) - (x < y);
}

/* Of sorted numbers: the nearest rank. */
static double sorted_percentile(const double *v, size_t n, double p)
{
        size_t at = (size_t)ceil(p * (double)n);
        return v[at > 0 ? at - 1 : 0];
}

static double median_of(const double *v, size_t n)
{
        return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static void sort_doubles(double *v, size_t n)
{
        qsort(v, n, sizeof(*v), compare_lengths);
}

static void take_lengths(struct step_series *s, double *v)
{
        s->seconds = 0;
        for (size_t i = 0; i < s->n; i++)
                s->seconds += v[i] = s->list[i].seconds;
        sort_doubles(v, s->n);
        s->mean = s->seconds / (double)s->n;
        s->p50 = median_of(v, s->n);
        s->p95 = sorted_percentile(v, s->n, 0.95);
        s->longest = v[s->n - 1];
        for (size_t i = 0; i < s->n; i++)
                v[i] = fabs(s->list[i].seconds - s->p50);
        sort_doubles(v, s->n);
        s->jitter = median_of(v, s->n) * NORMAL_MAD;
        double span = clock_to_seconds(s->list[s->n - 1].end_ns - s->list[0].begin_ns);
        s->per_s = span > 0 ? (double)s->n / span : 0;
}

/* Waiting is known where most of the steps report it. */
static void take_waiting(struct step_series *s, double *v)
{
        size_t n = 0;
        s->waited = 0;
        for (size_t i = 0; i < s->n; i++) {
                if (!isnan(s->list[i].waited))
                        s->waited += v[n++] = s->list[i].waited;
        }
        s->waited_usual = NAN;
        if (2 * n <= s->n) {
                s->waited = NAN;
                return;
        }
        sort_doubles(v, n);
        s->waited_usual = median_of(v, n);
}

/* Keeps the costliest, in order. */
static void record_slow_step(struct step_series *s, size_t at)
{
        size_t i = MIN(s->n_reported, (size_t)STEP_SLOW_KEPT - 1);
        const struct run_step *step = &s->list[at];
        if (s->n_reported == STEP_SLOW_KEPT && s->slow[i].step.seconds >= step->seconds)
                return;
        s->n_reported = i + 1;
        for (; i > 0 && s->slow[i - 1].step.seconds < step->seconds; i--)
                s->slow[i] = s->slow[i - 1];
        s->slow[i] = (struct slow_step){.at = at + 1, .step = *step};
        for (enum step_figure f = 0; f < STEP_FIGURE_COUNT; f++)
                s->slow[i].own[f] = NAN;
}

static void take_slow(struct step_series *s)
{
        s->n_slow = s->n_reported = 0;
        s->slow_s = 0;
        for (size_t i = 0; s->n >= STEP_SLOW_LEAST && i < s->n; i++) {
                if (s->list[i].seconds <= STEP_SLOW * s->p50)
                        continue;
                s->n_slow++;
                s->slow_s += s->list[i].seconds - s->p50;
                record_slow_step(s, i);
        }
}

int steps_measure(struct step_series *s)
{
        double *v = calloc(s->n + 1, sizeof(*v));
        if (!v)
                return -ENOMEM;
        if (s->n > 0) {
                take_lengths(s, v);
                take_waiting(s, v);
                take_slow(s);
        }
        for (enum step_figure f = 0; f < STEP_FIGURE_COUNT; f++)
                s->usual[f] = NAN;
        free(v);
        return 0;
}
