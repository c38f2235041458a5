/* The past of one metric of one entity, for views that draw it. */
#pragma once

#include "model/metric.h"
#include "model/recent.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct point {
        int64_t wall_ns;
        float v;
        bool present; /* v holds a value */
};

/* What was said of an entity at a time. */
struct said {
        int64_t wall_ns;
        uint8_t workload, limiter, held_by; /* enums of verdict.h and limit.h */
        bool present;                       /* the entity was seen then */
};

/* How to query the past. */
struct trends {
        void *arg;
        /*
         * The points of an entity from `from` to `until`, oldest first; when there are more than
         * max, the newest. Returns how many. May be called while new ones arrive.
         */
        size_t (*copy)(void *arg, uint32_t slot, enum metric metric, int64_t from, int64_t until,
                       struct point *ret, size_t max);
        /* The same for what was said of it. */
        size_t (*said)(void *arg, uint32_t slot, int64_t from, int64_t until, struct said *ret,
                       size_t max);
        /* The time of the oldest sample that is kept; false while there is none. */
        bool (*since)(void *arg, int64_t *ret);
        /* What it was in the last half minute. False when nothing is known of that. */
        bool (*recent)(void *arg, uint32_t slot, int64_t now_ns, struct recent *ret);
};
