#include "session/series.h"

#include <string.h>

/* Steps fine enough for what the sources give: NVML counts milliwatts, captures have 4 decimals. */
static struct series_scale unit_scale(enum unit unit)
{
        switch (unit) {
        case UNIT_RATIO:
                return (struct series_scale){1, 10000};
        case UNIT_SCORE:
        case UNIT_WATTS:
        case UNIT_PER_S:
                return (struct series_scale){1, 100};
        case UNIT_JOULES:
        case UNIT_SECONDS:
                return (struct series_scale){1, 1000};
        case UNIT_CELSIUS:
                return (struct series_scale){1, 10};
        case UNIT_HERTZ:
                return (struct series_scale){1e6, 1};
        case UNIT_BYTES:
                return (struct series_scale){65536, 1};
        case UNIT_BYTES_PER_S:
        case UNIT_COUNT:
        case UNIT_NUMBER:
        case UNIT_FLAG:
        case UNIT_BITS:
                break;
        }
        return (struct series_scale){1, 1};
}

static const char *const verdict_names[] = {"workload", "rule", "health", "findings"};

const char *series_name(size_t series)
{
        return series < METRIC_COUNT ? metric_info((enum metric)series)->name
                                     : verdict_names[series - METRIC_COUNT];
}

const char *series_unit(size_t series)
{
        return unit_name(series < METRIC_COUNT ? metric_info((enum metric)series)->unit
                                               : UNIT_NUMBER);
}

struct series_scale series_scale(size_t series)
{
        return unit_scale(series < METRIC_COUNT ? metric_info((enum metric)series)->unit
                                                : UNIT_NUMBER);
}

size_t series_find(const char *name)
{
        size_t i = 0;
        while (i < SERIES_COUNT && strcmp(series_name(i), name) != 0)
                i++;
        return i;
}

bool series_scale_fits(struct series_scale s)
{
        return s.step >= 1e-12 && s.step <= 1e12 && s.scale >= 1e-12 && s.scale <= 1e12;
}
