/* What the views share: one window, asked once, and the tables they make of it. */
#pragma once

#include "fleet/filter.h"
#include "fleet/question.h"
#include "fleet/rows.h"

/* A column of a table; kind without its DOC_. */
#define COLUMN(key, title, kind, width, flags)                                                     \
        {                                                                                          \
                key, title, DOC_##kind, width, flags, 0, NULL                                      \
        }

struct collect {
        struct fleet *fleet;
        const struct fleet_asked *asked;
        struct query_terms terms;
        struct filter filter;
        struct strbuf owners; /* the filter's owners in braces */
        bool may_use_rules;
        int64_t at_s; /* the window's end */
        struct fleet_report *report;
};

/*
 * The window on the engine's grid: its end is the last whole step, its length a multiple of it.
 * Times in the report are set. 0, or ERR_USAGE with err; collect_finish either way.
 */
int collect_begin(struct collect *c, struct fleet *f, const struct fleet_asked *asked,
                  struct fleet_report *report, struct err *err);
void collect_finish(struct collect *c);
/* The questions of a view, in the order in which its tables take the answers. */
size_t collect_questions(enum fleet_view view, struct question *ret, size_t max);

/* Held, observed, used and wasted of all jobs that some answers name, of which jobs takes. */
int collect_job_sums(struct collect *c, const struct question *lists, size_t n,
                     struct fleet_sums *jobs, struct err *err);

/* Makes the tables of a view of its answers. */
void collect_tables(struct collect *c, enum fleet_view view, struct question *q, size_t n);
/* The tables that two of them have: sums of jobs, time by limiter, time by reason. */
void collect_jobs_table(struct collect *c, const struct fleet_sums *jobs);
void collect_limiters_table(struct collect *c, const struct fleet_sums *s, size_t rows);
void collect_reasons_table(struct collect *c, const struct fleet_sums *sums);
