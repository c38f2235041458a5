/* Recordings that are listed side by side: a row a run, and one for all ranks of a job. */
#pragma once

#include "model/job.h"

#define RUN_GPUS_MAX 64

struct run_row {
        char file[256]; /* the recording; of a job the first one */
        char node[64], command[256], job[JOB_TEXT_MAX];
        size_t group;                /* place of the first recording of its job, or its own */
        size_t n_files;              /* recordings that the row adds up */
        bool is_job;                 /* several ranks, or one of several */
        int64_t start_ns, end_ns;    /* wall clock; 0 when unknown */
        struct value seconds;        /* of the run */
        size_t n_gpus;               /* that it used; all that were recorded where it used none */
        uint64_t gpus[RUN_GPUS_MAX]; /* a hash of what names each of the first for good */
        double gpu_s, idle_s; /* GPU-seconds that were recorded; those in which they were idle */
        double energy_j, energies; /* sum over the GPUs that have one, and how many these are */
        double limiter_s[LIMITER_COUNT]; /* GPU-seconds */
        double apart_s;                  /* likewise of the first limiter before work began, which
                                            is another finding, or after it */
        double likely_s;                 /* of all these, those without profiling counters */
        double
            first_s[LIMITER_COUNT]; /* GPU-seconds of the recordings whose findings begin with it */
        struct value exit_status, exit_signal; /* of a job the first that failed */
};

struct run_list {
        size_t n, room;
        struct run_row *rows; /* owned */
};

/* Makes one row of all recordings of a group; rows are in order of their files then. */
void run_list_join(struct run_list *l);
/* What its findings begin with, of a job those of most of its GPU-time, and the share of the time
 * that it limited; LIMITER_COUNT where nothing is known. */
enum limiter run_row_limiter(const struct run_row *r, double *ret_share);
/* What most of its time rests on. */
enum basis run_row_basis(const struct run_row *r);
