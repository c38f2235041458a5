/* One HTTP GET, bounded in time and size, good enough to see whether an exporter is present. */
#pragma once

#include <stddef.h>

#define PROBE_HTTP_MAX (512 * 1024)

struct probe_target {
        char host[128], port[16], path[512];
        const char *token; /* a bearer token; NULL for none */
};

/* How many bytes of the answer are in buf; 0 when nobody answers within 2 s or the answer is not a
 * 200. Then ret_status is that of HTTP, or 0. */
size_t probe_http(const struct probe_target *target, char *buf, size_t size, int *ret_status);
