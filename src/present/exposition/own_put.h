/* How families of our own are written, for those who write some. */
#pragma once

#include "present/exposition/text.h"

/* labels are those of a GPU, extra one more with its value; each may be NULL or empty. */
void own_put_sample(struct text *t, const char *name, const char *suffix,
                    const struct strbuf *labels, const char *extra, const char *value, double v,
                    unsigned decimals);
/* name without _total; created_ns is when it was 0. */
void own_put_counter(struct text *t, const char *name, const struct strbuf *labels,
                     const char *extra, const char *value, double v, unsigned decimals,
                     int64_t created_ns);
/* OpenMetrics names a family without the suffix of its samples. */
void own_put_head(struct text *t, const char *name, enum family_type type, const char *help);
/* assay_engine_…: of model servers. */
void own_put_servings(struct text *t);
/* The program's own families. */
void own_put_self(struct text *t);
