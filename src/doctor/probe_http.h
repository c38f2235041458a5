/* One HTTP GET, bounded in time and size, good enough to see whether an exporter is there. */
#pragma once

#include <stddef.h>

#define PROBE_HTTP_MAX (512 * 1024)

/* GETs /metrics. How many bytes of the answer are in buf; 0 when nobody answers within 2 s or the
 * answer is not a 200. */
size_t probe_http(const char *host, const char *port, char *buf, size_t size);
