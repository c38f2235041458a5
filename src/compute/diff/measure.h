/* What the rows of a comparison are made with. */
#pragma once

#include "compute/diff/diff.h"

struct measurer {
        const struct diff_side *base, *now;
        struct diff *d;
        bool is_short; /* too short to report anything alone */
};

/* Gives a run's estimate; false when it has none. */
typedef bool take_fn(const struct diff_run *run, const void *arg, struct estimate *ret);

/* Adds a row with its verdict; NULL when neither side has the figure or there are too many rows.
 * method: where the noise of a single run comes from. */
struct diff_row *measure_row(const struct measurer *m, const struct diff_row *as, take_fn *take,
                             const void *arg, enum diff_method method);
/* A number without an error; returns whether it is present. */
bool measure_plain(double v, bool present, struct estimate *ret);
/* in_steps: of the windows between the first step and the last, where there are such. */
struct estimate measure_windows_mean(const struct diff_windows *w, bool in_steps);

/* ---- series.c ---- */

/* Whether all runs have the same number of steps: otherwise they did other amounts of work. */
bool measure_same_steps(const struct measurer *m, const struct diff_series *steps);
void measure_steps(struct measurer *m, const struct diff_series *steps);
void measure_phases(struct measurer *m, const struct diff_series *steps);
