/*
 * Which recordings belong together: ranks of one job, or runs that have nothing to do with each
 * other. Pure; docs/NODES.md has the rules in words.
 */
#pragma once

#include "model/job.h"

/* What a recording says of itself, as far as that says what it belongs to. */
struct run_identity {
        bool readable;          /* else nothing below is known */
        char job[JOB_TEXT_MAX]; /* the launcher's name for the job; may be empty */
        char node[64];
        uint64_t command; /* a hash of the command line; 0: unknown */
        struct value rank, world;
        int64_t start_ns, end_ns; /* wall clock; 0 when unknown */
        size_t n_gpus;
        uint64_t *gpus; /* a hash of each GPU's lasting name, in ascending order; owned */
};

#define GROUP_COPY SIZE_MAX /* the same recording once more */

/*
 * Gives each run the place of the first run of its group. Runs are of one job when they say so: a
 * job id, or rank and world size; or when they overlap in time and have the same command and
 * different GPUs. All others are groups of one.
 */
void runs_group(const struct run_identity *runs, size_t n, size_t *ret_group);
/* Whether a group is a job: several runs, or one whose manifest names it a rank of several. */
bool runs_group_is_job(const struct run_identity *runs, size_t n, const size_t *group, size_t at);
