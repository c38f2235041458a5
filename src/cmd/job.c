/* assay job: one record as a report card. */
#include "base/num.h"
#include "base/text.h"
#include "cmd/joblist.h"
#include "model/unit.h"
#include "present/format.h"

#include <string.h>

#define SECONDS_PER_HOUR 3600.0
struct card {
        struct strbuf *out;
        bool brief;
        size_t n;
};

static void put_line(struct strbuf *out, const char *name, const char *text)
{
        strbuf_putf(out, "  %-16s ", name);
        text_put(out, text, 200);
        strbuf_putc(out, '\n');
}

static void put_time(struct strbuf *out, const char *name, int64_t ns)
{
        char when[FORMAT_MAX];
        format_second(when, sizeof(when), ns);
        put_line(out, name, when);
}

/* Nothing when it is missing. */
static void put_value(struct strbuf *out, const char *name, enum unit unit, struct value v)
{
        char text[FORMAT_MAX];
        format_with_unit(text, sizeof(text), unit, v);
        if (value_there(v))
                put_line(out, name, text);
}

static void put_share(struct strbuf *out, const char *name, struct value v)
{
        put_value(out, name, UNIT_RATIO, v);
}

static void put_states(struct strbuf *out, const struct record *r)
{
        char share[FORMAT_MAX];
        double all = 0;
        for (enum workload w = 0; w < WORKLOAD_COUNT; w++)
                all += r->sum.class_s[w];
        if (!(all > 0))
                return;
        strbuf_puts(out, "\nTime by class\n");
        for (enum workload w = 0; w < WORKLOAD_COUNT; w++) {
                if (r->sum.class_s[w] <= 0)
                        continue;
                format_with_unit(share, sizeof(share), UNIT_RATIO,
                                 value_ok(r->sum.class_s[w] / all));
                strbuf_putf(out, "  %-24s %9.1f s %8s\n", workload_status(w), r->sum.class_s[w],
                            share);
        }
}

static void put_findings(struct strbuf *out, const struct record *r)
{
        if (r->findings)
                strbuf_puts(out, "\nHealth\n");
        for (enum health_reason f = 0; f < HEALTH_REASON_COUNT; f++) {
                if (r->findings & (1u << f))
                        strbuf_putf(out, "  %s: %s\n", health_name(health_reason_state(f)),
                                    health_reason_text(f));
        }
}

/* One line for a job's comment. */
static void put_brief(struct strbuf *out, const struct record *r)
{
        struct value real = record_share(r, INTEGRAL_REAL),
                     sm = record_share(r, INTEGRAL_ACTIVE_SM);
        char share[FORMAT_MAX];
        strbuf_putf(out, "assay: %u GPU%s, %.2f GPU-hours", r->n_gpus, r->n_gpus == 1 ? "" : "s",
                    r->gpu_s / SECONDS_PER_HOUR);
        if (value_there(real))
                strbuf_putf(out, ", real %s", format_share(share, real.v));
        if (value_there(sm))
                strbuf_putf(out, ", SM %s", format_share(share, sm.v));
        strbuf_putf(out, ", wasted %.2f GPU-hours\n", r->wasted_s / SECONDS_PER_HOUR);
}

static void put_card(void *arg, const struct record *r)
{
        struct card *c = arg;
        struct strbuf *out = c->out;
        char name[OWNER_POD_MAX + 2 * OWNER_NAME_MAX], line[128];
        if (c->n++ > 0)
                return;
        if (c->brief) {
                put_brief(out, r);
                return;
        }
        joblist_name(&r->who, name, sizeof(name));
        text_put(out, name, 100);
        strbuf_putf(out, "  (record %lld%s)\n", (long long)r->id, r->final ? "" : ", goes on");
        if (r->who.user[0])
                put_line(out, "user", r->who.user);
        if (r->who.account[0])
                put_line(out, "account", r->who.account);
        if (r->who.partition[0])
                put_line(out, "partition", r->who.partition);
        put_line(out, "GPUs", r->gpus);
        put_time(out, "start", r->start_ns);
        put_time(out, "end", r->end_ns);
        snprintf(line, sizeof(line), "%.2f GPU-hours, of which %.2f wasted",
                 r->gpu_s / SECONDS_PER_HOUR, r->wasted_s / SECONDS_PER_HOUR);
        put_line(out, "held", line);
        put_share(out, "observed", record_coverage(r));
        put_share(out, "real utilization", record_share(r, INTEGRAL_REAL));
        put_share(out, "SM active", record_share(r, INTEGRAL_ACTIVE_SM));
        put_share(out, "tensor active", record_share(r, INTEGRAL_ACTIVE_TENSOR));
        put_share(out, "DRAM active", record_share(r, INTEGRAL_ACTIVE_DRAM));
        put_share(out, "GPU utilization", record_share(r, INTEGRAL_ACTIVE_GPU_UTIL));
        put_share(out, "power throttled", record_share(r, INTEGRAL_THROTTLE_POWER));
        put_share(out, "heat throttled", record_share(r, INTEGRAL_THROTTLE_HEAT));
        if (integral_there(&r->sum, INTEGRAL_ENERGY))
                put_line(out, "energy", format_energy(line, r->sum.v[INTEGRAL_ENERGY]));
        if (r->sum.peak_memory > 0)
                put_value(out, "peak memory", UNIT_BYTES, value_ok(r->sum.peak_memory));
        put_states(out, r);
        put_findings(out, r);
}

static int show(const struct config *config, struct strbuf *out, struct err *err)
{
        char path[SERVE_PATH_MAX];
        uint64_t id;
        if (config->n_args != 2) {
                err_set(err, ERR_USAGE, "name one record or job");
                return err_hint(err, "'assay jobs' lists them");
        }
        if (!config->args[1][0]) {
                err_set(err, ERR_USAGE, "the job's name is empty");
                return err_hint(err, "a variable may be unset; 'assay jobs' lists the records");
        }
        const char *word = config->args[1];
        struct card card = {.out = out, .brief = config_flag(config, OPT_BRIEF)};
        struct records_query q = {.limit = 1, .job = word};
        int r = joblist_path(config, path, err);
        /* The number of a job, of a pod, or of a record. */
        if (r == 0)
                r = joblist_each(path, &q, put_card, &card, err);
        if (r == 0 && card.n == 0 && num_parse_u64(word, strlen(word), &id) && id <= INT64_MAX) {
                q = (struct records_query){.limit = 1, .id = (int64_t)id};
                r = joblist_each(path, &q, put_card, &card, err);
        }
        if (r == 0 && card.n == 0) {
                err_set(err, ERR_USAGE, "there is no job '%s'", word);
                r = err_hint(err, "'assay jobs' lists those that were recorded");
        }
        return r;
}

static int job_run(const struct config *config)
{
        struct err err = {0};
        struct strbuf out = {0};
        int r = show(config, &out, &err);
        if (r == 0)
                print_text(&out);
        strbuf_finish(&out);
        return r < 0 ? complain(&err) : EXIT_FINE;
}

const struct command command_job = {
    .name = "job",
    .args = "JOB|RECORD",
    .summary = "show what one job did with its GPUs, as a report card",
    .words = WORDS_OWN,
    .examples = {{"assay job 4711", "the Slurm job 4711"},
                 {"assay job llm-0", "a pod"},
                 {"assay job 4711 --brief", "one line, for the job's comment"}},
    .run = job_run,
};
