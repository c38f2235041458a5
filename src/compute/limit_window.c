/* The limiter as time passes: ceilings over about a second, and what a GPU has done so far. */
#include "base/attr.h"
#include "base/clock.h"
#include "compute/ceilings.h"
#include "compute/limiter.h"
#include "compute/peaks.h"

#include <math.h>

#define ACTIVE 0.001 /* of the time or of the link: an idle GPU shows a tenth of it */
/* The driver's utilization comes in percents, of up to a second: one may be a single burst. */
#define ACTIVE_DRIVER 0.015

bool ceilings_active(const struct ceilings *c)
{
        double link = ceiling_value(c, CEILING_PCIE_RATE).v / PCIE_FASTEST;
        for (enum ceiling i = CEILING_PCIE_IN; i <= CEILING_NVLINK_OUT; i++)
                link = MAX(link, c->present & CEILING_AT(i) ? (double)c->v[i] : 0);
        struct value engine = ceiling_value(c, CEILING_ENGINE);
        double least = c->present & CEILINGS_PROFILING ? ACTIVE : ACTIVE_DRIVER;
        return (value_is_set(engine) && engine.v >= least) || link >= ACTIVE ||
               ceilings_codec(c) >= ACTIVE_DRIVER;
}

static bool power_holds_clocks(const struct ceilings *c)
{
        struct value memory = ceiling_value(c, CEILING_MEMORY);
        struct value holders = ceiling_value(c, CEILING_HOLDERS);
        return (value_is_set(memory) && memory.v >= LIMIT_HELD_BYTES) ||
               (value_is_set(holders) && holders.v >= 1);
}

void first_use_add(struct first_use *p, const struct ceilings *c, int64_t now_ns)
{
        bool now = ceilings_active(c);
        if (!p->touched && (now || power_holds_clocks(c))) {
                p->touched = true;
                p->touched_ns = now_ns;
        }
        if (!now)
                return;
        if (!p->active_once || now_ns - p->active_ns > BURST_NS / 2)
                p->chain_ns = now_ns;
        p->active_once = true;
        p->active_ns = now_ns;
        if (p->worked_ns == INT64_MAX && now_ns - p->chain_ns >= BURST_NS / 2)
                p->worked_ns = p->chain_ns;
}

#define SMOOTH_S 0.5
#define CLOCK_STEADY 0.01F

static void smooth_ceilings(struct limit_window *w, const struct ceilings *now, double seconds)
{
        float part = (float)(seconds > 0 && seconds < SMOOTH_S ? seconds / SMOOTH_S : 1);
        uint64_t before = w->mean.present;
        w->mean.present = now->present;
        for (size_t i = 0; i < CEILING_COUNT; i++)
                w->mean.v[i] += part * (now->v[i] - w->mean.v[i]);
        /* What was absent before begins as it is. */
        for (uint64_t fresh = now->present & ~before; fresh; fresh &= fresh - 1) {
                int i = __builtin_ctzll(fresh);
                w->mean.v[i] = now->v[i];
        }
        float engine = now->v[CEILING_ENGINE];
        w->square += part * (engine * engine - w->square);
}

#define COUNTED_NS (10 * NS_PER_S) /* counters that are away for longer are not read any more */

/* Whether profiling counters are read, also where this tick has none. */
static bool has_counters(const struct limit_window *w)
{
        return w->counted && w->now_ns - w->counted_ns < COUNTED_NS;
}

struct limit limit_window_add(struct limit_window *w, const struct ceilings *now, int64_t now_ns,
                              const struct limit_from_context *context)
{
        bool first = !w->seen;
        double passed = first ? 0 : clock_to_seconds(now_ns - w->now_ns);
        if (first)
                *w = (struct limit_window){.seen = true,
                                           .use = FIRST_USE_START,
                                           .quiet_ns = now_ns,
                                           .framework = w->framework};
        w->now_ns = now_ns;
        floor_learn(&w->floor, now, passed);
        if (now->present & CEILINGS_PROFILING) {
                w->counted = true;
                w->counted_ns = now_ns;
        }
        smooth_ceilings(w, now, passed);
        first_use_add(&w->use, now, now_ns);
        if (ceilings_active(now))
                w->quiet_ns = now_ns;
        double mean = (double)w->mean.v[CEILING_ENGINE];
        double variance = (double)w->square - mean * mean;
        const struct situation s = {
            .touched = w->use.touched,
            .worked = w->use.worked_ns != INT64_MAX,
            .elsewhere = context->elsewhere,
            .peers = context->peers,
            .peers_used = context->peers_used,
            .quiet_s = clock_to_seconds(now_ns - w->quiet_ns),
            .uneven = variance > 0 ? sqrt(variance) : 0,
            .seconds = MAX(passed, 1.0),
            .link_traffic = peak_link_traffic(context->model, context->link),
            .framework = w->framework,
            .basis = has_counters(w) ? BASIS_COUNTERS : BASIS_DRIVER,
            .floor = floor_known(&w->floor, context->model, context->power_limit, context->at_rest),
        };
        struct limit l = limiter_decide(&w->mean, &s, context->margins);
        /* A clock that still rises or falls is not locked. */
        float drift = now->v[CEILING_CLOCK] - w->mean.v[CEILING_CLOCK];
        if (l.held_by == HELD_BY_LOCKED && (drift > CLOCK_STEADY || drift < -CLOCK_STEADY))
                l.held_by = HELD_BY_NOTHING;
        return l;
}
