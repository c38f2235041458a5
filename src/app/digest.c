#include "app/digest.h"

#include "base/clock.h"
#include "base/text.h"
#include "compute/diff/diff.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SLACK_S 2.0    /* a source may take so long to start */
#define LOST_SHARE 0.9 /* a GPU that was seen for less of the others' time was lost */
#define WORKS 0.2      /* the clock counts while kernels run for more than this share */
#define HELD_SHARE 0.5

/* ---- how long, and how it ended ---- */

static void take_end(const struct run_summary *r, struct diff_run *ret)
{
        const struct run_facts *f = &r->in.facts;
        ret->has_seconds = true;
        if (value_there(f->exit_signal) && f->exit_signal.v > 0)
                snprintf(ret->ended, sizeof(ret->ended), "killed by signal %.0f", f->exit_signal.v);
        else if (value_there(f->exit_status) && f->exit_status.v != 0)
                snprintf(ret->ended, sizeof(ret->ended), "exit status %.0f", f->exit_status.v);
        else if (r->in.session && f->stop_ns == 0)
                snprintf(ret->ended, sizeof(ret->ended), "the recording was cut off");
        if (ret->ended[0])
                ret->has_seconds = false;
}

static double seconds_of(const struct run_summary *r)
{
        const struct run_facts *f = &r->in.facts;
        double ticks = r->summary.n > 0 ? r->summary.scopes[0].seconds : 0;
        if (value_there(f->command_s))
                return f->command_s.v;
        if (f->start_ns > 0 && f->stop_ns > f->start_ns &&
            (r->summary.ticks == 0 || f->start_ns <= r->summary.first_ns))
                return MAX(clock_to_seconds(f->stop_ns - f->start_ns), ticks);
        return ticks;
}

/* ---- GPUs ---- */

static void take_gpu(struct diff_run *run, const struct gpu_summary *g, double *most_s)
{
        struct value peak = spread_max(&g->m[METRIC_FB_USED]);
        size_t len = strlen(run->mig);
        if (g->who.kind != ENTITY_GPU) {
                const char *profile = g->who.text[ENTITY_TEXT_MIG_PROFILE];
                snprintf(run->mig + len, sizeof(run->mig) - len, "%s%s", len ? ", " : "",
                         profile[0] ? profile : "a slice");
        } else {
                run->gpus++;
                if (g->has_energy && value_there(run->energy_j))
                        run->energy_j.v += g->energy_j;
                else
                        run->energy_j = value_missing(STATE_NONE);
        }
        if (!run->model[0])
                snprintf(run->model, sizeof(run->model), "%s", g->who.text[ENTITY_TEXT_MODEL]);
        if (!run->driver[0])
                snprintf(run->driver, sizeof(run->driver), "%s", g->who.text[ENTITY_TEXT_DRIVER]);
        if (value_there(peak) && (!value_there(run->peak_memory) || peak.v > run->peak_memory.v))
                run->peak_memory = peak;
        *most_s = MAX(*most_s, g->seconds);
}

static void take_coverage(const struct scope *whole, double most_s, struct diff_run *run)
{
        double throttle_s = 0, seen_s = 0;
        bool throttle = whole->n > 0;
        run->observed = 1;
        for (size_t i = 0; i < whole->n; i++) {
                const struct gpu_summary *g = whole->gpus[i];
                double unseen = run->seconds - g->seconds;
                bool lost = g->seconds < LOST_SHARE * most_s;
                if (lost && !run->lost[0])
                        snprintf(run->lost, sizeof(run->lost), "%s", g->who.label);
                if (!lost && unseen > SLACK_S)
                        run->observed = MIN(run->observed, g->seconds / run->seconds);
                throttle &= g->has_throttle;
                throttle_s += g->throttle_s;
                seen_s += g->seconds;
        }
        if (throttle && seen_s > 0)
                run->throttled = value_ok(throttle_s / seen_s);
}

static void take_gpus(const struct run_summary *r, struct diff_run *run)
{
        const struct scope *whole = &r->summary.scopes[0];
        double most_s = 0;
        run->energy_j = whole->n > 0 ? value_ok(0) : value_missing(STATE_NONE);
        for (size_t i = 0; i < whole->n; i++)
                take_gpu(run, whole->gpus[i], &most_s);
        if (run->gpus == 0) {
                run->gpus = whole->n;
                run->energy_j = value_missing(STATE_NONE);
        }
        take_coverage(whole, most_s, run);
}

/* ---- stretches ---- */

/* Means over the time after the start-up. */
struct means {
        double gpu_s, clock, clock_s;
        double engine, engine_s, held_s[HELD_BY_LOCKED + 1];
};

static void add_stretch(struct means *m, const struct stretch *s, struct diff_run *run)
{
        double gpu_s = (s->end_s - s->begin_s) * stretch_gpus(s);
        struct value engine = ceiling_value(&s->limit.ceilings, CEILING_ENGINE);
        struct value clock = ceiling_value(&s->limit.ceilings, CEILING_CLOCK);
        if (s->before_work)
                return;
        m->gpu_s += gpu_s;
        run->limiter[s->limit.limiter] += gpu_s;
        m->held_s[s->limit.held_by] += gpu_s;
        if (!value_there(engine))
                return;
        m->engine += engine.v * gpu_s;
        m->engine_s += gpu_s;
        if (value_there(clock) && engine.v > WORKS) {
                m->clock += clock.v * gpu_s;
                m->clock_s += gpu_s;
        }
}

/* What the first GPU does, one after the other. */
static void add_to_line(const struct stretch *s, struct diff_run *run)
{
        struct diff_stretch *last = run->n_stretches ? &run->stretches[run->n_stretches - 1] : NULL;
        if (!gpu_set_has(&s->gpus, 0))
                return;
        if (s->before_work)
                run->startup_s = MAX(run->startup_s, s->end_s);
        if (last && last->limiter == s->limit.limiter && last->before_work == s->before_work) {
                last->seconds += s->end_s - s->begin_s;
                return;
        }
        if (run->n_stretches == DIFF_STRETCHES_MAX)
                return;
        run->stretches[run->n_stretches++] =
            (struct diff_stretch){.limiter = (enum limiter)s->limit.limiter,
                                  .before_work = s->before_work,
                                  .seconds = s->end_s - s->begin_s};
}

static void take_stretches(const struct stretch_list *list, struct diff_run *run)
{
        struct means m = {0};
        for (size_t i = 0; i < list->n; i++) {
                add_stretch(&m, &list->list[i], run);
                add_to_line(&list->list[i], run);
        }
        for (enum limiter l = 0; l < LIMITER_COUNT; l++)
                run->limiter[l] = m.gpu_s > 0 ? run->limiter[l] / m.gpu_s : 0;
        for (enum held_by h = HELD_BY_POWER; h <= HELD_BY_LOCKED; h++)
                run->held = m.held_s[h] > HELD_SHARE * m.gpu_s ? h : run->held;
        if (m.engine_s > 0)
                run->engine = value_ok(m.engine / m.engine_s);
        if (list->n_gpus > 0 && list->gpus[0].clock_max > 0) {
                run->clock_max = value_ok(list->gpus[0].clock_max);
                if (m.clock_s > 0)
                        run->clock = value_ok(m.clock / m.clock_s * list->gpus[0].clock_max);
        }
        if (list->n_gpus > 0 && list->gpus[0].power_limit > 0)
                run->power_limit = value_ok(list->gpus[0].power_limit);
}

/* ---- windows and series ---- */

static void take_windows(const struct traces *t, struct diff_run *run)
{
        double width_s = clock_to_seconds(t->width_ns);
        size_t from = width_s > 0 ? (size_t)ceil(run->startup_s / width_s) : 0;
        for (size_t m = 0; m < TRACE_COUNT; m++) {
                struct diff_windows *w = &run->windows[m];
                for (size_t i = from; i < TRACE_POINTS; i++) {
                        double sum = 0, n = 0;
                        for (size_t k = 0; k < t->n; k++) {
                                const struct trace_point *p = &t->gpus[k]->points[m][i];
                                sum += p->n > 0 ? (double)p->sum / p->n : 0;
                                n += p->n > 0;
                        }
                        if (n > 0)
                                w->v[w->n++] = (float)(sum / n);
                }
        }
}

static bool is_one_of(const char *const *names, size_t n, const char *name)
{
        for (size_t i = 0; i < n; i++) {
                if (strcmp(names[i], name) == 0)
                        return true;
        }
        return false;
}

bool digest_is_step_event(const char *name)
{
        static const char *const names[] = {"step", "iteration", "iter", "batch"};
        return is_one_of(names, ARRAY_LEN(names), name);
}

bool digest_is_step_length(const char *name)
{
        static const char *const names[] = {"step_time", "step_seconds",   "step_s",
                                            "iter_time", "iteration_time", "batch_time"};
        return is_one_of(names, ARRAY_LEN(names), name);
}

static void take_marks(const struct input *in, struct diff_run *run)
{
        const struct mark *before[MARK_COUNT] = {0}; /* of the step events */
        for (size_t i = 0; i < in->n_marks; i++) {
                const struct mark *m = &in->marks[i];
                const struct mark *last = before[MARK_EVENT];
                if (m->type == MARK_METRIC)
                        diff_run_add(run, m->name, DIFF_USER, m->value);
                if (m->type != MARK_EVENT || !digest_is_step_event(m->name))
                        continue;
                if (last && strcmp(last->name, m->name) == 0 && m->wall_ns > last->wall_ns)
                        diff_run_add(run, m->name, DIFF_PHASE,
                                     clock_to_seconds(m->wall_ns - last->wall_ns));
                before[MARK_EVENT] = m;
        }
        for (size_t i = 0; i < run->n_series; i++)
                run->series[i].steps |= digest_is_step_length(run->series[i].name);
}

static double phase_energy(const struct summary *s, const char *name)
{
        double sum = -1;
        for (size_t i = 1; i < s->n; i++) {
                if (strcmp(s->scopes[i].name, name) != 0)
                        continue;
                sum = s->scopes[i].n > 0 ? 0 : -1;
                for (size_t k = 0; k < s->scopes[i].n; k++) {
                        const struct gpu_summary *g = s->scopes[i].gpus[k];
                        if (g->who.kind == ENTITY_GPU)
                                sum = g->has_energy && sum >= 0 ? sum + g->energy_j : -1;
                }
        }
        return sum;
}

static void take_series(const struct run_summary *r, struct diff_run *run)
{
        for (size_t i = 0; i < r->in.n_phases; i++) {
                const struct phase *p = &r->in.phases[i];
                if (!p->open && p->end_ns >= p->begin_ns)
                        diff_run_add(run, p->name, DIFF_PHASE,
                                     clock_to_seconds(p->end_ns - p->begin_ns));
        }
        take_marks(&r->in, run);
        for (size_t i = 0; i < run->n_series; i++)
                run->series[i].energy = phase_energy(&r->summary, run->series[i].name);
}

int digest_take(const struct run_summary *r, struct diff_run *ret)
{
        const struct run_facts *f = &r->in.facts;
        *ret = (struct diff_run){.ranks = 1,
                                 .start_ns = r->summary.first_ns,
                                 .ticks = r->summary.ticks,
                                 .unwatched = r->in.is_log,
                                 .interval_s = f->interval_s};
        snprintf(ret->name, sizeof(ret->name), "%s", f->input);
        snprintf(ret->command, sizeof(ret->command), "%s", f->command);
        snprintf(ret->source, sizeof(ret->source), "%s", f->source);
        ret->seconds = seconds_of(r);
        take_end(r, ret);
        take_gpus(r, ret);
        take_stretches(&r->summary.limits, ret);
        take_windows(&r->traces, ret);
        take_series(r, ret);
        text_clean(ret->command);
        text_clean(ret->name);
        return 0;
}
