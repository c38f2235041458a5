#include "session/host_series.h"

#include <string.h>

static const struct {
        size_t first;
        enum metric_scope scope;
} parts[] = {
    {HOST_SERIES_SERVING, METRIC_SCOPE_SERVING}, {HOST_SERIES_EVIDENCE, METRIC_SCOPE_EVIDENCE},
    {HOST_SERIES_CORE, METRIC_SCOPE_CORE},       {HOST_SERIES_LEVEL_GPU, METRIC_SCOPE_LEVEL_GPU},
    {HOST_SERIES_SYSTEM, METRIC_SCOPE_SYSTEM},   {HOST_SERIES_LEVEL, METRIC_SCOPE_LEVEL}};

static size_t part_of(size_t series)
{
        size_t i = 0;
        while (series < parts[i].first)
                i++;
        return i;
}

enum metric_scope host_series_scope(size_t series)
{
        return parts[part_of(series)].scope;
}

const struct metric_info *host_series_info(size_t series)
{
        size_t part = part_of(series);
        return host_row(parts[part].scope, series - parts[part].first);
}

bool host_series_kept(size_t series)
{
        return host_series_info(series)->kind != METRIC_KIND_COUNTER;
}

size_t host_series_find(const char *scope, const char *name)
{
        size_t i = 0;
        while (i < HOST_SERIES_COUNT &&
               (strcmp(metric_scope_name(host_series_scope(i)), scope) != 0 ||
                strcmp(host_series_info(i)->name, name) != 0))
                i++;
        return i;
}

size_t host_series_items(size_t series)
{
        static const size_t items[METRIC_SCOPE_COUNT] = {
            [METRIC_SCOPE_LEVEL] = LEVEL_COUNT,
            [METRIC_SCOPE_LEVEL_GPU] = (size_t)LEVEL_COUNT * HOST_GPUS_MAX,
            [METRIC_SCOPE_SYSTEM] = 1,
            [METRIC_SCOPE_CORE] = HOST_CORES_MAX,
            [METRIC_SCOPE_EVIDENCE] = HOST_GPUS_MAX,
            [METRIC_SCOPE_SERVING] = SERVINGS_MAX,
        };
        return items[host_series_scope(series)];
}

bool host_scope_has_gpus(enum metric_scope scope)
{
        return scope == METRIC_SCOPE_LEVEL_GPU || scope == METRIC_SCOPE_EVIDENCE;
}

static struct value *gpu_value(struct host *h, enum level_gpu_figure figure, size_t item)
{
        struct level_gpu *g = &h->levels[item / HOST_GPUS_MAX].gpus[item % HOST_GPUS_MAX];
        return figure == LEVEL_GPU_UTIL   ? &g->util
               : figure == LEVEL_GPU_BAND ? &g->mem_copy_util
                                          : &g->memory;
}

struct value *host_value(struct host *h, size_t series, size_t item)
{
        size_t part = part_of(series), row = series - parts[part].first;
        switch (parts[part].scope) {
        case METRIC_SCOPE_LEVEL:
                return &h->levels[item].f[row];
        case METRIC_SCOPE_LEVEL_GPU:
                return gpu_value(h, (enum level_gpu_figure)row, item);
        case METRIC_SCOPE_CORE:
                return &h->cores[item].util;
        case METRIC_SCOPE_EVIDENCE:
                return &h->evidence[item].e[row];
        case METRIC_SCOPE_SERVING:
                return &h->servings[item].v[row];
        case METRIC_SCOPE_SYSTEM:
        case METRIC_SCOPE_INSTANCE:
        case METRIC_SCOPE_PARTITION:
        case METRIC_SCOPE_GPU:
        case METRIC_SCOPE_COUNT:
                break;
        }
        return &h->system[row];
}
