/* The canonical metrics: ids and what is known of each. The rows are in metrics.def. */
#pragma once

#include "model/unit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum metric {
#define METRIC(id, name, kind, unit, most, scope, group, help) METRIC_##id,
#include "model/metrics.def"
#undef METRIC
        METRIC_COUNT
};

enum metric_kind {
        METRIC_KIND_GAUGE,   /* a value of this moment or window */
        METRIC_KIND_COUNTER, /* only grows, until a reset */
        METRIC_KIND_LAST,    /* the last of a series of events */
        METRIC_KIND_DERIVED, /* made by compute/ */
        METRIC_KIND_RATE,    /* of the host: a counter's growth a second */
        METRIC_KIND_SHARE,   /* of the host: a CPU time's growth of the growth of all CPU times */
};

enum metric_group {
        METRIC_GROUP_UTILIZATION,
        METRIC_GROUP_SM,
        METRIC_GROUP_PIPES,
        METRIC_GROUP_TENSOR,
        METRIC_GROUP_MEMORY,
        METRIC_GROUP_LINK,
        METRIC_GROUP_POWER,
        METRIC_GROUP_ERRORS,
        METRIC_GROUP_COUNT
};

/* Who has a value of its own: of the rows of metrics.def a GPU, of those of host.def the host. */
enum metric_scope {
        METRIC_SCOPE_INSTANCE,  /* a GPU, a partition, a MIG slice */
        METRIC_SCOPE_PARTITION, /* a GPU, a partition of an AMD GPU */
        METRIC_SCOPE_GPU,       /* a whole GPU */
        METRIC_SCOPE_LEVEL,     /* a process tree, a user, a Slurm job, a control group, the host */
        METRIC_SCOPE_LEVEL_GPU, /* a GPU as a level's processes use it */
        METRIC_SCOPE_SYSTEM,    /* the machine */
        METRIC_SCOPE_CORE,      /* a CPU core */
        METRIC_SCOPE_EVIDENCE,  /* what the host does for a GPU */
        METRIC_SCOPE_SERVING,   /* a model server */
        METRIC_SCOPE_COUNT
};

#define METRIC_CELSIUS_LEAST (-100)

struct metric_info {
        const char *name;
        enum metric_kind kind;
        enum unit unit;
        enum metric_group group;
        const char *help;
        double most; /* no GPU has more, in the unit */
        enum metric_scope scope;
        uint8_t of; /* of the host: the row of its scope that it comes from; its count for none */
};

/* Rows follow each other in the table: metric_info(0) is all of it. */
const struct metric_info *metric_info(enum metric metric);
/* METRIC_COUNT when there is no such metric. */
enum metric metric_find(const char *name, size_t len);
/* Whether it comes from NVIDIA's profiling counters alone. */
bool metric_is_profiling(enum metric metric);
/* No GPU has less, in the unit. */
double metric_least(enum metric metric);
/* "instance", "partition", "gpu", "level", "level_gpu", "system", "core", "evidence",
 * "engine". */
const char *metric_scope_name(enum metric_scope scope);
/* "gauge", "counter", "last", "derived", "rate", "share". */
const char *metric_kind_name(enum metric_kind kind);
/* "utilization", "sm", … as headings. */
const char *metric_group_name(enum metric_group group);
