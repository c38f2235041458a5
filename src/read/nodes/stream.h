/*
 * What a node writes, taken apart: bytes in, samples out. No I/O. Whatever a shell prints before
 * the first line that is ours is passed over; what comes later and makes no sense is counted.
 */
#pragma once

#include "formats/jsonl/jsonl.h"

#define STREAM_LINE_MAX (256 * 1024)
#define STREAM_SAMPLE_MAX (8 * 1024 * 1024) /* the lines of one sample together */
#define STREAM_ROWS_MAX 1024                /* GPUs and slices of one node */
#define STREAM_BEFORE_MAX (1024 * 1024)     /* what may come before the first line of our own */
#define STREAM_BAD_MAX 100                  /* lines in a row without sense, then it is broken */

struct stream {
        char *buf;
        size_t start, line, end, cap; /* the sample's first byte, the next line's, all */
        bool greeted;
        struct jsonl_hello hello;
        size_t before;    /* bytes before the greeting */
        unsigned bad;     /* lines in a row */
        uint64_t all_bad; /* lines */
        uint64_t number;  /* of the clock's answer, or of the sample */
        int64_t wall_ns;  /* likewise, by the node's clock */
};

enum stream_event {
        STREAM_NOTHING, /* more bytes are needed */
        STREAM_HELLO,   /* hello is filled */
        STREAM_CLOCK,   /* number and wall_ns are filled */
        STREAM_SAMPLE,  /* its rows are in the batcher; wall_ns is filled */
        STREAM_BROKEN,  /* this is not a stream of our own, or memory is short */
};

/* Begins again, and keeps the memory. */
void stream_restart(struct stream *s);
void stream_finish(struct stream *s);
/* Room for the bytes that come next; NULL when a line or sample is too long, or memory short. */
char *stream_room(struct stream *s, size_t *ret_size);
void stream_filled(struct stream *s, size_t n);
/* The next event of what was filled in. The batcher has jsonl_fields; it is cleared first. */
enum stream_event stream_next(struct stream *s, struct batcher *b);
