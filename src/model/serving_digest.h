/* What a comparison examines of model servers, under the names that it shows. */
#pragma once

/* DIGESTED(figure, name, explains, join): names say what is better: a rate, or a time. explains: it
 * may be why tokens are fewer. join: what it is of several servers: their SUM, their MEAN, or the
 * mean of their tokens (by OUTPUT) or requests (by REQUESTS). */
#define DIGESTED_FIGURES(DIGESTED)                                                                 \
        DIGESTED(OUTPUT, "tokens/s", false, SUM)                                                   \
        DIGESTED(PROMPT, "prompt load", true, SUM)                                                 \
        DIGESTED(TTFT, "first_token_s", false, REQUESTS)                                           \
        DIGESTED(ITL, "token_latency_s", false, OUTPUT)                                            \
        DIGESTED(BATCH, "decode batch", true, SUM)                                                 \
        DIGESTED(WAITING, "requests waiting", true, SUM)                                           \
        DIGESTED(CACHE_USED, "cache used", true, MEAN)                                             \
        DIGESTED(PREEMPTIONS, "preemptions", true, SUM)

enum digested_figure {
#define DIGESTED(figure, name, explains, join) DIGESTED_##figure,
        DIGESTED_FIGURES(DIGESTED)
#undef DIGESTED
            DIGESTED_COUNT
};
