/* Columns of numbers and texts that grow row by row. */
#pragma once

#include "app/input.h"
#include "assay/assay.h"
#include "base/err.h"
#include "config/config.h"

#define TABLE_NAME_MAX 64

struct table_column {
        char name[TABLE_NAME_MAX];
        bool is_text;
        double *numbers;    /* NULL until there is a number: all before it are missing */
        const char **texts; /* the table's own, or of static life */
};

struct text_chunk;

struct assay_table {
        size_t rows, cap, n;
        struct table_column *columns;
        struct text_chunk *chunks;
        bool failed; /* memory was short */
};

/* Returns its number. */
size_t table_add_column(struct assay_table *t, const char *name, bool is_text);
/* A new row in which everything is missing. */
void table_add_row(struct assay_table *t);
/* Into the last row. A number that is not there is left missing. */
void table_put(struct assay_table *t, size_t column, double v);
void table_put_value(struct assay_table *t, size_t column, struct value v);
/* The text is copied once while it stays the same from row to row. */
void table_put_text(struct assay_table *t, size_t column, const char *s);
/* Drops columns of numbers that have none, and makes every other one whole. 0 or -ENOMEM. */
int table_end(struct assay_table *t);

/* What a table is made of, and which part of the run. */
struct table_job {
        const struct config *config;
        struct input in;
        int64_t from_ns, to_ns; /* rows of this time */
        struct phase_order order;
        struct phase_clock clock; /* of the frames */
        struct phase_cursor cursor;
};

/* Whether a row is in the part that is asked for: its time in the time, the middle of its window in
 * one of the phases. */
bool table_wants(struct table_job *job, int64_t wall_ns, int64_t moment_ns);

/* That a run has no such level, and which it has. */
int table_level_missing(enum level level, unsigned present, struct err *err);

/* Each fills an empty table. 0, or a negative code with err. */
/* A level in the columns of a notebook's monitor. */
int table_fill_level(struct assay_table *t, struct table_job *job, enum level level,
                     struct err *err);
/* A level as JSON has it. */
int table_fill_figures(struct assay_table *t, struct table_job *job, enum level level,
                       struct err *err);
int table_fill_gpus(struct assay_table *t, struct table_job *job, struct err *err);
int table_fill_phases(struct assay_table *t, struct table_job *job);
int table_fill_events(struct assay_table *t, struct table_job *job);
int table_fill_steps(struct assay_table *t, struct table_job *job);
int table_fill_metrics(struct assay_table *t, struct table_job *job);
/* A row a second, thread and stack, as the view of a session; none where nothing was recorded. */
int table_fill_stacks(struct assay_table *t, struct table_job *job, struct err *err);
