/* A model server over a whole recording. */
#pragma once

#include "model/serving.h"
#include "model/where.h"

struct serving_total {
        struct served mean; /* figures are means over time; the limiter is the one of most of it */
        double seconds;     /* that it was watched */
        double limit_s[SERVING_LIMIT_COUNT];
        double tokens, prompt_tokens, requests, preemptions;
        double joules; /* of its GPUs; 0: unknown */
        int32_t front; /* the process that the host's limit is about; 0: unknown */
        int64_t host_from_ns, host_to_ns; /* by the clock of frames: when the host was the limit */
        struct where where;               /* what it did then; empty where that is unknown */
};

struct serving_totals {
        size_t n;
        struct serving_total list[SERVINGS_MAX];
};
