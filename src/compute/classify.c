/*
 * Real Utilization and the workload class.
 *
 * Every input is an interval in percent: a value present is a point, a missing one is the
 * whole range. A rule is decided when it comes out the same anywhere in the intervals; the cascade
 * stops at the first rule that is true, or that cannot be decided. Counting missing values as zero
 * is the same cascade with the point 0.
 */
#include "compute/compute.h"
#include "compute/interval.h"

#include <math.h>
#include <string.h>

struct inputs {
        struct range r[CLASS_INPUT_COUNT];
        metric_set missing; /* of those above */
        enum metric gr_from;
};

/* Where an input comes from. REAL is made of others. */
static const struct {
        enum metric metric;
        double scale; /* from the metric's unit to the rule's */
        double max;
} input_table[CLASS_INPUT_COUNT] = {
    [CLASS_INPUT_REAL] = {METRIC_REAL_UTIL, 1, 100},
    [CLASS_INPUT_SM] = {METRIC_SM_ACTIVE, 100, 100},
    [CLASS_INPUT_TENSOR] = {METRIC_TENSOR_ACTIVE, 100, 100},
    [CLASS_INPUT_DRAM] = {METRIC_DRAM_ACTIVE, 100, 100},
    [CLASS_INPUT_GR] = {METRIC_GR_ACTIVE, 100, 100},
    [CLASS_INPUT_FP64] = {METRIC_FP64_ACTIVE, 100, 100},
    [CLASS_INPUT_COPY] = {METRIC_MEM_COPY_UTIL, 100, 100},
    [CLASS_INPUT_PCIE_RX] = {METRIC_PCIE_RX, 1, INFINITY},
    [CLASS_INPUT_PCIE_TX] = {METRIC_PCIE_TX, 1, INFINITY},
};
#define FIRST_MEASURED CLASS_INPUT_SM

static struct range range_of(struct value v, double scale, double max, enum metric metric,
                             bool missing_is_zero, metric_set *missing)
{
        if (value_is_set(v))
                return (struct range){v.v * scale, v.v * scale};
        *missing |= (metric_set)1 << metric;
        return (struct range){0, missing_is_zero ? 0 : max};
}

/* Percent first, then the weights: the order of arithmetic that files of older tools show. */
static double weighted_score(const struct weights *w, double sm, double tensor, double dram,
                             double gr)
{
        double score = w->sm * sm + w->tensor * tensor + w->dram * dram + w->gr * gr;
        return score < 0 ? 0 : score > 100 ? 100 : score;
}

static enum metric engine_metric(const struct sample *s)
{
        return value_is_set(s->m[METRIC_GR_ACTIVE]) ? METRIC_GR_ACTIVE : METRIC_GPU_UTIL;
}

/* A slice moves no more data than its GPU, of which it has no share of its own to report. */
static void bound_by_gpu(struct inputs *in, enum class_input input, const struct sample *whole)
{
        enum metric metric = input_table[input].metric;
        struct range *r = &in->r[input];
        if ((in->missing >> metric & 1) && value_is_set(whole->m[metric]))
                r->hi = MIN(r->hi, whole->m[metric].v * input_table[input].scale);
}

/* The score when every part is at its least, or at its most. */
static double score_bound(const struct inputs *in, const struct weights *w, bool most)
{
        double at[CLASS_INPUT_COUNT];
        for (enum class_input i = FIRST_MEASURED; i <= CLASS_INPUT_GR; i++)
                at[i] = most ? in->r[i].hi : in->r[i].lo;
        return weighted_score(w, at[CLASS_INPUT_SM], at[CLASS_INPUT_TENSOR], at[CLASS_INPUT_DRAM],
                              at[CLASS_INPUT_GR]);
}

static struct inputs gather_inputs(const struct sample *s, const struct sample *whole,
                                   const struct compute_options *o)
{
        struct inputs in;
        in.missing = 0;
        in.gr_from = engine_metric(s);
        for (enum class_input i = FIRST_MEASURED; i < CLASS_INPUT_COUNT; i++) {
                enum metric metric = input_table[i].metric;
                enum metric from = metric == METRIC_GR_ACTIVE ? in.gr_from : metric;
                in.r[i] = range_of(s->m[from], input_table[i].scale, input_table[i].max, metric,
                                   o->missing_is_zero, &in.missing);
        }
        for (enum class_input i = CLASS_INPUT_COPY; whole && i < CLASS_INPUT_COUNT; i++)
                bound_by_gpu(&in, i, whole);
        in.r[CLASS_INPUT_REAL] = (struct range){score_bound(&in, &o->weights, false),
                                                score_bound(&in, &o->weights, true)};
        return in;
}

static struct value score_of_inputs(const struct inputs *in, const struct compute_options *o)
{
        const struct weights *w = &o->weights;
        metric_set needed = (w->sm > 0 ? METRIC_BIT(SM_ACTIVE) : 0) |
                            (w->tensor > 0 ? METRIC_BIT(TENSOR_ACTIVE) : 0) |
                            (w->dram > 0 ? METRIC_BIT(DRAM_ACTIVE) : 0) |
                            (w->gr > 0 ? METRIC_BIT(GR_ACTIVE) : 0);
        if (!o->missing_is_zero && (in->missing & needed))
                return value_missing(STATE_NONE);
        return value_ok(in->r[CLASS_INPUT_REAL].lo);
}

struct value real_util(const struct sample *s, const struct compute_options *o)
{
        struct inputs in = gather_inputs(s, NULL, o);
        return score_of_inputs(&in, o);
}

static enum truth is_io(const struct inputs *in)
{
        enum truth any = NO;
        for (const struct class_condition *c = workload_io_signs(); c->test != CLASS_TEST_END; c++)
                any = either(any, at_least(in->r[c->input], c->threshold));
        return any;
}

static metric_set metrics_of(enum class_input input)
{
        if (input == CLASS_INPUT_REAL)
                return METRIC_BIT(SM_ACTIVE) | METRIC_BIT(TENSOR_ACTIVE) | METRIC_BIT(DRAM_ACTIVE) |
                       METRIC_BIT(GR_ACTIVE);
        return (metric_set)1 << input_table[input].metric;
}

static metric_set io_inputs(void)
{
        metric_set set = 0;
        for (const struct class_condition *c = workload_io_signs(); c->test != CLASS_TEST_END; c++)
                set |= metrics_of(c->input);
        return set;
}

/* What a rule examines, for the evidence. */
static metric_set rule_inputs(enum workload rule)
{
        metric_set set = 0;
        const struct class_condition *c = workload_conditions(rule);
        for (; c->test != CLASS_TEST_END; c++)
                set |= c->input < CLASS_INPUT_COUNT ? metrics_of(c->input) : io_inputs();
        return set;
}

static enum truth condition_holds(const struct class_condition *c, const struct inputs *in)
{
        switch (c->test) {
        case CLASS_TEST_AT_LEAST:
                return at_least(in->r[c->input], c->threshold);
        case CLASS_TEST_BELOW:
                return below(in->r[c->input], c->threshold);
        case CLASS_TEST_IO:
                return is_io(in);
        case CLASS_TEST_NOT_IO:
                return truth_not(is_io(in));
        case CLASS_TEST_NEVER:
                return NO;
        case CLASS_TEST_ALWAYS:
        case CLASS_TEST_END:
                break;
        }
        return YES;
}

static enum truth rule_holds(enum workload rule, const struct inputs *in)
{
        enum truth all = YES;
        const struct class_condition *c = workload_conditions(rule);
        for (; c->test != CLASS_TEST_END && all != NO; c++)
                all = both(all, condition_holds(c, in));
        return all;
}

/* The first rule that holds or cannot be decided; *ret_truth says which of the two. */
static enum workload run_cascade(const struct inputs *in, enum truth *ret_truth)
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
        return value_is_set(v) && v.v < threshold;
}

static bool low_power(const struct sample *s)
{
        struct value limit = s->m[METRIC_POWER_LIMIT];
        double most = value_is_set(limit) ? limit.v * IDLE_POWER_RATIO : IDLE_POWER_WATTS;
        return known_below(s->m[METRIC_POWER], most);
}

/* Idle can be seen without counters: nothing ran, nobody holds the GPU, it draws little power. */
static bool idle_without_counters(const struct sample *s, const struct inputs *in)
{
        struct value processes = s->m[METRIC_PROCESSES];
        return known_below(s->m[METRIC_GPU_UTIL], 0.05) && value_is_set(processes) &&
               processes.v == 0 && low_power(s) && is_io(in) != YES;
}

static metric_set present_inputs(enum workload rule, const struct inputs *in)
{
        metric_set set = rule_inputs(rule) & ~in->missing;
        if ((set & METRIC_BIT(GR_ACTIVE)) && in->gr_from == METRIC_GPU_UTIL)
                set = (set & ~METRIC_BIT(GR_ACTIVE)) | METRIC_BIT(GPU_UTIL);
        return set;
}

#define IO_BYTES_PER_S 1e9 /* as far as 100 percent, where moves are compared */

static bool is_percent(enum class_input input)
{
        return input_table[input].max == 100;
}

/* How far a change is, on a scale that makes percent and bytes per second comparable. */
static double change_distance(enum class_input input, double change)
{
        return fabs(change) / (is_percent(input) ? 100.0 : IO_BYTES_PER_S);
}

/* The class when one input is moved to `to`, all else the same. */
static enum workload class_with(const struct inputs *in, enum class_input input, double to,
                                const struct weights *w)
{
        struct inputs moved = *in;
        moved.r[input] = (struct range){to, to};
        double real = score_bound(&moved, w, false);
        moved.r[CLASS_INPUT_REAL] = (struct range){real, real};
        enum truth truth;
        enum workload rule = run_cascade(&moved, &truth);
        return truth == YES ? rule : WORKLOAD_UNKNOWN;
}

/* The smallest move that was found. */
struct nearest {
        struct margin margin;
        double distance;
};

/* All thresholds of the table in one unit, ascending. */
struct thresholds {
        double at[WORKLOAD_COUNT * CLASS_CONDITIONS_MAX];
        size_t n;
};

static void keep_threshold(struct thresholds *t, double at)
{
        size_t i = t->n;
        while (i > 0 && t->at[i - 1] > at)
                i--;
        if (i > 0 && t->at[i - 1] == at)
                return;
        memmove(t->at + i + 1, t->at + i, (t->n++ - i) * sizeof(t->at[0]));
        t->at[i] = at;
}

static void keep_thresholds(struct thresholds *t, const struct class_condition *c, bool percent)
{
        for (; c->test != CLASS_TEST_END; c++) {
                bool has = c->test == CLASS_TEST_AT_LEAST || c->test == CLASS_TEST_BELOW;
                if (has && is_percent(c->input) == percent)
                        keep_threshold(t, c->threshold);
        }
}

static void find_thresholds(struct thresholds *ret, bool percent)
{
        ret->n = 0;
        keep_thresholds(ret, workload_io_signs(), percent);
        for (enum workload rule = 0; rule < WORKLOAD_COUNT; rule++)
                keep_thresholds(ret, workload_conditions(rule), percent);
}

/* Moves an input outwards, threshold by threshold, until the class changes or another input's move
 * is as near. Of two that are as far, the lower threshold counts. */
static void try_input(struct nearest *n, const struct inputs *in, enum class_input input,
                      const struct thresholds *t, enum workload now, const struct weights *w)
{
        double from = in->r[input].lo;
        size_t above = 0;
        while (above < t->n && t->at[above] <= from)
                above++;
        for (size_t below = above; below > 0 || above < t->n;) {
                double down = below > 0 ? nextafter(t->at[below - 1], 0) - from : -INFINITY;
                double up = above < t->n ? t->at[above] - from : INFINITY;
                bool falls = -down <= up;
                double change = falls ? down : up;
                if (change_distance(input, change) >= n->distance)
                        return;
                double to = falls ? nextafter(t->at[--below], 0) : t->at[above++];
                enum workload other = class_with(in, input, to, w);
                if (other == now || other == WORKLOAD_UNKNOWN)
                        continue;
                *n = (struct nearest){
                    {other, input_table[input].metric, change / input_table[input].scale},
                    change_distance(input, change)};
                return;
        }
}

/* Each input at each threshold of the table: a move may matter by way of the score alone. Of inputs
 * whose moves are as far, the first counts. */
static struct margin find_margin(const struct inputs *in, enum workload now,
                                 const struct weights *w)
{
        struct nearest best = {.distance = INFINITY};
        struct thresholds percents, bytes;
        find_thresholds(&percents, true);
        find_thresholds(&bytes, false);
        for (enum class_input i = FIRST_MEASURED; i < CLASS_INPUT_COUNT; i++) {
                if (!(in->missing & metrics_of(i)))
                        try_input(&best, in, i, is_percent(i) ? &percents : &bytes, now, w);
        }
        if (best.margin.metric == METRIC_GR_ACTIVE && best.margin.other != WORKLOAD_UNKNOWN)
                best.margin.metric = in->gr_from;
        return best.margin;
}

/* A GPU that the kernel has suspended does nothing. */
static bool is_asleep(const struct sample *s)
{
        return value_is_set(s->m[METRIC_ASLEEP]) && s->m[METRIC_ASLEEP].v > 0;
}

static struct verdict decide_class(const struct sample *s, const struct inputs *in,
                                   const struct compute_options *o)
{
        enum truth truth;
        if (is_asleep(s))
                return (struct verdict){.workload = WORKLOAD_IDLE,
                                        .rule = WORKLOAD_IDLE,
                                        .without_counters = true,
                                        .inputs = METRIC_BIT(ASLEEP)};
        enum workload rule = run_cascade(in, &truth);
        struct verdict v = {.workload = rule, .rule = (uint8_t)rule};
        v.inputs = present_inputs(rule, in);
        if (truth == YES) {
                if (o->margins)
                        v.margin = find_margin(in, rule, &o->weights);
                return v;
        }
        v.missing = rule_inputs(rule) & in->missing;
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
        struct inputs in = gather_inputs(s, NULL, o);
        return decide_class(s, &in, o);
}

struct verdict assess(const struct sample *s, const struct sample *whole,
                      const struct compute_options *o, struct value *ret_real_util)
{
        struct inputs in = gather_inputs(s, whole, o);
        *ret_real_util = score_of_inputs(&in, o);
        return decide_class(s, &in, o);
}
