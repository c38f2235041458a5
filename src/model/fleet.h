/*
 * What an engine told of many GPUs, as tables: each has columns with a unit, and rows of cells. One
 * writer shows all of them. A cell that is missing has a value that is missing, or no text.
 */
#pragma once

#include "model/value.h"

#include <stddef.h>

/* FLEET_VIEW(id, name, what) in the order of their tabs. */
#define FLEET_VIEWS(FLEET_VIEW)                                                                    \
        FLEET_VIEW(OVERVIEW, "overview", "the fleet, who wastes most, what limits it")             \
        FLEET_VIEW(USERS, "users", "GPU-hours by owner: held, observed, used, wasted")             \
        FLEET_VIEW(JOBS, "jobs", "the jobs that held or wasted most")                              \
        FLEET_VIEW(NODES, "nodes", "GPU-hours by node")                                            \
        FLEET_VIEW(WASTED, "wasted", "wasted GPU-hours by reason and owner")                       \
        FLEET_VIEW(LIMITERS, "limiters", "what limits the GPUs of the fleet")                      \
        FLEET_VIEW(HEALTH, "health", "GPUs and nodes that need somebody")

enum fleet_view {
#define FLEET_VIEW(id, name, what) FLEET_##id,
        FLEET_VIEWS(FLEET_VIEW)
#undef FLEET_VIEW
            FLEET_VIEW_COUNT
};

const char *fleet_view_name(enum fleet_view view);
const char *fleet_view_what(enum fleet_view view);
/* FLEET_VIEW_COUNT when there is none. */
enum fleet_view fleet_view_find(const char *name);

enum fleet_unit {
        FLEET_UNIT_TEXT,
        FLEET_UNIT_COUNT,
        FLEET_UNIT_SECONDS, /* of GPUs: people read hours */
        FLEET_UNIT_RATIO,
        FLEET_UNIT_JOULES,
        FLEET_UNIT_TIME, /* seconds since the epoch */
};

struct fleet_column {
        const char *key;   /* in JSON and CSV, with the unit in its name */
        const char *title; /* in tables */
        enum fleet_unit unit;
        int width;  /* in tables */
        bool minor; /* left out first where a screen is narrow */
};

struct fleet_cell {
        char *text; /* owned, cleaned; NULL for none */
        struct value v;
};

struct fleet_table {
        const char *name, *title;
        const struct fleet_column *columns;
        size_t n_columns;
        struct fleet_cell *cells; /* row after row */
        size_t n_rows, cap;
        size_t left_out; /* rows that the engine has and that were not asked for */
        bool card;       /* one row, shown as lines */
};

#define FLEET_TABLES_MAX 5
#define FLEET_NOTICES_MAX 6
#define FLEET_NOTICE_MAX 240

struct fleet_report {
        const char *what; /* the view's name, or "job" */
        char engine[256]; /* its address, for people */
        int64_t from_ns, to_ns;
        bool recorded; /* from the engine's recording rules */
        struct fleet_table tables[FLEET_TABLES_MAX];
        size_t n_tables;
        char notices[FLEET_NOTICES_MAX][FLEET_NOTICE_MAX]; /* what is missing, and what it means */
        size_t n_notices;
        int64_t took_ns;
};

void fleet_report_finish(struct fleet_report *r);
void fleet_report_notice(struct fleet_report *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The next table. NULL when there are too many. */
struct fleet_table *fleet_report_table(struct fleet_report *r, const char *name, const char *title,
                                       const struct fleet_column *columns, size_t n);
/* A new row, all of it missing; NULL when memory is short. Valid until the next one. */
struct fleet_cell *fleet_table_row(struct fleet_table *t);
/* Copies a text of somebody else's, cleaned; an empty one is none. */
void fleet_cell_text(struct fleet_cell *c, const char *text);
/* The row's cell in a column; its number is missing when there is none. */
const struct fleet_cell *fleet_table_at(const struct fleet_table *t, size_t row, size_t column);
/* Sorts by a column, the largest first; what is missing comes last. Keeps at most n rows. */
void fleet_table_sort(struct fleet_table *t, size_t column, size_t n);
