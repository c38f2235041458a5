/*
 * What Princeton's 'jobstats' keeps in a job's AdminComment: JSON with a member for each node, of
 * which each is written where the job ran. No I/O.
 */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"
#include "model/value.h"

#include <stddef.h>

#define JOBSTATS_TEXT_MAX (1u << 20) /* bytes of JSON */
#define JOBSTATS_NODES_MAX 4096

struct jobstats_gpu {
        const char *name; /* "0" */
        struct value util, memory_peak, memory_total;
};

struct jobstats_node {
        const char *name;
        struct value cpus, cpu_s, memory_peak, memory_limit;
        const struct jobstats_gpu *gpus;
        size_t n_gpus;
};

/*
 * The JSON of a job with this node added to the nodes that old names; old is "" for none, and what
 * is not of this form in it is left out. 0, or a negative code with err.
 */
int jobstats_add_node(const char *old, size_t n, const struct jobstats_node *node,
                      struct value elapsed_s, struct strbuf *out, struct err *err);
