/* The address of an exporter, taken apart as far as we need it. */
#pragma once

#include "base/err.h"

#include <stdbool.h>

#define ADDRESS_MAX 2048

struct address {
        bool is_url;
        bool loopback;            /* this machine: no proxy is asked */
        char url[ADDRESS_MAX];    /* what to ask, or the path of a file */
        char shown[ADDRESS_MAX];  /* without user, password and query */
        char origin[ADDRESS_MAX]; /* scheme, host and port, or the path */
};

/* "http://…", "https://…", or a scheme that nobody speaks here. */
bool address_has_scheme(const char *text);
/* "HOST:PORT" or "HOST:PORT/PATH". */
bool address_is_bare(const char *text);
/* One without a scheme is http; one without a path gets /metrics. 0, or ERR_USAGE with a remedy in
 * err. */
int address_parse(const char *text, struct address *ret, struct err *err);
