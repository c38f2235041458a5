#include "compute/integrals.h"

#include "base/attr.h"
#include "base/clock.h"
#include "compute/limiter.h"

#include <string.h>

/* More device memory than this is in use by somebody: the driver itself takes less. */
/* A longer pause than that many ticks is time that nobody saw, except for the tick's own length. */
#define GAP_FACTOR 3
#define TYPICAL_WEIGHT 0.1
/* The driver's clock and ours differ a little: a window that is about the tick is the tick. */
#define WINDOW_SLACK 1.5

static void add_seconds(struct integrals *in, enum integral i, double v)
{
        in->v[i] += v;
        in->present |= UINT64_C(1) << i;
}

/* How much time the row's values speak of. */
static double time_of(struct integrator *it, const struct frame *f)
{
        double passed = it->seen ? clock_to_seconds(f->mono_ns - it->mono_ns) : 0;
        double window = clock_to_seconds(f->window_ns);
        if (passed < 0)
                passed = 0;
        if (window > 0 && passed > WINDOW_SLACK * window)
                passed = window;
        else if (window <= 0 && it->typical_s > 0 && passed > GAP_FACTOR * it->typical_s)
                passed = it->typical_s;
        it->typical_s = it->typical_s > 0
                            ? (1 - TYPICAL_WEIGHT) * it->typical_s + TYPICAL_WEIGHT * passed
                            : passed;
        it->seen = true;
        it->mono_ns = f->mono_ns;
        return passed;
}

/* The denominator of Real Utilization and of the units' activity. Without SM counters both are
 * unknown, whatever utilization says. */
static bool is_observed(const struct sample *s)
{
        return s->m[METRIC_SM_ACTIVE].state == STATE_OK;
}

/* The driver's counter starts again with the driver; what it says then has all happened since. */
static void add_growth(struct integrals *in, enum integral i, double now)
{
        double from = integral_is_set(in, i) && now >= in->growth_from[i] ? in->growth_from[i] : 0;
        add_seconds(in, i, now - from);
        in->growth_from[i] = now;
}

static void add_value(struct integrals *in, enum integral i, const struct sample *s, double seconds)
{
        const struct integral_info *info = integral_info(i);
        struct value v =
            info->metric < METRIC_COUNT ? s->m[info->metric] : value_missing(STATE_NONE);
        if (v.state != STATE_OK)
                return;
        switch (info->how) {
        case INTEGRAL_HOW_OWN:
                break;
        case INTEGRAL_HOW_TIMES:
                add_seconds(in, i, v.v * seconds);
                break;
        case INTEGRAL_HOW_SCORE:
                add_seconds(in, i, v.v / 100 * seconds);
                break;
        case INTEGRAL_HOW_BITS:
                add_seconds(in, i, (uint64_t)v.v & info->mask ? seconds : 0);
                break;
        case INTEGRAL_HOW_GROWTH:
                add_growth(in, i, v.v);
                break;
        }
}

/*
 * The driver's counter where there is one. It may be read every few seconds only: power × time
 * continues from where it stood, so that a rate over seconds is right too, and waits when it was
 * ahead.
 */
static void add_energy(struct integrals *in, struct integrator *it, const struct sample *s,
                       double seconds)
{
        struct value now = s->m[METRIC_ENERGY], power = s->m[METRIC_POWER];
        if (now.state != STATE_OK && power.state != STATE_OK)
                return;
        if (!it->has_energy)
                it->confirmed_j = in->v[INTEGRAL_ENERGY];
        it->has_energy = true;
        it->pending_j += power.state == STATE_OK ? power.v * seconds : 0;
        if (now.state == STATE_OK && (it->energy.state != STATE_OK || now.v != it->energy.v)) {
                /* The first reading confirms nothing, nor does a counter that was reset. */
                bool moved = it->energy.state == STATE_OK && now.v > it->energy.v;
                it->confirmed_j += moved ? now.v - it->energy.v : it->pending_j;
                it->pending_j = 0;
                it->energy = now;
        }
        add_seconds(in, INTEGRAL_ENERGY,
                    MAX(it->confirmed_j + it->pending_j - in->v[INTEGRAL_ENERGY], 0.0));
}

static void count_xid(struct integrals *in, uint32_t xid, double n)
{
        integral_xids_add(in->xids, &in->n_xids, xid, n);
}

/* The source says how many there were and the number of the last one. */
static void add_xids(struct integrals *in, struct integrator *it, const struct sample *s)
{
        struct value count = s->m[METRIC_XID_COUNT], last = s->m[METRIC_XID_LAST];
        if (count.state != STATE_OK)
                return;
        double before = it->xid_count.state == STATE_OK ? it->xid_count.v : 0;
        if (count.v > before && last.state == STATE_OK && last.v > 0)
                count_xid(in, (uint32_t)last.v, count.v - before);
        it->xid_count = count;
}

/* By what limits the program; where that is not known, by the memory that is held. */
static enum idle_reason idle_reason_of(const struct row *row)
{
        struct value used = row->sample.m[METRIC_FB_USED];
        if (row->limit.limiter == LIMITER_HOST_STARTING)
                return IDLE_STARTING;
        if (row->limit.limiter == LIMITER_HOST_WAITING)
                return IDLE_WAITING;
        if (row->limit.limiter < LIMITER_COUNT &&
            limiter_side((enum limiter)row->limit.limiter) == LIMITER_SIDE_HOST)
                return IDLE_STARVED;
        if (row->limit.limiter == LIMITER_IDLE_ALLOCATED)
                return IDLE_MEMORY_HELD;
        if (value_is_set(used))
                return used.v >= LIMIT_HELD_BYTES ? IDLE_MEMORY_HELD : IDLE_NO_PROCESS;
        return row->limit.limiter == LIMITER_IDLE ? IDLE_NO_PROCESS : IDLE_UNKNOWN;
}

static void add_verdicts(struct integrals *in, const struct row *row, bool owned, double seconds)
{
        struct value used = row->sample.m[METRIC_FB_USED];
        struct value held = row_held(row, owned);
        bool idle = row_use(row) == ROW_USE_IDLE;
        in->class_s[row->verdict.workload] += seconds;
        in->health_s[row->health.state] += seconds;
        if (row->limit.limiter < LIMITER_COUNT)
                in->limiter_s[row->limit.limiter] += seconds;
        bool known = row->limit.limiter != LIMITER_UNKNOWN,
             driver = row->limit.basis == BASIS_DRIVER;
        add_seconds(in, INTEGRAL_BASIS_COUNTERS, known && !driver ? seconds : 0);
        add_seconds(in, INTEGRAL_BASIS_DRIVER, known && driver ? seconds : 0);
        for (enum health_reason f = 0; f < HEALTH_REASON_COUNT; f++)
                in->finding_s[f] += row->health.findings & (1u << f) ? seconds : 0;
        if (idle)
                in->idle_s[idle_reason_of(row)] += seconds;
        if (value_is_set(held))
                add_seconds(in, INTEGRAL_IDLE_ALLOCATED, held.v > 0 && idle ? seconds : 0);
        if (idle && !is_observed(&row->sample))
                add_seconds(in, INTEGRAL_IDLE_UNOBSERVED, seconds);
        if (value_is_set(used))
                in->peak_memory = MAX(in->peak_memory, used.v);
}

bool integrals_fresh(const struct frame *frame, const struct sample *s)
{
        for (enum metric i = 0; !frame->stale && i < METRIC_COUNT; i++) {
                if (s->m[i].state == STATE_OK && metric_info(i)->kind != METRIC_KIND_DERIVED)
                        return true;
        }
        return false;
}

void integrals_add(struct integrals *in, struct integrator *it, const struct frame *frame,
                   const struct row *row, bool owned)
{
        const struct sample *s = &row->sample;
        if (!integrals_fresh(frame, s))
                return;
        double seconds = time_of(it, frame);
        add_seconds(in, INTEGRAL_SEEN, seconds);
        add_seconds(in, INTEGRAL_OBSERVED, is_observed(s) ? seconds : 0);
        for (enum integral i = 0; i < INTEGRAL_COUNT; i++)
                add_value(in, i, s, seconds);
        add_energy(in, it, s, seconds);
        add_xids(in, it, s);
        add_verdicts(in, row, owned, seconds);
}

/* What became of n numbers. Counters never fall; rounding must not make one. */
static void subtract_counters(double *ret, const double *to, const double *from, size_t n)
{
        for (size_t i = 0; i < n; i++)
                ret[i] = MAX(to[i] - from[i], 0.0);
}

static void accumulate_counters(double *a, const double *b, size_t n)
{
        for (size_t i = 0; i < n; i++)
                a[i] += b[i];
}

static double xids_of(const struct integrals *in, uint32_t xid)
{
        for (size_t i = 0; i < in->n_xids; i++) {
                if (in->xids[i].xid == xid)
                        return in->xids[i].n;
        }
        return 0;
}

void integrals_since(const struct integrals *from, const struct integrals *to,
                     struct integrals *ret)
{
        *ret = *to;
        subtract_counters(ret->v, to->v, from->v, INTEGRAL_COUNT);
        subtract_counters(ret->class_s, to->class_s, from->class_s, WORKLOAD_COUNT);
        subtract_counters(ret->health_s, to->health_s, from->health_s, ARRAY_LEN(ret->health_s));
        subtract_counters(ret->limiter_s, to->limiter_s, from->limiter_s, LIMITER_COUNT);
        subtract_counters(ret->finding_s, to->finding_s, from->finding_s, HEALTH_REASON_COUNT);
        subtract_counters(ret->idle_s, to->idle_s, from->idle_s, IDLE_REASON_COUNT);
        memset(ret->holdings, 0, sizeof(ret->holdings));
        ret->n_xids = 0;
        for (size_t i = 0; i < to->n_xids; i++) {
                double n = to->xids[i].n - xids_of(from, to->xids[i].xid);
                if (n > 0)
                        ret->xids[ret->n_xids++] = (struct integral_xid){to->xids[i].xid, n};
        }
}

void integrals_sum(struct integrals *a, const struct integrals *b)
{
        a->present |= b->present;
        accumulate_counters(a->v, b->v, INTEGRAL_COUNT);
        accumulate_counters(a->class_s, b->class_s, WORKLOAD_COUNT);
        accumulate_counters(a->health_s, b->health_s, ARRAY_LEN(a->health_s));
        accumulate_counters(a->limiter_s, b->limiter_s, LIMITER_COUNT);
        accumulate_counters(a->finding_s, b->finding_s, HEALTH_REASON_COUNT);
        accumulate_counters(a->idle_s, b->idle_s, IDLE_REASON_COUNT);
        a->peak_memory += b->peak_memory;
        for (size_t i = 0; i < b->n_xids; i++)
                count_xid(a, b->xids[i].xid, b->xids[i].n);
}
