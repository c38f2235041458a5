/* The bytes behind an address: http, https or a file. Bounded in size and time. */
#pragma once

#include "base/err.h"

#include <stdint.h>

#define FETCH_BYTES_MAX (64 * 1024 * 1024)
#define FETCH_TIMEOUT_MAX_NS 5000000000LL

struct fetch_config {
        const char *location;   /* a URL or a path; outlives the fetch */
        const char *token_file; /* holds a bearer token; NULL for none */
        int64_t timeout_ns;     /* of one request; FETCH_TIMEOUT_MAX_NS at most */
        int wake;               /* a descriptor that ends a request when it is readable */
        const char *verb;       /* what errors say is not possible; NULL for "read" */
};

struct fetch;

/* Checks the address and asks nothing yet. 0, or a negative code with a remedy in err. */
int fetch_open(const struct fetch_config *config, struct fetch **ret, struct err *err);
void fetch_close(struct fetch *f);

/* 1 with the bytes (valid until the next call), 0 when woken, or ERR_NO_SOURCE with a remedy. */
int fetch_get(struct fetch *f, const char **ret, size_t *ret_len, struct err *err);

/* What is sent with fetch_post, beside the body. */
struct fetch_body {
        const char *data;
        size_t len;
        const char *type;     /* Content-Type */
        const char *encoding; /* Content-Encoding; NULL for none */
        const char *version;  /* X-Prometheus-Remote-Write-Version; NULL for none */
        const char *query;    /* put behind the address: "timestamp=5"; NULL for none */
};

#define FETCH_ANSWER_MAX 256

/*
 * Sends a body to a URL. 1 when an answer came, with its status and the begin of its first line
 * (someone else's text, cleaned); 0 when woken; or ERR_NO_SOURCE with err when there was none. A
 * fetch that posts does not get.
 */
int fetch_post(struct fetch *f, const struct fetch_body *body, long *ret_status,
               char ret_answer[FETCH_ANSWER_MAX], struct err *err);

/* The address for people: no user, password or query in it. */
const char *fetch_shown(const struct fetch *f);
/* "http://host:port", or the path of a file. */
const char *fetch_origin(const struct fetch *f);
