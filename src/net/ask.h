/*
 * Several questions to one HTTP API at a time: what Prometheus and similar variables answer below
 * /api/v1. Bounded in size and time.
 */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"

#include <stdint.h>

#define ASK_BYTES_MAX (64 * 1024 * 1024) /* of all answers of a round */
#define ASK_PARALLEL 4                   /* questions on the way at a time */

struct ask_config {
        const char *base;       /* a URL; what is below it is asked, "/api/v1" may end it */
        const char *token_file; /* holds a bearer token; NULL for none */
        const char *tenant;     /* X-Scope-OrgID; NULL for none */
        const char *type;       /* Content-Type of what is sent; NULL for a form */
        int64_t timeout_ns;     /* of one question */
        int wake;               /* a descriptor that ends all when it is readable; -1 for none */
};

struct query_request {
        const char *path;   /* below the base: "/api/v1/query" */
        const char *form;   /* the body: ask_put_field() makes it */
        struct strbuf body; /* out: what came; strbuf_finish it */
        long status;        /* out: of HTTP; 0 when nothing came */
        struct err err;     /* out: why nothing came */
        int64_t took_ns;    /* out */
};

struct ask;

/* Checks the address and asks nothing yet. 0, or a negative code with a remedy in err. */
int ask_open(const struct ask_config *config, struct ask **ret, struct err *err);
void ask_close(struct ask *a);
/*
 * Asks all. 1 when each has its answer; 0 when woken; or a code with err: the first that gets no
 * answer ends all, for the others would wait as long.
 */
int probe_all(struct ask *a, struct query_request *requests, size_t n, struct err *err);
/* The address for people: no user, password or query in it. */
const char *ask_shown(const struct ask *a);
/* Appends "name=value", escaped, with an & before all but the first. */
void ask_put_field(struct strbuf *form, const char *name, const char *value);
