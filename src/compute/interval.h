/*
 * Deciding with missing numbers: a value present is a point, a missing one is the whole range. A
 * statement holds, does not hold, or cannot be decided.
 */
#pragma once

#include "base/attr.h"

struct range {
        double lo, hi;
};

enum truth { NO, MAYBE, YES };

static inline enum truth at_least(struct range r, double threshold)
{
        return r.lo >= threshold ? YES : r.hi >= threshold ? MAYBE : NO;
}

static inline enum truth truth_not(enum truth t)
{
        return (enum truth)(YES - t);
}

static inline enum truth below(struct range r, double threshold)
{
        return truth_not(at_least(r, threshold));
}

static inline enum truth both(enum truth a, enum truth b)
{
        return MIN(a, b);
}

static inline enum truth either(enum truth a, enum truth b)
{
        return MAX(a, b);
}
