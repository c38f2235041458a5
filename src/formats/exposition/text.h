/*
 * The grammar of a line of Prometheus text exposition (version 0.0.4 and OpenMetrics 1.0). Nothing
 * is kept and nothing allocated.
 */
#pragma once

#include "formats/rows.h"

/* Blanks and tabs are what separates words. */
size_t exposition_skip_blanks(const char *s, size_t len, size_t at);
/* The length of the metric name that s starts with; 0 when it starts with something else. */
size_t exposition_name_len(const char *s, size_t len);
/* The length of the label block that s starts with, braces included; 0 when it does not end. */
size_t exposition_block_len(const char *s, size_t len);

struct exposition_label {
        struct word name;
        struct word value; /* as written; exposition_unescape reads it */
        bool escaped;      /* value holds a backslash */
};

/* Walks a block that exposition_block_len measured. *at starts at 1. 1, 0 at the end, -1 when it is
 * malformed. */
int exposition_next_label(const char *block, size_t len, size_t *at, struct exposition_label *ret);
/* Writes at most len bytes and returns how many. */
size_t exposition_unescape(const char *s, size_t len, char *to);

/* What follows the labels: the value and when it was measured. */
struct exposition_point {
        double v; /* may be NaN or infinite */
        bool timed;
        int64_t wall_ns;
};

/* False when s is anything but a value, optionally a time, optionally an exemplar. */
bool exposition_read_point(const char *s, size_t len, struct exposition_point *ret);

/* The metric that a HELP or TYPE comment is about; false for other comments. */
bool exposition_announces(const char *s, size_t len, struct word *ret);

/* Whether a text that starts so is an exposition. */
bool exposition_probe(const char *s, size_t len);
