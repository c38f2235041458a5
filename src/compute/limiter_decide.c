/* The limiter with its evidence: what its rule examined, what was missing, and how far the nearest
 * other limiter is. */
#include "compute/limiter_rules.h"

#include "compute/ceilings.h"

#include <math.h>

/* Counters that sources rarely have are not called missing. */
#define SELDOM                                                                                     \
        (CEILING_BIT(FP64) | CEILING_BIT(FP16) | CEILING_BIT(INT) | CEILING_BIT(NVLINK_IN) |       \
         CEILING_BIT(NVLINK_OUT) | CEILING_BIT(CPU_THREAD) | CEILING_BIT(CPU_FIRST) |              \
         CEILING_BIT(CPU_QUEUED) | CEILING_BIT(OCCUPANCY) | CEILING_BIT(PCIE_RATE) |               \
         CEILING_BIT(WRITTEN) | CEILINGS_CODEC)

static enum limiter limiter_with(const struct ceilings *c, const struct situation *s,
                                 enum ceiling at, double to)
{
        struct ceilings moved = *c, gaps;
        struct situation context = *s;
        enum truth truth;
        ceiling_set(&moved, at, to);
        if (s->gaps) {
                gaps = *s->gaps;
                ceiling_set(&gaps, at, to);
                context.gaps = &gaps;
        }
        enum limiter l = limiter_rule_for(&moved, &context, &truth);
        return truth == YES ? l : LIMITER_UNKNOWN;
}

/* Tries each share that the rule examined on either side of each threshold. */
static void find_margin(const struct ceilings *c, const struct situation *s, struct limit *l)
{
        static const double thresholds[] = {LIMIT_ENGINE_NONE, LIMIT_NOTHING,   LIMIT_SOME,
                                            LIMIT_NEAR,        LIMIT_NEAR_HELD, LIMIT_SM_FULL,
                                            LIMIT_ENGINE_FULL};
        double engine = (double)c->v[CEILING_ENGINE], best = INFINITY;
        for (enum ceiling i = 0; i < CEILING_COUNT; i++) {
                if (!(l->inputs & CEILING_AT(i)) || ceiling_info(i)->unit != UNIT_RATIO)
                        continue;
                for (size_t k = 0; k < 2 * ARRAY_LEN(thresholds); k++) {
                        double at = thresholds[k / 2] * (k % 2 && i != CEILING_ENGINE ? engine : 1);
                        double now = (double)c->v[i], to = now < at ? at + 1e-6 : at - 1e-6;
                        if (fabs(to - now) >= best)
                                continue;
                        enum limiter other = limiter_with(c, s, i, to);
                        if (other == l->limiter || other == LIMITER_UNKNOWN)
                                continue;
                        best = fabs(to - now);
                        l->other = (uint8_t)other;
                        l->at = (uint8_t)i;
                        l->change = (float)(to - now);
                }
        }
}

struct limit limiter_decide(const struct ceilings *c, const struct situation *s, bool margins)
{
        struct limit l = {.ceilings = *c, .basis = (uint8_t)s->basis};
        enum truth truth;
        enum limiter rule = limiter_rule_for(c, s, &truth);
        uint64_t needs = limiter_sight(rule, BASIS_COUNTERS)->inputs;
        if (s->basis == BASIS_COUNTERS)
                l.ceilings.present &= ~CEILING_BIT(CONTROLLER);
        else
                l.floor = s->floor;
        l.inputs = limiter_sight(rule, s->basis)->inputs & l.ceilings.present;
        if (truth != YES) {
                l.limiter = l.other = LIMITER_UNKNOWN;
                l.undecided = (uint8_t)rule;
                l.missing = needs & ~c->present & ~SELDOM;
                if (s->basis == BASIS_DRIVER)
                        l.or_else = (uint8_t)limiter_rule_after(c, s, rule);
                return l;
        }
        l.limiter = l.other = (uint8_t)rule;
        l.held_by = (uint8_t)limiter_held_by(c, rule);
        if (margins)
                find_margin(c, s, &l);
        return l;
}
