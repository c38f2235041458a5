/* The one change that explains the others, and the parts of the runs beside each other. */
#include "base/attr.h"
#include "compute/diff/diff.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define EXPLAINS 0.5 /* of the change a cause explains at least */

/* Means over the runs of a side. */
static double side_limiter(const struct diff_side *side, enum limiter l)
{
        double sum = 0;
        for (size_t i = 0; i < side->n; i++)
                sum += side->runs[i].limiter[l];
        return sum / (double)side->n;
}

static struct value side_value(const struct diff_side *side, size_t offset)
{
        double sum = 0;
        for (size_t i = 0; i < side->n; i++) {
                struct value v;
                memcpy(&v, (const char *)&side->runs[i] + offset, sizeof(v));
                if (!value_there(v))
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
        if (!value_there(a) || !value_there(b) || !(a.v > 0) || !(b.v > 0))
                return false;
        double part = -log(b.v / a.v) / log1p(row->change);
        if (!(part >= EXPLAINS))
                return false;
        bool limit = value_there(la) && value_there(lb) && (lb.v - la.v) * (b.v - a.v) > 0 &&
                     fabs(lb.v - la.v) > 0.01 * la.v;
        *ret = (struct diff_cause){.kind = limit ? DIFF_CAUSE_POWER_LIMIT : DIFF_CAUSE_CLOCK,
                                   .base = limit ? la.v : a.v,
                                   .now = limit ? lb.v : b.v,
                                   .explains = MIN(part, 1)};
        return true;
}

static enum limiter largest(const struct diff_side *side)
{
        enum limiter best = LIMITER_UNKNOWN;
        for (enum limiter l = 0; l < LIMITER_COUNT; l++)
                best = side_limiter(side, l) > side_limiter(side, best) ? l : best;
        return best;
}

static bool tells(enum limiter l)
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
                if (tells(l) && d / change > best) {
                        best = d / change;
                        moved = l;
                }
        }
        if (moved == LIMITER_COUNT || best < EXPLAINS)
                return false;
        *ret = (struct diff_cause){.kind = DIFF_CAUSE_LIMITER,
                                   .limiter = moved,
                                   .other = row->change > 0 ? largest(base) : largest(now),
                                   .base = side_limiter(base, moved),
                                   .now = side_limiter(now, moved),
                                   .explains = MIN(best, 1),
                                   .engine_base = SIDE_VALUE(base, engine),
                                   .engine_now = SIDE_VALUE(now, engine)};
        return true;
}

static double mean_length(const struct diff_side *side, const struct diff_series *as, double steps)
{
        const struct diff_series *s = diff_series_find(&side->runs[0], as->name, as->kind);
        double sum = 0;
        for (size_t i = 0; s && i < s->n; i++)
                sum += s->v[i];
        return s && steps > 0 ? sum / steps : 0;
}

/* The phase inside a step that took most of the change. */
static void find_part(const struct diff_side *base, const struct diff_side *now,
                      const struct diff_row *row, struct diff_cause *cause)
{
        const struct diff_series *steps = diff_steps(base, now);
        if (!steps)
                return;
        const struct diff_series *other = diff_series_find(&now->runs[0], steps->name, steps->kind);
        double change = row->now.v - row->base.v, best = EXPLAINS;
        for (size_t i = 0; other && i < base->runs[0].n_series; i++) {
                const struct diff_series *s = &base->runs[0].series[i];
                double a = mean_length(base, s, (double)steps->n);
                double b = mean_length(now, s, (double)other->n);
                if (s->kind != DIFF_PHASE || s == steps || a > row->base.v * 1.01 || b <= 0 ||
                    (b - a) / change <= best)
                        continue;
                best = (b - a) / change;
                snprintf(cause->part, sizeof(cause->part), "%s", s->name);
                cause->part_base = a;
                cause->part_now = b;
        }
}

static bool explain_startup(const struct diff_side *base, const struct diff_side *now,
                            const struct diff_row *row, struct diff_cause *ret)
{
        double d = now->runs[0].startup_s - base->runs[0].startup_s;
        double change = row->now.v - row->base.v;
        if (strcmp(row->name, "run") != 0 || !(d / change >= EXPLAINS))
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
        const struct diff_row *row = &ret->rows[ret->main];
        if (explain_startup(base, now, row, cause) || explain_clock(base, now, row, cause) ||
            explain_limiter(base, now, row, cause))
                find_part(base, now, row, cause);
}

/* ---- parts ---- */

/* The longest common list of limiters, from its end. */
static size_t common(const struct diff_run *a, const struct diff_run *b, size_t i, size_t k,
                     const uint16_t *table)
{
        return i < a->n_stretches && k < b->n_stretches ? table[i * (DIFF_STRETCHES_MAX + 1) + k]
                                                        : 0;
}

static bool matches(const struct diff_stretch *x, const struct diff_stretch *y)
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
                        table[i * width + k] = matches(&a->stretches[i], &b->stretches[k])
                                                   ? (uint16_t)(table[(i + 1) * width + k + 1] + 1)
                                                   : MAX(down, right);
                }
        }
        for (size_t i = 0, k = 0; i < a->n_stretches || k < b->n_stretches;) {
                bool both = i < a->n_stretches && k < b->n_stretches;
                if (both && matches(&a->stretches[i], &b->stretches[k]))
                        put_part(ret, &a->stretches[i++], &b->stretches[k++]);
                else if (k == b->n_stretches ||
                         (both && common(a, b, i + 1, k, table) >= common(a, b, i, k + 1, table)))
                        put_part(ret, &a->stretches[i++], NULL);
                else
                        put_part(ret, NULL, &b->stretches[k++]);
        }
}
