/* The lines of a run that was summarised. */
#pragma once

#include "app/summarise.h"
#include "model/line_profile.h"

/*
 * Between two moments of the wall clock; gpu: a place in the list of its stretches' GPUs, or
 * WHERE_EVERY_GPU. Nothing where there are no stacks, or too few of that time. 0 or a negative code
 * with err; line_profile_finish it.
 */
int lines_take(struct run_summary *r, int64_t from_ns, int64_t to_ns, size_t gpu,
               struct line_profile *ret, struct err *err);
