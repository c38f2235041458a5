/* The one change that explains the others, and the parts of the runs beside each other. */
#include "base/attr.h"
#include "compute/diff/diff.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ALIKE 0.8       /* phases whose parts of a change are nearer explain the same */
#define SHARE_SAME 0.05 /* a limiter whose share moved by less limits both sides alike */

/* Means over the runs of a side. */
static double side_limiter(const struct diff_side *side, enum limiter l)
{
        double sum = 0;
        for (size_t i = 0; i < side->n; i++)
                sum += side->runs[i].limiter[l].mean;
        return sum / (double)side->n;
}

static struct value side_value(const struct diff_side *side, size_t offset)
{
        double sum = 0;
        for (size_t i = 0; i < side->n; i++) {
                struct value v;
                memcpy(&v, (const char *)&side->runs[i] + offset, sizeof(v));
                if (!value_is_set(v))
                        return value_missing(STATE_NONE);
                sum += v.v;
        }
        return value_ok(sum / (double)side->n);
}

#define SIDE_VALUE(side, member) side_value(side, offsetof(struct diff_run, member))

/* A clock that went the other way by as much explains the time. */
static bool explain_clock(const struct diff_side *base, const struct diff_side *now,
                          const struct diff_row *row, struct diff_cause *ret)
{
        struct value a = SIDE_VALUE(base, clock), b = SIDE_VALUE(now, clock);
        struct value la = SIDE_VALUE(base, power_limit), lb = SIDE_VALUE(now, power_limit);
        if (!value_is_set(a) || !value_is_set(b) || !(a.v > 0) || !(b.v > 0))
                return false;
        double part = -log(b.v / a.v) / log1p(row->change);
        if (!(part >= DIFF_EXPLAINS))
                return false;
        bool limit = value_is_set(la) && value_is_set(lb) && (lb.v - la.v) * (b.v - a.v) > 0 &&
                     fabs(lb.v - la.v) > 0.01 * la.v;
        *ret = (struct diff_cause){.kind = limit ? DIFF_CAUSE_POWER_LIMIT : DIFF_CAUSE_CLOCK,
                                   .base = limit ? la.v : a.v,
                                   .now = limit ? lb.v : b.v,
                                   .explains = MIN(part, 1)};
        return true;
}

static enum limiter largest_limiter(const struct diff_side *side)
{
        enum limiter best = LIMITER_UNKNOWN;
        for (enum limiter l = 0; l < LIMITER_COUNT; l++)
                best = side_limiter(side, l) > side_limiter(side, best) ? l : best;
        return best;
}

static bool can_slow_a_run(enum limiter l)
{
        return l != LIMITER_UNKNOWN && l != LIMITER_IDLE && l != LIMITER_HOST_STARTING;
}

/* Time is divided among the limiters: the one whose time moved most, the way the whole did. */
static bool explain_limiter(const struct diff_side *base, const struct diff_side *now,
                            const struct diff_row *row, struct diff_cause *ret)
{
        double change = row->now.v - row->base.v, best = 0;
        enum limiter moved = LIMITER_COUNT;
        for (enum limiter l = 0; l < LIMITER_COUNT; l++) {
                double d = side_limiter(now, l) * row->now.v - side_limiter(base, l) * row->base.v;
                if (can_slow_a_run(l) && d / change > best) {
                        best = d / change;
                        moved = l;
                }
        }
        if (moved == LIMITER_COUNT || best < DIFF_EXPLAINS)
                return false;
        *ret = (struct diff_cause){.kind = DIFF_CAUSE_LIMITER,
                                   .limiter = moved,
                                   .other = row->change > 0 ? largest_limiter(base)
                                                            : largest_limiter(now),
                                   .base = side_limiter(base, moved),
                                   .now = side_limiter(now, moved),
                                   .explains = MIN(best, 1),
                                   .engine_base = SIDE_VALUE(base, engine),
                                   .engine_now = SIDE_VALUE(now, engine)};
        return true;
}

static double startup_of(const struct diff_side *side)
{
        double sum = 0;
        for (size_t i = 0; i < side->n; i++)
                sum += side->runs[i].startup_s;
        return sum / (double)side->n;
}

/* Divides a figure into the time in which kernels ran and the rest; nothing when not known. */
static void split_by_kernels(const struct diff_side *side, double figure, bool has_startup,
                             struct value engine, struct value *ret_kernels, struct value *ret_gaps)
{
        double worked = figure - (has_startup ? startup_of(side) : 0);
        *ret_kernels = *ret_gaps = value_missing(STATE_NONE);
        if (!value_is_set(engine) || !(worked > 0))
                return;
        double share = MIN(engine.v, 1.0);
        *ret_kernels = value_ok(share * worked);
        *ret_gaps = value_ok((1 - share) * worked);
}

/* A limiter of the host or of copies owns the time between kernels, one of the device the kernels.
 */
static bool owns_gaps(enum limiter l)
{
        return limiter_side(l) == LIMITER_SIDE_HOST || limiter_side(l) == LIMITER_SIDE_COPY;
}

/* Whether the limiter's own part of the time moved by more than the other one; true also when that
 * is not known. */
static bool moved_its_part(const struct diff_row *row, const struct diff_cause *c)
{
        if (!value_is_set(c->kernels_base) || !value_is_set(c->kernels_now))
                return true;
        double sign = row->now.v > row->base.v ? 1 : -1;
        double kernels = sign * (c->kernels_now.v - c->kernels_base.v);
        double gaps = sign * (c->gaps_now.v - c->gaps_base.v);
        return owns_gaps(c->limiter) ? gaps >= kernels : kernels >= gaps;
}

/* What limits both sides alike is no reason yet: kernels or the time between them must have moved.
 */
static bool refine_cause(const struct diff_row *row, struct diff_cause *c)
{
        double change = row->now.v - row->base.v;
        if (!value_is_set(c->kernels_base) || !value_is_set(c->kernels_now))
                return true;
        double kernels = (c->kernels_now.v - c->kernels_base.v) / change;
        double gaps = (c->gaps_now.v - c->gaps_base.v) / change;
        bool device = kernels >= gaps;
        if (MAX(kernels, gaps) < DIFF_EXPLAINS)
                return false;
        c->explains = MIN(MAX(kernels, gaps), 1);
        if (device)
                c->kind = DIFF_CAUSE_KERNELS;
        else if (!owns_gaps(c->limiter))
                c->kind = DIFF_CAUSE_GAPS;
        return true;
}

static bool explain_time(const struct diff_side *base, const struct diff_side *now,
                         const struct diff_row *row, struct diff_cause *ret)
{
        struct diff_cause c;
        bool whole = strcmp(row->name, "run") == 0;
        double sample_s = MAX(diff_sample_s(&base->runs[0]), diff_sample_s(&now->runs[0]));
        bool limiter = explain_limiter(base, now, row, &c);
        /* Start-up and work of whole runs are distinguished to a sample. */
        if (whole && fabs(row->now.v - row->base.v) < sample_s)
                return false;
        if (!limiter)
                c = (struct diff_cause){.limiter = LIMITER_UNKNOWN,
                                        .other = LIMITER_UNKNOWN,
                                        .engine_base = SIDE_VALUE(base, engine),
                                        .engine_now = SIDE_VALUE(now, engine)};
        split_by_kernels(base, row->base.v, whole, c.engine_base, &c.kernels_base, &c.gaps_base);
        split_by_kernels(now, row->now.v, whole, c.engine_now, &c.kernels_now, &c.gaps_now);
        if (!limiter && !value_is_set(c.kernels_base))
                return false;
        /* A share that moves because the rest of the step became shorter is a symptom. */
        bool is_alike = fabs(c.now - c.base) < SHARE_SAME;
        bool is_symptom = !is_alike && !moved_its_part(row, &c);
        if (is_symptom)
                c.limiter = c.other = LIMITER_UNKNOWN;
        if ((is_alike || is_symptom) && !refine_cause(row, &c))
                return false;
        *ret = c;
        return c.kind != DIFF_CAUSE_NONE;
}

/* How often a phase comes in each step, or in the run where there are no steps. */
static double times_of(const struct diff_run *run, const char *phase,
                       const struct diff_series *steps)
{
        const struct diff_series *s = diff_series_find(run, phase, DIFF_PHASE);
        const struct diff_series *t =
            steps ? diff_series_find(run, steps->name, steps->kind) : NULL;
        double n = s ? (double)s->n : 0;
        return !steps ? n : t && t->n > 0 ? n / (double)t->n : 0;
}

/* What each time of the headline is: a step, a phase that comes often; NULL for the run. */
static const struct diff_series *unit_of(const struct diff_run *run, const struct diff_row *row)
{
        enum diff_evidence e = row->evidence;
        if (e != DIFF_EVIDENCE_STEPS && e != DIFF_EVIDENCE_PHASE)
                return NULL;
        const struct diff_series *s = diff_series_find(run, row->name, DIFF_PHASE);
        return s ? s : diff_series_find(run, row->name, DIFF_USER);
}

/* The phase that took most of the change; of two that took about the same, the inner one. NULL for
 * none. */
static const struct diff_row *find_part(const struct diff_side *base, const struct diff_side *now,
                                        const struct diff *d, struct diff_cause *cause)
{
        const struct diff_row *row = &d->rows[d->main], *best = NULL;
        const struct diff_series *unit = unit_of(&base->runs[0], row);
        double change = row->now.v - row->base.v, most = 0;
        if (row->evidence == DIFF_EVIDENCE_NUMBERS)
                return NULL;
        for (size_t i = 0; i < d->n_rows; i++) {
                const struct diff_row *r = &d->rows[i];
                double a = r->base.v * times_of(&base->runs[0], r->name, unit);
                double b = r->now.v * times_of(&now->runs[0], r->name, unit);
                double part = (b - a) / change;
                bool inner = best && a < cause->part_base && part > ALIKE * most;
                bool more = !best || part * ALIKE > most;
                if (!r->is_phase || r->better != DIFF_LESS_IS_FASTER || !value_is_set(r->base) ||
                    !value_is_set(r->now) || a > row->base.v * 1.01 || part < DIFF_EXPLAINS ||
                    (!more && !inner))
                        continue;
                most = part;
                best = r;
                snprintf(cause->part, sizeof(cause->part), "%.*s", PHASE_NAME_MAX - 1, r->name);
                cause->part_base = a;
                cause->part_now = b;
        }
        return best;
}

/* Where nothing reports the GPUs, a phase may that surely moved the way the whole did. */
static void explain_phase(const struct diff_side *base, const struct diff_side *now,
                          struct diff *ret)
{
        const struct diff_row *row = &ret->rows[ret->main];
        struct diff_cause c = {.kind = DIFF_CAUSE_PHASE};
        const struct diff_row *part = find_part(base, now, ret, &c);
        if (!part || part->word != ret->word)
                return;
        c.explains = MIN((c.part_now - c.part_base) / (row->now.v - row->base.v), 1);
        c.base = c.part_base;
        c.now = c.part_now;
        ret->cause = c;
}

static bool explain_startup(const struct diff_side *base, const struct diff_side *now,
                            const struct diff_row *row, struct diff_cause *ret)
{
        double d = now->runs[0].startup_s - base->runs[0].startup_s;
        double change = row->now.v - row->base.v;
        if (strcmp(row->name, "run") != 0 || !(d / change >= DIFF_EXPLAINS))
                return false;
        *ret = (struct diff_cause){.kind = DIFF_CAUSE_STARTUP,
                                   .base = base->runs[0].startup_s,
                                   .now = now->runs[0].startup_s,
                                   .explains = MIN(d / change, 1)};
        return true;
}

void diff_explain(const struct diff_side *base, const struct diff_side *now, struct diff *ret)
{
        struct diff_cause *cause = &ret->cause;
        if (ret->main == SIZE_MAX || (ret->word != DIFF_LESS && ret->word != DIFF_MORE))
                return;
        const struct diff_row time = diff_row_as_time(&ret->rows[ret->main]), *row = &time;
        if (explain_startup(base, now, row, cause) || explain_clock(base, now, row, cause) ||
            explain_time(base, now, row, cause))
                find_part(base, now, ret, cause);
        else
                explain_phase(base, now, ret);
        diff_explain_lines(base, now, ret);
        /* Seconds of kernels are of a step or a run; of a rate's things nobody counts them. */
        if (ret->rows[ret->main].better == DIFF_MORE_IS_FASTER)
                cause->kernels_base = cause->kernels_now = cause->gaps_base = cause->gaps_now =
                    value_missing(STATE_NONE);
}

/* ---- parts ---- */

/* The longest common list of limiters, from its end. */
static size_t longest_common_list(const struct diff_run *a, const struct diff_run *b, size_t i,
                                  size_t k, const uint16_t *table)
{
        return i < a->n_stretches && k < b->n_stretches ? table[i * (DIFF_STRETCHES_MAX + 1) + k]
                                                        : 0;
}

static bool stretches_match(const struct diff_stretch *x, const struct diff_stretch *y)
{
        return x->limiter == y->limiter && x->before_work == y->before_work;
}

static void put_part(struct diff *d, const struct diff_stretch *base,
                     const struct diff_stretch *now)
{
        const struct diff_stretch *s = base ? base : now;
        if (d->n_parts == DIFF_PARTS_MAX)
                return;
        d->parts[d->n_parts++] = (struct diff_part){.limiter = s->limiter,
                                                    .before_work = s->before_work,
                                                    .base_s = base ? base->seconds : -1,
                                                    .now_s = now ? now->seconds : -1};
}

void diff_align(const struct diff_run *a, const struct diff_run *b, struct diff *ret)
{
        const size_t width = DIFF_STRETCHES_MAX + 1;
        CLEANUP(freep) uint16_t *table = calloc(width * width, sizeof(*table));
        if (!table)
                return;
        for (size_t i = a->n_stretches; i-- > 0;) {
                for (size_t k = b->n_stretches; k-- > 0;) {
                        uint16_t down = table[(i + 1) * width + k],
                                 right = table[i * width + k + 1];
                        table[i * width + k] = stretches_match(&a->stretches[i], &b->stretches[k])
                                                   ? (uint16_t)(table[(i + 1) * width + k + 1] + 1)
                                                   : MAX(down, right);
                }
        }
        for (size_t i = 0, k = 0; i < a->n_stretches || k < b->n_stretches;) {
                bool both = i < a->n_stretches && k < b->n_stretches;
                if (both && stretches_match(&a->stretches[i], &b->stretches[k]))
                        put_part(ret, &a->stretches[i++], &b->stretches[k++]);
                else if (k == b->n_stretches ||
                         (both && longest_common_list(a, b, i + 1, k, table) >=
                                      longest_common_list(a, b, i, k + 1, table)))
                        put_part(ret, &a->stretches[i++], NULL);
                else
                        put_part(ret, NULL, &b->stretches[k++]);
        }
}
