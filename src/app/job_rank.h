/* What a job, or a list of runs, takes of a recording that was read. */
#pragma once

#include "app/summarise.h"
#include "compute/ranks/ranks.h"
#include "model/runs.h"

/* Adds its ranks to the job; times of steps are since base_ns. 0 or -ENOMEM. */
int job_rank_add(struct job *j, struct run_summary *s, const struct job_fold *fold,
                 int64_t base_ns);
/* Adds it to a list, as a recording of that group. 0 or -ENOMEM. */
int job_row_add(struct run_list *l, const struct run_summary *s, const struct job_fold *fold,
                size_t group, bool is_job);
