/* A line of an exposition, in parts. Only for this folder. */
#pragma once

#include "formats/exposition/text.h"

struct line_parts {
        struct word name, block; /* the block with its braces; empty for none */
        struct exposition_point point;
        const char *point_text; /* the value as it is written, to the end of the line */
        size_t point_len;
};

/* False when the line is not a sample. */
bool remote_split_line(const char *s, size_t len, struct line_parts *ret);
/* The next line of a text; false at its end. */
bool remote_next_line(const char **at, const char *end, struct word *ret);
