/*
 * Tables for people, written into a text buffer row by row. Widths count columns of the screen, not
 * bytes, and nothing in a cell does anything to a terminal.
 */
#pragma once

#include "base/strbuf.h"

struct tablew_column {
        const char *title;
        int width;    /* to the right; negative: to the left, and cut; 0: as it comes */
        unsigned gap; /* blanks before it */
};

struct tablew {
        struct strbuf *out;
        const struct tablew_column *columns;
        size_t at; /* the next column of this row */
};

void tablew_cell(struct tablew *t, const char *s);
void tablew_cellf(struct tablew *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Ends a row, without the blanks at its end. */
void tablew_end(struct tablew *t);
/* A row of the first n titles. */
void tablew_head(struct tablew *t, size_t n);

/* One cell with a width as above, where columns are not a table's. */
void tablew_put(struct strbuf *out, const char *s, int width);
void tablew_end_line(struct strbuf *out);
