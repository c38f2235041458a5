/* A job of several ranks, for people and programs. */
#pragma once

#include "base/strbuf.h"
#include "model/job.h"

struct job_view {
        size_t columns; /* 0: REPORT_COLUMNS */
        bool all;       /* a row for every rank, every finding */
};

/* Who holds the others up, findings, one row a rank, spread. view may be NULL. */
void job_text(const struct job *j, const struct job_view *view, struct strbuf *out);
#define JOB_SCHEMA_VERSION 1
/* docs/JSON.md describes it. */
void job_json(const struct job *j, const char *version, struct strbuf *out);
/* One page, without a script. */
void job_html(const struct job *j, struct strbuf *out);

/* ---- words that they share; no newline ---- */

/* Whether it holds the others up. */
bool job_is_straggler(const struct job *j, size_t rank);
/* "8 ranks on 2 nodes, 10 min 3 s". */
void job_put_title(const struct job *j, struct strbuf *out);
/* Who, by how much, since when, why. */
void job_put_straggler(const struct job *j, const struct straggler *s, struct strbuf *out);
/* What it was judged by when nobody is named. */
void job_put_nobody(const struct job *j, struct strbuf *out);
/* "6 of 8 ranks (0-3, 6, 7) limited by …". */
void job_put_joined(const struct job *j, const struct job_joined *f, struct strbuf *out);
/* What to do about it; NULL for nothing. */
const char *job_joined_try(const struct job *j, const struct job_joined *f);
/* How clocks were aligned; ranks that have no file. Empty where there is nothing to tell. */
void job_put_clocks(const struct job *j, struct strbuf *out);
void job_put_missing(const struct job *j, struct strbuf *out);

/* JOB_COLUMN(id, title, width): what a rank's row has. */
#define JOB_COLUMNS(JOB_COLUMN)                                                                    \
        JOB_COLUMN(RANK, "rank", 10)                                                               \
        JOB_COLUMN(NODE, "node", 12)                                                               \
        JOB_COLUMN(GPU, "GPU", 4)                                                                  \
        JOB_COLUMN(BUSY, "busy", 6)                                                                \
        JOB_COLUMN(SM, "SM", 6)                                                                    \
        JOB_COLUMN(POWER, "W", 6)                                                                  \
        JOB_COLUMN(CLOCK, "MHz", 6)                                                                \
        JOB_COLUMN(CPU, "CPU", 6)                                                                  \
        JOB_COLUMN(LATE, "late", 9)                                                                \
        JOB_COLUMN(ENDED, "ended", 8)

enum job_column {
#define JOB_COLUMN(id, title, width) JOB_COLUMN_##id,
        JOB_COLUMNS(JOB_COLUMN)
#undef JOB_COLUMN
            JOB_COLUMN_COUNT
};

#define JOB_CELL_MAX 40
/* "--" for what is missing; outliers have a mark behind them: "43%<", "97%>". */
void job_cells(const struct job_rank *r, char cells[JOB_COLUMN_COUNT][JOB_CELL_MAX]);
const char *job_column_title(enum job_column c);
