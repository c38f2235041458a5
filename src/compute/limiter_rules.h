/* The cascade of limiters, as the decision and its margins ask it. */
#pragma once

#include "compute/interval.h"
#include "compute/limiter.h"

/* The first rule that holds (YES), or that cannot be decided (MAYBE). */
enum limiter limiter_rule_for(const struct ceilings *c, const struct situation *s,
                              enum truth *ret_truth);
/* What it is if not that one: the next rule that may hold; unknown for none. */
enum limiter limiter_rule_after(const struct ceilings *c, const struct situation *s,
                                enum limiter rule);
/* What holds the clocks down below this limiter. */
enum held_by limiter_held_by(const struct ceilings *c, enum limiter limiter);
