#include "compute/live.h"

#include "base/attr.h"
#include "base/clock.h"
#include "compute/apart.h"
#include "model/job.h"
#include "model/throttle.h"

#include <math.h>
#include <string.h>

#define ALIKE_SHARE 0.75 /* of the GPUs must be alike */
#define ALIKE_MEMORY 0.1
#define ALIKE_WORK 0.15
#define USED 0.2 /* of the time, kernels: less is nobody's rank */
#define CLOCK_LOWER 0.05
#define IDLES_MORE 0.05
#define DENSER 0.05
#define HELD 0.25
#define HOLD_NS (10 * NS_PER_S) /* reported when it lasts so long */

static float follow_mean(float mean, float now, double weight)
{
        return (float)((double)mean + weight * (double)(now - mean));
}

static float number_or(struct value v, float other)
{
        return value_is_set(v) ? (float)v.v : other;
}

static float work_of(const struct value *m, bool *ret_present)
{
        static const enum metric parts[] = {METRIC_TENSOR_ACTIVE, METRIC_FP64_ACTIVE,
                                            METRIC_FP32_ACTIVE, METRIC_FP16_ACTIVE,
                                            METRIC_DRAM_ACTIVE};
        float sum = 0;
        *ret_present = false;
        for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
                sum += number_or(m[parts[i]], 0);
                *ret_present |= value_is_set(m[parts[i]]);
        }
        return sum;
}

void live_rank_add(struct live_rank *l, const struct sample *s, int64_t mono_ns)
{
        const struct value *m = s->m;
        uint64_t bits = (uint64_t)number_or(m[METRIC_THROTTLE_REASONS], 0);
        uint64_t own = THROTTLE_BY_HEAT_OR_HARDWARE | THROTTLE_BY_CHOICE | THROTTLE_POWER_BRAKE;
        double passed = l->seen ? clock_to_seconds(mono_ns - l->now_ns) : 0;
        double weight = l->seen ? 1 - exp(-MAX(passed, 0) / LIVE_S) : 1;
        struct value gr = m[METRIC_GR_ACTIVE];
        if (!l->seen)
                l->first_ns = mono_ns;
        l->engine = follow_mean(l->engine, number_or(value_is_set(gr) ? gr : m[METRIC_GPU_UTIL], 0),
                                weight);
        l->work = follow_mean(l->work, work_of(m, &l->has_work), weight);
        l->clock = follow_mean(l->clock, number_or(m[METRIC_SM_CLOCK], 0), weight);
        l->memory = follow_mean(l->memory, number_or(m[METRIC_FB_USED], 0), weight);
        l->held = follow_mean(l->held, (bits & own) != 0, weight);
        l->seen = true;
        l->now_ns = mono_ns;
}

static bool takes_part(const struct live_rank *l)
{
        return l && l->seen && l->has_work && (double)l->engine >= USED && l->clock > 0 &&
               clock_to_seconds(l->now_ns - l->first_ns) >= LIVE_S;
}

/* Most values are within a share of their middle, which is given; NAN when they are not. */
static double common_middle(const double *v, size_t n, double within, double *scratch)
{
        size_t present = 0, near = 0;
        for (size_t i = 0; i < n; i++) {
                if (!isnan(v[i]))
                        scratch[present++] = v[i];
        }
        double middle = job_median(scratch, present);
        for (size_t i = 0; i < n; i++)
                near += !isnan(v[i]) && fabs(v[i] - middle) <= within * middle;
        return present >= LIVE_LEAST && (double)near >= ALIKE_SHARE * (double)present ? middle
                                                                                      : NAN;
}

/* One figure of all; its middle. */
enum figure_of { ENGINE, WORK, CLOCK, MEMORY };

static void collect_values(struct live_rank *const *ranks, size_t n, enum figure_of f, double *ret)
{
        for (size_t i = 0; i < n; i++) {
                const struct live_rank *l = ranks[i];
                ret[i] = !takes_part(l) ? NAN
                         : f == ENGINE  ? (double)l->engine
                         : f == WORK    ? (double)l->work * (double)l->clock
                         : f == CLOCK   ? (double)l->clock
                                        : (double)l->memory;
        }
}

static enum straggler_cause cause_of(const struct live_rank *l, double engine, double work,
                                     double clock, double memory)
{
        if (fabs((double)l->memory - memory) > ALIKE_MEMORY * memory)
                return CAUSE_COUNT;
        double own = (double)l->work * (double)l->clock;
        double dense = own / (double)l->engine / (work / engine);
        bool lower = (double)l->clock < (1 - CLOCK_LOWER) * clock;
        if (lower && ((double)l->held >= HELD || dense * clock / (double)l->clock > 1 + DENSER))
                return CAUSE_CLOCK;
        /* Who only has less to do idles as well; the same work in less time is denser. */
        double idles = engine - (double)l->engine;
        if (idles > IDLES_MORE && own > (1 - ALIKE_WORK) * work && dense >= 1 + idles / 2)
                return CAUSE_UNKNOWN;
        return CAUSE_COUNT;
}

void live_find_late(struct live_rank *const *ranks, size_t n, double *scratch, bool *out,
                    uint8_t *late)
{
        double *v = scratch, *room = scratch + n + 1, middle[4];
        double within[4] = {1, ALIKE_WORK, 1, ALIKE_MEMORY};
        memset(late, 0, n);
        for (enum figure_of f = ENGINE; f <= MEMORY; f++) {
                collect_values(ranks, n, f, v);
                middle[f] = common_middle(v, n, within[f], room);
                if (isnan(middle[f]))
                        return;
        }
        for (size_t i = 0; i < n; i++) {
                struct live_rank *l = ranks[i];
                enum straggler_cause c = CAUSE_COUNT;
                enum figure_of f;
                if (takes_part(l))
                        c = cause_of(l, middle[ENGINE], middle[WORK], middle[CLOCK],
                                     middle[MEMORY]);
                if (c != CAUSE_COUNT) {
                        f = c == CAUSE_CLOCK ? CLOCK : ENGINE;
                        collect_values(ranks, n, f, v);
                        job_outliers_in(v, n, -1,
                                        (f == CLOCK ? CLOCK_LOWER : IDLES_MORE) *
                                            (f == CLOCK ? middle[CLOCK] : 1),
                                        out, room);
                        c = out[i] ? c : CAUSE_COUNT;
                }
                if (l)
                        l->late_ns = c == CAUSE_COUNT ? 0 : l->late_ns ? l->late_ns : l->now_ns;
                if (c != CAUSE_COUNT && l->now_ns - l->late_ns >= HOLD_NS)
                        late[i] = (uint8_t)(c + 1);
        }
}
