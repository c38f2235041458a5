/* The time of threads, added up by line: the innermost line of the user's own code. */
#pragma once

#include "base/lookup.h"
#include "model/where.h"

#define WHERE_SAMPLES_MIN 20   /* of all lines: fewer say nothing about shares */
#define WHERE_LEAST_OF_PLACE 5 /* samples */
#define WHERE_LEAST_SHARE 0.05 /* of a place */

struct line_sum {
        uint32_t own;                 /* a frame */
        uint32_t inner, called, call; /* those with most of the time */
        uint32_t n_samples;
        double seconds, inner_s;
};

/* All zeros to begin with. */
struct line_tally {
        struct line_sum *lines;
        size_t n, cap;
        struct lookup by_own;
        double seconds;
        uint64_t n_samples;
};

/* Samples of one line. */
struct line_samples {
        uint32_t own, inner, called; /* frames, as of a place */
        uint32_t call;               /* a text */
        uint32_t n_samples;
        double seconds;
};

/* 0 or -ENOMEM. */
int line_tally_add(struct line_tally *t, const struct line_samples *s);
void line_tally_clear(struct line_tally *t);
void line_tally_finish(struct line_tally *t);
/* The places that are worth reporting, the largest share first, at most WHERE_PLACES_MAX: how many.
 * Sorts the lines. */
size_t line_tally_places(struct line_tally *t, const struct stack_table *table,
                         struct where_place *ret);
