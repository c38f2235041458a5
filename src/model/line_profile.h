/*
 * In which lines the threads of a program were, over a good part of a run, and how sure that is:
 * what two runs, or the ranks of a job, are compared by.
 */
#pragma once

#include "model/where.h"

#define PROFILE_LINES_MAX 32 /* of main threads, and as many of workers */

struct profile_line {
        struct code_line own, inner; /* as of a place */
        uint32_t offset;             /* of own, from the first line of its function */
        bool of_workers;             /* CPU time of workers; else time of main threads */
        double share;                /* of the main threads' time */
        double se;                   /* its standard error */
        uint64_t n_samples;
};

/* All zeros: nothing is known. */
struct line_profile {
        struct profile_line *lines; /* owned; the largest share first, those of workers last */
        size_t n;
        uint64_t n_samples; /* of main threads, in all */
        double least;       /* lines that are not in the list have at most this share */
};

void line_profile_finish(struct line_profile *p);
/*
 * The line of a profile that is the same place of the program: file, function and how far below the
 * beginning of the function, so that what was changed above it does not matter. NULL for none.
 */
const struct profile_line *line_profile_find(const struct line_profile *p,
                                             const struct profile_line *line);
