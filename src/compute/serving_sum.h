/* Adds up what model servers did, tick by tick. Pure, in bounded memory. */
#pragma once

#include "model/frame.h"
#include "model/serving_sum.h"

struct serving_mean {
        double sum, seconds;
};

struct serving_sum {
        struct served last;
        double seconds, limit_s[SERVING_LIMIT_COUNT], full_s[SERVED_UNIT_COUNT], size_s[3];
        double queued_s, driver_s;
        double joules;
        int32_t front;
        int64_t host_from_ns, host_to_ns; /* when the host was the limit; 0: never */
        struct serving_mean engine[SERVING_COUNT], joined[SERVED_COUNT];
};

struct serving_sums {
        size_t n;
        int64_t mono_ns; /* of the last tick; 0 before the first */
        struct serving_sum list[SERVINGS_MAX];
};

void serving_sums_add(struct serving_sums *s, const struct frame *frame);
void serving_sums_total(const struct serving_sums *s, struct serving_totals *ret);
