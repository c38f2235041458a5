/* The ranks that a session holds. */
#pragma once

#include "app/summarise.h"
#include "compute/ranks/ranks.h"

/* Adds them to the job; times of steps are since base_ns. 0 or -ENOMEM. */
int job_rank_add(struct job *j, const struct run_summary *s, const struct job_fold *fold,
                 int64_t base_ns);
