/* Where the server is reached: an address and port, or a unix socket. */
#pragma once

#include "base/err.h"

#include <stdbool.h>

#define LISTEN_TEXT_MAX 128

struct listen_place {
        bool unix_socket;
        char host[LISTEN_TEXT_MAX]; /* an address; the path of a unix socket */
        char port[16];              /* digits; "" for a unix socket */
        bool everywhere;            /* all addresses of the machine */
        bool loopback;              /* only this machine reaches it */
};

/*
 * ":9400" (all addresses), "9400" and "" (loopback), "127.0.0.1:9400", "[::1]:9400", "localhost:0",
 * "unix:/run/x.sock". Names other than localhost are not looked up. 0 or ERR_USAGE with err.
 */
int listen_parse(const char *text, struct listen_place *ret, struct err *err);
/*
 * Binds and listens. A unix socket is 0600, and one that nobody listens on is replaced. The
 * descriptor is the caller's; port 0 becomes the one that was given. Negative code with err.
 */
int listen_open(struct listen_place *place, struct err *err);
/* "http://127.0.0.1:9400", "unix:/run/x.sock". */
void listen_url(const struct listen_place *place, bool tls, char *buf, size_t size);
