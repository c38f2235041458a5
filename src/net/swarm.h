/*
 * Many requests at once, in one loop: libcurl's multi interface on an epoll. Connections are kept
 * between requests. No thread of our own; a request that hangs costs its descriptor.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define SWARM_BYTES_MAX (8 * 1024 * 1024)   /* of one answer */
#define SWARM_TOTAL_MAX (128 * 1024 * 1024) /* of all that are under way */

struct swarm_config {
        size_t n;
        const char *token_file; /* holds a bearer token for all; NULL for none */
        int64_t timeout_ns;     /* of one request */
        int wake;               /* a descriptor that ends the wait when it is readable */
        /* Called for each request that ends: with its bytes, which are borrowed; or with why there
         * are none, and what to do about it ("" for nothing). */
        void (*done)(void *arg, size_t i, const char *text, size_t len, const char *why,
                     const char *hint);
        void *arg;
};

struct swarm;

/* 0, or a negative code with a remedy in err. */
int swarm_open(const struct swarm_config *config, struct swarm **ret, struct err *err);
void swarm_close(struct swarm *s);
/* The address of number i, http or https. 0, or ERR_USAGE with err; -ENOMEM. */
int swarm_set(struct swarm *s, size_t i, const char *url, struct err *err);
/* Where it asks, for people: host and port, and the path with full. Valid while the swarm is. */
const char *swarm_shown(const struct swarm *s, size_t i, bool full);
/* Begins to ask number i, unless it is under way. */
void swarm_request(struct swarm *s, size_t i);
bool swarm_is_requesting(const struct swarm *s, size_t i);
/* Goes on with all until then, or until something has ended. False when woken. */
bool swarm_run(struct swarm *s, int64_t until_ns);
