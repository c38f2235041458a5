/* What Slurm's accounting knows of a job: what it asked for, and how long it ran. */
#pragma once

#include "base/err.h"
#include "model/value.h"

#include <stddef.h>
#include <stdint.h>

struct job_request {
        struct value cpus, memory; /* of all nodes */
        struct value elapsed_s, limit_s;
        struct value nodes;
};

/* What the job has on this node: as it is known here, else of the job where it has one node. */
static inline struct value job_request_on_node(struct value is_local, struct value of_job,
                                               struct value nodes)
{
        bool is_alone = value_is_set(nodes) && nodes.v == 1;
        return value_is_set(is_local) ? is_local : is_alone ? of_job : value_missing(STATE_NONE);
}

/* The lines that sacct_query asks for. False when none is of the job. Pure. */
bool sacct_parse(const char *text, size_t n, const char *job, struct job_request *ret);
/* Asks 'sacct', a few seconds at most. 0, or ERR_NO_SOURCE with err when it has no answer. */
int sacct_query(const char *job, struct job_request *ret, struct err *err);
