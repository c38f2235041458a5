/* CSV output over chosen columns. */
#pragma once

#include "present/stream/columns.h"

/* The text of a value, kept because the next tick often has the same: clocks, temperatures, zeros.
 */
struct csv_memo {
        uint64_t bits; /* of the double; 0 and -0 are written differently */
        uint8_t len;   /* 0: the text is not kept */
        char text[23];
};

#define CSV_MEMO_ROWS 16

struct csv {
        const struct column *columns[COLUMNS_MAX];
        size_t n;
        const char *end; /* "\n" or "\r\n" */
        struct csv_memo memo[CSV_MEMO_ROWS][COLUMNS_MAX];
        struct csv_memo time; /* of the frame, the same in all its rows */
};

/* Whether a column says what limits a GPU. */
bool csv_wants_limits(const struct csv *csv);
void csv_write_header(const struct csv *csv, struct strbuf *out);
void csv_write_frame(struct csv *csv, const struct frame *frame, struct strbuf *out);
