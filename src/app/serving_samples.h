/* What model servers did, interval by interval, under the names that a comparison shows. */
#pragma once

#include "model/host.h"

/* DIGESTED(figure, name): names say what is better: a rate, or a time. */
#define DIGESTED_FIGURES(DIGESTED)                                                                 \
        DIGESTED(OUTPUT, "tokens/s")                                                               \
        DIGESTED(PROMPT, "prompt load")                                                            \
        DIGESTED(TTFT, "first_token_s")                                                            \
        DIGESTED(ITL, "token_latency_s")                                                           \
        DIGESTED(BATCH, "decode batch")                                                            \
        DIGESTED(WAITING, "requests waiting")                                                      \
        DIGESTED(CACHE_USED, "cache used")                                                         \
        DIGESTED(PREEMPTIONS, "preemptions")

enum digested_figure {
#define DIGESTED(figure, name) DIGESTED_##figure,
        DIGESTED_FIGURES(DIGESTED)
#undef DIGESTED
            DIGESTED_COUNT
};

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
