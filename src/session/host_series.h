/* What a session keeps of the host at each tick, and how finely. */
#pragma once

#include "model/host.h"
#include "session/series.h"

/* What the values of a series belong to; an item is a number that says which. */
enum host_scope {
        HOST_SCOPE_LEVEL,    /* item: enum level */
        HOST_SCOPE_GPU,      /* of a level: level × HOST_GPUS_MAX + GPU */
        HOST_SCOPE_SYSTEM,   /* item 0 */
        HOST_SCOPE_CORE,     /* item: core */
        HOST_SCOPE_EVIDENCE, /* item: GPU */
        HOST_SCOPE_COUNT
};

enum host_series {
        HOST_SERIES_LEVEL = 0, /* + enum figure */
        HOST_SERIES_SYSTEM = FIGURE_COUNT,
        HOST_SERIES_GPU_UTIL = HOST_SERIES_SYSTEM + SYSTEM_COUNT,
        HOST_SERIES_GPU_BAND,
        HOST_SERIES_GPU_MEMORY,
        HOST_SERIES_CORE_UTIL,
        HOST_SERIES_EVIDENCE, /* + enum evidence */
        HOST_SERIES_COUNT = HOST_SERIES_EVIDENCE + EVIDENCE_COUNT
};

/* All pairs of a series and an item. */
#define HOST_PLACES_MAX                                                                            \
        (LEVEL_COUNT * FIGURE_COUNT + SYSTEM_COUNT + LEVEL_COUNT * HOST_GPUS_MAX * 3 +             \
         HOST_CORES_MAX + HOST_GPUS_MAX * EVIDENCE_COUNT)

enum host_scope host_series_scope(size_t series);
/* Counters are left out: the rates that come from them are kept. */
bool host_series_kept(size_t series);
/* The column in its view; unique together with the scope. */
const char *host_series_name(size_t series);
const char *host_scope_name(enum host_scope scope);
const char *host_series_unit(size_t series);
struct series_scale host_series_scale(size_t series);
/* HOST_SERIES_COUNT when there is none of that scope and name. */
size_t host_series_find(const char *scope, const char *name);
/* How many items it may have. */
size_t host_series_items(size_t series);
/* Whether an item is a GPU, or a GPU of a level: the item less its GPU's number is its first. */
bool host_scope_has_gpus(enum host_scope scope);
/* Where the host has the value. The item must be below host_series_items. */
struct value *host_value(struct host *h, size_t series, size_t item);
