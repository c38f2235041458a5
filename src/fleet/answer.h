/* What a PromQL API answered, as series with labels and one number each. Hostile text: bounded. */
#pragma once

#include "base/err.h"
#include "model/value.h"

#include <stddef.h>

#define ANSWER_SERIES_MAX 200000

struct answer_series {
        void *labels;   /* an object of the answer's */
        struct value v; /* missing when it is not a finite number */
        double at_s;    /* the moment it is of, since the epoch */
};

struct answer {
        void *root; /* owns all texts */
        struct answer_series *series;
        size_t n;
        const char *warning; /* the engine's first; NULL for none */
};

/*
 * Reads the answer to an instant query. subject names the engine in errors. 0; ERR_NO_SOURCE with
 * what the engine says is wrong; ERR_DATA when it is not an answer of such an API.
 */
int answer_parse(const char *text, size_t len, const char *subject, struct answer *ret,
                 struct err *err);
void answer_finish(struct answer *a);
/* A series of its own, whose labels stay when the answer is finished; to be dropped. */
struct answer_series answer_keep(const struct answer_series *s);
void answer_drop(struct answer_series *s);
/* A label's value, "" when there is none. */
const char *answer_label(const struct answer_series *s, const char *name);
/*
 * The same of a label of the exporter's: a scrape puts exported_ before one that it has itself,
 * as job, pod and namespace.
 */
const char *answer_own_label(const struct answer_series *s, const char *name);
