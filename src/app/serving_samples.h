/* What model servers did, interval by interval: all of them together, and the tokens of each. */
#pragma once

#include "model/host.h"
#include "model/serving_digest.h"

struct serving_numbers {
        size_t n, cap;
        double *v;
};

struct serving_samples {
        struct serving_numbers all[DIGESTED_COUNT];
        double last[DIGESTED_COUNT];
        bool begun;
        size_t n; /* servers */
        struct serving_tokens {
                char url[SERVING_TEXT_MAX];
                double last; /* negative: unknown */
                struct serving_numbers rates;
        } each[SERVINGS_MAX];
};

const char *digested_name(enum digested_figure figure);
/* Adds a sample of the host. What only repeats the one before is left out. False when memory is
 * short. */
bool serving_samples_add(struct serving_samples *s, const struct host *host);
void serving_samples_finish(struct serving_samples *s);
