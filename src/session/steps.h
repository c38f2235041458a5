/* How long marked steps took. */
#pragma once

#include "session/mark.h"

#define STEP_WALKERS_MAX 256

/* Of each process and name, the step before. All zeros to begin with. */
struct step_walk {
        const struct mark *last[STEP_WALKERS_MAX];
        size_t n;
};

/*
 * The length of a step; marks come in order of time and stay where they are. False for marks that
 * are no step, and for a first one that does not say how long it took.
 */
bool step_walk_length(struct step_walk *w, const struct mark *m, double *ret_seconds);
