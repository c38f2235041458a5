/* Helpers for formats whose rows are words or comma-separated fields under a header of names. */
#pragma once

#include "base/lines.h"
#include "model/reading.h"

struct word {
        const char *s;
        size_t len;
};

struct words {
        size_t n;
        struct word w[SCHEMA_FIELDS_MAX + 2];
};

/* Words between blanks. */
void rows_split_blanks(const struct line *line, struct words *ret);
/* Fields between commas, blanks around them dropped; double quotes hold commas and "" is a quote.
 */
void rows_split_commas(const struct line *line, struct words *ret);

/* The place of a word, or -1. */
int rows_find(const struct words *words, const char *name);

/* "2026/11/15 07:26:18.010", local time, to nanoseconds. */
bool rows_parse_time(const char *s, size_t len, int64_t *ret_wall_ns);
