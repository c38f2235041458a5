/* A file format that a capture can have. One ops struct each, listed in formats.def. */
#pragma once

#include "base/lines.h"
#include "formats/batcher.h"
#include "model/reading.h"

/* What all formats share while a capture is being read. */
struct capture {
        struct lines lines;
        struct batcher batcher;
        struct source_trouble trouble;
        struct line held; /* a line that was read and belongs to the next batch */
        bool holding;
        bool has_times;  /* the file has times of its own */
        int64_t wall_ns; /* of the batch being gathered, when has_times */
        void *state;     /* the format's own */
        bool (*wanted)(enum dialect dialect, const char *field, size_t len);
        char first_bad[80]; /* the start of the first line that made no sense */
};

struct format_ops {
        const char *name; /* "dcgmi dmon capture" */
        enum dialect dialect;
        /* Whether the start of a file looks like this format. */
        bool (*probe)(const char *s, size_t len);
        /* Makes and frees capture->state. Both may be NULL. */
        int (*begin)(struct capture *c);
        void (*end)(struct capture *c);
        /* Gathers one round into capture->batcher. 1 with rows, 0 at the end, or a negative errno.
         */
        int (*round)(struct capture *c);
        /* Hands out the round, as batcher_give does. NULL: it is in capture->batcher. */
        void (*give)(struct capture *c, struct batch *ret);
};

/* The table. NULL at the end. */
const struct format_ops *format_at(size_t i);

/* The next line, the held one first. As lines_next. */
int capture_line(struct capture *c, struct line *ret);
/* Keeps the line for the next round. */
void capture_hold(struct capture *c, const struct line *line);
/* Counts a line that cannot be understood. */
void capture_bad_line(struct capture *c, const struct line *line);
/* Counts a row that ends in the middle. */
void capture_cut_row(struct capture *c);
