/* Lines from a descriptor through one fixed buffer: bounded memory whatever the file holds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINES_BUFFER (512 * 1024)
#define LINES_MAX (256 * 1024) /* longer lines are passed over and counted */

struct lines {
        int fd;
        char *buf;
        size_t start, end; /* the unread part of buf */
        bool eof;
        bool skipping;     /* inside a line that was too long */
        uint64_t number;   /* of the line given last, from 1 */
        uint64_t too_long; /* lines passed over */
        uint64_t bytes;    /* read so far */
        size_t allowance;  /* bytes to read before lines_next gives -EAGAIN; at first SIZE_MAX,
                            * which is not a limit */
};

/* A line without its end of line. Valid until the next call. */
struct line {
        const char *s;
        size_t len;
        bool cut; /* the file ended without an end of line */
};

/* Takes ownership of fd. 0 or -ENOMEM; on failure fd stays the caller's. */
int lines_init(struct lines *l, int fd);
void lines_finish(struct lines *l);
/* 1 with a line, 0 at the end, or a negative errno. A carriage return before the newline is
 * dropped. */
int lines_next(struct lines *l, struct line *ret);
/* Makes up to LINES_MAX bytes of what comes next visible without taking them; of a pipe, as soon as
 * a line is present. */
int lines_peek(struct lines *l, const char **ret, size_t *ret_len);
