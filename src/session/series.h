/* What a session keeps of an entity at each tick: every metric, and the verdicts. */
#pragma once

#include "model/frame.h"

enum series {
        SERIES_WORKLOAD = METRIC_COUNT, /* enum workload; there exactly when the entity was */
        SERIES_RULE,
        SERIES_HEALTH,   /* enum health_state */
        SERIES_FINDINGS, /* one bit an enum health_reason */
        SERIES_COUNT
};

const struct metric_info *series_info(size_t series);
/* An SI value is the stored whole number × step ÷ scale; one of the two is 1, so both are exact. */
struct series_scale {
        double step, scale;
};
/* Of a row of metrics.def or of host.def. */
struct series_scale series_scale(const struct metric_info *info);
/* Whether a file's scale can be one: positive, and no value becomes infinite by it. */
bool series_scale_fits(struct series_scale s);
/* SERIES_COUNT when there is none of that name. */
size_t series_find(const char *name);
