#include "model/metric.h"

#include <string.h>

static const struct metric_info table[METRIC_COUNT] = {
#define METRIC(id, name, kind, unit, most, scope, group, help)                                     \
        [METRIC_##id] = {name, METRIC_KIND_##kind,   UNIT_##unit, METRIC_GROUP_##group, help,      \
                         most, METRIC_SCOPE_##scope, METRIC_COUNT},
#include "model/metrics.def"
#undef METRIC
};

const struct metric_info *metric_info(enum metric metric)
{
        return &table[metric];
}

enum metric metric_find(const char *name, size_t len)
{
        for (size_t i = 0; i < METRIC_COUNT; i++) {
                if (strlen(table[i].name) == len && memcmp(table[i].name, name, len) == 0)
                        return (enum metric)i;
        }
        return METRIC_COUNT;
}

double metric_least(enum metric metric)
{
        return table[metric].unit == UNIT_CELSIUS ? METRIC_CELSIUS_LEAST : 0;
}

bool metric_is_profiling(enum metric metric)
{
        switch (table[metric].group) {
        case METRIC_GROUP_SM:
        case METRIC_GROUP_PIPES:
        case METRIC_GROUP_TENSOR:
                return true;
        case METRIC_GROUP_UTILIZATION:
        case METRIC_GROUP_MEMORY:
        case METRIC_GROUP_LINK:
        case METRIC_GROUP_POWER:
        case METRIC_GROUP_ERRORS:
        case METRIC_GROUP_COUNT:
                break;
        }
        return metric == METRIC_GR_ACTIVE || metric == METRIC_DRAM_ACTIVE ||
               metric == METRIC_SM_CLOCK_EFFECTIVE;
}

const char *metric_kind_name(enum metric_kind kind)
{
        switch (kind) {
        case METRIC_KIND_GAUGE:
                return "gauge";
        case METRIC_KIND_COUNTER:
                return "counter";
        case METRIC_KIND_LAST:
                return "last";
        case METRIC_KIND_DERIVED:
                return "derived";
        case METRIC_KIND_RATE:
                return "rate";
        case METRIC_KIND_SHARE:
                return "share";
        }
        return "?";
}

const char *metric_scope_name(enum metric_scope scope)
{
        static const char *const names[METRIC_SCOPE_COUNT] = {
            [METRIC_SCOPE_INSTANCE] = "instance",
            [METRIC_SCOPE_PARTITION] = "partition",
            [METRIC_SCOPE_GPU] = "gpu",
            [METRIC_SCOPE_LEVEL] = "level",
            [METRIC_SCOPE_LEVEL_GPU] = "level_gpu",
            [METRIC_SCOPE_SYSTEM] = "system",
            [METRIC_SCOPE_CORE] = "core",
            [METRIC_SCOPE_EVIDENCE] = "evidence",
            [METRIC_SCOPE_SERVING] = "engine",
        };
        return names[scope];
}

const char *metric_group_name(enum metric_group group)
{
        static const char *const names[METRIC_GROUP_COUNT] = {
            [METRIC_GROUP_UTILIZATION] = "utilization",
            [METRIC_GROUP_SM] = "sm",
            [METRIC_GROUP_PIPES] = "pipes",
            [METRIC_GROUP_TENSOR] = "tensor detail",
            [METRIC_GROUP_MEMORY] = "memory",
            [METRIC_GROUP_LINK] = "interconnect",
            [METRIC_GROUP_POWER] = "power and thermal",
            [METRIC_GROUP_ERRORS] = "errors",
        };
        return names[group];
}
