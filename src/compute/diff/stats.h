/*
 * Means with their uncertainty, of numbers that follow each other in time and so resemble each
 * other. The standard error is that of the circular block bootstrap: blocks of neighbours are drawn
 * instead of single numbers. It is computed exactly, over all blocks, and not by drawing: the same
 * numbers always give the same interval.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A mean of one run, or of repeats. */
struct estimate {
        double mean;
        double se; /* standard error; negative when nothing reports it */
        double df; /* degrees of freedom of it: blocks, or runs, less one */
        size_t n;
        double rounding; /* variance from rounding of the measure; 0 for none */
};

/* Numbers that a mean with an error needs at least. */
#define STATS_LEAST 4

/* se is negative below STATS_LEAST numbers. */
struct estimate stats_mean(const double *v, size_t n);
/*
 * How many of the first numbers belong to a warm-up: leaving them out makes the error of the rest
 * smallest (MSER), and their mean is far from that of the rest. At most half.
 */
size_t stats_warm_up(const double *v, size_t n);
/* The 97.5 % point of Student's t; df of 1 and more. */
double stats_t(double df);

/* A difference with its 95 % interval. */
struct difference {
        double d, low, high;
        bool has_interval;
        bool by_repeats;
};

/*
 * now - base of runs' means: with repeats on a side from their spread, which is no smaller than
 * what they are rounded by, otherwise from the runs' own errors and run_spread, which is what one
 * run cannot show: the standard deviation between runs.
 */
struct difference stats_compare(const struct estimate *base, size_t n_base,
                                const struct estimate *now, size_t n_now, double run_spread);
