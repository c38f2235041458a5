#include "compute/power_floor.h"

#include "base/attr.h"
#include "compute/limiter.h"
#include "compute/peaks.h"

#define PART_S 0.5       /* power that stays the same for so long has settled */
#define TINY_S 1e-9      /* a part that has begun, with nothing in it */
#define SAME_POWER 0.97F /* drivers average over up to a second: until then it falls */
#define SAME_CLOCK 0.97F
#define ERROR 0.03F      /* of the power: what rests is not always as warm */
#define KEPT_ERROR 0.06F /* the same between runs */
#define KEPT_LEAST 0.01  /* of the limit, what a card may draw at rest */
#define KEPT_MOST 1.5    /* share assumed for a process about which nothing is known */
/* Of the power at rest at low clocks, that at full clocks: 1.6 times on an H200. */
#define LOW_TO_FULL 2.2F
#define MODEL_HIGH                                                                                 \
        1.6           /* of the most that a model was seen to draw, its clocks may have been low   \
                       */
#define MODEL_LOW 0.4 /* of what a model draws at rest: one that draws less is another */
/* Of the limit, of cards that nothing is known of. */
#define ANY_LEAST 0.04F
#define ANY_MOST 0.45F

static bool is_near(float a, float b, float share)
{
        return a >= b * share && b >= a * share;
}

static bool is_resting(const struct ceilings *c)
{
        return c->present & CEILING_BIT(ENGINE) && !ceilings_active(c);
}

static void keep_least(float *least, double v)
{
        if (*least == 0 || (float)v < *least)
                *least = (float)v;
}

static void keep_part(struct floor_learner *l)
{
        bool full = l->ended_clock >= SAME_CLOCK * l->clock;
        keep_least(full ? &l->at_rest : &l->low, (double)l->ended);
        l->ended = 0;
}

/* Utilization lags behind: what seems to rest may work already. A part counts when rest continues.
 */
static void end_part(struct floor_learner *l, float clock)
{
        if (l->ended > 0)
                keep_part(l);
        l->ended = (float)(l->sum / (l->seconds - TINY_S));
        l->ended_clock = clock;
        l->since_s = l->sum = 0;
        l->seconds = TINY_S;
}

/* What was at rest at the highest clock so far, was not when a higher one is seen. */
static void see_clock(struct floor_learner *l, float clock)
{
        if (clock * SAME_CLOCK > l->clock && l->at_rest > 0) {
                keep_least(&l->low, (double)l->at_rest);
                l->at_rest = 0;
        }
        l->clock = MAX(l->clock, clock);
}

void floor_learn(struct floor_learner *l, const struct ceilings *c, double seconds)
{
        bool has_clock = c->present & CEILING_BIT(CLOCK);
        float clock = has_clock ? c->v[CEILING_CLOCK] : 1, power = c->v[CEILING_POWER];
        if (!(c->present & CEILING_BIT(POWER)) || power <= 0)
                return;
        keep_least(&l->least, (double)power);
        see_clock(l, clock);
        l->since_s += seconds;
        if (!is_resting(c))
                l->ended = 0;
        else if (l->ended > 0 && l->since_s >= PART_S)
                keep_part(l);
        bool same = l->seconds > 0 && is_near(clock, l->part_clock, SAME_CLOCK) &&
                    is_near(power, l->part_power, SAME_POWER);
        if (!is_resting(c) || !same) {
                l->sum = 0;
                l->seconds = is_resting(c) ? TINY_S : 0;
                l->part_clock = clock;
                l->part_power = power;
                return;
        }
        l->sum += (double)power * seconds;
        l->seconds += seconds;
        if (l->seconds >= PART_S)
                end_part(l, clock);
}

/* Kept of the same GPU, but of another day; what draws far less than that is another. */
static bool may_believe(const struct floor_learner *l, double kept)
{
        return kept >= KEPT_LEAST && kept <= (double)ANY_MOST * KEPT_MOST &&
               (l->least == 0 || (double)l->least * (double)LOW_TO_FULL >= kept);
}

struct power_floor floor_known(const struct floor_learner *l, const struct peak *model,
                               double limit_w, double kept_w)
{
        if (l->at_rest > 0)
                return (struct power_floor){l->at_rest * (1 - ERROR), l->at_rest * (1 + ERROR),
                                            FLOOR_RUN};
        double limit = limit_w > 0 || !model ? limit_w : model->power_limit;
        float kept = limit > 0 ? (float)(kept_w / limit) : 0;
        if (may_believe(l, (double)kept))
                return (struct power_floor){kept * (1 - KEPT_ERROR), kept * (1 + KEPT_ERROR),
                                            FLOOR_KEPT};
        if (l->low > 0)
                return (struct power_floor){l->low, l->low * LOW_TO_FULL, FLOOR_IDLE};
        double lo = model && limit > 0 ? model->rest_lo / limit : 0;
        if (lo > 0 && (double)l->least >= MODEL_LOW * lo)
                return (struct power_floor){(float)lo, (float)(MODEL_HIGH * model->rest_hi / limit),
                                            FLOOR_MODEL};
        return (struct power_floor){ANY_LEAST, ANY_MOST, FLOOR_UNKNOWN};
}

double floor_to_keep(const struct floor_learner *l, double limit_w)
{
        return l->clock >= SAME_CLOCK ? (double)l->at_rest * limit_w : 0;
}
