#include "app/digest.h"

#include "app/lines.h"
#include "base/clock.h"
#include "base/lookup.h"
#include "base/text.h"
#include "compute/diff/diff.h"
#include "present/stream/columns.h"
#include "session/steps.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SLACK_S 2.0    /* a source may take so long to start */
#define LOST_SHARE 0.9 /* a GPU that was seen for less of the others' time was lost */
#define WORKS 0.2      /* the clock counts while kernels run for more than this share */
#define HELD_SHARE 0.5
#define BUSY_SHARE 0.1   /* a GPU that kernels ran on for so much of the time was busy */
#define WOKEN_SHARE 0.05 /* one that never did so for more of a sample was idle throughout */

/* ---- how long, and how it ended ---- */

static void take_end(const struct run_summary *r, struct diff_run *ret)
{
        const struct run_facts *f = &r->in.facts;
        ret->has_seconds = true;
        if (value_is_set(f->exit_signal) && f->exit_signal.v > 0)
                snprintf(ret->ended, sizeof(ret->ended), "killed by signal %.0f", f->exit_signal.v);
        else if (value_is_set(f->exit_status) && f->exit_status.v != 0)
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
        if (value_is_set(f->command_s))
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
                if (g->has_energy && value_is_set(run->energy_j))
                        run->energy_j.v += g->energy_j;
                else
                        run->energy_j = value_missing(STATE_NONE);
        }
        if (!run->model[0])
                snprintf(run->model, sizeof(run->model), "%s", g->who.text[ENTITY_TEXT_MODEL]);
        if (!run->driver[0])
                snprintf(run->driver, sizeof(run->driver), "%s", g->who.text[ENTITY_TEXT_DRIVER]);
        if (value_is_set(peak) && (!value_is_set(run->peak_memory) || peak.v > run->peak_memory.v))
                run->peak_memory = peak;
        *most_s = MAX(*most_s, g->seconds);
}

static void take_work(const struct gpu_summary *g, struct diff_run *run)
{
        static const enum metric signs[] = {METRIC_GR_ACTIVE, METRIC_GPU_UTIL, METRIC_SM_ACTIVE};
        struct value mean = value_missing(STATE_NONE), most = mean;
        for (size_t i = 0; i < ARRAY_LEN(signs) && !value_is_set(mean); i++) {
                mean = spread_mean(&g->m[signs[i]]);
                most = spread_max(&g->m[signs[i]]);
        }
        /* One that does not report may have worked. */
        run->woken += !value_is_set(most) || most.v >= WOKEN_SHARE;
        run->busy += value_is_set(mean) && mean.v >= BUSY_SHARE;
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

/* The last point at which a GPU was seen; SIZE_MAX for never. */
static size_t last_seen(const struct trace_gpu *g)
{
        for (size_t i = TRACE_POINTS; i-- > 0;) {
                for (enum trace_metric m = 0; m < TRACE_COUNT; m++) {
                        if (g->points[m][i].n > 0)
                                return i;
                }
        }
        return SIZE_MAX;
}

/* What each GPU did, and one that was gone before the others' end. */
static void take_traces(const struct traces *t, struct diff_run *run)
{
        double width_s = clock_to_seconds(t->width_ns);
        size_t end = 0;
        for (size_t k = 0; k < t->n; k++) {
                size_t last = last_seen(t->gpus[k]);
                run->print +=
                    hash_stable((const char *)t->gpus[k]->points, sizeof(t->gpus[k]->points));
                end = last != SIZE_MAX && last > end ? last : end;
        }
        for (size_t k = 0; k < t->n; k++) {
                size_t last = last_seen(t->gpus[k]);
                double gone_s = last < end ? (double)(end - last) * width_s : 0;
                if (gone_s > SLACK_S + width_s && !run->lost[0])
                        snprintf(run->lost, sizeof(run->lost), "%s", t->gpus[k]->who.label);
        }
}

static void take_gpus(const struct run_summary *r, struct diff_run *run)
{
        const struct scope *whole = &r->summary.scopes[0];
        double most_s = 0;
        run->energy_j = whole->n > 0 ? value_ok(0) : value_missing(STATE_NONE);
        for (size_t i = 0; i < whole->n; i++)
                take_gpu(run, whole->gpus[i], &most_s);
        for (size_t i = 0; i < whole->n; i++)
                take_work(whole->gpus[i], run);
        model_short_name(run->model, run->model_short, sizeof(run->model_short));
        if (run->gpus == 0) {
                run->gpus = whole->n;
                run->energy_j = value_missing(STATE_NONE);
        }
        take_coverage(whole, most_s, run);
        take_traces(&r->traces, run);
}

/* ---- stretches ---- */

/* Seconds since the first tick. */
struct span {
        double begin_s, end_s;
};

static struct span overlap_with_stretch(struct span a, const struct stretch *s)
{
        double begin = MAX(a.begin_s, s->begin_s);
        return (struct span){begin, MAX(begin, MIN(a.end_s, s->end_s))};
}

/* Means over the time after the start-up that counts. */
struct means {
        struct span over;
        double gpu_s, clock, clock_s;
        double engine, engine_s, held_s[HELD_BY_LOCKED + 1];
        double likely_s; /* without profiling counters */
};

static void add_stretch(struct means *m, const struct stretch *s, struct diff_run *run)
{
        struct span within = overlap_with_stretch(m->over, s);
        double gpu_s = (within.end_s - within.begin_s) * stretch_gpus(s);
        struct value engine = ceiling_value(&s->limit.ceilings, CEILING_ENGINE);
        struct value clock = ceiling_value(&s->limit.ceilings, CEILING_CLOCK);
        if (s->before_work)
                return;
        m->gpu_s += gpu_s;
        run->limiter[s->limit.limiter].mean += gpu_s;
        m->held_s[s->limit.held_by] += gpu_s;
        m->likely_s += s->limit.basis == BASIS_DRIVER ? gpu_s : 0;
        if (!value_is_set(engine))
                return;
        m->engine += engine.v * gpu_s;
        m->engine_s += gpu_s;
        if (value_is_set(clock) && engine.v > WORKS) {
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

#define SHARE_WINDOW_S 1.0

/* Adds a stretch to the windows that it lies in: GPU-seconds of all, and those of one limiter. */
static void add_to_windows(const struct stretch *s, struct span over, enum limiter l,
                           double width_s, double *all, double *own)
{
        struct span within = overlap_with_stretch(over, s);
        for (size_t i = (size_t)(within.begin_s / width_s); i < DIFF_WINDOWS_MAX; i++) {
                double begin = MAX(within.begin_s, (double)i * width_s);
                double end = MIN(within.end_s, (double)(i + 1) * width_s);
                if (!(end > begin))
                        return;
                all[i] += (end - begin) * stretch_gpus(s);
                own[i] += s->limit.limiter == l ? (end - begin) * stretch_gpus(s) : 0;
        }
}

/* How sure a limiter's share is: from its share of each window of time after the start-up. */
static void take_share_error(const struct stretch_list *list, struct span over, enum limiter l,
                             struct diff_share *ret)
{
        double all[DIFF_WINDOWS_MAX] = {0}, own[DIFF_WINDOWS_MAX] = {0};
        double width_s = MAX(SHARE_WINDOW_S, list->seconds / (DIFF_WINDOWS_MAX - 1));
        size_t n = 0;
        for (size_t i = 0; i < list->n; i++) {
                if (!list->list[i].before_work)
                        add_to_windows(&list->list[i], over, l, width_s, all, own);
        }
        for (size_t i = 0; i < DIFF_WINDOWS_MAX; i++) {
                if (all[i] > 0)
                        own[n++] = own[i] / all[i];
        }
        struct estimate e = stats_mean(own, n);
        ret->se = e.se;
        ret->df = e.df;
        ret->n = n;
}

static void take_stretches(const struct stretch_list *list, struct span over, struct diff_run *run)
{
        struct means m = {.over = over};
        for (size_t i = 0; i < list->n; i++) {
                add_stretch(&m, &list->list[i], run);
                add_to_line(&list->list[i], run);
        }
        for (enum limiter l = 0; l < LIMITER_COUNT; l++) {
                take_share_error(list, over, l, &run->limiter[l]);
                run->limiter[l].mean = m.gpu_s > 0 ? run->limiter[l].mean / m.gpu_s : 0;
        }
        for (enum held_by h = HELD_BY_POWER; h <= HELD_BY_LOCKED; h++)
                run->held = m.held_s[h] > HELD_SHARE * m.gpu_s ? h : run->held;
        run->basis = m.likely_s > m.gpu_s / 2 ? BASIS_DRIVER : BASIS_COUNTERS;
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

bool digest_is_step_length(const char *name, double *ret_unit_s)
{
        struct speed_name speed = speed_of_number(name);
        if (speed.speed == SPEED_STEP)
                *ret_unit_s = speed.seconds;
        return speed.speed == SPEED_STEP;
}

static void take_marks(const struct input *in, struct diff_run *run)
{
        const struct mark *before[MARK_COUNT] = {0}; /* of the step events */
        struct step_walk walk = {0};
        double seconds;
        for (size_t i = 0; i < in->n_marks; i++) {
                const struct mark *m = &in->marks[i];
                const struct mark *last = before[MARK_EVENT];
                if (step_walk_length(&walk, m, &seconds))
                        diff_run_add(run, m->name, DIFF_PHASE, seconds);
                if (m->type == MARK_METRIC)
                        diff_run_add(run, m->name, DIFF_USER, m->value);
                if (m->type != MARK_EVENT || !digest_is_step_event(m->name))
                        continue;
                if (last && strcmp(last->name, m->name) == 0 && m->wall_ns > last->wall_ns)
                        diff_run_add(run, m->name, DIFF_PHASE,
                                     clock_to_seconds(m->wall_ns - last->wall_ns));
                before[MARK_EVENT] = m;
        }
}

#define ROUNDED_S 1e-3 /* a run log has milliseconds */

/* What took no time was not measured, unless it is so short that it was rounded. */
static void drop_zeros(struct diff_series *s)
{
        double sum = 0;
        size_t n = 0;
        for (size_t i = 0; i < s->n; i++)
                sum += s->v[i];
        if (s->kind != DIFF_PHASE || sum < 10 * ROUNDED_S * (double)s->n)
                return;
        for (size_t i = 0; i < s->n; i++) {
                if (s->v[i] > 0)
                        s->v[n++] = s->v[i];
        }
        s->n = n;
}

static void take_numbers(const struct serving_numbers *s, const char *name, struct diff_run *run)
{
        for (size_t i = 0; i < s->n; i++)
                diff_run_add(run, name, DIFF_USER, s->v[i]);
}

static void name_tokens(const char *url, char *ret, size_t size)
{
        static const char usual[] = "/metrics";
        size_t len = strlen(url), tail = sizeof(usual) - 1;
        if (len > tail && strcmp(url + len - tail, usual) == 0)
                len -= tail;
        /* Of this host the port says which it is, in a narrow column too. */
        const char *port = strchr(url, ':');
        size_t host = port ? (size_t)(port - url) : 0;
        bool here = (host == 9 && strncmp(url, "127.0.0.1", host) == 0) ||
                    (host == 9 && strncmp(url, "localhost", host) == 0);
        snprintf(ret, size, "tokens of %.*s", (int)(len - (here ? host : 0)), here ? port : url);
}

/* Of several servers all together, under the same names as one; and the tokens of each, which say
 * which of them it was. */
static void take_servings(const struct serving_samples *s, struct diff_run *run)
{
        for (enum digested_figure i = 0; i < DIGESTED_COUNT; i++)
                take_numbers(&s->all[i], digested_name(i), run);
        for (size_t i = 0; i < s->n && s->n > 1; i++) {
                char name[SERVING_TEXT_MAX + 16];
                name_tokens(s->each[i].url, name, sizeof(name));
                take_numbers(&s->each[i].rates, name, run);
        }
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
        take_servings(&r->serving_samples, run);
        for (size_t i = 0; i < run->n_series; i++)
                drop_zeros(&run->series[i]);
}

/* ---- windows ---- */

/* From the first step to the last, wall clock; and half a sample. */
struct steps {
        int64_t begin_ns, end_ns, half_ns;
};

static void steps_add(struct steps *s, int64_t begin_ns, int64_t end_ns)
{
        s->begin_ns = MIN(s->begin_ns, begin_ns);
        s->end_ns = MAX(s->end_ns, end_ns);
}

static int64_t point_middle(const struct traces *t, size_t at)
{
        return clock_bounded(t->start_ns) + (int64_t)at * t->width_ns + t->width_ns / 2;
}

/* A sample that reaches beyond the first step or the last is not a measure of steps. */
static bool steps_hold(const struct steps *s, const struct traces *t, size_t at)
{
        int64_t middle = point_middle(t, at);
        return middle - s->half_ns >= s->begin_ns && middle + s->half_ns <= s->end_ns;
}

/* For each series of a run, whether it is of steps. */
struct steps_among {
        bool is[DIFF_SERIES_MAX];
};

static bool is_of_steps(const struct diff_run *run, const struct steps_among *of, const char *name,
                        enum diff_kind kind)
{
        const struct diff_series *s = diff_series_find(run, name, kind);
        return s && of->is[s - run->series];
}

/* From the first step to the last, by any source of step times. */
static struct steps find_steps(const struct input *in, const struct traces *t,
                               const struct diff_run *run, const struct steps_among *of)
{
        double sample_s = value_is_set(run->interval_s) ? run->interval_s.v : 0;
        int64_t half_ns = clock_bounded(clock_from_seconds(sample_s / 2));
        struct steps steps = {INT64_MAX, INT64_MIN, MAX(half_ns, t->width_ns / 2)};
        for (size_t i = 0; i < in->n_phases; i++) {
                const struct phase *p = &in->phases[i];
                if (!p->open && is_of_steps(run, of, p->name, DIFF_PHASE))
                        steps_add(&steps, p->begin_ns, p->end_ns);
        }
        for (size_t i = 0; i < in->n_marks; i++) {
                const struct mark *m = &in->marks[i];
                enum diff_kind kind = m->type == MARK_METRIC ? DIFF_USER : DIFF_PHASE;
                bool may = m->type == MARK_METRIC || m->type == MARK_STEP ||
                           (m->type == MARK_EVENT && digest_is_step_event(m->name));
                if (may && is_of_steps(run, of, m->name, kind))
                        steps_add(&steps, m->wall_ns, m->wall_ns);
        }
        return steps;
}

/* From the first number that is a time or a rate of the work to the last. */
static struct steps find_speeds(const struct input *in)
{
        struct steps found = {INT64_MAX, INT64_MIN, 0};
        for (size_t i = 0; i < in->n_marks; i++) {
                const struct mark *m = &in->marks[i];
                enum speed speed =
                    m->type == MARK_METRIC ? speed_of_number(m->name).speed : SPEED_NONE;
                if (speed == SPEED_STEP || speed == SPEED_TIME || speed == SPEED_RATE)
                        steps_add(&found, m->wall_ns, m->wall_ns);
        }
        return found;
}

#define SPAN_MIN_S 1.0

/* What the stretches are asked about: the time that the best evidence is of, where it is known. */
static struct span span_of(const struct run_summary *r, const struct steps *steps)
{
        const struct steps speeds = find_speeds(&r->in);
        const struct steps *of = steps->end_ns > steps->begin_ns ? steps : &speeds;
        int64_t first = r->stretches.first_wall_ns;
        const struct span whole = {0, r->summary.limits.seconds};
        if (of->end_ns <= of->begin_ns || !r->stretches.begun)
                return whole;
        const struct span span = {MAX(clock_to_seconds(of->begin_ns - first), 0),
                                  MIN(clock_to_seconds(of->end_ns - first), whole.end_s)};
        return span.end_s - span.begin_s >= SPAN_MIN_S ? span : whole;
}

static void take_windows(const struct traces *t, const struct steps *steps, struct diff_run *run)
{
        double width_s = clock_to_seconds(t->width_ns);
        size_t from = width_s > 0 ? (size_t)ceil(run->startup_s / width_s) : 0;
        for (enum trace_metric m = 0; m < TRACE_COUNT; m++) {
                struct diff_windows *w = &run->windows[m];
                for (size_t i = from; i < TRACE_POINTS; i++) {
                        double mean = traces_mean(t, m, i);
                        if (isnan(mean))
                                continue;
                        w->v[w->n] = (float)mean;
                        w->span_s = (double)(i + 1 - from) * width_s;
                        if (steps_hold(steps, t, i)) {
                                w->steps_from = w->steps_n == 0 ? w->n : w->steps_from;
                                w->steps_n++;
                        }
                        w->n++;
                }
        }
}

/* ---- energy of steps ---- */

/* Watts of all GPUs at a point; negative when one does not report. */
static double power_at(const struct traces *t, size_t at)
{
        double sum = 0;
        size_t n = 0;
        for (size_t k = 0; k < t->n; k++) {
                const struct bucket *p = &t->gpus[k]->points[TRACE_POWER][at];
                if (t->gpus[k]->who.kind != ENTITY_GPU)
                        continue;
                if (p->n == 0)
                        return -1;
                sum += bucket_mean(p);
                n++;
        }
        return n > 0 && t->left_out == 0 ? sum : -1;
}

/* Whether a phase of the name holds the moment. Moments come in order: at is where the last was. */
static bool in_phase(const struct input *in, const char *name, int64_t moment_ns, size_t *at)
{
        while (*at < in->n_phases &&
               (in->phases[*at].end_ns <= moment_ns || strcmp(in->phases[*at].name, name) != 0))
                ++*at;
        return *at < in->n_phases && phase_holds(&in->phases[*at], moment_ns);
}

/* Watts of all GPUs while steps of a name took the time, by the samples that lie among the steps.
 * Negative when none does. */
static double steps_power(const struct run_summary *r, const struct steps *steps, const char *name,
                          bool has_phases)
{
        double sum = 0, n = 0;
        size_t at = 0;
        for (size_t i = 0; i < TRACE_POINTS; i++) {
                double power = power_at(&r->traces, i);
                if (power >= 0 && steps_hold(steps, &r->traces, i) &&
                    (!has_phases || in_phase(&r->in, name, point_middle(&r->traces, i), &at))) {
                        sum += power;
                        n++;
                }
        }
        return n > 0 ? sum / n : -1;
}

/* A step may be shorter than a sample: its energy is the power around it for as long as it took. */
static void take_step_energy(const struct run_summary *r, const struct steps *steps,
                             struct diff_series *s)
{
        double total = 0;
        bool has_phases = false;
        for (size_t i = 0; !has_phases && i < r->in.n_phases; i++)
                has_phases = strcmp(r->in.phases[i].name, s->name) == 0;
        double power = steps_power(r, steps, s->name, has_phases);
        for (size_t i = 0; i < s->n; i++)
                total += s->v[i];
        s->energy = power < 0 ? -1 : power * total;
}

/* ---- lines ---- */

static int take_lines(struct run_summary *r, const struct steps *steps, struct diff_run *run)
{
        struct err err = {0};
        bool marked = steps->end_ns > steps->begin_ns;
        int64_t after =
            r->stretches.first_wall_ns + clock_bounded(clock_from_seconds(run->startup_s));
        int code =
            lines_take(r, marked ? steps->begin_ns : after, marked ? steps->end_ns : INT64_MAX / 2,
                       WHERE_EVERY_GPU, &run->lines, &err);
        return code == -ENOMEM ? code : 0;
}

int digest_take(struct run_summary *r, struct diff_run *ret)
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
        ret->exact = value_is_set(f->command_s);
        take_end(r, ret);
        take_gpus(r, ret);
        take_series(r, ret);
        struct steps_among of = {0};
        for (size_t i = 0; i < ret->n_series; i++)
                of.is[i] = diff_is_steps(ret, &ret->series[i]);
        const struct steps steps = find_steps(&r->in, &r->traces, ret, &of);
        take_stretches(&r->summary.limits, span_of(r, &steps), ret);
        take_windows(&r->traces, &steps, ret);
        for (size_t i = 0; i < ret->n_series; i++) {
                if (of.is[i])
                        take_step_energy(r, &steps, &ret->series[i]);
        }
        text_clean(ret->command);
        text_clean(ret->name);
        return take_lines(r, &steps, ret);
}
