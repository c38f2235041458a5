#include "session/series.h"

#include <string.h>

/* Steps fine enough for what the sources give: NVML counts milliwatts, captures have 4 decimals;
 * the kernel counts pages and ticks of 10 ms, and a quota of CPUs is not whole. Rates come in
 * bursts, so their steps are what keeps them small. */
static const struct {
        struct series_scale gpu, host;
} scales[] = {
    [UNIT_RATIO] = {{1, 10000}, {1, 10000}}, [UNIT_SCORE] = {{1, 100}, {1, 1}},
    [UNIT_BYTES] = {{65536, 1}, {4096, 1}},  [UNIT_BYTES_PER_S] = {{1, 1}, {256, 1}},
    [UNIT_WATTS] = {{1, 100}, {1, 1}},       [UNIT_JOULES] = {{1, 1000}, {1, 1}},
    [UNIT_CELSIUS] = {{1, 10}, {1, 1}},      [UNIT_HERTZ] = {{1e6, 1}, {1, 1}},
    [UNIT_COUNT] = {{1, 1}, {1, 100}},       [UNIT_PER_S] = {{1, 100}, {1, 10}},
    [UNIT_NUMBER] = {{1, 1}, {1, 1000}},     [UNIT_FLAG] = {{1, 1}, {1, 1}},
    [UNIT_BITS] = {{1, 1}, {1, 1}},          [UNIT_SECONDS] = {{1, 1000}, {1, 1000}},
};

struct series_scale series_scale(const struct metric_info *info)
{
        if (info->scope == METRIC_SCOPE_CORE)
                return (struct series_scale){1, 1000};
        /* Tokens come every few milliseconds; FLOP/s are too many to be kept to hundredths. */
        if (info->scope == METRIC_SCOPE_SERVING && info->unit == UNIT_SECONDS)
                return (struct series_scale){1, 1000000};
        if (info->scope == METRIC_SCOPE_SERVING && info->unit == UNIT_PER_S)
                return info->of == SERVING_FLOPS_TOTAL ? (struct series_scale){1000000, 1}
                                                       : (struct series_scale){1, 100};
        return info->scope < METRIC_SCOPE_LEVEL ? scales[info->unit].gpu : scales[info->unit].host;
}

static const struct metric_info verdicts[] = {
    {.name = "workload", .unit = UNIT_NUMBER},
    {.name = "rule", .unit = UNIT_NUMBER},
    {.name = "health", .unit = UNIT_NUMBER},
    {.name = "findings", .unit = UNIT_NUMBER},
};

const struct metric_info *series_info(size_t series)
{
        return series < METRIC_COUNT ? metric_info((enum metric)series)
                                     : &verdicts[series - METRIC_COUNT];
}

size_t series_find(const char *name)
{
        size_t i = 0;
        while (i < SERIES_COUNT && strcmp(series_info(i)->name, name) != 0)
                i++;
        return i;
}

bool series_scale_fits(struct series_scale s)
{
        return s.step >= 1e-12 && s.step <= 1e12 && s.scale >= 1e-12 && s.scale <= 1e12;
}
