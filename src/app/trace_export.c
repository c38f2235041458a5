#include "app/trace_export.h"

#include "app/setup.h"
#include "app/summarise.h"
#include "base/clock.h"
#include "base/text.h"
#include "present/stream/chrome_trace.h"
#include "present/text/where.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Processes of the trace, in the order of the screen. */
enum { TRACK_PROGRAM = 1, TRACK_LINES, TRACK_HOST, TRACK_GPUS };

#define TRACE_LINES_MAX 512 /* threads whose lines are written */

struct trace_maker {
        struct chrome_trace t;
        struct run_summary *r;
        int64_t zero_ns; /* wall clock */
        size_t spans;
};

static double us_since_start(const struct trace_maker *m, int64_t wall_ns)
{
        return clock_to_seconds(clock_bounded(wall_ns) - m->zero_ns);
}

/* ---- what the program marked ---- */

static void trace_put_phases(struct trace_maker *m)
{
        const struct input *in = &m->r->in;
        for (size_t i = 0; i < in->n_phases; i++) {
                const struct phase *p = &in->phases[i];
                chrome_span(&m->t, TRACK_PROGRAM, "phase", p->name, m->spans++,
                            us_since_start(m, p->begin_ns), us_since_start(m, p->end_ns), p->data);
        }
}

static void trace_put_steps(struct trace_maker *m)
{
        char name[PHASE_NAME_MAX + 32], args[64], label[PHASE_NAME_MAX];
        for (size_t i = 0; i < m->r->steps.n; i++) {
                const struct step_series *s = &m->r->steps.list[i];
                snprintf(label, sizeof(label), "%s", s->name);
                text_clean(label);
                snprintf(name, sizeof(name), "%s (%" PRId64 ")", label, s->pid);
                chrome_name_thread(&m->t, TRACK_PROGRAM, (int)i + 1, name);
                for (size_t k = 0; k < s->n; k++) {
                        const struct run_step *step = &s->list[k];
                        int n = snprintf(args, sizeof(args), "{\"step\":%zu", k + 1);
                        if (!isnan(step->waited))
                                n += snprintf(args + n, sizeof(args) - (size_t)n,
                                              ",\"waited_ms\":%.3f", step->waited * 1e3);
                        snprintf(args + n, sizeof(args) - (size_t)n, "}");
                        chrome_slice(&m->t, TRACK_PROGRAM, (int)i + 1, "step", label,
                                     us_since_start(m, step->begin_ns), step->seconds, args);
                }
        }
}

static void trace_put_marks(struct trace_maker *m)
{
        const struct input *in = &m->r->in;
        char name[MARK_NAME_MAX];
        for (size_t i = 0; i < in->n_marks; i++) {
                const struct mark *mark = &in->marks[i];
                snprintf(name, sizeof(name), "%s", mark->name);
                text_clean(name);
                if (mark->type == MARK_EVENT)
                        chrome_instant(&m->t, TRACK_PROGRAM, 0, name,
                                       us_since_start(m, mark->wall_ns), NULL);
                if (mark->type == MARK_METRIC)
                        chrome_counter(&m->t, TRACK_PROGRAM, name, "value",
                                       us_since_start(m, mark->wall_ns), mark->value);
        }
}

/* ---- GPUs and the host ---- */

static void trace_put_stretches(struct trace_maker *m)
{
        const struct stretch_list *l = &m->r->summary.limits;
        double first = us_since_start(m, m->r->stretches.first_wall_ns);
        for (size_t i = 0; i < l->n; i++) {
                const struct stretch *s = &l->list[i];
                for (size_t k = 0; k < l->n_gpus; k++) {
                        if (gpu_set_has(&s->gpus, k))
                                chrome_slice(&m->t, TRACK_GPUS + (int)k, 1, "limiter",
                                             limiter_brief((enum limiter)s->limit.limiter),
                                             first + s->begin_s, s->end_s - s->begin_s, NULL);
                }
        }
        for (size_t k = 0; k < l->n_gpus; k++)
                chrome_name_thread(&m->t, TRACK_GPUS + (int)k, 1, "limited by");
}

static void trace_put_curve(struct trace_maker *m, int track, const struct metric_info *info,
                            const struct bucket *points)
{
        const struct traces *t = &m->r->traces;
        double scale = info->unit == UNIT_RATIO ? 100 : 1;
        const char *unit = info->unit == UNIT_RATIO ? "%" : unit_name(info->unit);
        for (size_t i = 0; i < TRACE_POINTS; i++) {
                if (points[i].n > 0)
                        chrome_counter(&m->t, track, info->name, unit[0] ? unit : "value",
                                       us_since_start(m, t->start_ns + (int64_t)i * t->width_ns),
                                       scale * bucket_mean(&points[i]));
        }
}

/* The place of a GPU among those that have stretches, by its label. */
static int track_of(const struct trace_maker *m, const char *label, size_t at)
{
        const struct stretch_list *l = &m->r->summary.limits;
        for (size_t k = 0; k < l->n_gpus; k++) {
                if (strcmp(l->gpus[k].label, label) == 0)
                        return TRACK_GPUS + (int)k;
        }
        return TRACK_GPUS + STRETCH_GPUS_MAX + (int)at;
}

static void trace_put_gpus(struct trace_maker *m)
{
        const struct traces *t = &m->r->traces;
        char name[ENTITY_LABEL_MAX + ENTITY_TEXT_MAX + 16];
        for (size_t i = 0; i < t->n; i++) {
                const struct trace_gpu *g = t->gpus[i];
                int track = track_of(m, g->who.label, i);
                snprintf(name, sizeof(name), "GPU %s %s", g->who.label,
                         g->who.text[ENTITY_TEXT_MODEL]);
                chrome_name_process(&m->t, track, name);
                for (enum trace_metric c = 0; c < TRACE_COUNT; c++)
                        trace_put_curve(m, track, metric_info(trace_metric(c)), g->points[c]);
        }
        if (t->started)
                chrome_name_process(&m->t, TRACK_HOST, "host");
        for (enum trace_figure f = 0; f < TRACE_LEVEL_COUNT; f++)
                trace_put_curve(m, TRACK_HOST, figure_info(trace_figure(f)), t->level[f]);
}

/* ---- lines ---- */

/* The line that a thread is in, which may last for seconds. */
struct line_run {
        uint32_t place;           /* the node that people act on */
        int64_t begin_ns, end_ns; /* on the session's clock */
};

static void trace_put_line(struct trace_maker *m, uint32_t thread, const struct line_run *run)
{
        const struct stack_table *table = m->r->stacks->table;
        struct code_line line;
        struct strbuf text = {0};
        if (run->end_ns <= run->begin_ns)
                return;
        where_fill_line(table, stack_node(table, run->place)->frame, &line);
        where_put_line(&text, &line);
        int64_t ahead =
            m->r->stretches.begun ? m->r->stretches.first_ns - m->r->stretches.first_wall_ns : 0;
        chrome_slice(&m->t, TRACK_LINES, (int)thread + 1, "line",
                     line.file[0] ? strbuf_str(&text) : "?",
                     us_since_start(m, run->begin_ns - ahead),
                     clock_to_seconds(run->end_ns - run->begin_ns), NULL);
        strbuf_finish(&text);
}

/* The line that each main thread was in for most of a second. */
static void add_second(struct trace_maker *m, const struct stack_window *w, struct line_run *runs)
{
        for (size_t i = 0; i < w->n;) {
                const struct stack_count *most = &w->counts[i], *c = most;
                uint32_t thread = most->thread;
                for (; i < w->n && w->counts[i].thread == thread; i++)
                        most = w->counts[i].seconds > most->seconds ? &w->counts[i] : most;
                if (thread >= TRACE_LINES_MAX || !m->r->stacks->threads[c->thread].is_main)
                        continue;
                struct line_run *run = &runs[thread];
                uint32_t place = stack_find_place(m->r->stacks->table, most->stack).own;
                if (run->place != place || run->end_ns != w->mono_ns) {
                        trace_put_line(m, thread, run);
                        *run = (struct line_run){.place = place, .begin_ns = w->mono_ns};
                }
                run->end_ns = w->mono_ns + STACK_WINDOW_NS;
        }
}

static int trace_put_lines(struct trace_maker *m, struct err *err)
{
        const struct stack_log *log = m->r->stacks;
        struct stack_window w;
        char name[128];
        int got = 1;
        if (!log)
                return 0;
        struct line_run *runs = calloc(TRACE_LINES_MAX, sizeof(*runs));
        if (!runs)
                return err_set(err, -ENOMEM, "out of memory");
        chrome_name_process(&m->t, TRACK_LINES, "lines of main threads");
        for (size_t i = 0; i < MIN(log->n_threads, (size_t)TRACE_LINES_MAX); i++) {
                const struct stack_process *p = &log->processes[log->threads[i].process];
                snprintf(name, sizeof(name), "%.80s (%d)", p->command, p->pid);
                if (log->threads[i].is_main)
                        chrome_name_thread(&m->t, TRACK_LINES, (int)i + 1, name);
        }
        while ((got = session_next_stacks(m->r->in.session, &w, err)) > 0)
                add_second(m, &w, runs);
        for (uint32_t i = 0; i < TRACE_LINES_MAX; i++)
                trace_put_line(m, i, &runs[i]);
        free(runs);
        return got;
}

static int put_trace(struct run_summary *r, struct strbuf *out, struct err *err)
{
        struct trace_maker m = {.r = r};
        const struct run_facts *f = &r->in.facts;
        m.zero_ns = f->start_ns > 0 ? f->start_ns : r->summary.first_ns;
        chrome_begin(&m.t, f->command[0] ? f->command : f->input, program_version, out);
        chrome_name_process(&m.t, TRACK_PROGRAM, f->command[0] ? f->command : "program");
        trace_put_phases(&m);
        trace_put_steps(&m);
        trace_put_marks(&m);
        trace_put_stretches(&m);
        trace_put_gpus(&m);
        int code = trace_put_lines(&m, err);
        chrome_end(&m.t);
        return code == 0 && out->failed ? err_set(err, -ENOMEM, "out of memory") : code;
}

int trace_export(const struct config *config, const char *path, struct strbuf *out,
                 struct strbuf *notices, struct err *err)
{
        struct run_summary *r = calloc(1, sizeof(*r));
        if (!r)
                return err_set(err, -ENOMEM, "out of memory");
        r->curves = r->wants_steps = true;
        int code = run_summary_read(r, config, path, "text", err);
        strbuf_put(notices, strbuf_str(&r->notices), r->notices.len);
        if (code == 0)
                code = put_trace(r, out, err);
        run_summary_finish(r);
        free(r);
        return code;
}
