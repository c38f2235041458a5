/* A job as JSON: docs/JSON.md describes it. */
#include "base/attr.h"
#include "base/clock.h"
#include "base/jsonw.h"
#include "present/report/job.h"
#include "present/stream/json.h"

static struct value when(bool there, double v)
{
        return there ? value_ok(v) : value_missing(STATE_NONE);
}

static void put_figures(struct jsonw *w, const struct job_rank *r)
{
        static const char *const outliers[] = {NULL, "low", "high"};
        jsonw_object(w, "means");
        for (enum job_figure f = 0; f < JOB_FIGURE_COUNT; f++)
                jsonw_value(w, job_figure_name(f), r->mean[f]);
        jsonw_end(w);
        jsonw_object(w, "outliers");
        for (enum job_figure f = 0; f < JOB_FIGURE_COUNT; f++) {
                if (r->outlier[f] != JOB_USUAL)
                        jsonw_text(w, job_figure_name(f), outliers[r->outlier[f]]);
        }
        jsonw_end(w);
}

static void put_rank(struct jsonw *w, const struct job *j, const struct job_rank *r)
{
        const struct job_gpu *g = &r->use;
        jsonw_line(w);
        jsonw_object(w, NULL);
        jsonw_text(w, "label", r->label);
        jsonw_value(w, "rank", r->rank);
        jsonw_value(w, "local_rank", r->local_rank);
        jsonw_value(w, "node_rank", r->node_rank);
        jsonw_text_or_null(w, "node", r->node);
        jsonw_text_or_null(w, "gpu", r->gpu);
        jsonw_text_or_null(w, "launcher", r->launcher);
        jsonw_text_or_null(w, "file", r->file);
        jsonw_text_or_null(w, "command", r->command);
        jsonw_number(w, "start", clock_to_seconds(r->start_ns - j->start_ns));
        jsonw_number(w, "clock_offset", r->offset_s);
        jsonw_value(w, "seconds", r->seconds);
        jsonw_value(w, "exit_status", r->exit_status);
        jsonw_value(w, "exit_signal", r->exit_signal);
        jsonw_value(w, "energy", r->energy_j);
        jsonw_value(w, "peak_memory", r->peak_memory);
        jsonw_value(w, "sm_clock", when(g->clocks > 0, g->clock / MAX(g->clocks, 1)));
        jsonw_value(w, "own_cpu", r->own_cpu);
        jsonw_value(w, "step_seconds", r->step_s);
        jsonw_value(w, "late_seconds", r->late_s);
        put_figures(w, r);
        jsonw_end(w);
}

static void put_straggler(struct jsonw *w, const struct job *j, const struct straggler *s)
{
        struct strbuf words = {0}, reasons = {0};
        job_put_straggler(j, s, &words);
        if (s->reason)
                throttle_put(&reasons, s->reason);
        jsonw_object(w, NULL);
        jsonw_text(w, "rank", j->ranks[s->rank].label);
        jsonw_text_or_null(w, "node", j->ranks[s->rank].node);
        jsonw_text(w, "cause", cause_name(s->cause));
        jsonw_text(w, "by", s->by_marks ? "marks" : "counters");
        jsonw_text_or_null(w, "step", s->by_marks ? s->step : "");
        jsonw_value(w, "late_seconds", when(s->late_s > 0, s->late_s));
        jsonw_value(w, "times", when(s->times > 0, (double)s->times));
        jsonw_number(w, "cost_seconds", s->cost_s);
        jsonw_number(w, "share", s->share);
        jsonw_number(w, "since", s->begin_s);
        jsonw_value(w, "own", s->own);
        jsonw_value(w, "others", s->peers);
        jsonw_text_or_null(w, "clock_reasons", reasons.len > 0 ? strbuf_str(&reasons) : "");
        jsonw_text(w, "text", strbuf_str(&words));
        jsonw_text(w, "try", cause_try(s->cause));
        jsonw_end(w);
        strbuf_finish(&words);
        strbuf_finish(&reasons);
}

static void put_joined(struct jsonw *w, const struct job *j, const struct job_joined *f)
{
        struct strbuf words = {0};
        job_put_joined(j, f, &words);
        jsonw_object(w, NULL);
        jsonw_text(w, "limiter", limiter_name(f->finding.limiter));
        jsonw_text_or_null(w, "held_by", held_by_name(f->finding.held_by));
        jsonw_bool(w, "before_work", f->finding.before_work);
        jsonw_number(w, "gpu_seconds", f->finding.gpu_s);
        jsonw_number(w, "share", f->finding.share);
        jsonw_number(w, "won_gpu_seconds", f->finding.won_s);
        jsonw_array(w, "ranks");
        for (size_t i = 0; i < j->n; i++) {
                if (f->has[i])
                        jsonw_text(w, NULL, j->ranks[i].label);
        }
        jsonw_end(w);
        jsonw_text(w, "text", strbuf_str(&words));
        jsonw_end(w);
        strbuf_finish(&words);
}

static void put_head(struct jsonw *w, const struct job *j, const char *version)
{
        jsonw_whole(w, "job_schema_version", JOB_SCHEMA_VERSION);
        jsonw_text(w, "version", version);
        jsonw_text_or_null(w, "job", j->n > 0 ? j->ranks[0].job : "");
        jsonw_number(w, "start", clock_to_seconds(j->start_ns));
        jsonw_number(w, "seconds", clock_to_seconds(j->end_ns - j->start_ns));
        jsonw_value(w, "world_size", when(j->world > 0, j->world));
        jsonw_count(w, "missing_ranks", j->n_missing);
        jsonw_array(w, "missing");
        for (size_t i = 0; i < MIN(j->n_missing, ARRAY_LEN(j->missing)); i++)
                jsonw_count(w, NULL, j->missing[i]);
        jsonw_end(w);
        jsonw_text(w, "clocks", j->align == JOB_BY_MARKS ? "marks" : "wall");
        jsonw_number(w, "clocks_moved", j->moved_s);
        jsonw_text_or_null(w, "step", j->step);
        jsonw_count(w, "steps", j->n_steps);
        jsonw_value(w, "step_seconds", when(j->n_steps > 0, j->step_s));
}

void job_json(const struct job *j, const char *version, struct strbuf *out)
{
        struct jsonw w = {.out = out};
        jsonw_object(&w, NULL);
        put_head(&w, j, version);
        jsonw_array(&w, "stragglers");
        for (size_t i = 0; i < j->n_stragglers; i++)
                put_straggler(&w, j, &j->stragglers[i]);
        jsonw_end(&w);
        jsonw_array(&w, "findings");
        for (size_t i = 0; i < j->n_joined; i++)
                put_joined(&w, j, &j->joined[i]);
        jsonw_end(&w);
        jsonw_array(&w, "ranks");
        for (size_t i = 0; i < j->n; i++)
                put_rank(&w, j, &j->ranks[i]);
        jsonw_line(&w);
        jsonw_end(&w);
        jsonw_end(&w);
        strbuf_putc(out, '\n');
}
