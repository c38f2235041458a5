#include "present/report/runs.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "present/document/document.h"
#include "present/format.h"

#include <stdio.h>
#include <string.h>

#define RUNS_SCHEMA_VERSION 1

/* RUN_COLUMN(id, key, title, kind, flags, sort): sort: its name in --sort; NULL: it orders nothing.
 */
#define RUN_COLUMNS(RUN_COLUMN)                                                                    \
        RUN_COLUMN(START, "start", "WHEN", DOC_TIME, 0, "when")                                    \
        RUN_COLUMN(COMMAND, "command", "COMMAND", DOC_TEXT, 0, "command")                          \
        RUN_COLUMN(JOB, "job", "JOB", DOC_TEXT, DOC_MINOR, NULL)                                   \
        RUN_COLUMN(RANKS, "ranks", "RANKS", DOC_COUNT, DOC_MINOR, NULL)                            \
        RUN_COLUMN(SECONDS, "seconds", "LENGTH", DOC_LENGTH, 0, "length")                          \
        RUN_COLUMN(GPUS, "gpus", "GPUS", DOC_COUNT, 0, "gpus")                                     \
        RUN_COLUMN(LIMITER, "limiter", "", DOC_TEXT, DOC_MACHINE_ONLY, "limiter")                  \
        RUN_COLUMN(LIMITER_WORDS, "limiter_words", "LIMITER", DOC_TEXT, DOC_PEOPLE | DOC_WHOLE,    \
                   NULL)                                                                           \
        RUN_COLUMN(SHARE, "limiter_share", "%", DOC_RATIO, 0, NULL)                                \
        RUN_COLUMN(GPU_SECONDS, "gpu_seconds", "GPU-h", DOC_GPU_HOURS, DOC_SPARE, "gpu-hours")     \
        RUN_COLUMN(WASTED, "wasted_seconds", "WASTED h", DOC_GPU_HOURS, 0, "wasted")               \
        RUN_COLUMN(WASTED_SHARE, "wasted", "%", DOC_RATIO, DOC_SPARE, NULL)                        \
        RUN_COLUMN(NAME, "name", "RECORDING", DOC_TEXT, DOC_MINOR | DOC_PEOPLE, NULL)              \
        RUN_COLUMN(NODE, "node", "NODE", DOC_TEXT, DOC_MINOR, NULL)                                \
        RUN_COLUMN(ENERGY, "energy_j", "kWh", DOC_ENERGY, DOC_MACHINE_ONLY, NULL)                  \
        RUN_COLUMN(EXIT_STATUS, "exit_status", "EXIT", DOC_COUNT, DOC_MACHINE_ONLY, NULL)          \
        RUN_COLUMN(EXIT_SIGNAL, "exit_signal", "SIGNAL", DOC_COUNT, DOC_MACHINE_ONLY, NULL)        \
        RUN_COLUMN(BASIS, "limiter_basis", "", DOC_TEXT, DOC_MACHINE_ONLY, NULL)                   \
        RUN_COLUMN(FILE, "file", "FILE", DOC_TEXT, DOC_MACHINE_ONLY, NULL)

enum run_column {
#define RUN_COLUMN(id, key, title, kind, flags, sort) RUN_##id,
        RUN_COLUMNS(RUN_COLUMN)
#undef RUN_COLUMN
            RUN_COLUMN_COUNT
};

static const struct doc_column columns[] = {
#define RUN_COLUMN(id, key, title, kind, flags, sort) {key, title, kind, 0, flags, 0, NULL},
    RUN_COLUMNS(RUN_COLUMN)
#undef RUN_COLUMN
};

static const char *const sorts[] = {
#define RUN_COLUMN(id, key, title, kind, flags, sort) sort,
    RUN_COLUMNS(RUN_COLUMN)
#undef RUN_COLUMN
};

static const struct doc_column facts[] = {
    {.key = "runs_schema_version", .kind = DOC_COUNT},
    {.key = "version"},
    {.key = "gpu_seconds", .kind = DOC_GPU_HOURS},
    {.key = "wasted_seconds", .kind = DOC_GPU_HOURS},
};

static struct value value_if(bool is_known, double v)
{
        return is_known ? value_ok(v) : value_missing(STATE_NONE);
}

static const char *last_part(const char *path)
{
        const char *slash = strrchr(path, '/');
        return slash ? slash + 1 : path;
}

static void fill_row(const struct run_row *r, struct doc_cell *row)
{
        double share = 0;
        enum limiter limiter = run_row_limiter(r, &share);
        bool limited = limiter < LIMITER_COUNT;
        enum basis basis = run_row_basis(r);
        struct strbuf words = {0};
        if (limited)
                strbuf_putf(&words, "%s%s", limiter_doubt(limiter, basis), limiter_brief(limiter));
        bool used = r->n_gpus > 0 && r->gpu_s > 0;
        row[RUN_START].v = value_if(format_is_date(r->start_ns), clock_to_seconds(r->start_ns));
        doc_cell_text(&row[RUN_COMMAND], r->command);
        doc_cell_text(&row[RUN_JOB], r->job);
        row[RUN_RANKS].v = value_if(r->is_job, (double)r->n_files);
        doc_cell_text(&row[RUN_NODE], r->node);
        row[RUN_SECONDS].v = r->seconds;
        row[RUN_GPUS].v = value_ok((double)r->n_gpus);
        doc_cell_text(&row[RUN_LIMITER], limited ? limiter_name(limiter) : "");
        doc_cell_text(&row[RUN_LIMITER_WORDS], strbuf_str(&words));
        doc_cell_text(&row[RUN_BASIS], limited ? basis_name(basis) : "");
        strbuf_finish(&words);
        row[RUN_SHARE].v = value_if(limited, share);
        row[RUN_GPU_SECONDS].v = value_if(used, r->gpu_s);
        row[RUN_WASTED].v = value_if(used, r->idle_s);
        row[RUN_WASTED_SHARE].v = value_if(used, used ? r->idle_s / r->gpu_s : 0);
        row[RUN_ENERGY].v = value_if(r->energies > 0, r->energy_j);
        row[RUN_EXIT_STATUS].v = r->exit_status;
        row[RUN_EXIT_SIGNAL].v = r->exit_signal;
        doc_cell_text(&row[RUN_NAME], last_part(r->file));
        doc_cell_text(&row[RUN_FILE], r->file);
}

static enum run_column column_of(const char *sort)
{
        enum run_column c = RUN_START;
        while (sort && c < RUN_COLUMN_COUNT && (!sorts[c] || strcmp(sorts[c], sort) != 0))
                c++;
        return c < RUN_COLUMN_COUNT ? c : RUN_START;
}

static void set_title(const struct run_list *l, const char *folder, double gpu_s, double idle_s,
                      struct document *d)
{
        static const struct doc_column hours = {.kind = DOC_GPU_HOURS};
        char title[DOC_TITLE_MAX], all[DOC_CELL_MAX], idle[DOC_CELL_MAX], share[FORMAT_MAX];
        const struct doc_cell a = {.v = value_ok(gpu_s)}, b = {.v = value_ok(idle_s)};
        int n = snprintf(title, sizeof(title), "%zu run%s%s%.100s", l->n, l->n == 1 ? "" : "s",
                         folder ? " in " : "", folder ? folder : "");
        if (gpu_s > 0)
                snprintf(title + n, sizeof(title) - (size_t)n,
                         ": %s GPU-hours, of which %s wasted (%s)",
                         doc_format_cell(&hours, &a, all), doc_format_cell(&hours, &b, idle),
                         format_share(share, idle_s / gpu_s));
        document_set_title(d, title);
}

/* How to continue. */
static void add_notes(const struct run_list *l, struct document *d)
{
        size_t jobs = 0;
        for (size_t i = 0; i < l->n; i++)
                jobs += l->rows[i].is_job;
        document_note(d, DOC_PEOPLE, "wasted: nothing ran on the GPU");
        document_note(d, DOC_SCREEN,
                      jobs > 0
                          ? "more: assay report FILE tells of one run; of all recordings of a "
                            "job, who holds the others up"
                          : "more: assay report FILE is about one run; --sort orders the list");
}

void runs_document(const struct run_list *l, const char *folder, const char *version,
                   const char *sort, struct document *ret)
{
        double gpu_s = 0, idle_s = 0;
        *ret = (struct document){.what = "a list of runs"};
        struct doc_part *head = document_add(ret, DOC_FACTS, "facts", "", facts, ARRAY_LEN(facts));
        struct doc_cell *fact = doc_add_row(ret, head);
        struct doc_part *list =
            document_add(ret, DOC_ROWS, "runs", "", columns, ARRAY_LEN(columns));
        for (size_t i = 0; i < l->n; i++) {
                struct doc_cell *row = doc_add_row(ret, list);
                if (row)
                        fill_row(&l->rows[i], row);
                gpu_s += l->rows[i].gpu_s;
                idle_s += l->rows[i].idle_s;
        }
        if (fact) {
                fact[0].v = value_ok(RUNS_SCHEMA_VERSION);
                doc_cell_text(&fact[1], version);
                fact[2].v = value_ok(gpu_s);
                fact[3].v = value_ok(idle_s);
        }
        doc_sort(list, column_of(sort), SIZE_MAX);
        set_title(l, folder, gpu_s, idle_s, ret);
        add_notes(l, ret);
}
