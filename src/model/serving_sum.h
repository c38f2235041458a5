/* A model server over a whole recording. */
#pragma once

#include "model/serving.h"

struct serving_total {
        struct served mean; /* figures are means over time; the limiter is the one of most of it */
        double seconds;     /* that it was watched */
        double limit_s[SERVING_LIMIT_COUNT];
        double tokens, prompt_tokens, requests, preemptions;
        double joules; /* of its GPUs; 0: unknown */
};

struct serving_totals {
        size_t n;
        struct serving_total list[SERVINGS_MAX];
};
