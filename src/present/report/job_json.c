/* A job as JSON: docs/JSON.md describes it. */
#include "base/attr.h"
#include "base/clock.h"
#include "present/report/job.h"
#include "present/stream/json.h"

static void put_key(struct strbuf *out, const char *name, bool *first)
{
        strbuf_puts(out, *first ? "" : ",");
        *first = false;
        json_put_string(out, name);
        strbuf_putc(out, ':');
}

static void put_number(struct strbuf *out, const char *name, struct value v, bool *first)
{
        put_key(out, name, first);
        if (value_there(v))
                json_put_number(out, v.v);
        else
                strbuf_puts(out, "null");
}

static void put_text(struct strbuf *out, const char *name, const char *s, bool *first)
{
        put_key(out, name, first);
        if (s[0])
                json_put_string(out, s);
        else
                strbuf_puts(out, "null");
}

static struct value ratio(double a, double b)
{
        return b > 0 ? value_ok(a / b) : value_missing(STATE_NONE);
}

static void put_rank(const struct job *j, const struct job_rank *r, struct strbuf *out)
{
        static const char *const outliers[] = {NULL, "low", "high"};
        bool first = true, inner = true;
        strbuf_putc(out, '{');
        put_text(out, "label", r->label, &first);
        put_number(out, "rank", r->rank, &first);
        put_number(out, "local_rank", r->local_rank, &first);
        put_number(out, "node_rank", r->node_rank, &first);
        put_text(out, "node", r->node, &first);
        put_text(out, "gpu", r->gpu, &first);
        put_text(out, "launcher", r->launcher, &first);
        put_text(out, "file", r->file, &first);
        put_text(out, "command", r->command, &first);
        put_number(out, "start", value_ok(clock_to_seconds(r->start_ns - j->start_ns)), &first);
        put_number(out, "clock_offset", value_ok(r->offset_s), &first);
        put_number(out, "seconds", r->seconds, &first);
        put_number(out, "exit_status", r->exit_status, &first);
        put_number(out, "exit_signal", r->exit_signal, &first);
        put_number(out, "energy", r->energy_j, &first);
        put_number(out, "peak_memory", r->peak_memory, &first);
        put_number(out, "sm_clock", ratio(r->use.clock, r->use.clocks), &first);
        put_number(out, "own_cpu", r->own_cpu, &first);
        put_number(out, "step_seconds", r->step_s, &first);
        put_number(out, "late_seconds", r->late_s, &first);
        put_key(out, "means", &first);
        strbuf_putc(out, '{');
        for (enum job_figure f = 0; f < JOB_FIGURE_COUNT; f++)
                put_number(out, job_figure_name(f), r->mean[f], &inner);
        strbuf_puts(out, "}");
        put_key(out, "outliers", &first);
        strbuf_putc(out, '{');
        inner = true;
        for (enum job_figure f = 0; f < JOB_FIGURE_COUNT; f++) {
                if (r->outlier[f] != JOB_USUAL)
                        put_text(out, job_figure_name(f), outliers[r->outlier[f]], &inner);
        }
        strbuf_puts(out, "}}");
}

static void put_reasons(uint64_t bits, struct strbuf *out, bool *first)
{
        struct strbuf words = {0};
        if (bits)
                throttle_put(&words, bits);
        put_text(out, "clock_reasons", words.len > 0 ? strbuf_str(&words) : "", first);
        strbuf_finish(&words);
}

static void put_straggler(const struct job *j, const struct straggler *s, struct strbuf *out)
{
        struct strbuf words = {0};
        bool first = true;
        job_put_straggler(j, s, &words);
        strbuf_putc(out, '{');
        put_text(out, "rank", j->ranks[s->rank].label, &first);
        put_text(out, "node", j->ranks[s->rank].node, &first);
        put_text(out, "cause", cause_name(s->cause), &first);
        put_text(out, "by", s->by_marks ? "marks" : "counters", &first);
        put_text(out, "step", s->by_marks ? s->step : "", &first);
        put_number(out, "late_seconds",
                   s->late_s > 0 ? value_ok(s->late_s) : value_missing(STATE_NONE), &first);
        put_number(out, "times",
                   s->times > 0 ? value_ok((double)s->times) : value_missing(STATE_NONE), &first);
        put_number(out, "cost_seconds", value_ok(s->cost_s), &first);
        put_number(out, "share", value_ok(s->share), &first);
        put_number(out, "since", value_ok(s->begin_s), &first);
        put_number(out, "own", s->own, &first);
        put_number(out, "others", s->peers, &first);
        put_reasons(s->reason, out, &first);
        put_text(out, "text", strbuf_str(&words), &first);
        put_text(out, "try", cause_try(s->cause), &first);
        strbuf_putc(out, '}');
        strbuf_finish(&words);
}

static void put_joined(const struct job *j, const struct job_joined *f, struct strbuf *out)
{
        struct strbuf words = {0};
        const char *held = held_by_name(f->finding.held_by);
        bool first = true;
        job_put_joined(j, f, &words);
        strbuf_putc(out, '{');
        put_text(out, "limiter", limiter_name(f->finding.limiter), &first);
        put_text(out, "held_by", held ? held : "", &first);
        put_key(out, "before_work", &first);
        strbuf_puts(out, f->finding.before_work ? "true" : "false");
        put_number(out, "gpu_seconds", value_ok(f->finding.gpu_s), &first);
        put_number(out, "share", value_ok(f->finding.share), &first);
        put_number(out, "won_gpu_seconds", value_ok(f->finding.won_s), &first);
        put_key(out, "ranks", &first);
        for (size_t i = 0, n = 0; i < j->n; i++) {
                if (!f->has[i])
                        continue;
                strbuf_puts(out, n++ ? "," : "[");
                json_put_string(out, j->ranks[i].label);
        }
        strbuf_putc(out, ']');
        put_text(out, "text", strbuf_str(&words), &first);
        strbuf_putc(out, '}');
        strbuf_finish(&words);
}

void job_json(const struct job *j, const char *version, struct strbuf *out)
{
        bool first = true;
        strbuf_putf(out, "{\"job_schema_version\":%d,", JOB_SCHEMA_VERSION);
        put_text(out, "version", version, &first);
        put_text(out, "job", j->n > 0 ? j->ranks[0].job : "", &first);
        put_number(out, "start", value_ok(clock_to_seconds(j->start_ns)), &first);
        put_number(out, "seconds", value_ok(clock_to_seconds(j->end_ns - j->start_ns)), &first);
        put_number(out, "world_size", j->world > 0 ? value_ok(j->world) : value_missing(STATE_NONE),
                   &first);
        put_number(out, "missing_ranks", value_ok((double)j->n_missing), &first);
        put_key(out, "missing", &first);
        strbuf_putc(out, '[');
        for (size_t i = 0; i < MIN(j->n_missing, ARRAY_LEN(j->missing)); i++)
                strbuf_putf(out, "%s%zu", i ? "," : "", j->missing[i]);
        strbuf_putc(out, ']');
        put_text(out, "clocks", j->align == JOB_BY_MARKS ? "marks" : "wall", &first);
        put_number(out, "clocks_moved", value_ok(j->moved_s), &first);
        put_text(out, "step", j->step, &first);
        put_number(out, "steps", value_ok((double)j->n_steps), &first);
        put_number(out, "step_seconds",
                   j->n_steps ? value_ok(j->step_s) : value_missing(STATE_NONE), &first);
        put_key(out, "stragglers", &first);
        strbuf_putc(out, '[');
        for (size_t i = 0; i < j->n_stragglers; i++) {
                strbuf_puts(out, i ? "," : "");
                put_straggler(j, &j->stragglers[i], out);
        }
        strbuf_puts(out, "],\"findings\":[");
        for (size_t i = 0; i < j->n_joined; i++) {
                strbuf_puts(out, i ? "," : "");
                put_joined(j, &j->joined[i], out);
        }
        strbuf_puts(out, "],\"ranks\":[");
        for (size_t i = 0; i < j->n; i++) {
                strbuf_puts(out, i ? ",\n" : "\n");
                put_rank(j, &j->ranks[i], out);
        }
        strbuf_puts(out, "\n]}\n");
}
