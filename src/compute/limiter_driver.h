/* The rules of limiters without profiling counters, from what the driver gives everyone. */
#pragma once

#include "compute/limiter_view.h"

rule_f likely_copying, likely_copying_slowly, likely_launching, likely_filling_memory,
    likely_tensor, likely_small_kernels, likely_memory, likely_kernel, may_wait_for_others;
/* Fills what the view has for them. */
void view_add_driver(struct view *v);
