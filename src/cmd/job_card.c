/* A record as a report card: what the job did, what limited it, and what to change. */
#include "cmd/job_card.h"

#include "base/text.h"
#include "cmd/joblist.h"
#include "model/unit.h"
#include "present/format.h"

#include <math.h>
#include <string.h>

#define SECONDS_PER_HOUR 3600.0
#define LIMITERS_SHOWN 3
#define JOULES_A_KWH 3.6e6

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
        if (value_is_set(v))
                put_line(out, name, text);
}

static void put_share(struct strbuf *out, const char *name, struct value v)
{
        put_value(out, name, UNIT_RATIO, v);
}

/* From 0 to 100. */
static void put_score(struct strbuf *out, const char *name, struct value share)
{
        put_value(out, name, UNIT_SCORE, value_is_set(share) ? value_ok(100 * share.v) : share);
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

static struct value request_share(struct value part, struct value all)
{
        return value_is_set(part) && value_is_set(all) && all.v > 0 ? value_ok(part.v / all.v)
                                                                    : value_missing(STATE_NONE);
}

/* What was asked for on this node and what was used of it. */
struct job_use {
        struct value cpus, cpu_s, elapsed_s, limit_s, memory, memory_limit;
        struct value cpu_share, memory_share, time_share;
};

static struct job_use use_of(const struct record *r, const struct job_request *q)
{
        struct job_use u = {
            .cpus = job_request_on_node(r->use.cpus, q->cpus, q->nodes),
            .cpu_s = r->use.cpu_s,
            .elapsed_s = q->elapsed_s,
            .limit_s = q->limit_s,
            .memory = r->use.memory_peak,
            .memory_limit = job_request_on_node(r->use.memory_limit, q->memory, q->nodes),
        };
        struct value cpu_time = value_is_set(u.cpus) && value_is_set(u.elapsed_s)
                                    ? value_ok(u.cpus.v * u.elapsed_s.v)
                                    : value_missing(STATE_NONE);
        u.cpu_share = request_share(u.cpu_s, cpu_time);
        u.memory_share = request_share(u.memory, u.memory_limit);
        u.time_share = request_share(u.elapsed_s, u.limit_s);
        return u;
}

/* "8.3 % of 8 CPUs", with "--" for what is not known. */
static void put_of(struct strbuf *out, const char *name, struct value share, const char *of)
{
        char text[FORMAT_MAX], line[128];
        format_with_unit(text, sizeof(text), UNIT_RATIO, share);
        snprintf(line, sizeof(line), "%s of %s", text, of);
        put_line(out, name, line);
}

static void put_use(struct strbuf *out, const struct job_use *u)
{
        char of[96], length[FORMAT_MAX], bytes[FORMAT_MAX];
        if (value_is_set(u->cpus)) {
                snprintf(of, sizeof(of), "%.0f CPU%s", u->cpus.v, u->cpus.v == 1 ? "" : "s");
                put_of(out, "CPU efficiency", u->cpu_share, of);
        } else if (value_is_set(u->cpu_s)) {
                put_line(out, "CPU time", format_length(of, sizeof(of), u->cpu_s.v));
        }
        if (value_is_set(u->memory_limit)) {
                format_with_unit(bytes, sizeof(bytes), UNIT_BYTES, u->memory_limit);
                put_of(out, "memory", u->memory_share, bytes);
        } else {
                put_value(out, "memory", UNIT_BYTES, u->memory);
        }
        if (value_is_set(u->limit_s)) {
                format_length(length, sizeof(length), u->limit_s.v);
                snprintf(of, sizeof(of), "the limit of %s", length);
                put_of(out, "time used", u->time_share, of);
        }
}

/* --- what limited it ----------------------------------------------------------------------- */

static double limiter_total(const struct record *r)
{
        double all = 0;
        for (enum limiter l = 0; l < LIMITER_COUNT; l++)
                all += r->sum.limiter_s[l];
        return all;
}

/* The at-th most frequent; LIMITER_COUNT when there are no more. */
static enum limiter limiter_at(const struct record *r, size_t at)
{
        enum limiter ret = LIMITER_COUNT;
        bool used[LIMITER_COUNT] = {false};
        for (size_t i = 0; i <= at; i++) {
                ret = LIMITER_COUNT;
                for (enum limiter l = 0; l < LIMITER_COUNT; l++) {
                        double s = r->sum.limiter_s[l];
                        if (!used[l] && s > 0 &&
                            (ret == LIMITER_COUNT || s > r->sum.limiter_s[ret]))
                                ret = l;
                }
                if (ret == LIMITER_COUNT)
                        return ret;
                used[ret] = true;
        }
        return ret;
}

static void put_limiters(struct strbuf *out, const struct record *r)
{
        char share[FORMAT_MAX];
        double all = limiter_total(r);
        if (!(all > 0))
                return;
        strbuf_puts(out, "\nWhat limited the GPUs\n");
        for (size_t i = 0; i < LIMITERS_SHOWN; i++) {
                enum limiter l = limiter_at(r, i);
                if (l == LIMITER_COUNT)
                        return;
                strbuf_putf(out, "  %6s  %s\n", format_share(share, r->sum.limiter_s[l] / all),
                            limiter_phrase(l));
        }
}

/* --- what to change ------------------------------------------------------------------------ */

#define LIMITER_WORTH 0.1 /* of the time: less is not worth a change */
#define GPU_UNUSED 0.01   /* of the time */
#define CPUS_LEAST 0.5    /* of the CPUs: below they wait for nothing */
#define MEMORY_LEAST 0.5  /* of the memory */
#define TIME_LEAST 0.25   /* of the limit */
#define JOB_SHORT_S 600.0 /* what is shorter was a trial: its request says little */
#define MEMORY_WORTH 2e9  /* bytes that others could have had */
#define HEADROOM 1.25     /* beyond what was used */

static void put_advice(struct strbuf *out, const char *text, size_t *n)
{
        if ((*n)++ == 0)
                strbuf_puts(out, "\nWhat to change\n");
        strbuf_putf(out, "  %s\n", text);
}

static void advise_limiter(struct strbuf *out, const struct record *r, size_t *n)
{
        static const struct ceilings nothing;
        enum limiter l = limiter_at(r, 0);
        if (l < LIMITER_COUNT && r->sum.limiter_s[l] > LIMITER_WORTH * limiter_total(r)) {
                const char *text = limiter_try(l, &nothing, FRAMEWORK_NONE);
                if (text && text[0])
                        put_advice(out, text, n);
        }
}

static void advise_gpus(struct strbuf *out, const struct record *r, size_t *n)
{
        char text[96];
        size_t unused = 0;
        for (size_t i = 0; i < r->n_each; i++)
                unused += value_is_set(r->each[i].util) && r->each[i].util.v < GPU_UNUSED;
        if (unused == 0)
                return;
        snprintf(text, sizeof(text), "%zu of %zu GPU%s did nothing: use %s, or ask for fewer",
                 unused, r->n_each, r->n_each == 1 ? "" : "s", unused == 1 ? "it" : "them");
        put_advice(out, text, n);
}

static void advise_request(struct strbuf *out, const struct job_use *u, size_t *n)
{
        char text[128], a[FORMAT_MAX], b[FORMAT_MAX];
        if (value_or(u->elapsed_s, 0) < JOB_SHORT_S)
                return;
        if (value_is_set(u->cpu_share) && u->cpu_share.v < CPUS_LEAST && u->cpus.v > 1) {
                snprintf(text, sizeof(text),
                         "CPUs: %.1f of %.0f were busy on average: ask for fewer",
                         u->cpu_share.v * u->cpus.v, u->cpus.v);
                put_advice(out, text, n);
        }
        if (value_is_set(u->memory_share) && u->memory_share.v < MEMORY_LEAST &&
            u->memory_limit.v - u->memory.v > MEMORY_WORTH) {
                format_with_unit(a, sizeof(a), UNIT_BYTES, u->memory);
                format_with_unit(b, sizeof(b), UNIT_BYTES, value_ok(u->memory.v * HEADROOM));
                snprintf(text, sizeof(text), "memory: at most %s was used: %s is enough", a, b);
                put_advice(out, text, n);
        }
        if (value_is_set(u->time_share) && u->time_share.v < TIME_LEAST) {
                format_length(a, sizeof(a), ceil(u->elapsed_s.v * HEADROOM / 60) * 60);
                snprintf(text, sizeof(text), "time limit: with %s the job would start sooner", a);
                put_advice(out, text, n);
        }
}

/* What the GPUs drew, and what that is in CO2; nothing where no counter reported it. */
static void put_energy(struct strbuf *out, const struct record *r, double co2_g_per_kwh)
{
        char line[128];
        if (!integral_is_set(&r->sum, INTEGRAL_ENERGY))
                return;
        double joules = r->sum.v[INTEGRAL_ENERGY];
        put_line(out, "energy", format_energy(line, joules));
        if (!(co2_g_per_kwh > 0))
                return;
        snprintf(line, sizeof(line), "%.3g g, at %g g a kWh", joules / JOULES_A_KWH * co2_g_per_kwh,
                 co2_g_per_kwh);
        put_line(out, "CO2", line);
}

void job_card_put(struct strbuf *out, const struct record *r, const struct job_request *request,
                  double co2_g_per_kwh)
{
        char name[OWNER_POD_MAX + 2 * OWNER_NAME_MAX], line[128];
        struct job_use use = use_of(r, request);
        size_t advice = 0;
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
        if (r->n_stays > 1) {
                char length[FORMAT_MAX];
                snprintf(line, sizeof(line), "%u, with pauses of %s", r->n_stays,
                         format_length(length, sizeof(length), r->paused_s));
                put_line(out, "stays", line);
        }
        snprintf(line, sizeof(line), "%.2f GPU-hours, of which %.2f wasted",
                 r->gpu_s / SECONDS_PER_HOUR, r->wasted_s / SECONDS_PER_HOUR);
        put_line(out, "held", line);
        put_share(out, "observed", record_coverage(r));
        put_score(out, "Real Utilization", record_share(r, INTEGRAL_REAL));
        put_share(out, "SM active", record_share(r, INTEGRAL_ACTIVE_SM));
        put_share(out, "tensor active", record_share(r, INTEGRAL_ACTIVE_TENSOR));
        put_share(out, "DRAM active", record_share(r, INTEGRAL_ACTIVE_DRAM));
        put_share(out, "GPU utilization", record_share(r, INTEGRAL_ACTIVE_GPU_UTIL));
        put_share(out, "power throttled", record_share(r, INTEGRAL_THROTTLE_POWER));
        put_share(out, "heat throttled", record_share(r, INTEGRAL_THROTTLE_HEAT));
        put_energy(out, r, co2_g_per_kwh);
        if (r->sum.peak_memory > 0)
                put_value(out, "peak memory", UNIT_BYTES, value_ok(r->sum.peak_memory));
        put_use(out, &use);
        put_limiters(out, r);
        put_states(out, r);
        put_findings(out, r);
        advise_limiter(out, r, &advice);
        advise_gpus(out, r, &advice);
        advise_request(out, &use, &advice);
}

/* One line for a job's comment. */
void job_card_put_brief(struct strbuf *out, const struct record *r)
{
        struct value real = record_share(r, INTEGRAL_REAL),
                     sm = record_share(r, INTEGRAL_ACTIVE_SM);
        char share[FORMAT_MAX];
        strbuf_putf(out, "assay: %u GPU%s, %.2f GPU-hours", r->n_gpus, r->n_gpus == 1 ? "" : "s",
                    r->gpu_s / SECONDS_PER_HOUR);
        if (value_is_set(real))
                strbuf_putf(out, ", real %s", format_share(share, real.v));
        if (value_is_set(sm))
                strbuf_putf(out, ", SM %s", format_share(share, sm.v));
        strbuf_putf(out, ", wasted %.2f GPU-hours\n", r->wasted_s / SECONDS_PER_HOUR);
}
