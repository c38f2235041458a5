#include "session/host_series.h"

#include <string.h>

enum host_scope host_series_scope(size_t series)
{
        if (series < HOST_SERIES_SYSTEM)
                return HOST_SCOPE_LEVEL;
        if (series < HOST_SERIES_GPU_UTIL)
                return HOST_SCOPE_SYSTEM;
        if (series < HOST_SERIES_CORE_UTIL)
                return HOST_SCOPE_GPU;
        return series == HOST_SERIES_CORE_UTIL ? HOST_SCOPE_CORE : HOST_SCOPE_EVIDENCE;
}

static const struct figure_info *info_of(size_t series)
{
        static const struct figure_info others[] = {
            {.name = "util", .kind = FIGURE_KIND_GAUGE, .unit = UNIT_RATIO},
            {.name = "band", .kind = FIGURE_KIND_GAUGE, .unit = UNIT_RATIO},
            {.name = "memory", .kind = FIGURE_KIND_GAUGE, .unit = UNIT_BYTES},
            {.name = "util", .kind = FIGURE_KIND_SHARE, .unit = UNIT_RATIO},
        };
        if (series < HOST_SERIES_SYSTEM)
                return figure_info((enum figure)series);
        if (series < HOST_SERIES_GPU_UTIL)
                return system_figure_info((enum system_figure)(series - HOST_SERIES_SYSTEM));
        if (series < HOST_SERIES_EVIDENCE)
                return &others[series - HOST_SERIES_GPU_UTIL];
        return evidence_info((enum evidence)(series - HOST_SERIES_EVIDENCE));
}

bool host_series_kept(size_t series)
{
        return info_of(series)->kind != FIGURE_KIND_COUNTER;
}

const char *host_series_name(size_t series)
{
        return info_of(series)->name;
}

const char *host_scope_name(enum host_scope scope)
{
        static const char *const names[] = {"level", "level_gpu", "system", "core", "evidence"};
        return names[scope];
}

const char *host_series_unit(size_t series)
{
        return unit_name(info_of(series)->unit);
}

/* As fine as the kernel counts: pages, ticks of 10 ms. Rates come in bursts, so their steps are
 * what keeps them small. */
struct series_scale host_series_scale(size_t series)
{
        switch (info_of(series)->unit) {
        case UNIT_RATIO:
                return (struct series_scale){1, series == HOST_SERIES_CORE_UTIL ? 1000 : 10000};
        case UNIT_BYTES:
                return (struct series_scale){4096, 1};
        case UNIT_BYTES_PER_S:
                return (struct series_scale){256, 1};
        case UNIT_PER_S:
                return (struct series_scale){1, 10};
        case UNIT_NUMBER:
        case UNIT_SECONDS:
                return (struct series_scale){1, 1000};
        case UNIT_COUNT: /* a quota of CPUs is not whole */
                return (struct series_scale){1, 100};
        case UNIT_SCORE:
        case UNIT_WATTS:
        case UNIT_JOULES:
        case UNIT_CELSIUS:
        case UNIT_HERTZ:
        case UNIT_FLAG:
        case UNIT_BITS:
                break;
        }
        return (struct series_scale){1, 1};
}

size_t host_series_find(const char *scope, const char *name)
{
        size_t i = 0;
        while (i < HOST_SERIES_COUNT &&
               (strcmp(host_scope_name(host_series_scope(i)), scope) != 0 ||
                strcmp(host_series_name(i), name) != 0))
                i++;
        return i;
}

size_t host_series_items(size_t series)
{
        static const size_t items[] = {LEVEL_COUNT, (size_t)LEVEL_COUNT * HOST_GPUS_MAX, 1,
                                       HOST_CORES_MAX, HOST_GPUS_MAX};
        return items[host_series_scope(series)];
}

bool host_scope_has_gpus(enum host_scope scope)
{
        return scope == HOST_SCOPE_GPU || scope == HOST_SCOPE_EVIDENCE;
}

static struct value *gpu_value(struct host *h, size_t series, size_t item)
{
        struct level_gpu *g = &h->levels[item / HOST_GPUS_MAX].gpus[item % HOST_GPUS_MAX];
        return series == HOST_SERIES_GPU_UTIL   ? &g->util
               : series == HOST_SERIES_GPU_BAND ? &g->band
                                                : &g->memory;
}

struct value *host_value(struct host *h, size_t series, size_t item)
{
        switch (host_series_scope(series)) {
        case HOST_SCOPE_LEVEL:
                return &h->levels[item].f[series];
        case HOST_SCOPE_GPU:
                return gpu_value(h, series, item);
        case HOST_SCOPE_CORE:
                return &h->cores[item].util;
        case HOST_SCOPE_EVIDENCE:
                return &h->evidence[item].e[series - HOST_SERIES_EVIDENCE];
        case HOST_SCOPE_SYSTEM:
        case HOST_SCOPE_COUNT:
                break;
        }
        return &h->system[series - HOST_SERIES_SYSTEM];
}
