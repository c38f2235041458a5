/* MFU: what the operations of a step are of what the GPUs could do. */
#pragma once

#include "app/summarise.h"

/*
 * --flops-per-step says how many operations a step has on all GPUs, else the manifest, else the
 * newest number flops_per_step that the program logged. The peak is of the type that --flops or a
 * mark declares, else bf16, and of the GPUs that worked. Left alone where nobody said or no step
 * was marked.
 */
void mfu_take(const struct config *config, const struct run_summary *r, struct mfu *ret);
