/* assay jobs: what jobs did with the GPUs they held. */
#include "base/clock.h"
#include "base/quote.h"
#include "base/text.h"
#include "cmd/joblist.h"

#include <string.h>
#include <time.h>

#define SECONDS_PER_HOUR 3600.0

static void put_percent(struct strbuf *out, struct value v)
{
        if (value_there(v))
                strbuf_putf(out, "%7.1f", v.v * 100);
        else
                strbuf_puts(out, "     --");
}

static void put_text_row(void *arg, const struct record *r)
{
        struct strbuf *out = arg;
        char when[32], name[OWNER_POD_MAX + 2 * OWNER_NAME_MAX];
        time_t end = (time_t)(r->end_ns / NS_PER_S);
        struct tm tm;
        localtime_r(&end, &tm);
        strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
        joblist_name(&r->who, name, sizeof(name));
        strbuf_putf(out, "%6lld  %s%c ", (long long)r->id, when, r->final ? ' ' : '*');
        text_put_name(out, r->who.user[0] ? r->who.user : "--", 10);
        strbuf_putc(out, ' ');
        text_put_name(out, name, 24);
        strbuf_putf(out, " %4u %9.2f", r->n_gpus, r->gpu_s / SECONDS_PER_HOUR);
        put_percent(out, record_share(r, INTEGRAL_REAL));
        put_percent(out, record_share(r, INTEGRAL_ACTIVE_SM));
        strbuf_putf(out, " %9.2f\n", r->wasted_s / SECONDS_PER_HOUR);
}

static void put_json_row(void *arg, const struct record *r)
{
        struct jsonw j = {.out = arg};
        record_json(r, &j);
        strbuf_putc(arg, '\n');
}

static void put_csv_value(struct strbuf *out, struct value v)
{
        strbuf_putc(out, ',');
        if (value_there(v))
                strbuf_putf(out, "%.6g", v.v);
}

static void put_csv_row(void *arg, const struct record *r)
{
        struct strbuf *out = arg;
        strbuf_putf(out, "%lld,%s", (long long)r->id, owner_kind_name(r->who.kind));
#define OWNER_TEXT(id, name, size)                                                                 \
        strbuf_putc(out, ',');                                                                     \
        quote_csv(out, r->who.id);
        OWNER_TEXTS(OWNER_TEXT)
#undef OWNER_TEXT
        strbuf_putc(out, ',');
        quote_csv(out, r->gpus);
        strbuf_putf(out, ",%u,%.3f,%.3f,%d,%.3f,%.3f", r->n_gpus, clock_to_seconds(r->start_ns),
                    clock_to_seconds(r->end_ns), r->final, r->gpu_s, r->wasted_s);
        put_csv_value(out, record_coverage(r));
        put_csv_value(out, record_share(r, INTEGRAL_REAL));
        put_csv_value(out, record_share(r, INTEGRAL_ACTIVE_SM));
        put_csv_value(out, record_share(r, INTEGRAL_ACTIVE_GPU_UTIL));
        put_csv_value(out, integral_there(&r->sum, INTEGRAL_ENERGY)
                               ? value_ok(r->sum.v[INTEGRAL_ENERGY])
                               : value_missing(STATE_NONE));
        strbuf_putf(out, ",%.0f\n", r->sum.peak_memory);
}

static void put_csv_head(struct strbuf *out)
{
        strbuf_puts(out, "id,kind");
#define OWNER_TEXT(id, name, size) strbuf_puts(out, "," name);
        OWNER_TEXTS(OWNER_TEXT)
#undef OWNER_TEXT
        strbuf_puts(out,
                    ",gpus,n_gpus,start,end,final,gpu_seconds,wasted_seconds,coverage,real_util,"
                    "sm_active,gpu_util,energy_j,peak_memory_bytes\n");
}

static int list(const struct config *config, struct strbuf *out, struct err *err)
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
                put_csv_head(out);
                return records_each(path, &q, put_csv_row, out, err);
        }
        if (strcmp(format, "jsonl") == 0)
                return records_each(path, &q, put_json_row, out, err);
        strbuf_puts(out,
                    "    ID  END               USER       JOB                      GPUS GPU-HOURS "
                    "REAL %   SM %    WASTED\n");
        return records_each(path, &q, put_text_row, out, err);
}

static int jobs_run(const struct config *config)
{
        struct err err = {0};
        struct strbuf out = {0};
        int r = list(config, &out, &err);
        if (r == 0)
                strbuf_flush(&out, STDOUT_FILENO);
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
