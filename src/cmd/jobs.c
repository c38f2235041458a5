/* assay jobs: what jobs did with the GPUs they held. */
#include "base/clock.h"
#include "base/csvw.h"
#include "base/tablew.h"
#include "cmd/joblist.h"
#include "present/format.h"

#include <string.h>

#define SECONDS_PER_HOUR 3600.0

static const struct tablew_column columns[] = {
    {"ID", 6, 0},        {"END", -17, 2}, {"USER", -10, 1}, {"JOB", -24, 1},  {"GPUS", 4, 1},
    {"GPU-HOURS", 9, 1}, {"REAL", 6, 1},  {"SM %", 6, 1},   {"WASTED", 9, 1},
};

static void put_percent(struct tablew *t, struct value v)
{
        if (value_is_set(v))
                tablew_cellf(t, "%.1f", v.v * 100);
        else
                tablew_cell(t, "--");
}

struct text_list {
        struct tablew table;
        size_t n;
        bool goes_on; /* one of them does */
};

static void put_text_row(void *arg, const struct record *r)
{
        struct text_list *l = arg;
        struct tablew *t = &l->table;
        char when[FORMAT_MAX], name[OWNER_POD_MAX + 2 * OWNER_NAME_MAX];
        format_minute(when, sizeof(when), r->end_ns);
        joblist_name(&r->who, name, sizeof(name));
        tablew_cellf(t, "%lld", (long long)r->id);
        tablew_cellf(t, "%s%s", when, r->final ? "" : "*");
        tablew_cell(t, r->who.user[0] ? r->who.user : "--");
        tablew_cell(t, name);
        tablew_cellf(t, "%u", r->n_gpus);
        tablew_cellf(t, "%.2f", r->gpu_s / SECONDS_PER_HOUR);
        put_percent(t, record_share(r, INTEGRAL_REAL));
        put_percent(t, record_share(r, INTEGRAL_ACTIVE_SM));
        tablew_cellf(t, "%.2f", r->wasted_s / SECONDS_PER_HOUR);
        tablew_end(t);
        l->n++;
        l->goes_on |= !r->final;
}

static int list_text(const char *path, struct records_query *q, struct strbuf *out, struct err *err)
{
        struct text_list l = {.table = {.out = out, .columns = columns}};
        tablew_head(&l.table, ARRAY_LEN(columns));
        int r = joblist_each(path, q, put_text_row, &l, err);
        if (l.goes_on)
                strbuf_puts(out, "\n* holds its GPUs still\n");
        if (r == 0 && l.n == 0)
                notice("'%s' has no such records; one is written every minute that GPUs are held",
                       path);
        return r;
}

static void put_json_row(void *arg, const struct record *r)
{
        struct jsonw j = {.out = arg};
        record_json(r, &j);
        strbuf_putc(arg, '\n');
}

static void put_csv_row(void *arg, const struct record *r)
{
        struct csvw *c = arg;
        struct value energy = integral_is_set(&r->sum, INTEGRAL_ENERGY)
                                  ? value_ok(r->sum.v[INTEGRAL_ENERGY])
                                  : value_missing(STATE_NONE);
        csvw_count(c, (uint64_t)r->id);
        csvw_text(c, owner_kind_name(r->who.kind));
#define OWNER_TEXT(id, name, size) csvw_name(c, r->who.id);
        OWNER_TEXTS(OWNER_TEXT)
#undef OWNER_TEXT
        csvw_name(c, r->gpus);
        csvw_count(c, r->n_gpus);
        csvw_fixed(c, clock_to_seconds(r->start_ns), 3);
        csvw_fixed(c, clock_to_seconds(r->end_ns), 3);
        csvw_count(c, r->final);
        csvw_fixed(c, r->gpu_s, 3);
        csvw_fixed(c, r->wasted_s, 3);
        csvw_short(c, value_or_nan(record_coverage(r)), 6);
        csvw_short(c, value_or_nan(record_share(r, INTEGRAL_REAL)), 6);
        csvw_short(c, value_or_nan(record_share(r, INTEGRAL_ACTIVE_SM)), 6);
        csvw_short(c, value_or_nan(record_share(r, INTEGRAL_ACTIVE_GPU_UTIL)), 6);
        csvw_short(c, value_or_nan(energy), 6);
        csvw_fixed(c, r->sum.peak_memory, 0);
        csvw_end(c);
}

/* The names of what put_csv_row writes. */
static void put_csv_head(struct csvw *c)
{
        static const char *const names[] = {"gpus",
                                            "n_gpus",
                                            "start",
                                            "end",
                                            "final",
                                            "gpu_seconds",
                                            "wasted_seconds",
                                            "coverage",
                                            "real_util",
                                            "sm_active",
                                            "gpu_util",
                                            "energy_j",
                                            "peak_memory_bytes"};
        csvw_text(c, "id");
        csvw_text(c, "kind");
#define OWNER_TEXT(id, name, size) csvw_text(c, name);
        OWNER_TEXTS(OWNER_TEXT)
#undef OWNER_TEXT
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                csvw_text(c, names[i]);
        csvw_end(c);
}

static int list_jobs(const struct config *config, struct strbuf *out, struct err *err)
{
        char path[SERVE_PATH_MAX];
        const char *format = config_text(config, OPT_FORMAT),
                   *since = config_text(config, OPT_SINCE);
        struct records_query q = {.user = config_text(config, OPT_USER),
                                  .wasted = config_flag(config, OPT_WASTED)};
        int r = joblist_path(config, path, err);
        if (r == 0 && since)
                r = joblist_since(since, clock_wall_ns(), &q.since_ns, err);
        if (r < 0)
                return r;
        if (strcmp(format, "csv") == 0) {
                struct csvw c = {.out = out};
                put_csv_head(&c);
                return joblist_each(path, &q, put_csv_row, &c, err);
        }
        if (strcmp(format, "jsonl") == 0)
                return joblist_each(path, &q, put_json_row, out, err);
        return list_text(path, &q, out, err);
}

static int jobs_run(const struct config *config)
{
        struct err err = {0};
        struct strbuf out = {0};
        int r = list_jobs(config, &out, &err);
        if (r == 0)
                print_text(&out);
        strbuf_finish(&out);
        return r < 0 ? complain(&err) : EXIT_FINE;
}

const struct command command_jobs = {
    .name = "jobs",
    .args = "",
    .summary = "list what jobs did with the GPUs they held",
    .words = WORDS_NONE,
    .examples = {{"assay jobs --since 7d", "of the last week, the newest first"},
                 {"assay jobs --user alice --wasted", "that left their GPUs idle"},
                 {"assay jobs --format csv > jobs.csv", "for a spreadsheet"}},
    .run = jobs_run,
};
