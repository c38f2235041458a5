#include "app/run_steps.h"

#include "app/digest.h"
#include "base/clock.h"
#include "base/list.h"
#include "compute/steps.h"
#include "model/frame.h"
#include "model/host.h"
#include "session/steps.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which steps there are ---- */

static struct step_series *series_of(struct run_steps *s, const char *name, const struct mark *m)
{
        for (size_t i = 0; i < s->n; i++) {
                struct step_series *one = &s->list[i];
                if (one->pid == (m ? m->pid : 0) && strcmp(one->name, name) == 0 &&
                    strcmp(one->host, m ? m->host : "") == 0)
                        return one;
        }
        if (s->n == STEP_SERIES_MAX || !LIST_ONE_MORE(s->list, s->n))
                return NULL;
        struct step_series *one = &s->list[s->n++];
        *one = (struct step_series){.pid = m ? m->pid : 0};
        snprintf(one->name, sizeof(one->name), "%s", name);
        snprintf(one->host, sizeof(one->host), "%s", m ? m->host : "");
        return one;
}

static int add_step(struct step_series *s, int64_t end_ns, double seconds, double waited)
{
        if (!s)
                return 0;
        if (!LIST_ROOM(s->list, s->n, s->cap))
                return -ENOMEM;
        int64_t end = clock_bounded(end_ns), took = clock_bounded(clock_from_seconds(seconds));
        s->list[s->n++] = (struct run_step){
            .begin_ns = end - took, .end_ns = end, .seconds = seconds, .waited = waited};
        return 0;
}

static int find_marked(const struct input *in, struct run_steps *ret)
{
        struct step_walk walk = {0};
        double seconds;
        int r = 0;
        for (size_t i = 0; r == 0 && i < in->n_marks; i++) {
                const struct mark *m = &in->marks[i];
                if (step_walk_length(&walk, m, &seconds))
                        r = add_step(series_of(ret, m->name, m), m->wall_ns, seconds,
                                     m->has_value && m->value >= 0 ? MIN(m->value, seconds) : NAN);
        }
        return r;
}

/* Events that are named after a step end one each. */
static int find_events(const struct input *in, struct run_steps *ret)
{
        const struct mark *last = NULL;
        int r = 0;
        for (size_t i = 0; r == 0 && i < in->n_marks; i++) {
                const struct mark *m = &in->marks[i];
                if (m->type != MARK_EVENT || !digest_is_step_event(m->name))
                        continue;
                if (last && strcmp(last->name, m->name) == 0 && m->wall_ns > last->wall_ns)
                        r = add_step(series_of(ret, m->name, NULL), m->wall_ns,
                                     clock_to_seconds(m->wall_ns - last->wall_ns), NAN);
                last = m;
        }
        return r;
}

static int find_phases(const struct input *in, struct run_steps *ret)
{
        int r = 0;
        for (size_t i = 0; r == 0 && i < in->n_phases; i++) {
                const struct phase *p = &in->phases[i];
                if (!p->open && p->end_ns > p->begin_ns && digest_is_step_event(p->name))
                        r = add_step(series_of(ret, p->name, NULL), p->end_ns,
                                     clock_to_seconds(p->end_ns - p->begin_ns), NAN);
        }
        return r;
}

static int compare_series(const void *a, const void *b)
{
        const struct step_series *x = a, *y = b;
        if (x->n != y->n)
                return x->n < y->n ? 1 : -1;
        return x->pid != y->pid ? (x->pid > y->pid) - (x->pid < y->pid) : strcmp(x->name, y->name);
}

int run_steps_find(const struct input *in, struct run_steps *ret)
{
        struct run_steps s = {0};
        int r = find_marked(in, &s);
        if (r == 0 && s.n == 0)
                r = find_phases(in, &s);
        if (r == 0 && s.n == 0)
                r = find_events(in, &s);
        for (size_t i = 0; r == 0 && i < s.n; i++)
                r = steps_measure(&s.list[i]);
        if (r < 0) {
                run_steps_finish(&s);
                return r;
        }
        if (s.n > 1)
                qsort(s.list, s.n, sizeof(*s.list), compare_series);
        *ret = s;
        return 0;
}

/* ---- what was measured ---- */

#define SAMPLES_MAX 2000000

static float *add_sample(struct step_samples *s, size_t which, int64_t ns)
{
        if (!s->wanted || s->n[which] == SAMPLES_MAX ||
            !LIST_ROOM(s->ns[which], s->n[which], s->cap[which][0]) ||
            !LIST_ROOM(s->v[which], s->n[which], s->cap[which][1]))
                return NULL;
        s->ns[which][s->n[which]] = ns;
        float *v = s->v[which][s->n[which]++];
        for (size_t i = 0; i < STEP_FIGURE_COUNT; i++)
                v[i] = NAN;
        return v;
}

/* The mean over the GPUs. */
static float mean_of(const struct frame *f, enum metric metric)
{
        double sum = 0, n = 0;
        for (size_t i = 0; i < f->n; i++) {
                struct value v = f->rows[i].sample.m[metric];
                if (value_is_set(v) && frame_counts(f, i, metric)) {
                        sum += v.v;
                        n++;
                }
        }
        return n > 0 ? (float)(sum / n) : NAN;
}

void step_samples_add(struct step_samples *s, const struct frame *f)
{
        float *v = f->stale ? NULL : add_sample(s, 0, f->wall_ns - f->window_ns / 2);
        if (!v)
                return;
        v[STEP_FIGURE_GPU_UTIL] = mean_of(f, METRIC_GPU_UTIL);
        v[STEP_FIGURE_TENSOR] = mean_of(f, METRIC_TENSOR_ACTIVE);
        v[STEP_FIGURE_POWER] = mean_of(f, METRIC_POWER);
}

static float number_of(struct value v)
{
        return value_is_set(v) ? (float)v.v : NAN;
}

void step_samples_add_host(struct step_samples *s, const struct host *h, enum level level)
{
        float *v = add_sample(s, 1, h->wall_ns - h->interval_ns / 2);
        if (!v)
                return;
        const struct level_state *l = &h->levels[level];
        v[STEP_FIGURE_CPU] = number_of(l->f[FIGURE_CPU]);
        v[STEP_FIGURE_READ] = number_of(l->f[FIGURE_READ]);
        v[STEP_FIGURE_WRITE] = number_of(l->f[FIGURE_WRITE]);
        v[STEP_FIGURE_RX] = number_of(h->system[SYSTEM_NET_RX]);
        v[STEP_FIGURE_TX] = number_of(h->system[SYSTEM_NET_TX]);
}

void step_samples_finish(struct step_samples *s)
{
        for (size_t i = 0; i < ARRAY_LEN(s->ns); i++) {
                free(s->ns[i]);
                free(s->v[i]);
        }
        *s = (struct step_samples){0};
}

/* ---- what was different ---- */

/* The mean over samples of a time. */
static double mean_between(const struct step_samples *s, size_t which, enum step_figure f,
                           int64_t from_ns, int64_t to_ns)
{
        size_t lo = 0, hi = s->n[which];
        double sum = 0, n = 0;
        while (lo < hi) {
                size_t middle = lo + (hi - lo) / 2;
                if (s->ns[which][middle] < from_ns)
                        lo = middle + 1;
                else
                        hi = middle;
        }
        for (; lo < s->n[which] && s->ns[which][lo] < to_ns; lo++) {
                float v = s->v[which][lo][f];
                if (!isnan(v)) {
                        sum += (double)v;
                        n++;
                }
        }
        return n > 0 ? sum / n : NAN;
}

static size_t source_of(enum step_figure f)
{
        return f <= STEP_FIGURE_POWER ? 0 : 1; /* the GPUs' come first */
}

/* GPU-seconds of each limiter between two moments, since the first tick. */
static void limiters_between(const struct stretch_list *l, double from_s, double to_s,
                             double ret[LIMITER_COUNT])
{
        memset(ret, 0, LIMITER_COUNT * sizeof(*ret));
        for (size_t i = 0; i < l->n; i++) {
                const struct stretch *s = &l->list[i];
                double both = MIN(to_s, s->end_s) - MAX(from_s, s->begin_s);
                if (both > 0)
                        ret[s->limit.limiter] += both * stretch_gpus(s);
        }
}

static bool most_of(const double by[LIMITER_COUNT], enum limiter *ret)
{
        enum limiter most = 0;
        for (enum limiter l = 0; l < LIMITER_COUNT; l++)
                most = by[l] > by[most] ? l : most;
        *ret = most;
        return by[most] > 0;
}

/* The longest phase that lies in the step, for the most part, and is not a step itself. */
static void find_phase(const struct input *in, const struct step_series *s, struct slow_step *slow)
{
        for (size_t i = 0; i < in->n_phases; i++) {
                const struct phase *p = &in->phases[i];
                int64_t both =
                    MIN(p->end_ns, slow->step.end_ns) - MAX(p->begin_ns, slow->step.begin_ns);
                if (both <= (p->end_ns - p->begin_ns) / 2 || strcmp(p->name, s->name) == 0 ||
                    clock_to_seconds(both) <= slow->phase_s)
                        continue;
                slow->phase_s = clock_to_seconds(both);
                snprintf(slow->phase, sizeof(slow->phase), "%s", p->name);
        }
        if (slow->phase_s < 0.1 * slow->step.seconds)
                slow->phase[0] = '\0';
}

static void explain_series(struct step_series *s, const struct step_samples *samples,
                           const struct input *in, const struct stretch_list *limits,
                           int64_t first_ns)
{
        double by[LIMITER_COUNT];
        enum limiter usual = 0;
        int64_t from = s->list[0].begin_ns, to = s->list[s->n - 1].end_ns;
        limiters_between(limits, clock_to_seconds(from - first_ns), clock_to_seconds(to - first_ns),
                         by);
        bool known = most_of(by, &usual);
        for (enum step_figure f = 0; f < STEP_FIGURE_COUNT; f++)
                s->usual[f] = mean_between(samples, source_of(f), f, from, to);
        for (size_t i = 0; i < s->n_reported; i++) {
                struct slow_step *slow = &s->slow[i];
                const struct run_step *step = &slow->step;
                find_phase(in, s, slow);
                for (enum step_figure f = 0; f < STEP_FIGURE_COUNT; f++)
                        slow->own[f] =
                            mean_between(samples, source_of(f), f, step->begin_ns, step->end_ns);
                limiters_between(limits, clock_to_seconds(step->begin_ns - first_ns),
                                 clock_to_seconds(step->end_ns - first_ns), by);
                slow->has_limiter = most_of(by, &slow->limiter);
                slow->is_like_others = known && slow->limiter == usual;
        }
}

void run_steps_explain(struct run_steps *steps, const struct step_samples *samples,
                       const struct input *in, const struct stretch_list *limits, int64_t first_ns)
{
        for (size_t i = 0; i < steps->n; i++) {
                if (steps->list[i].n > 0)
                        explain_series(&steps->list[i], samples, in, limits, first_ns);
        }
}
