/* The past of one metric of one entity, for views that draw it. */
#pragma once

#include "model/metric.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct point {
        int64_t wall_ns;
        float v;
        bool there; /* v holds a value */
};

/* How to ask whoever keeps the past. */
struct trends {
        void *arg;
        /*
         * The points of an entity from `from` to `until`, oldest first; when there are more than
         * max, the newest. Returns how many. May be called while new ones arrive.
         */
        size_t (*copy)(void *arg, uint32_t slot, enum metric metric, int64_t from, int64_t until,
                       struct point *ret, size_t max);
};
