/*
 * Parquet files as pyarrow, DuckDB, pandas and others read them: plain values without compression,
 * columns that may lack values, groups of a bounded number of rows.
 */
#pragma once

#include "base/strbuf.h"
#include "model/unit.h"

#include <stdbool.h>
#include <stdint.h>

#define PARQUET_GROUP_ROWS 16384

enum parquet_kind { PARQUET_NUMBER, PARQUET_TIME, PARQUET_TEXT };

struct parquet_column {
        const char *name;
        enum parquet_kind kind;
        enum unit unit; /* of a number */
};

struct parquet_page {
        struct strbuf values, levels; /* levels: runs of rows with a value, and without */
        uint64_t run;                 /* rows of the run that is open */
        bool run_has;
        bool has; /* the row that is being filled has a value */
};

struct parquet_chunk {
        uint64_t offset, size;
};

/* All zeros to begin with. */
struct parquet {
        const struct parquet_column *columns; /* borrowed */
        size_t n;
        struct parquet_page *pages; /* by column */
        struct strbuf *out;         /* borrowed; may be emptied at any time */
        uint64_t offset;            /* bytes that were put there */
        uint64_t rows, group_rows;
        struct parquet_chunk *chunks; /* of each group, by column */
        uint64_t *rows_of_group;
        size_t n_groups, cap_chunks, cap_groups;
        bool failed; /* memory was short */
};

/* 0 or -ENOMEM; parquet_finish it either way. */
int parquet_begin(struct parquet *p, const struct parquet_column *columns, size_t n,
                  struct strbuf *out);
/* Values of a row, which is then ended. What is not put, not finite or NULL is missing. */
void parquet_put_number(struct parquet *p, size_t column, double v);
void parquet_put_time(struct parquet *p, size_t column, int64_t wall_ns);
void parquet_put_text(struct parquet *p, size_t column, const char *s);
/* 0 or -ENOMEM. */
int parquet_end_row(struct parquet *p);
/* The rest of the file. producer: the program and its version. 0 or -ENOMEM. */
int parquet_end(struct parquet *p, const char *producer);
void parquet_finish(struct parquet *p);
