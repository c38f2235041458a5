/* Each figure of the two sides, its change, and how sure that is. */
#include "base/attr.h"
#include "compute/diff/diff.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WORK_APART 0.02 /* amounts of GPU work that differ by less are the same */

struct measurer {
        const struct diff_side *base, *now;
        struct diff *d;
        bool is_short; /* too short to tell anything alone */
};

/* A figure as both sides have it. */
struct figure_of {
        struct estimate base[DIFF_RUNS_MAX], now[DIFF_RUNS_MAX];
        bool has_base, has_now;
        enum diff_method method; /* of a single run's error */
};

/* Gives a run's estimate; false when it has none. */
typedef bool take_fn(const struct diff_run *run, const void *arg, struct estimate *ret);

static bool take_side(const struct diff_side *side, take_fn *take, const void *arg,
                      struct estimate *ret)
{
        for (size_t i = 0; i < side->n; i++) {
                if (!take(&side->runs[i], arg, &ret[i]))
                        return false;
        }
        return true;
}

static struct value mean_value(const struct estimate *e, size_t n, bool there)
{
        double sum = 0;
        for (size_t i = 0; i < n; i++)
                sum += e[i].mean;
        return there ? value_ok(sum / (double)n) : value_missing(STATE_NONE);
}

/* Relative errors add up, and 1/2 is as far from 1 as 2 is. */
static bool to_logs(struct estimate *e, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                if (!(e[i].mean > 0))
                        return false;
                e[i].se = e[i].se < 0 ? -1 : e[i].se / e[i].mean;
                e[i].mean = log(e[i].mean);
        }
        return true;
}

static void say(struct diff_row *row, const char *why)
{
        row->word = DIFF_INCONCLUSIVE;
        snprintf(row->why, sizeof(row->why), "%s", why);
}

static void decide(const struct measurer *m, struct diff_row *row)
{
        if (m->d->identical && value_there(row->base)) {
                row->method = DIFF_BY_IDENTITY;
                row->has_interval = true;
                row->change = row->low = row->high = 0;
                row->word = DIFF_SAME;
        } else if (!value_there(row->base) || !value_there(row->now)) {
                say(row, value_there(row->base)  ? "not recorded in NEW"
                         : value_there(row->now) ? "not recorded in BASE"
                                                 : "not recorded");
        } else if (!row->has_interval) {
                say(row, "one run a side tells no noise: give repeats, or mark steps");
        } else if (m->is_short && row->method != DIFF_BY_REPEATS) {
                say(row, "the run is too short");
        } else if ((row->low > 0 || row->high < 0) && fabs(row->change) >= DIFF_LEAST) {
                row->word = row->change < 0 ? DIFF_LESS : DIFF_MORE;
        } else if (row->low > -DIFF_MARGIN && row->high < DIFF_MARGIN) {
                row->word = DIFF_SAME;
        } else {
                say(row, "the noise is larger than the difference");
        }
}

static size_t total_n(const struct estimate *e, size_t n)
{
        size_t sum = 0;
        for (size_t i = 0; i < n; i++)
                sum += e[i].n;
        return sum;
}

static void fill_change(const struct measurer *m, struct figure_of *f, struct diff_row *row)
{
        bool relative = row->scale == DIFF_RELATIVE;
        if (relative && (!to_logs(f->base, m->base->n) || !to_logs(f->now, m->now->n)))
                return;
        struct difference x =
            stats_compare(f->base, m->base->n, f->now, m->now->n, DIFF_RUN_SPREAD);
        row->change = relative ? expm1(x.d) : x.d;
        row->has_interval = x.has_interval;
        /* Shares lie between 0 and 1. */
        row->low = relative ? expm1(x.low) : MAX(x.low, -1);
        row->high = relative ? expm1(x.high) : MIN(x.high, 1);
        row->method = x.by_repeats ? DIFF_BY_REPEATS : x.has_interval ? f->method : DIFF_BY_NOTHING;
}

/* A new row, which is not judged yet; NULL when there are too many. */
static struct diff_row *add_row(const struct measurer *m, const char *name, enum unit unit,
                                enum diff_scale scale)
{
        if (m->d->n_rows == DIFF_ROWS_MAX)
                return NULL;
        struct diff_row *row = &m->d->rows[m->d->n_rows++];
        *row = (struct diff_row){.unit = unit, .scale = scale};
        snprintf(row->name, sizeof(row->name), "%s", name);
        return row;
}

/* NULL when neither side has it. */
static struct diff_row *measure(const struct measurer *m, const struct diff_row *as, take_fn *take,
                                const void *arg, enum diff_method method)
{
        struct figure_of f = {.method = method};
        f.has_base = take_side(m->base, take, arg, f.base);
        f.has_now = take_side(m->now, take, arg, f.now);
        struct diff_row *row =
            f.has_base || f.has_now ? add_row(m, as->name, as->unit, as->scale) : NULL;
        if (!row)
                return NULL;
        row->is_time = as->is_time;
        row->is_phase = as->is_phase;
        row->base = mean_value(f.base, m->base->n, f.has_base);
        row->now = mean_value(f.now, m->now->n, f.has_now);
        row->n_base = f.has_base ? total_n(f.base, m->base->n) : 0;
        row->n_now = f.has_now ? total_n(f.now, m->now->n) : 0;
        if (f.has_base && f.has_now)
                fill_change(m, &f, row);
        decide(m, row);
        return row;
}

/* ---- what a run has ---- */

static bool plain(double v, bool there, struct estimate *ret)
{
        *ret = (struct estimate){.mean = v, .se = -1, .df = 1, .n = 1};
        return there;
}

static bool take_seconds(const struct diff_run *run, const void *arg UNUSED, struct estimate *ret)
{
        return plain(run->seconds, run->has_seconds && run->seconds > 0, ret);
}

static bool take_startup(const struct diff_run *run, const void *arg UNUSED, struct estimate *ret)
{
        return plain(run->startup_s, run->gpus > 0, ret);
}

static bool take_energy(const struct diff_run *run, const void *arg UNUSED, struct estimate *ret)
{
        return plain(run->energy_j.v, value_there(run->energy_j) && run->has_seconds, ret);
}

static bool take_peak(const struct diff_run *run, const void *arg UNUSED, struct estimate *ret)
{
        return plain(run->peak_memory.v, value_there(run->peak_memory) && run->has_seconds, ret);
}

static bool take_throttled(const struct diff_run *run, const void *arg UNUSED, struct estimate *ret)
{
        return plain(run->throttled.v, value_there(run->throttled), ret);
}

static bool take_limiter(const struct diff_run *run, const void *arg, struct estimate *ret)
{
        return plain(run->limiter[*(const enum limiter *)arg], run->n_stretches > 0, ret);
}

static struct estimate windows_mean(const struct diff_windows *w)
{
        double v[DIFF_WINDOWS_MAX];
        for (size_t i = 0; i < w->n; i++)
                v[i] = (double)w->v[i];
        return stats_mean(v, w->n);
}

static bool take_windows(const struct diff_run *run, const void *arg, struct estimate *ret)
{
        *ret = windows_mean(&run->windows[*(const enum trace_metric *)arg]);
        return ret->n > 0;
}

static struct estimate series_mean(const struct diff_series *s)
{
        size_t warm = s->steps ? stats_warm_up(s->v, s->n) : 0;
        return stats_mean(s->v + warm, s->n - warm);
}

static bool take_series(const struct diff_run *run, const void *arg, struct estimate *ret)
{
        const struct diff_series *as = arg, *s = diff_series_find(run, as->name, as->kind);
        if (s)
                *ret = series_mean(s);
        return s && s->n > 0;
}

static bool take_warm_up(const struct diff_run *run, const void *arg, struct estimate *ret)
{
        const struct diff_series *as = arg, *s = diff_series_find(run, as->name, as->kind);
        double sum = 0;
        for (size_t i = 0; s && i < stats_warm_up(s->v, s->n); i++)
                sum += s->v[i];
        return plain(sum, s != NULL, ret);
}

/* Energy of a step: as sure as the step's time and the power are together. */
static bool take_step_energy(const struct diff_run *run, const void *arg, struct estimate *ret)
{
        const struct diff_series *as = arg, *s = diff_series_find(run, as->name, as->kind);
        if (!s || s->n == 0 || s->energy < 0)
                return false;
        struct estimate time = series_mean(s), power = windows_mean(&run->windows[TRACE_POWER]);
        *ret = (struct estimate){s->energy / (double)s->n, -1, MIN(time.df, power.df), s->n};
        if (time.se >= 0 && power.se >= 0 && time.mean > 0 && power.mean > 0)
                ret->se = ret->mean * hypot(time.se / time.mean, power.se / power.mean);
        return true;
}

/* Time after the start-up: as sure as the share of it in which the SMs worked. */
static bool take_work_time(const struct diff_run *run, const void *arg UNUSED, struct estimate *ret)
{
        struct estimate sm = windows_mean(&run->windows[TRACE_SM_ACTIVE]);
        *ret = (struct estimate){run->seconds - run->startup_s, -1, sm.df, sm.n};
        if (sm.se >= 0 && sm.mean > 0)
                ret->se = ret->mean * sm.se / sm.mean;
        return run->has_seconds && run->gpus > 0 && ret->mean > 0 && sm.n > 0;
}

/* ---- the rows ---- */

const struct diff_series *diff_steps(const struct diff_side *base, const struct diff_side *now)
{
        const struct diff_series *best = NULL;
        double longest = 0;
        for (size_t i = 0; i < base->runs[0].n_series; i++) {
                const struct diff_series *s = &base->runs[0].series[i];
                bool often = s->steps;
                double sum = 0;
                for (size_t k = 0; often && k < base->n + now->n; k++) {
                        const struct diff_run *run =
                            k < base->n ? &base->runs[k] : &now->runs[k - base->n];
                        const struct diff_series *t = diff_series_find(run, s->name, s->kind);
                        often = t && t->n >= DIFF_STEPS_LEAST;
                }
                for (size_t k = 0; k < s->n; k++)
                        sum += s->v[k];
                if (often && sum > longest) {
                        best = s;
                        longest = sum;
                }
        }
        return best;
}

static size_t place(const struct measurer *m, const struct diff_row *row)
{
        return row ? (size_t)(row - m->d->rows) : SIZE_MAX;
}

/* Another number of steps is another amount of work. */
static bool same_steps(const struct measurer *m, const struct diff_series *steps)
{
        for (size_t i = 0; steps && i < m->now->n; i++) {
                const struct diff_series *t =
                    diff_series_find(&m->now->runs[i], steps->name, steps->kind);
                if (!t || t->n != steps->n)
                        return false;
        }
        return true;
}

static void measure_run(struct measurer *m, const struct diff_series *steps)
{
        static const struct diff_row run = {.name = "run", .unit = UNIT_SECONDS, .is_time = true},
                                     startup = {
                                         .name = "start-up", .unit = UNIT_SECONDS, .is_time = true};
        struct diff_row *row = measure(m, &run, take_seconds, NULL, DIFF_BY_NOTHING);
        if (row && !m->d->identical && !same_steps(m, steps))
                say(row, "the sides have different numbers of steps");
        if (row && m->d->main == SIZE_MAX && row->word != DIFF_INCONCLUSIVE)
                m->d->main = place(m, row);
        measure(m, &startup, take_startup, NULL, DIFF_BY_NOTHING);
}

static void measure_steps(struct measurer *m, const struct diff_series *steps)
{
        struct diff_row as = {.unit = UNIT_SECONDS, .is_time = true};
        char name[sizeof(as.name)];
        snprintf(as.name, sizeof(as.name), "%s", steps->name);
        m->d->main = place(m, measure(m, &as, take_series, steps, DIFF_BY_STEPS));
        snprintf(name, sizeof(name), "warm-up of %s", steps->name);
        memcpy(as.name, name, sizeof(name));
        struct diff_row *row = measure(m, &as, take_warm_up, steps, DIFF_BY_NOTHING);
        if (row && row->base.v == 0 && row->now.v == 0)
                m->d->n_rows--;
        as = (struct diff_row){.unit = UNIT_JOULES};
        snprintf(as.name, sizeof(as.name), "energy a %.100s", steps->name);
        measure(m, &as, take_step_energy, steps, DIFF_BY_STEPS);
}

/* SM-seconds of a run, and the same in cycles. */
static double work_of(const struct diff_run *run, bool in_cycles)
{
        double sm = windows_mean(&run->windows[TRACE_SM_ACTIVE]).mean;
        double clock = in_cycles && value_there(run->clock) ? run->clock.v : 1;
        return sm * clock * (run->seconds - run->startup_s) * (double)run->gpus;
}

/* Whether both sides did the same amount of GPU work: then its time says which is faster. */
static bool same_work(const struct measurer *m)
{
        const struct diff_run *a = &m->base->runs[0], *b = &m->now->runs[0];
        for (int cycles = 0; cycles < 2; cycles++) {
                double x = work_of(a, cycles), y = work_of(b, cycles);
                if (x > 0 && y > 0 && fabs(log(y / x)) < WORK_APART)
                        return true;
        }
        return false;
}

static void measure_work_time(struct measurer *m)
{
        static const struct diff_row as = {
            .name = "time after start-up", .unit = UNIT_SECONDS, .is_time = true};
        if (m->base->n + m->now->n > 2)
                return;
        struct diff_row *row = measure(m, &as, take_work_time, NULL, DIFF_BY_WINDOWS);
        if (!row)
                return;
        if (!m->d->identical && value_there(row->base) && value_there(row->now) && !same_work(m)) {
                row->has_interval = false;
                row->method = DIFF_BY_NOTHING;
                say(row, "the GPUs did different amounts of work: mark steps, or give repeats");
        }
        m->d->main = place(m, row);
}

static void measure_phases(struct measurer *m, const struct diff_series *steps)
{
        const struct diff_run *runs[] = {&m->base->runs[0], &m->now->runs[0]};
        for (size_t k = 0; k < 2; k++) {
                for (size_t i = 0; i < runs[k]->n_series; i++) {
                        const struct diff_series *s = &runs[k]->series[i];
                        bool time = s->kind == DIFF_PHASE;
                        if (s == steps || (k == 1 && diff_series_find(runs[0], s->name, s->kind)) ||
                            (k == 1 && steps && s->kind == steps->kind &&
                             strcmp(s->name, steps->name) == 0))
                                continue;
                        struct diff_row as = {.unit = time ? UNIT_SECONDS : UNIT_NUMBER,
                                              .is_time = time,
                                              .is_phase = true};
                        snprintf(as.name, sizeof(as.name), "%s", s->name);
                        measure(m, &as, take_series, s, DIFF_BY_STEPS);
                }
        }
}

static void measure_memory(struct measurer *m)
{
        static const struct diff_row as = {.name = "peak memory", .unit = UNIT_BYTES};
        struct diff_row *row = measure(m, &as, take_peak, NULL, DIFF_BY_PEAK);
        if (!row || row->method != DIFF_BY_NOTHING || !value_there(row->base) ||
            !value_there(row->now))
                return;
        row->method = DIFF_BY_PEAK;
        row->has_interval = true;
        row->low = row->high = row->change;
        row->why[0] = '\0';
        decide(m, row);
}

static void measure_activity(struct measurer *m)
{
        static const enum trace_metric shown[] = {TRACE_SM_ACTIVE, TRACE_TENSOR_ACTIVE,
                                                  TRACE_DRAM_ACTIVE, TRACE_GPU_UTIL, TRACE_POWER};
        for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
                const struct metric_info *info = metric_info(trace_metric(shown[i]));
                struct diff_row as = {.unit = info->unit,
                                      .scale =
                                          info->unit == UNIT_RATIO ? DIFF_ABSOLUTE : DIFF_RELATIVE};
                snprintf(as.name, sizeof(as.name), "%s", info->name);
                measure(m, &as, take_windows, &shown[i], DIFF_BY_WINDOWS);
        }
}

#define SHARE_SHOWN 0.05 /* limiters that take less of both sides are left out */

static void measure_limiters(struct measurer *m)
{
        static const struct diff_row throttled = {
            .name = "clocks held down", .unit = UNIT_RATIO, .scale = DIFF_ABSOLUTE};
        for (enum limiter l = 0; l < LIMITER_COUNT; l++) {
                struct diff_row as = {.unit = UNIT_RATIO, .scale = DIFF_ABSOLUTE};
                if (m->base->runs[0].limiter[l] < SHARE_SHOWN &&
                    m->now->runs[0].limiter[l] < SHARE_SHOWN)
                        continue;
                snprintf(as.name, sizeof(as.name), "limited by %s", limiter_name(l));
                measure(m, &as, take_limiter, &l, DIFF_BY_NOTHING);
        }
        measure(m, &throttled, take_throttled, NULL, DIFF_BY_NOTHING);
}

static bool is_short(const struct diff_side *side)
{
        bool is = false;
        for (size_t i = 0; i < side->n; i++)
                is |= side->runs[i].seconds < DIFF_SHORT_S;
        return is;
}

void diff_measure(const struct diff_side *base, const struct diff_side *now, struct diff *ret)
{
        static const struct diff_row energy = {.name = "energy", .unit = UNIT_JOULES};
        struct measurer m = {base, now, ret, is_short(base) || is_short(now)};
        const struct diff_series *steps = diff_steps(base, now);
        ret->main = SIZE_MAX;
        if (steps)
                measure_steps(&m, steps);
        measure_run(&m, steps);
        if (ret->main == SIZE_MAX)
                measure_work_time(&m);
        measure(&m, &energy, take_energy, NULL, DIFF_BY_NOTHING);
        measure_memory(&m);
        measure_activity(&m);
        measure_limiters(&m);
        measure_phases(&m, steps);
}
