/* What a request's headers say, and whether it is admitted. Pure: texts in, decisions out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define GUARD_HOSTS_MAX 32
#define GUARD_HOST_MAX 256

/* Names under which the server may be asked for. Addresses and localhost always are. */
struct guard_hosts {
        char names[GUARD_HOSTS_MAX][GUARD_HOST_MAX];
        size_t n;
};

/* "node-07", "gpu.example.org:9400", or "*.example.org". False when there are too many. */
bool guard_add_host(struct guard_hosts *hosts, const char *name, size_t len);
/*
 * Whether a Host header names this server. A page of another site whose name was turned to this
 * address (DNS rebinding) still sends its own name, and an address is not a name. NULL is refused.
 */
bool guard_host(const struct guard_hosts *hosts, const char *header);
/* Whether a browser may ask: Sec-Fetch-Site is not sent (NULL), same-origin or none. */
bool guard_site(const char *header);
/*
 * How welcome a word is by a list like "text/plain;q=0.5, gzip": its greatest weight, 0 to 1; 0
 * when it is not named or the list was not sent (NULL).
 */
double guard_weight(const char *header, const char *word);
/* "Bearer X": X, or NULL. */
const char *guard_bearer(const char *header);
/* "Basic …": false when it is not one, or longer than the room. Both texts are terminated. */
bool guard_basic(const char *header, char *user, char *password, size_t size);
/* A cookie's value; false when there is none or it is too long. */
bool guard_cookie(const char *header, const char *name, char *ret, size_t size);
/* Equal or not in the same time, wherever they differ. */
bool guard_same(const char *a, const char *b);
/* Whether an address of "HOST:PORT" is this machine's own alone. */
bool guard_is_loopback(const char *host);
