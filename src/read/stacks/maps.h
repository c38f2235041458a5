/* /proc/PID/maps: where files are mapped. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAPS_BYTES_MAX (4 * 1024 * 1024) /* what lies beyond is not examined */
#define MAPS_PATH_MAX 1024

struct mapping {
        uint64_t begin, end, offset;
        bool may_write;
        const char *path; /* "" for none; without " (deleted)" */
};

/* One line without its end. False when it is not one. The path is cut at MAPS_PATH_MAX; it is in
 * buf. */
bool maps_parse(const char *line, size_t n, char buf[MAPS_PATH_MAX], struct mapping *ret);

/* Calls visit for each mapping of an open maps file until it returns false. 0 or a negative errno.
 */
int maps_each(int fd, bool (*visit)(void *arg, const struct mapping *m), void *arg);
