#include "compute/recent.h"

#include "base/attr.h"
#include "base/clock.h"

#define TROUBLE_SHARE 0.5 /* of the half minute: worth a word */
#define SETTLED_SHARE 0.6 /* of the last third: it is not flapping */

struct tally {
        size_t limiters[LIMITER_COUNT], starved[LIMITER_COUNT];
        size_t held[HELD_BY_LOCKED + 1];
        size_t classes[WORKLOAD_COUNT];
};

static size_t most_of(const size_t *counts, size_t n)
{
        size_t best = 0;
        for (size_t i = 1; i < n; i++) {
                if (counts[i] > counts[best])
                        best = i;
        }
        return best;
}

static bool is_starving(enum limiter l)
{
        return limiter_side(l) == LIMITER_SIDE_COPY ||
               (limiter_side(l) == LIMITER_SIDE_HOST && l != LIMITER_HOST_STARTING);
}

static void count_late(struct tally *t, const struct said *s)
{
        t->limiters[s->limiter]++;
        t->classes[s->workload]++;
        t->held[s->held_by]++;
}

bool recent_of(const struct said *said, size_t n, int64_t now_ns, struct recent *ret)
{
        struct tally t = {0};
        struct recent r = {0};
        size_t known = 0, late = 0;
        for (size_t i = 0; i < n; i++) {
                if (!said[i].present)
                        continue;
                known++;
                t.starved[said[i].limiter] += is_starving((enum limiter)said[i].limiter);
                r.power += said[i].held_by == HELD_BY_POWER;
                r.thermal += said[i].held_by == HELD_BY_THERMAL;
                r.starved += is_starving((enum limiter)said[i].limiter);
                if (said[i].wall_ns > now_ns - RECENT_NS / 3) {
                        late++;
                        count_late(&t, &said[i]);
                }
        }
        if (known == 0 || late == 0)
                return false;
        r.seconds = clock_to_seconds(now_ns - said[0].wall_ns);
        r.starved /= (double)known;
        r.power /= (double)known;
        r.thermal /= (double)known;
        r.is_starved = r.starved >= TROUBLE_SHARE;
        r.is_held = MAX(r.power, r.thermal) >= TROUBLE_SHARE;
        r.by = (enum limiter)most_of(t.starved, LIMITER_COUNT);
        r.mostly = (enum limiter)most_of(t.limiters, LIMITER_COUNT);
        r.looks = (enum workload)most_of(t.classes, WORKLOAD_COUNT);
        r.held = (enum held_by)most_of(t.held, ARRAY_LEN(t.held));
        r.settled = (double)t.limiters[r.mostly] >= SETTLED_SHARE * (double)late;
        r.class_has_settled = (double)t.classes[r.looks] >= SETTLED_SHARE * (double)late;
        *ret = r;
        return true;
}
