/* The questions, as PromQL: a table, and what their letters stand for. Pure. */
#pragma once

#include "base/strbuf.h"

#include <stdint.h>

enum query {
#define QUERY(id, recorded, raw) QUERY_##id,
#include "fleet/queries.def"
#undef QUERY
        QUERY_COUNT
};

/* One window has this many steps at most. */
#define QUERY_STEPS_MAX 3000

struct query_terms {
        int64_t window_s; /* a multiple of step_s */
        int64_t step_s;
        unsigned rows;
        bool recorded;      /* the rules may be used */
        const char *gpus;   /* a selection: uuid=~"a|b"; "" for all */
        const char *owners; /* a selection in braces: {exported_job="4711"}; "" for all */
        const char *model;  /* a selection of assay_gpu_info: model=~"…"; "" for all */
        const char *rules;  /* a selection of rules by owner: user=~"ada"; "" for all */
};

/* Whether the question is answered by the rules. */
bool query_is_recorded(enum query q, const struct query_terms *terms);
/* The name in the table: "user_held". */
const char *query_name(enum query q);
void query_write(enum query q, const struct query_terms *terms, struct strbuf *out);
/* A text inside of a PromQL string: quotes and backslashes are escaped. */
void query_put_escaped(struct strbuf *out, const char *text);
/* The same as a part of a regular expression that matches it and nothing else. */
void query_put_literal(struct strbuf *out, const char *text);
/* How finely a window is examined: fine enough for its edges, and not too many steps. */
int64_t query_step_s(int64_t window_s);
