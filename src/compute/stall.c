#include "compute/stall.h"

#include "base/attr.h"
#include "base/clock.h"

#include <math.h>

#define STALL_FADE_S 120.0
#define MEAN_S 4.0             /* of the slow means */
#define GAP_NS (10 * NS_PER_S) /* without a sample nothing is known */
#define SPINS 0.9 /* a kernel runs all the time, as one that waits for other GPUs does */
#define POWER_FLAT 0.03
#define POWER_LEAST 6.0 /* watts: a sensor's own unrest */
#define SM_FLAT 0.03
#define MEMORY_FLAT 4e6 /* bytes */
#define MAIN_BUSY 0.95  /* of a core: the main thread only waits in a loop */
#define MAIN_ASLEEP 0.03

/* More of a metric than a GPU has that only waits. */
static const struct {
        enum metric metric;
        double least;
} works[] = {
    {METRIC_DRAM_ACTIVE, 0.02}, {METRIC_TENSOR_ACTIVE, 0.01}, {METRIC_MEM_COPY_UTIL, 0.02},
    {METRIC_FP64_ACTIVE, 0.02}, {METRIC_FP32_ACTIVE, 0.02},   {METRIC_FP16_ACTIVE, 0.02},
    {METRIC_INT_ACTIVE, 0.1},   {METRIC_PCIE_RX, 2e6},        {METRIC_PCIE_TX, 2e6},
    {METRIC_NVLINK_RX, 2e6},    {METRIC_NVLINK_TX, 2e6},      {METRIC_NVLINK_TOTAL, 2e6},
};

/* The same of what the host does for it: a checkpoint, a compiler, loaders. */
static const struct {
        enum evidence evidence;
        double least;
} serves[] = {
    {EVIDENCE_CPU_CHILDREN, 0.1}, {EVIDENCE_READ_CHARS, 64e3},  {EVIDENCE_WRITE_CHARS, 64e3},
    {EVIDENCE_READ, 64e3},        {EVIDENCE_WRITE, 64e3},       {EVIDENCE_NET_RX, 1e6},
    {EVIDENCE_NET_TX, 1e6},       {EVIDENCE_NET_LOOPBACK, 1e6},
};

static bool gpu_works(const struct value *m)
{
        for (size_t i = 0; i < ARRAY_LEN(works); i++) {
                if (value_or(m[works[i].metric], 0) >= works[i].least)
                        return true;
        }
        return false;
}

/* A main thread between asleep and busy goes from one thing to the next. */
static bool host_works(const struct host_evidence *h)
{
        for (size_t i = 0; h && i < ARRAY_LEN(serves); i++) {
                if (value_or(h->e[serves[i].evidence], 0) >= serves[i].least)
                        return true;
        }
        double first = h ? value_or(h->e[EVIDENCE_CPU_FIRST], 0) : 0;
        double holders = h ? MAX(value_or(h->e[EVIDENCE_HOLDERS], 1), 1) : 1;
        return first / holders > MAIN_ASLEEP && first / holders < MAIN_BUSY;
}

/* Whether something is far from its slow mean, which follows slowly, or where it moved at once. */
static bool has_moved(float *mean, struct value v, double flat, double weight)
{
        if (!value_is_set(v))
                return false;
        bool moved = fabs(v.v - (double)*mean) > flat;
        *mean = (float)((double)*mean + (moved ? 1 : weight) * (v.v - (double)*mean));
        return moved;
}

static bool values_move(struct stall *s, const struct value *m, double weight)
{
        double power_flat = MAX(POWER_LEAST, POWER_FLAT * (double)s->power);
        bool moved = has_moved(&s->power, m[METRIC_POWER], power_flat, weight);
        moved |= has_moved(&s->sm, m[METRIC_SM_ACTIVE], SM_FLAT, weight);
        moved |= has_moved(&s->memory, m[METRIC_FB_USED], MEMORY_FLAT, weight);
        return moved;
}

/* The counters without which a GPU that spins looks as one that works. */
static bool is_measurable(const struct value *m)
{
        bool memory = value_is_set(m[METRIC_DRAM_ACTIVE]) || value_is_set(m[METRIC_MEM_COPY_UTIL]);
        bool engine = value_is_set(m[METRIC_GPU_UTIL]) || value_is_set(m[METRIC_GR_ACTIVE]);
        return memory && engine && value_is_set(m[METRIC_POWER]);
}

static bool is_spinning(const struct value *m)
{
        struct value engine = m[METRIC_GPU_UTIL];
        return value_or(value_is_set(engine) ? engine : m[METRIC_GR_ACTIVE], 0) >= SPINS;
}

static void forget_past(struct stall *s, const struct value *m, int64_t mono_ns)
{
        *s = (struct stall){.seen = true,
                            .now_ns = mono_ns,
                            .progress_ns = mono_ns,
                            .power = (float)value_or(m[METRIC_POWER], 0),
                            .sm = (float)value_or(m[METRIC_SM_ACTIVE], 0),
                            .memory = (float)value_or(m[METRIC_FB_USED], 0)};
}

struct value stall_add(struct stall *s, const struct sample *sample,
                       const struct host_evidence *host, int64_t mono_ns)
{
        const struct value *m = sample->m;
        if (!is_measurable(m) || !s->seen || mono_ns - s->now_ns > GAP_NS || mono_ns < s->now_ns) {
                forget_past(s, m, mono_ns);
                return is_measurable(m) ? value_ok(0) : value_missing(STATE_NONE);
        }
        double passed = clock_to_seconds(mono_ns - s->now_ns);
        bool is_working = gpu_works(m);
        bool moves = values_move(s, m, 1 - exp(-passed / MEAN_S));
        s->now_ns = mono_ns;
        s->worked_s = s->worked_s * exp(-passed / STALL_FADE_S) + (is_working ? passed : 0);
        if (is_working || moves || !is_spinning(m) || host_works(host)) {
                s->progress_ns = mono_ns;
                s->had_rhythm = s->worked_s >= STALL_RHYTHM_S;
        }
        double stalled = clock_to_seconds(mono_ns - s->progress_ns);
        return value_ok(s->had_rhythm && stalled >= STALL_LEAST_S ? stalled : 0);
}
