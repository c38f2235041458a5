/* What model servers did, interval by interval. */
#pragma once

#include "model/host.h"
#include "model/serving_digest.h"

struct serving_samples {
        size_t n[DIGESTED_COUNT], cap[DIGESTED_COUNT];
        double *v[DIGESTED_COUNT];
        double last[DIGESTED_COUNT];
        bool begun;
};

const char *digested_name(enum digested_figure figure);
/* Adds a sample of the host: of its first server. What only repeats the one before is left out.
 * False when memory is short. */
bool serving_samples_add(struct serving_samples *s, const struct host *host);
void serving_samples_finish(struct serving_samples *s);
