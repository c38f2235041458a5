/* A run's summary for people and programs. */
#pragma once

#include "base/err.h"
#include "base/jsonw.h"
#include "model/flame.h"
#include "model/serving_sum.h"
#include "model/step.h"
#include "model/summary.h"
#include "model/trace.h"

struct report_event {
        int64_t wall_ns;
        const char *name, *data; /* data is JSON, or NULL */
};

/* How a report is shown. All zeros: the first screen, REPORT_COLUMNS wide. */
struct report_view {
        size_t columns;     /* 0: REPORT_COLUMNS */
        bool all;           /* stretches, every metric, the host */
        bool each;          /* each time a phase ran */
        const char *charts; /* a page of these charts alone, ids with commas between; "" for those
                             * of the report; NULL: the whole page */
        const struct report_event *events; /* in order of time; borrowed */
        size_t n_events;
};

#define REPORT_COLUMNS 100
#define REPORT_COLUMNS_LEAST 60

/* A report before it is written; all borrowed. */
struct report {
        const struct run_facts *facts;
        const struct summary *summary;
        const struct traces *traces; /* of a page, as the next */
        const struct flame *flame;
        const struct report_view *view;
        const struct run_steps *steps;         /* NULL: they were not searched for */
        const struct serving_totals *servings; /* NULL or empty: there were none */
        const char *version;                   /* the program's */
};

struct report_format {
        const char *name;
        bool percentiles; /* it reports them; means are quicker to take */
        bool pictures;    /* it has curves and stacks */
        void (*write)(const struct report *r, struct strbuf *out);
};

/* NULL when there is none of that name. */
const struct report_format *report_format_find(const char *name);
/* 0, or a code with a hint that lists the formats. */
int report_write(const struct report *r, const char *format, struct strbuf *out, struct err *err);

/* What limits the run, six key numbers, one row a GPU and phase, what ran. */
void report_text(const struct report *r, struct strbuf *out);
#define REPORT_KEY_NUMBERS 6
/* "SM active", "43.5 %", "": they follow each other in a sentence. */
struct report_key {
        const char *title;
        char number[48], more[48];
};
/* Of the whole run, over its GPUs. */
void report_key_numbers(const struct summary *s, struct report_key ret[REPORT_KEY_NUMBERS]);
/* Three lines at most: what `assay run` says at the end. No lines about the command itself. */
void report_short(const struct summary *s, struct strbuf *out);
#define REPORT_SCHEMA_VERSION 2
/* Everything, in SI units. docs/JSON.md describes it. */
void report_json(const struct report *r, struct strbuf *out);
/* A row a GPU and phase, in SI units. */
void report_csv(const struct report *r, struct strbuf *out);
/* For the summary of a CI job and for comments. */
void report_markdown(const struct report *r, struct strbuf *out);
/* The charts that show why the verdict is what it is, the most reporting first: how many. */
size_t report_charts_first(const struct stretch_list *list, const char **ret, size_t most);
/* One self-contained file with curves and, where flame has any, stacks; the phases are the
 * summary's. */
void report_html(const struct report *r, struct strbuf *out);
/* The keys that existing sweeps read, one decimal; null for what was not measured, but no mem_util
 * and no jax_peak then. */
void report_resource_summary(const struct report *r, struct strbuf *out);

/* What the level did, in all and phase by phase: a table, or nothing when none was recorded. */
void report_level(const struct summary *s, size_t columns, struct strbuf *out);
/* One line about the level in the whole run; nothing when none was recorded. No newline. */
void report_level_line(const struct summary *s, struct strbuf *out);
/* Columns that a name takes in the tables of text. */
#define REPORT_NAME_COLUMNS 27
/* The cells of its table, for text and HTML alike. */
#define REPORT_LEVEL_COLUMNS 8
extern const char *const report_level_columns[REPORT_LEVEL_COLUMNS];
void report_level_cells(const struct scope *scope, char cells[REPORT_LEVEL_COLUMNS][32]);
/* "process 1234 (python), limits: 8 CPUs, 64.0 GiB". No newline. */
void report_level_title(const struct summary *s, struct strbuf *out);

/* The first finding, or what there is to say without a GPU. No newline. */
void report_finding_or_level(const struct summary *s, struct strbuf *out);
/* One sentence: what, the numbers that say so, and what could be won. No newline. */
/* How much of the run it takes, as its sentence and the legend of the page say. */
double report_finding_share(const struct stretch_list *list, const struct limit_finding *f);
void report_finding(const struct stretch_list *list, const struct limit_finding *f,
                    struct strbuf *out);
/* Members "findings" and "stretches" of the report, each with a comma before it. */
void report_json_limits(const struct stretch_list *list, struct jsonw *j);
/* One sentence that a person can act on. */
const char *report_finding_try(const struct stretch_list *list, const struct limit_finding *f);
/* "0", "0-3", "0, 2". */
void report_stretch_gpus(const struct stretch_list *list, const struct gpu_set *gpus,
                         struct strbuf *out);
/* Whether a GPU was not healthy for a good part of the run, and then what was wrong. */
bool report_unhealthy(const struct gpu_summary *g, struct strbuf *out);
const char *report_unhealthy_try(const struct gpu_summary *g);
/* So many findings are reported unless more are asked for. */
#define REPORT_FINDINGS 3
