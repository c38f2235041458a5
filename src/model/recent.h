/* The last half minute of one GPU: shares of the time, and what it mostly was. */
#pragma once

#include "model/limit.h"
#include "model/verdict.h"

#define RECENT_NS (30 * 1000000000LL)

struct recent {
        double seconds;           /* that are known */
        double starved;           /* the GPU waited for the host or for copies */
        double power;             /* clocks held by the power limit */
        double thermal;           /* by heat */
        bool is_starved, is_held; /* for a share that is worth a word */
        enum limiter by;          /* what starved it most */
        enum limiter mostly;      /* of the last third: the limiter of most of the time */
        enum workload looks;      /* likewise the class */
        enum held_by held;        /* likewise what held the clocks */
        bool settled;             /* one limiter had most of the last third */
        bool class_has_settled;   /* likewise one class */
};
