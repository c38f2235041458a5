/*
 * What waits to be pushed, oldest first and bounded: bodies that are ready to be sent. With a
 * folder each is a file until it is sent, so that a restart of the program loses nothing; without
 * one, or when the disk takes no more, it is kept in memory. Not for several threads at once.
 */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define PUSH_KIND_MAX 16
#define PUSH_WAITING_MAX 65536    /* bodies */
#define PUSH_BODY_MAX (64u << 20) /* bytes of one */

struct push_queue_config {
        const char *dir;  /* made when it is absent; NULL for memory only */
        const char *kind; /* of the bodies: "remote-write"; files of another kind are removed */
        size_t bytes_max; /* of all that wait */
};

struct push_item {
        uint64_t number;
        int64_t time_ms;
        char *body; /* the caller's, to be freed */
        size_t len;
};

struct push_queue;

/* A folder that cannot be used is reported in notice ("" when there is nothing to report). NULL
 * when memory is short. */
struct push_queue *push_queue_open(const struct push_queue_config *config, char *notice,
                                   size_t size);
/* Files stay. */
void push_queue_close(struct push_queue *q);
/* Adds a copy. Returns how many of the oldest, or the new one itself, had to go. */
size_t push_queue_add(struct push_queue *q, int64_t time_ms, const char *body, size_t len);
/* The oldest, a copy; it stays in the queue. False when nothing waits. A file that is gone or
 * damaged counts in *ret_lost and is passed over. */
bool push_queue_first(struct push_queue *q, struct push_item *ret, size_t *ret_lost);
/* That one is not needed any more, if it is still there. */
void push_queue_done(struct push_queue *q, uint64_t number);
/* How many wait. */
size_t push_queue_count(const struct push_queue *q);
size_t push_queue_bytes(const struct push_queue *q);
