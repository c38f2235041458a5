/* CSV output over chosen columns. */
#pragma once

#include "present/columns.h"

struct csv {
        const struct column *columns[COLUMNS_MAX];
        size_t n;
        const char *end; /* "\n" or "\r\n" */
};

void csv_write_header(const struct csv *csv, struct strbuf *out);
void csv_write_frame(const struct csv *csv, const struct frame *frame, struct strbuf *out);
