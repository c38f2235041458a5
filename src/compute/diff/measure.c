/* Each figure of the two sides, its change, and how sure that is. */
#include "compute/diff/measure.h"
#include "base/attr.h"
#include "model/step.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WORK_APART 0.02  /* amounts of GPU work that differ by less are the same */
#define PARTS_APART 0.05 /* and those of its tensor cores and its memory */

/* A figure of both sides. */
struct figure_of {
        struct estimate base[DIFF_RUNS_MAX], now[DIFF_RUNS_MAX];
        bool has_base, has_now;
        enum diff_method method; /* of a single run's error */
};

static bool take_side(const struct diff_side *side, take_fn *take, const void *arg,
                      struct estimate *ret)
{
        for (size_t i = 0; i < side->n; i++) {
                if (!take(&side->runs[i], arg, &ret[i]))
                        return false;
        }
        return true;
}

static struct value mean_value(const struct estimate *e, size_t n, bool present)
{
        double sum = 0;
        for (size_t i = 0; i < n; i++)
                sum += e[i].mean;
        return present ? value_ok(sum / (double)n) : value_missing(STATE_NONE);
}

/* Relative errors add up, and 1/2 is as far from 1 as 2 is. */
static bool to_logs(struct estimate *e, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                if (!(e[i].mean > 0))
                        return false;
                e[i].se = e[i].se < 0 ? -1 : e[i].se / e[i].mean;
                e[i].rounding /= e[i].mean * e[i].mean;
                e[i].mean = log(e[i].mean);
        }
        return true;
}

/* Makes a row inconclusive, and says why. */
static void measure_set_reason(struct diff_row *row, const char *why)
{
        row->word = DIFF_INCONCLUSIVE;
        snprintf(row->why, sizeof(row->why), "%s", why);
}

/* Rows of whole runs have nothing of one that did not reach its end. */
static bool is_cut(const struct diff_side *side, const struct diff_row *row)
{
        bool cut = false;
        for (size_t i = 0; i < side->n; i++)
                cut |= !side->runs[i].has_seconds;
        return cut && (strcmp(row->name, "run") == 0 || strcmp(row->name, "energy") == 0 ||
                       strcmp(row->name, "peak memory") == 0);
}

static const char *why_missing(const struct measurer *m, const struct diff_row *row)
{
        if (value_is_set(row->base))
                return is_cut(m->now, row) ? "NEW was cut short" : "not recorded in NEW";
        if (value_is_set(row->now))
                return is_cut(m->base, row) ? "BASE was cut short" : "not recorded in BASE";
        return "not recorded";
}

static void decide_row(const struct measurer *m, struct diff_row *row)
{
        if (m->d->identical && value_is_set(row->base)) {
                row->method = DIFF_BY_IDENTITY;
                row->has_interval = true;
                row->change = row->low = row->high = 0;
                row->word = DIFF_SAME;
        } else if (!value_is_set(row->base) || !value_is_set(row->now)) {
                measure_set_reason(row, why_missing(m, row));
        } else if (!row->has_interval) {
                measure_set_reason(
                    row,
                    "one run on each side does not show the noise: give repeats, or " STEPS_HOW);
        } else if (m->is_short && row->method != DIFF_BY_REPEATS) {
                measure_set_reason(row, "the run is too short");
        } else if ((row->low > 0 || row->high < 0) && fabs(row->change) >= DIFF_LEAST) {
                row->word = row->change < 0 ? DIFF_LESS : DIFF_MORE;
        } else if (row->low > -DIFF_MARGIN && row->high < DIFF_MARGIN) {
                row->word = DIFF_SAME;
        } else {
                row->is_wide = true;
                measure_set_reason(row,
                                   row->method == DIFF_BY_ASSUMPTION
                                       ? "what comes once a run cannot show so little: " STEPS_HOW
                                         ", or give repeats"
                                       : "the noise is larger than the difference");
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
static struct diff_row *measure_add_row(const struct measurer *m, const char *name, enum unit unit,
                                        enum diff_scale scale)
{
        if (m->d->n_rows == DIFF_ROWS_MAX)
                return NULL;
        struct diff_row *row = &m->d->rows[m->d->n_rows++];
        *row = (struct diff_row){.unit = unit, .scale = scale};
        snprintf(row->name, sizeof(row->name), "%s", name);
        return row;
}

struct diff_row *measure_row(const struct measurer *m, const struct diff_row *as, take_fn *take,
                             const void *arg, enum diff_method method)
{
        struct figure_of f = {.method = method};
        f.has_base = take_side(m->base, take, arg, f.base);
        f.has_now = take_side(m->now, take, arg, f.now);
        struct diff_row *row =
            f.has_base || f.has_now ? measure_add_row(m, as->name, as->unit, as->scale) : NULL;
        if (!row)
                return NULL;
        row->better = as->better;
        row->evidence = as->evidence;
        row->is_phase = as->is_phase;
        row->is_limiter = as->is_limiter;
        row->limiter = as->limiter;
        row->base = mean_value(f.base, m->base->n, f.has_base);
        row->now = mean_value(f.now, m->now->n, f.has_now);
        row->n_base = f.has_base ? total_n(f.base, m->base->n) : 0;
        row->n_now = f.has_now ? total_n(f.now, m->now->n) : 0;
        if (f.has_base && f.has_now)
                fill_change(m, &f, row);
        decide_row(m, row);
        bool few = method == DIFF_BY_WINDOWS && MIN(row->n_base, row->n_now) < STATS_LEAST;
        if (few && value_is_set(row->base) && value_is_set(row->now) && !row->has_interval)
                measure_set_reason(row, "too few samples");
        return row;
}

/* ---- what a run has ---- */

bool measure_plain(double v, bool present, struct estimate *ret)
{
        *ret = (struct estimate){.mean = v, .se = -1, .df = 1, .n = 1};
        return present;
}

/* Variance of a moment that is known to a sample. */
static double moment_variance(const struct diff_run *run)
{
        double sample_s = diff_sample_s(run);
        return sample_s * sample_s / 12;
}

static bool take_seconds(const struct diff_run *run, const void *arg UNUSED, struct estimate *ret)
{
        bool present = measure_plain(run->seconds, run->has_seconds && run->seconds > 0, ret);
        ret->rounding = run->exact ? 0 : 2 * moment_variance(run);
        return present;
}

static bool take_startup(const struct diff_run *run, const void *arg UNUSED, struct estimate *ret)
{
        bool present = measure_plain(run->startup_s, run->gpus > 0, ret);
        ret->rounding = moment_variance(run);
        return present;
}

static bool take_energy(const struct diff_run *run, const void *arg UNUSED, struct estimate *ret)
{
        return measure_plain(run->energy_j.v, value_is_set(run->energy_j) && run->has_seconds, ret);
}

static bool take_peak(const struct diff_run *run, const void *arg UNUSED, struct estimate *ret)
{
        return measure_plain(run->peak_memory.v, value_is_set(run->peak_memory) && run->has_seconds,
                             ret);
}

static bool take_throttled(const struct diff_run *run, const void *arg UNUSED, struct estimate *ret)
{
        return measure_plain(run->throttled.v, value_is_set(run->throttled), ret);
}

static bool take_limiter(const struct diff_run *run, const void *arg, struct estimate *ret)
{
        const struct diff_share *s = &run->limiter[*(const enum limiter *)arg];
        *ret = (struct estimate){.mean = s->mean, .se = s->se, .df = s->df, .n = s->n};
        return run->n_stretches > 0;
}

struct estimate measure_windows_mean(const struct diff_windows *w, bool in_steps)
{
        double v[DIFF_WINDOWS_MAX];
        in_steps &= w->steps_n > 0;
        size_t from = in_steps ? w->steps_from : 0, n = in_steps ? w->steps_n : w->n;
        for (size_t i = 0; i < n; i++)
                v[i] = (double)w->v[from + i];
        return stats_mean(v, n);
}

/* Which windows. */
struct windows_of {
        enum trace_metric metric;
        bool in_steps;
};

static bool take_windows(const struct diff_run *run, const void *arg, struct estimate *ret)
{
        const struct windows_of *of = arg;
        *ret = measure_windows_mean(&run->windows[of->metric], of->in_steps);
        return ret->n > 0;
}

/*
 * The windows in which work continued: not those that work began or ended in, nor idle ones before
 * and after, nor a warm-up. Those say nothing of how steady it was.
 */
static struct estimate steady_work(const struct diff_windows *w)
{
        double v[DIFF_WINDOWS_MAX], sum = 0;
        size_t from = 0, end = w->n;
        for (size_t i = 0; i < w->n; i++)
                sum += v[i] = (double)w->v[i];
        double half = w->n > 0 ? sum / (double)w->n / 2 : 0;
        while (from < end && v[from] <= half)
                from++;
        while (end > from && v[end - 1] <= half)
                end--;
        from += from < end;
        end -= end > from;
        from += stats_warm_up(v + from, end - from);
        return stats_mean(v + from, end - from);
}

/* Time after the start-up: as sure as the work was steady in it, and as its ends are known. */
static bool take_work_time(const struct diff_run *run, const void *arg UNUSED, struct estimate *ret)
{
        struct estimate sm = steady_work(&run->windows[TRACE_SM_ACTIVE]);
        double ends = moment_variance(run) * (run->exact ? 1 : 2);
        *ret = (struct estimate){
            .mean = run->seconds - run->startup_s, .se = -1, .df = sm.df, .n = sm.n};
        if (sm.se >= 0 && sm.mean > 0)
                ret->se = hypot(ret->mean * sm.se / sm.mean, sqrt(ends));
        return run->has_seconds && run->gpus > 0 && ret->mean > 0 && sm.n > 0;
}

/* ---- the rows ---- */

static void measure_run(struct measurer *m, const struct diff_series *steps)
{
        static const struct diff_row run = {.name = "run",
                                            .unit = UNIT_SECONDS,
                                            .better = DIFF_LESS_IS_FASTER},
                                     startup = {.name = "start-up",
                                                .unit = UNIT_SECONDS,
                                                .better = DIFF_LESS_IS_FASTER};
        struct diff_row *row = measure_row(m, &run, take_seconds, NULL, DIFF_BY_NOTHING);
        bool both = row && value_is_set(row->base) && value_is_set(row->now);
        if (both && !m->d->identical && !measure_same_steps(m, steps))
                measure_set_reason(row, "the sides have different numbers of steps");
        if (row && (m->d->identical || m->base->n + m->now->n > 2))
                row->evidence = DIFF_EVIDENCE_RUN;
        measure_row(m, &startup, take_startup, NULL, DIFF_BY_NOTHING);
}

/* Seconds that a part of the GPUs was active in a run, and the same in cycles; 0 when not known. */
static double work_of(const struct diff_run *run, enum trace_metric part, bool in_cycles)
{
        const struct diff_windows *w = &run->windows[part];
        double clock = in_cycles && value_is_set(run->clock) ? run->clock.v : 1;
        return measure_windows_mean(w, false).mean * clock * w->span_s * (double)run->gpus;
}

/* Other parts are busy alike where SMs do the same: two programs may keep SMs busy equally long. */
static bool same_parts(const struct diff_run *a, const struct diff_run *b, double sm, bool cycles)
{
        static const enum trace_metric parts[] = {TRACE_TENSOR_ACTIVE, TRACE_DRAM_ACTIVE};
        bool same = true;
        for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
                double x = work_of(a, parts[i], cycles), y = work_of(b, parts[i], cycles);
                bool known = a->windows[parts[i]].n > 0 && b->windows[parts[i]].n > 0;
                same &= !known || fabs(x - y) <= PARTS_APART * MAX(x, y) + WORK_APART * sm;
        }
        return same;
}

/* Whether both sides did the same amount of GPU work: then its time says which is faster. */
static bool same_work(const struct measurer *m)
{
        const struct diff_run *a = &m->base->runs[0], *b = &m->now->runs[0];
        for (int cycles = 0; cycles < 2; cycles++) {
                double x = work_of(a, TRACE_SM_ACTIVE, cycles);
                double y = work_of(b, TRACE_SM_ACTIVE, cycles);
                if (x > 0 && y > 0 && fabs(log(y / x)) < WORK_APART && same_parts(a, b, x, cycles))
                        return true;
        }
        return false;
}

/* Whether both sides ran one command to its end, and what they marked came equally often. */
static bool same_command(const struct measurer *m)
{
        const struct diff_run *a = &m->base->runs[0], *b = &m->now->runs[0];
        bool same = a->command[0] && a->exact && b->exact && strcmp(a->command, b->command) == 0;
        for (size_t i = 0; same && i < a->n_series; i++) {
                const struct diff_series *s =
                    diff_series_find(b, a->series[i].name, a->series[i].kind);
                same = !s || s->n == a->series[i].n;
        }
        return same;
}

static bool has_steps(const struct diff_run *run)
{
        bool has = false;
        for (size_t i = 0; i < run->n_series; i++)
                has |= diff_is_steps(run, &run->series[i]);
        return has;
}

/* How long a run's work would have taken at the pace at which it continued. */
static double steady_time(const struct diff_run *run)
{
        const struct diff_windows *w = &run->windows[TRACE_SM_ACTIVE];
        double steady = steady_work(w).mean;
        return steady > 0 ? w->span_s * measure_windows_mean(w, false).mean / steady : 0;
}

/* A warm-up or a pause comes once a run, and one that was longer is no other pace: the change is
 * one only where the pace of the work says so, too. */
static void doubt_pauses(const struct measurer *m, struct diff_row *row)
{
        double pace = steady_time(&m->now->runs[0]) / steady_time(&m->base->runs[0]);
        double all = 1 + row->change;
        enum diff_word word = row->word;
        if (!(pace > 0) || !isfinite(pace))
                return;
        row->low = MIN(pace / all, 1) * (1 + row->low) - 1;
        row->high = MAX(pace / all, 1) * (1 + row->high) - 1;
        decide_row(m, row);
        if (row->word == DIFF_INCONCLUSIVE && word != DIFF_INCONCLUSIVE)
                measure_set_reason(
                    row, "a warm-up or a pause was longer on one side: mark steps, or give "
                         "repeats");
}

static void measure_work_time(struct measurer *m)
{
        static const struct diff_row as = {.name = "time after start-up",
                                           .unit = UNIT_SECONDS,
                                           .better = DIFF_LESS_IS_FASTER,
                                           .evidence = DIFF_EVIDENCE_RUN};
        if (m->base->n + m->now->n > 2)
                return;
        struct diff_row *row = measure_row(m, &as, take_work_time, NULL, DIFF_BY_WINDOWS);
        if (!row)
                return;
        bool both = value_is_set(row->base) && value_is_set(row->now);
        if (!m->d->identical && both && row->has_interval)
                doubt_pauses(m, row);
        if (!m->d->identical && both && !same_work(m) && !same_command(m)) {
                row->has_interval = false;
                row->method = DIFF_BY_NOTHING;
                measure_set_reason(row, "the GPUs did different amounts of work: " STEPS_HOW
                                        ", or give repeats");
        }
        if (!m->d->identical && both && has_steps(&m->base->runs[0]) && has_steps(&m->now->runs[0]))
                measure_set_reason(row, "the sides have steps of different names");
}

static void measure_memory(struct measurer *m)
{
        static const struct diff_row as = {.name = "peak memory", .unit = UNIT_BYTES};
        struct diff_row *row = measure_row(m, &as, take_peak, NULL, DIFF_BY_PEAK);
        if (!row || row->method != DIFF_BY_NOTHING || !value_is_set(row->base) ||
            !value_is_set(row->now))
                return;
        row->method = DIFF_BY_PEAK;
        row->has_interval = true;
        row->low = row->high = row->change;
        row->why[0] = '\0';
        decide_row(m, row);
}

static void measure_activity(struct measurer *m, bool in_steps)
{
        static const enum trace_metric shown[] = {TRACE_SM_ACTIVE, TRACE_TENSOR_ACTIVE,
                                                  TRACE_DRAM_ACTIVE, TRACE_GPU_UTIL, TRACE_POWER};
        for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
                const struct metric_info *info = metric_info(trace_metric(shown[i]));
                struct diff_row as = {.unit = info->unit,
                                      .scale =
                                          info->unit == UNIT_RATIO ? DIFF_ABSOLUTE : DIFF_RELATIVE};
                snprintf(as.name, sizeof(as.name), "%s", info->name);
                const struct windows_of of = {shown[i], in_steps};
                measure_row(m, &as, take_windows, &of, DIFF_BY_WINDOWS);
        }
}

#define SHARE_SHOWN 0.05 /* limiters that take less of both sides are left out */

static void measure_limiters(struct measurer *m)
{
        static const struct diff_row throttled = {
            .name = "clocks held down", .unit = UNIT_RATIO, .scale = DIFF_ABSOLUTE};
        for (enum limiter l = 0; l < LIMITER_COUNT; l++) {
                struct diff_row as = {
                    .unit = UNIT_RATIO, .scale = DIFF_ABSOLUTE, .is_limiter = true, .limiter = l};
                double a = m->base->runs[0].limiter[l].mean, b = m->now->runs[0].limiter[l].mean;
                bool not_measured = l == LIMITER_UNKNOWN && MIN(a, b) > 1 - SHARE_SHOWN;
                if (MAX(a, b) < SHARE_SHOWN || not_measured)
                        continue;
                snprintf(as.name, sizeof(as.name), "limited by %s", limiter_name(l));
                measure_row(m, &as, take_limiter, &l, DIFF_BY_WINDOWS);
        }
        measure_row(m, &throttled, take_throttled, NULL, DIFF_BY_NOTHING);
}

static bool is_short(const struct diff_side *side)
{
        bool is = false;
        for (size_t i = 0; i < side->n; i++)
                is |= side->runs[i].seconds < DIFF_SHORT_S;
        return is;
}

/* A row that both sides have and the verdict may come from. */
static bool has_evidence(const struct diff *d)
{
        for (size_t i = 0; i < d->n_rows; i++) {
                const struct diff_row *row = &d->rows[i];
                if (row->evidence != DIFF_EVIDENCE_NONE && value_is_set(row->base) &&
                    value_is_set(row->now))
                        return true;
        }
        return false;
}

void diff_measure(const struct diff_side *base, const struct diff_side *now, struct diff *ret)
{
        static const struct diff_row energy = {.name = "energy", .unit = UNIT_JOULES};
        struct measurer m = {base, now, ret, is_short(base) || is_short(now)};
        const struct diff_series *steps = diff_steps(base, now);
        if (steps)
                measure_steps(&m, steps);
        measure_run(&m, steps);
        measure_row(&m, &energy, take_energy, NULL, DIFF_BY_NOTHING);
        measure_memory(&m);
        measure_activity(&m, steps != NULL);
        measure_limiters(&m);
        measure_phases(&m, steps);
        if (!has_evidence(ret))
                measure_work_time(&m);
}
