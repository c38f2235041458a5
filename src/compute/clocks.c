#include "compute/compute.h"

#include "base/num.h"
#include "compute/limiter.h"
#include "model/throttle.h"

#define HOT_MARGIN 5 /* °C below the temperature at which the hardware slows down */

static uint64_t reasons_of(const struct sample *s)
{
        struct value v = s->m[METRIC_THROTTLE_REASONS];
        return value_is_set(v) && v.v > 0 ? (uint64_t)num_whole(v.v) : 0;
}

static bool is_full(const struct sample *s)
{
        struct value clock = s->m[METRIC_SM_CLOCK], most = s->m[METRIC_SM_CLOCK_MAX];
        return value_is_set(clock) && value_is_set(most) && clock.v >= LIMIT_CLOCK_FULL * most.v;
}

enum clocks clocks_of(const struct sample *s)
{
        static const struct {
                uint64_t reasons;
                enum clocks clocks;
        } down[] = {{THROTTLE_BY_HEAT, CLOCKS_HEAT},
                    {THROTTLE_BY_POWER, CLOCKS_POWER},
                    {THROTTLE_SLOWDOWN, CLOCKS_SLOWDOWN}},
          low[] = {{THROTTLE_BY_CHOICE, CLOCKS_CHOSEN}, {THROTTLE_IDLE, CLOCKS_IDLE}};
        uint64_t reasons = reasons_of(s);
        for (size_t i = 0; i < ARRAY_LEN(down); i++) {
                if (reasons & down[i].reasons)
                        return down[i].clocks;
        }
        if (is_full(s))
                return CLOCKS_FULL;
        for (size_t i = 0; i < ARRAY_LEN(low); i++) {
                if (reasons & low[i].reasons)
                        return low[i].clocks;
        }
        return CLOCKS_UNKNOWN;
}

bool is_hot(const struct row *row)
{
        const struct sample *s = &row->sample;
        struct value now = s->m[METRIC_GPU_TEMP], most = s->m[METRIC_TEMP_SLOWDOWN];
        return row->health.state == HEALTH_HOT || row->clocks == CLOCKS_HEAT ||
               (value_is_set(now) && value_is_set(most) && now.v >= most.v - HOT_MARGIN);
}
