/* What a comparison looks at of a model server, under the names that it shows. */
#pragma once

/* DIGESTED(figure, name, explains): names say what is better: a rate, or a time. explains: it may
 * be why tokens are fewer. */
#define DIGESTED_FIGURES(DIGESTED)                                                                 \
        DIGESTED(OUTPUT, "tokens/s", false)                                                        \
        DIGESTED(PROMPT, "prompt load", true)                                                      \
        DIGESTED(TTFT, "first_token_s", false)                                                     \
        DIGESTED(ITL, "token_latency_s", false)                                                    \
        DIGESTED(BATCH, "decode batch", true)                                                      \
        DIGESTED(WAITING, "requests waiting", true)                                                \
        DIGESTED(CACHE_USED, "cache used", true)                                                   \
        DIGESTED(PREEMPTIONS, "preemptions", true)

enum digested_figure {
#define DIGESTED(figure, name, explains) DIGESTED_##figure,
        DIGESTED_FIGURES(DIGESTED)
#undef DIGESTED
            DIGESTED_COUNT
};
