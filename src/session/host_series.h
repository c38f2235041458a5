/* What a session keeps of the host at each tick, and how finely. */
#pragma once

#include "model/host.h"
#include "session/series.h"

enum host_series {
        HOST_SERIES_LEVEL = 0, /* each + the row of its scope */
        HOST_SERIES_SYSTEM = FIGURE_COUNT,
        HOST_SERIES_LEVEL_GPU = HOST_SERIES_SYSTEM + SYSTEM_COUNT,
        HOST_SERIES_CORE = HOST_SERIES_LEVEL_GPU + LEVEL_GPU_COUNT,
        HOST_SERIES_EVIDENCE = HOST_SERIES_CORE + CORE_COUNT,
        HOST_SERIES_SERVING = HOST_SERIES_EVIDENCE + EVIDENCE_COUNT,
        HOST_SERIES_COUNT = HOST_SERIES_SERVING + SERVING_COUNT
};

/* All pairs of a series and an item. */
#define HOST_PLACES_MAX                                                                            \
        (LEVEL_COUNT * FIGURE_COUNT + SYSTEM_COUNT +                                               \
         LEVEL_COUNT * HOST_GPUS_MAX * LEVEL_GPU_COUNT + HOST_CORES_MAX +                          \
         HOST_GPUS_MAX * EVIDENCE_COUNT + SERVINGS_MAX * SERVING_COUNT)

/* What the values belong to; an item is a number that says which: a level, level × HOST_GPUS_MAX +
 * GPU, 0, a core, a GPU, a model server. */
enum metric_scope host_series_scope(size_t series);
/* Counters are left out: the rates that come from them are kept. */
bool host_series_kept(size_t series);
/* Its name is the column in its view, unique together with the scope. */
const struct metric_info *host_series_info(size_t series);
/* HOST_SERIES_COUNT when there is none of that scope and name. */
size_t host_series_find(const char *scope, const char *name);
/* How many items it may have. */
size_t host_series_items(size_t series);
/* Whether an item is a GPU, or a GPU of a level: the item less its GPU's number is its first. */
bool host_scope_has_gpus(enum metric_scope scope);
/* Where the host has the value. The item must be below host_series_items. */
struct value *host_value(struct host *h, size_t series, size_t item);
