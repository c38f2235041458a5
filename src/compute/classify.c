/*
 * Real Utilization and the workload class.
 *
 * Every input is an interval in percent: a value that is there is a point, a missing one is the
 * whole range. A rule is decided when it comes out the same anywhere in the intervals; the cascade
 * stops at the first rule that is true, or that cannot be decided. Counting missing values as zero
 * is the same cascade with the point 0.
 */
#include "compute/compute.h"
#include "compute/interval.h"

#include <math.h>

struct inputs {
        struct range sm, tensor, dram, gr, fp64, copy, pcie_rx, pcie_tx, real;
        metric_set missing; /* of those above */
        enum metric gr_from;
};

static struct range range_of(struct value v, double scale, double max, enum metric metric,
                             bool missing_is_zero, metric_set *missing)
{
        if (value_there(v))
                return (struct range){v.v * scale, v.v * scale};
        *missing |= (metric_set)1 << metric;
        return (struct range){0, missing_is_zero ? 0 : max};
}

/* Percent first, then the weights: the order of arithmetic that files of older tools show. */
static double weighted(const struct weights *w, double sm, double tensor, double dram, double gr)
{
        double score = w->sm * sm + w->tensor * tensor + w->dram * dram + w->gr * gr;
        return score < 0 ? 0 : score > 100 ? 100 : score;
}

static enum metric engine_metric(const struct sample *s)
{
        return value_there(s->m[METRIC_GR_ACTIVE]) ? METRIC_GR_ACTIVE : METRIC_GPU_UTIL;
}

/* A slice moves no more data than its GPU, of which it has no share of its own to tell. */
static void bound(struct range *r, double scale, enum metric metric, const struct sample *whole,
                  metric_set missing)
{
        if ((missing >> metric & 1) && value_there(whole->m[metric]))
                r->hi = MIN(r->hi, whole->m[metric].v * scale);
}

static struct inputs gather(const struct sample *s, const struct sample *whole,
                            const struct compute_options *o)
{
        struct inputs in = {.gr_from = engine_metric(s)};
        bool zero = o->missing_is_zero;
#define PERCENT(id) range_of(s->m[METRIC_##id], 100.0, 100.0, METRIC_##id, zero, &in.missing)
        in.sm = PERCENT(SM_ACTIVE);
        in.tensor = PERCENT(TENSOR_ACTIVE);
        in.dram = PERCENT(DRAM_ACTIVE);
        in.fp64 = PERCENT(FP64_ACTIVE);
        in.copy = PERCENT(MEM_COPY_UTIL);
#undef PERCENT
        in.gr = range_of(s->m[in.gr_from], 100.0, 100.0, METRIC_GR_ACTIVE, zero, &in.missing);
        in.pcie_rx = range_of(s->m[METRIC_PCIE_RX], 1, INFINITY, METRIC_PCIE_RX, zero, &in.missing);
        in.pcie_tx = range_of(s->m[METRIC_PCIE_TX], 1, INFINITY, METRIC_PCIE_TX, zero, &in.missing);
        if (whole) {
                bound(&in.copy, 100, METRIC_MEM_COPY_UTIL, whole, in.missing);
                bound(&in.pcie_rx, 1, METRIC_PCIE_RX, whole, in.missing);
                bound(&in.pcie_tx, 1, METRIC_PCIE_TX, whole, in.missing);
        }
        in.real.lo = weighted(&o->weights, in.sm.lo, in.tensor.lo, in.dram.lo, in.gr.lo);
        in.real.hi = weighted(&o->weights, in.sm.hi, in.tensor.hi, in.dram.hi, in.gr.hi);
        return in;
}

static struct value score(const struct inputs *in, const struct compute_options *o)
{
        const struct weights *w = &o->weights;
        metric_set needed = (w->sm > 0 ? METRIC_BIT(SM_ACTIVE) : 0) |
                            (w->tensor > 0 ? METRIC_BIT(TENSOR_ACTIVE) : 0) |
                            (w->dram > 0 ? METRIC_BIT(DRAM_ACTIVE) : 0) |
                            (w->gr > 0 ? METRIC_BIT(GR_ACTIVE) : 0);
        if (!o->missing_is_zero && (in->missing & needed))
                return value_missing(STATE_NONE);
        return value_ok(in->real.lo);
}

struct value real_util(const struct sample *s, const struct compute_options *o)
{
        struct inputs in = gather(s, NULL, o);
        return score(&in, o);
}

#define IO_BYTES_PER_S 1e9

static enum truth is_io(const struct inputs *in)
{
        enum truth pcie =
            either(at_least(in->pcie_rx, IO_BYTES_PER_S), at_least(in->pcie_tx, IO_BYTES_PER_S));
        return either(at_least(in->copy, 40), pcie);
}

#define IO_INPUTS (METRIC_BIT(MEM_COPY_UTIL) | METRIC_BIT(PCIE_RX) | METRIC_BIT(PCIE_TX))

/* What each rule looks at, for the evidence. */
static const metric_set rule_inputs[WORKLOAD_COUNT] = {
    [WORKLOAD_IDLE] = METRIC_BIT(SM_ACTIVE) | METRIC_BIT(TENSOR_ACTIVE) | METRIC_BIT(DRAM_ACTIVE) |
                      METRIC_BIT(GR_ACTIVE) | IO_INPUTS,
    [WORKLOAD_TENSOR_HEAVY] = METRIC_BIT(TENSOR_ACTIVE) | METRIC_BIT(SM_ACTIVE),
    [WORKLOAD_TENSOR] = METRIC_BIT(TENSOR_ACTIVE) | METRIC_BIT(SM_ACTIVE),
    [WORKLOAD_FP64] = METRIC_BIT(FP64_ACTIVE) | METRIC_BIT(SM_ACTIVE),
    [WORKLOAD_IO] = IO_INPUTS | METRIC_BIT(SM_ACTIVE),
    [WORKLOAD_MEMORY_BOUND] = METRIC_BIT(DRAM_ACTIVE) | METRIC_BIT(SM_ACTIVE),
    [WORKLOAD_COMPUTE_HEAVY] = METRIC_BIT(SM_ACTIVE),
    [WORKLOAD_COMPUTE_ACTIVE] = METRIC_BIT(SM_ACTIVE),
    [WORKLOAD_MEMORY_ACTIVE] = METRIC_BIT(DRAM_ACTIVE),
    [WORKLOAD_BUSY_LOW_SM] = METRIC_BIT(GR_ACTIVE) | METRIC_BIT(SM_ACTIVE),
    [WORKLOAD_LOW] = METRIC_BIT(GR_ACTIVE) | METRIC_BIT(SM_ACTIVE) | METRIC_BIT(DRAM_ACTIVE),
    [WORKLOAD_MIXED] = METRIC_BIT(SM_ACTIVE) | METRIC_BIT(TENSOR_ACTIVE) | METRIC_BIT(DRAM_ACTIVE) |
                       METRIC_BIT(GR_ACTIVE),
};

static enum truth rule_holds(enum workload rule, const struct inputs *in)
{
        switch (rule) {
        case WORKLOAD_IDLE:
                return both(both(below(in->real, 5), below(in->gr, 5)),
                            both(below(in->dram, 5), not_so(is_io(in))));
        case WORKLOAD_TENSOR_HEAVY:
                return both(at_least(in->tensor, 50), at_least(in->sm, 60));
        case WORKLOAD_TENSOR:
                return both(at_least(in->tensor, 15), at_least(in->sm, 40));
        case WORKLOAD_FP64:
                return both(at_least(in->fp64, 20), at_least(in->sm, 50));
        case WORKLOAD_IO:
                return both(is_io(in), below(in->sm, 30));
        case WORKLOAD_MEMORY_BOUND:
                return both(at_least(in->dram, 50), below(in->sm, 50));
        case WORKLOAD_COMPUTE_HEAVY:
                return at_least(in->sm, 80);
        case WORKLOAD_COMPUTE_ACTIVE:
                return at_least(in->sm, 50);
        case WORKLOAD_MEMORY_ACTIVE:
                return at_least(in->dram, 40);
        case WORKLOAD_BUSY_LOW_SM:
                return both(at_least(in->gr, 40), below(in->sm, 25));
        case WORKLOAD_LOW:
                return both(both(below(in->gr, 15), below(in->sm, 15)), below(in->dram, 15));
        case WORKLOAD_MIXED:
                return YES;
        case WORKLOAD_UNKNOWN:
        case WORKLOAD_COUNT:
                break;
        }
        return NO;
}

/* The first rule that holds or cannot be decided; *ret_truth tells which of the two. */
static enum workload cascade(const struct inputs *in, enum truth *ret_truth)
{
        for (enum workload rule = WORKLOAD_IDLE; rule < WORKLOAD_COUNT; rule++) {
                *ret_truth = rule_holds(rule, in);
                if (*ret_truth != NO)
                        return rule;
        }
        return WORKLOAD_MIXED;
}

#define IDLE_POWER_RATIO 0.30 /* of the limit: idle boards draw 10 to 15 % */
#define IDLE_POWER_WATTS 100  /* where no limit is known */

static bool known_below(struct value v, double threshold)
{
        return value_there(v) && v.v < threshold;
}

static bool low_power(const struct sample *s)
{
        struct value limit = s->m[METRIC_POWER_LIMIT];
        double most = value_there(limit) ? limit.v * IDLE_POWER_RATIO : IDLE_POWER_WATTS;
        return known_below(s->m[METRIC_POWER], most);
}

/* Idle can be seen without counters: nothing ran, nobody holds the GPU, it draws little power. */
static bool idle_without_counters(const struct sample *s, const struct inputs *in)
{
        struct value processes = s->m[METRIC_PROCESSES];
        return known_below(s->m[METRIC_GPU_UTIL], 0.05) && value_there(processes) &&
               processes.v == 0 && low_power(s) && is_io(in) != YES;
}

static metric_set present_inputs(enum workload rule, const struct inputs *in)
{
        metric_set set = rule_inputs[rule] & ~in->missing;
        if ((set & METRIC_BIT(GR_ACTIVE)) && in->gr_from == METRIC_GPU_UTIL)
                set = (set & ~METRIC_BIT(GR_ACTIVE)) | METRIC_BIT(GPU_UTIL);
        return set;
}

struct range_field {
        enum metric metric;
        size_t offset;
        double scale; /* from the metric's unit to the range's */
};

#define RANGE(id, field, scale)                                                                    \
        {                                                                                          \
                METRIC_##id, offsetof(struct inputs, field), scale                                 \
        }
static const struct range_field range_fields[] = {
    RANGE(SM_ACTIVE, sm, 100),  RANGE(TENSOR_ACTIVE, tensor, 100), RANGE(DRAM_ACTIVE, dram, 100),
    RANGE(GR_ACTIVE, gr, 100),  RANGE(FP64_ACTIVE, fp64, 100),     RANGE(MEM_COPY_UTIL, copy, 100),
    RANGE(PCIE_RX, pcie_rx, 1), RANGE(PCIE_TX, pcie_tx, 1),
};
#undef RANGE

/* How far a change is, on a scale that makes percent and bytes per second comparable. */
static double distance(const struct range_field *f, double change)
{
        return fabs(change) / (f->scale == 100 ? 100.0 : IO_BYTES_PER_S);
}

/* The class when one input is moved to `to`, all else the same. */
static enum workload class_with(const struct inputs *in, const struct range_field *f, double to,
                                const struct weights *w)
{
        struct inputs moved = *in;
        struct range *r = (struct range *)((char *)&moved + f->offset);
        *r = (struct range){to, to};
        double real = weighted(w, moved.sm.lo, moved.tensor.lo, moved.dram.lo, moved.gr.lo);
        moved.real = (struct range){real, real};
        enum truth truth;
        enum workload rule = cascade(&moved, &truth);
        return truth == YES ? rule : WORKLOAD_UNKNOWN;
}

/* Tries each input at either side of each threshold and keeps the smallest move that matters. */
static struct margin find_margin(const struct inputs *in, enum workload now,
                                 const struct weights *w)
{
        static const double thresholds[] = {5, 15, 20, 25, 30, 40, 50, 60, 80};
        static const double io_threshold[] = {IO_BYTES_PER_S};
        struct margin best = {.other = WORKLOAD_UNKNOWN};
        double best_distance = INFINITY;
        for (size_t i = 0; i < ARRAY_LEN(range_fields); i++) {
                const struct range_field *f = &range_fields[i];
                const struct range *r = (const struct range *)((const char *)in + f->offset);
                if (in->missing & ((metric_set)1 << f->metric))
                        continue;
                bool percent = f->scale == 100;
                const double *at = percent ? thresholds : io_threshold;
                size_t n = percent ? ARRAY_LEN(thresholds) : ARRAY_LEN(io_threshold);
                for (size_t k = 0; k < n; k++) {
                        double to = r->lo < at[k] ? at[k] : nextafter(at[k], 0);
                        double change = to - r->lo;
                        if (distance(f, change) >= best_distance)
                                continue;
                        enum workload other = class_with(in, f, to, w);
                        if (other == now || other == WORKLOAD_UNKNOWN)
                                continue;
                        best_distance = distance(f, change);
                        best = (struct margin){other, f->metric, change / f->scale};
                }
        }
        if (best.metric == METRIC_GR_ACTIVE && best.other != WORKLOAD_UNKNOWN)
                best.metric = in->gr_from;
        return best;
}

/* A GPU that the kernel has suspended does nothing. */
static bool is_asleep(const struct sample *s)
{
        return value_there(s->m[METRIC_ASLEEP]) && s->m[METRIC_ASLEEP].v > 0;
}

static struct verdict decide(const struct sample *s, const struct inputs *in,
                             const struct compute_options *o)
{
        enum truth truth;
        if (is_asleep(s))
                return (struct verdict){.workload = WORKLOAD_IDLE,
                                        .rule = WORKLOAD_IDLE,
                                        .without_counters = true,
                                        .inputs = METRIC_BIT(ASLEEP)};
        enum workload rule = cascade(in, &truth);
        struct verdict v = {.workload = rule, .rule = (uint8_t)rule};
        v.inputs = present_inputs(rule, in);
        if (truth == YES) {
                if (o->margins)
                        v.margin = find_margin(in, rule, &o->weights);
                return v;
        }
        v.missing = rule_inputs[rule] & in->missing;
        if (idle_without_counters(s, in)) {
                v.workload = WORKLOAD_IDLE;
                v.rule = WORKLOAD_IDLE;
                v.without_counters = true;
                v.inputs = METRIC_BIT(GPU_UTIL) | METRIC_BIT(POWER) | METRIC_BIT(PROCESSES);
                return v;
        }
        v.workload = WORKLOAD_UNKNOWN;
        return v;
}

struct verdict classify(const struct sample *s, const struct compute_options *o)
{
        struct inputs in = gather(s, NULL, o);
        return decide(s, &in, o);
}

struct verdict assess(const struct sample *s, const struct sample *whole,
                      const struct compute_options *o, struct value *ret_real_util)
{
        struct inputs in = gather(s, whole, o);
        *ret_real_util = score(&in, o);
        return decide(s, &in, o);
}
