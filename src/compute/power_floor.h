/*
 * The power that a GPU draws at full clocks while nothing runs, learned from what it does: what a
 * load costs is what it draws beyond that. All are shares of the power limit.
 */
#pragma once

#include "compute/ceilings.h"

struct floor_learner {
        /* Of the part that is being averaged; seconds is 0 while something runs. */
        double sum, seconds;
        float part_clock, part_power; /* with which it began */
        float ended, ended_clock;     /* of the part before, until it is known to count; 0: none */
        double since_s;               /* since that ended */
        float clock;                  /* the highest that was seen */
        float at_rest; /* least mean of a part at that clock; 0 while none is known */
        float low;     /* the same at lower clocks */
        float least;   /* least power at all; 0 while none is known */
};

/* Adds a tick of that length. */
void floor_learn(struct floor_learner *l, const struct ceilings *c, double seconds);
/* What is known so far. model: the row of the GPU's model, NULL when it is not known; its power
 * limit in watts and what was kept of it in watts, each 0 when that is not. */
struct power_floor floor_known(const struct floor_learner *l, const struct peak *model,
                               double limit_w, double kept_w);
/* What another run of this GPU may rely on: what was learned at its full clock. 0: nothing. */
double floor_to_keep(const struct floor_learner *l, double limit_w);
