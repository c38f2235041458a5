/* One question to many hosts: assay is run once on each, and what it writes is collected. */
#pragma once

#include "base/strbuf.h"
#include "model/node.h"
#include "read/source.h"

#define ASK_ANSWER_MAX (2u << 20) /* bytes of one host */

struct node_answer {
        size_t node; /* its place in the list */
        size_t n;    /* how many there are */
        const char *name;
        struct strbuf *text; /* what it wrote; borrowed */
        int status;          /* its exit status */
        const char *why;     /* it gave nothing; NULL when it did */
        const char *hint;
};

/*
 * Runs "assay WORDS" on each host that the configuration names, some at a time, each for so long at
 * most, and calls take with each answer, one after the other. 0, or a negative code of take's or
 * with err.
 */
int nodes_query(const struct source_config *config, const char *const *words, size_t n_words,
                int64_t patience_ns, int (*take)(void *arg, const struct node_answer *a), void *arg,
                struct err *err);
