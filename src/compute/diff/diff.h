/*
 * Compares two sides: first whether they can be compared, then each figure with its uncertainty,
 * then the one change that explains the others. Pure: everything comes from the digests of runs.
 */
#pragma once

#include "compute/diff/stats.h"
#include "model/diff.h"

#define DIFF_MARGIN 0.03      /* a difference that is surely smaller is none */
#define DIFF_LEAST 0.01       /* one that is smaller is not reported, however sure it is */
#define DIFF_RUN_SPREAD 0.005 /* what runs of one program differ by, where no repeats report */
#define DIFF_STEPS_LEAST 6    /* steps that a step time needs in each run */
#define DIFF_ONCE_SPREAD 0.02 /* what a number that comes once a run is taken to vary by */
#define DIFF_ONCE_S 0.1       /* and a phase that comes once, at least, seconds */
#define DIFF_PHASE_SHARE 0.1  /* of the run a phase takes at least to stand for it */
#define DIFF_SHORT_S 5.0      /* a run that is shorter says nothing alone */
#define DIFF_EXPLAINS 0.5     /* of the change a cause explains at least */
#define DIFF_OBSERVED 0.9     /* of the time must have been observed */

/* gates: ret's are filled from them; n_gates may be 0. allow: bits of enum diff_allow. */
void diff_compare(const struct diff_side *base, const struct diff_side *now, unsigned allow,
                  const struct diff_gate *gates, size_t n_gates, struct diff *ret);

/* Whether two digests are of one recording. */
bool diff_is_same_run(const struct diff_run *a, const struct diff_run *b);
/* Adds a number to the series of a name, which begins with it. False when memory is short or there
 * are too many names: the others are kept. */
bool diff_run_add(struct diff_run *run, const char *name, enum diff_kind kind, double v);
/* How far the samples of a run lie apart, seconds. */
double diff_sample_s(const struct diff_run *run);
/* Makes one run of the ranks of a job: GPUs and energy add up, the slowest rank's steps count. The
 * rank's series are taken. */
void diff_run_join(struct diff_run *run, struct diff_run *rank);
void diff_run_finish(struct diff_run *run);

/* ---- parts of diff_compare ---- */

void diff_check(const struct diff_side *base, const struct diff_side *now, unsigned allow,
                struct diff *ret);
void diff_measure(const struct diff_side *base, const struct diff_side *now, struct diff *ret);
/* The steps of all runs: those named so first, of several the ones that take longest. NULL: none.
 */
const struct diff_series *diff_steps(const struct diff_side *base, const struct diff_side *now);
const struct diff_series *diff_series_find(const struct diff_run *run, const char *name,
                                           enum diff_kind kind);
/* Whether the series of a run are lengths of steps: named so, or a phase that comes often and takes
 * most of the run. */
bool diff_is_steps(const struct diff_run *run, const struct diff_series *s);
/* Whether a series is a clock, which only ever grows, and no time that something took. */
bool diff_is_clock(const struct diff_series *s);
double diff_series_total(const struct diff_series *s);
/* The phase that took longest and is not a preparation; a part of the work only where there is
 * nothing else. NULL for none. */
const struct diff_series *diff_longest_phase(const struct diff_run *run);
/* Chooses the row that the verdict comes from, and moves it to the front. */
void diff_choose(struct diff *ret);
void diff_explain(const struct diff_side *base, const struct diff_side *now, struct diff *ret);
/* The lines in which the time of the change went, beside the cause or as one. */
void diff_explain_lines(const struct diff_side *base, const struct diff_side *now, struct diff *d);
void diff_align(const struct diff_run *base, const struct diff_run *now, struct diff *ret);
/* 0 within, 1 beyond, 3 open: the exit status that follows. */
int diff_status(const struct diff *d);
void diff_check_gates(struct diff *d);
