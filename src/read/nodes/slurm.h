/* The nodes of a Slurm job, as squeue reports them. */
#pragma once

#include "read/nodes/hostlist.h"

#include <stdint.h>

#define SLURM_PARTS_MAX 64

/* A job's part with nodes of its own: all of it, a task of an array, a part of a mixed job. */
struct slurm_part {
        char id[32]; /* what srun takes */
        size_t n;    /* of its nodes, which follow those of the parts before it */
};

struct slurm_job {
        struct hostlist nodes;
        struct slurm_part parts[SLURM_PARTS_MAX];
        size_t n_parts;
        char state[32]; /* of a part that does not run; empty for none */
};

/* "4242", "4242_7", "4242+1". */
bool slurm_is_job(const char *text);
/* Reads what "squeue -o %T|%A|%N" wrote. 0, or a negative code with err. */
int slurm_read_job(struct slurm_job *job, const char *text, struct err *err);
/*
 * Asks squeue, for some seconds at most; wake ends that when it is readable. 0, or ERR_NO_SOURCE or
 * ERR_USAGE with what to do.
 */
int slurm_query(struct slurm_job *job, const char *id, int wake, struct err *err);
void slurm_finish(struct slurm_job *job);
