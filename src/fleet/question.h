/* Asks one engine several of the questions at a time. */
#pragma once

#include "fleet/answer.h"
#include "fleet/fleet.h"
#include "fleet/query.h"

struct fleet {
        struct ask *ask;
        struct fleet_config config;
        int64_t asked; /* questions so far */
};

/* One question and its answer. */
struct question {
        enum query query;
        const struct query_terms *terms; /* NULL: those of all */
        struct answer answer;            /* out */
};

/*
 * Asks all at a moment (seconds since the epoch). 1; 0 when woken; or the first error. The answers
 * are to be finished either way.
 */
int question_send(struct fleet *f, const struct query_terms *terms, int64_t at_s,
                  struct question *q, size_t n, struct err *err);
void question_finish(struct question *q, size_t n);
