#include "test.h"

#include "base/attr.h"
#include "compute/compute.h"

#include <math.h>
#include <string.h>

/* Percent values of one case; MISSING leaves a value out. */
#define MISSING -1.0

struct numbers {
        double sm, tensor, dram, gr, fp64, copy, pcie; /* percent; pcie in bytes a second */
};

static void put(struct sample *s, enum metric m, double v, double scale)
{
        if (v >= 0)
                s->m[m] = value_ok(v / scale);
}

static struct sample sample_of(const struct numbers *n)
{
        struct sample s = {0};
        put(&s, METRIC_SM_ACTIVE, n->sm, 100);
        put(&s, METRIC_TENSOR_ACTIVE, n->tensor, 100);
        put(&s, METRIC_DRAM_ACTIVE, n->dram, 100);
        put(&s, METRIC_GR_ACTIVE, n->gr, 100);
        put(&s, METRIC_FP64_ACTIVE, n->fp64, 100);
        put(&s, METRIC_MEM_COPY_UTIL, n->copy, 100);
        put(&s, METRIC_PCIE_RX, n->pcie, 1);
        put(&s, METRIC_PCIE_TX, n->pcie, 1);
        return s;
}

static struct compute_options ai(void)
{
        return (struct compute_options){.weights = weights_preset(WEIGHTS_AI), .margins = true};
}

static void every_rule(void **state UNUSED)
{
        static const struct {
                struct numbers in;
                enum workload expected;
                const char *why;
        } cases[] = {
            {{0, 0, 0, 0, 0, 0, 0}, WORKLOAD_IDLE, "nothing at all"},
            {{4, 0, 4, 4, 0, 0, 0}, WORKLOAD_IDLE, "just below every limit"},
            {{0, 0, 0, 5, 0, 0, 0}, WORKLOAD_LOW, "gr at the idle limit"},
            {{0, 0, 5, 0, 0, 0, 0}, WORKLOAD_LOW, "dram at the idle limit"},
            {{0, 0, 0, 0, 0, 40, 0}, WORKLOAD_IO, "copying is not idle"},
            {{60, 50, 0, 90, 0, 0, 0}, WORKLOAD_TENSOR_HEAVY, "both limits met exactly"},
            {{59.9, 50, 0, 90, 0, 0, 0}, WORKLOAD_TENSOR, "sm short of tensor-heavy"},
            {{40, 15, 0, 90, 0, 0, 0}, WORKLOAD_TENSOR, "both limits met exactly"},
            {{50, 0, 0, 90, 20, 0, 0}, WORKLOAD_FP64, "both limits met exactly"},
            {{50, 14.9, 0, 90, 19.9, 0, 0}, WORKLOAD_COMPUTE_ACTIVE, "fp64 just short"},
            {{29.9, 0, 0, 90, 0, 0, 1e9}, WORKLOAD_IO, "one gigabyte a second over PCIe"},
            {{30, 0, 0, 90, 0, 0, 1e9}, WORKLOAD_MIXED, "sm at the limit of io"},
            {{49.9, 0, 50, 90, 0, 0, 0}, WORKLOAD_MEMORY_BOUND, "dram at 50"},
            {{80, 0, 90, 99, 0, 0, 0}, WORKLOAD_COMPUTE_HEAVY, "busy SMs win over dram"},
            {{50, 0, 60, 99, 0, 0, 0}, WORKLOAD_COMPUTE_ACTIVE, "sm at 50"},
            {{20, 0, 40, 50, 0, 0, 0}, WORKLOAD_MEMORY_ACTIVE, "dram at 40"},
            {{24.9, 0, 0, 40, 0, 0, 0}, WORKLOAD_BUSY_LOW_SM, "busy engine, idle SMs"},
            {{25, 0, 0, 40, 0, 0, 0}, WORKLOAD_MIXED, "sm at the limit of busy"},
            {{14.9, 0, 14.9, 14.9, 0, 0, 0}, WORKLOAD_LOW, "a little of everything"},
            {{20, 0, 20, 20, 0, 0, 0}, WORKLOAD_MIXED, "no rule"},
            {{20, 0, 0, 0, 0, 0, 0}, WORKLOAD_MIXED, "the score alone is above the idle limit"},
            {{60, 49.9, 0, 90, 0, 0, 0}, WORKLOAD_TENSOR, "tensor short of tensor-heavy"},
            {{39.9, 15, 0, 90, 0, 0, 0}, WORKLOAD_MIXED, "sm short of tensor"},
            {{41, 14.9, 0, 90, 0, 0, 0}, WORKLOAD_MIXED, "tensor short of tensor"},
            {{0, 0, 0, 0, 0, 39.9, 0.99e9}, WORKLOAD_IDLE, "copies and PCIe short of io"},
            {{45, 0, 49.9, 90, 0, 0, 0}, WORKLOAD_MEMORY_ACTIVE, "dram short of memory-bound"},
            {{79.9, 0, 0, 99, 0, 0, 0}, WORKLOAD_COMPUTE_ACTIVE, "sm short of compute-heavy"},
            {{49.9, 0, 0, 99, 0, 0, 0}, WORKLOAD_MIXED, "sm short of compute-active"},
            {{26, 0, 39.9, 50, 0, 0, 0}, WORKLOAD_MIXED, "dram short of memory-active"},
            {{16, 0, 20, 39.9, 0, 0, 0}, WORKLOAD_MIXED, "gr short of busy"},
            {{14, 0, 14, 15, 0, 0, 0}, WORKLOAD_MIXED, "gr at the limit of low"},
            {{15, 0, 14, 14, 0, 0, 0}, WORKLOAD_MIXED, "sm at the limit of low"},
            {{14, 0, 15, 14, 0, 0, 0}, WORKLOAD_MIXED, "dram at the limit of low"},
        };
        struct compute_options o = ai();
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct sample s = sample_of(&cases[i].in);
                struct verdict v = classify(&s, &o);
                if (v.workload != cases[i].expected)
                        fail_msg("%s: %s, expected %s", cases[i].why, workload_status(v.workload),
                                 workload_status(cases[i].expected));
                assert_int_equal(v.rule, cases[i].expected);
        }
}

/* Weights that people give may add up to more than one. */
static void the_score_is_a_percentage(void **state UNUSED)
{
        const struct compute_options o = {.weights = {1, 1, 1, 1}};
        struct sample s = sample_of(&(struct numbers){90, 80, 70, 100, 0, 0, 0});
        assert_float_equal(real_util(&s, &o).v, 100, 0);
}

/* Either direction of the link is enough. */
static void one_direction(void **state UNUSED)
{
        static const enum metric ways[] = {METRIC_PCIE_RX, METRIC_PCIE_TX};
        struct compute_options o = ai();
        for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
                struct sample s = sample_of(&(struct numbers){0});
                s.m[ways[i]] = value_ok(1e9);
                assert_int_equal(classify(&s, &o).workload, WORKLOAD_IO);
                s.m[ways[i]] = value_ok(0.999e9);
                assert_int_equal(classify(&s, &o).workload, WORKLOAD_IDLE);
        }
}

static void missing_counters(void **state UNUSED)
{
        static const struct {
                struct numbers in;
                enum workload expected, as_zero;
                const char *why;
        } cases[] = {
            {{MISSING, MISSING, MISSING, 100, MISSING, 0, MISSING},
             WORKLOAD_UNKNOWN,
             WORKLOAD_BUSY_LOW_SM,
             "a busy GPU without counters is not called busy with low SM use"},
            {{MISSING, MISSING, MISSING, 0, MISSING, 0, MISSING},
             WORKLOAD_UNKNOWN,
             WORKLOAD_IDLE,
             "an idle engine alone does not prove idle SMs"},
            {{70, 60, MISSING, 90, MISSING, MISSING, MISSING},
             WORKLOAD_TENSOR_HEAVY,
             WORKLOAD_TENSOR_HEAVY,
             "what the rule does not look at may be missing"},
            {{10, MISSING, MISSING, 90, 0, 50, 0},
             WORKLOAD_IO,
             WORKLOAD_IO,
             "low SM rules out every tensor rule, whatever tensor is"},
            {{90, MISSING, 10, 90, 0, 0, 0},
             WORKLOAD_UNKNOWN,
             WORKLOAD_COMPUTE_HEAVY,
             "tensor decides between two classes"},
            {{90, 0, 10, 90, MISSING, 0, 0},
             WORKLOAD_UNKNOWN,
             WORKLOAD_COMPUTE_HEAVY,
             "fp64 decides between two classes"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct compute_options o = ai();
                struct sample s = sample_of(&cases[i].in);
                struct verdict v = classify(&s, &o);
                if (v.workload != cases[i].expected)
                        fail_msg("%s: %s", cases[i].why, workload_status(v.workload));
                if (v.workload == WORKLOAD_UNKNOWN)
                        assert_true(v.missing != 0);
                o.missing_is_zero = true;
                if (classify(&s, &o).workload != cases[i].as_zero)
                        fail_msg("as zero: %s", cases[i].why);
        }
}

static void idle_without_counters(void **state UNUSED)
{
        struct compute_options o = ai();
        struct sample s = {0};
        s.m[METRIC_GPU_UTIL] = value_ok(0);
        s.m[METRIC_POWER] = value_ok(70);
        s.m[METRIC_POWER_LIMIT] = value_ok(700);
        assert_int_equal(classify(&s, &o).workload, WORKLOAD_UNKNOWN); /* processes not known */
        s.m[METRIC_PROCESSES] = value_ok(0);
        struct verdict v = classify(&s, &o);
        assert_int_equal(v.workload, WORKLOAD_IDLE);
        assert_true(v.without_counters);
        s.m[METRIC_POWER] = value_ok(300);
        assert_int_equal(classify(&s, &o).workload, WORKLOAD_UNKNOWN);
}

static void what_keeps_idle_from_being_concluded(void **state UNUSED)
{
        static const struct {
                const char *why;
                double util, processes, power, limit, copy; /* limit, copy below 0: not known */
                enum workload expected;
        } cases[] = {
            {"idle", 0.04, 0, 70, 700, -1, WORKLOAD_IDLE},
            {"something ran", 0.05, 0, 70, 700, -1, WORKLOAD_UNKNOWN},
            {"somebody holds it", 0, 1, 70, 700, -1, WORKLOAD_UNKNOWN},
            {"it draws much of its limit", 0, 0, 210, 700, -1, WORKLOAD_UNKNOWN},
            {"it draws just less", 0, 0, 209, 700, -1, WORKLOAD_IDLE},
            {"no limit is known, little power", 0, 0, 99, -1, -1, WORKLOAD_IDLE},
            {"no limit is known, more power", 0, 0, 100, -1, -1, WORKLOAD_UNKNOWN},
            {"it copies", 0, 0, 70, 700, 0.5, WORKLOAD_UNKNOWN},
        };
        struct compute_options o = ai();
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct sample s = {0};
                s.m[METRIC_GPU_UTIL] = value_ok(cases[i].util);
                s.m[METRIC_PROCESSES] = value_ok(cases[i].processes);
                s.m[METRIC_POWER] = value_ok(cases[i].power);
                put(&s, METRIC_POWER_LIMIT, cases[i].limit, 1);
                put(&s, METRIC_MEM_COPY_UTIL, cases[i].copy, 1);
                if (classify(&s, &o).workload != cases[i].expected)
                        fail_msg("%s", cases[i].why);
        }
}

/* A GPU that is suspended does nothing, whatever its last values; one that is awake is looked at.
 */
static void asleep(void **state UNUSED)
{
        struct compute_options o = ai();
        struct sample s = sample_of(&(struct numbers){90, 0, 0, 90, 0, 0, 0});
        s.m[METRIC_ASLEEP] = value_ok(0);
        assert_int_equal(classify(&s, &o).workload, WORKLOAD_COMPUTE_HEAVY);
        s.m[METRIC_ASLEEP] = value_ok(1);
        assert_int_equal(classify(&s, &o).workload, WORKLOAD_IDLE);
}

/* What a slice does not tell of the link is at most what its GPU does. */
static void slices_are_bounded_by_their_gpu(void **state UNUSED)
{
        struct compute_options o = ai();
        struct value real;
        struct sample slice = sample_of(&(struct numbers){0, 0, 0, 0, 0, -1, -1});
        struct sample whole = {0};
        assert_int_equal(assess(&slice, &whole, &o, &real).workload, WORKLOAD_UNKNOWN);
        whole.m[METRIC_MEM_COPY_UTIL] = value_ok(0.1);
        whole.m[METRIC_PCIE_RX] = whole.m[METRIC_PCIE_TX] = value_ok(1e8);
        assert_int_equal(assess(&slice, &whole, &o, &real).workload, WORKLOAD_IDLE);
        whole.m[METRIC_PCIE_TX] = value_ok(2e9);
        assert_int_equal(assess(&slice, &whole, &o, &real).workload, WORKLOAD_UNKNOWN);
}

static void real_util_values(void **state UNUSED)
{
        struct compute_options o = ai();
        struct numbers n = {80, 50, 40, 90, 0, 0, 0};
        struct sample s = sample_of(&n);
        assert_true(fabs(real_util(&s, &o).v - (0.35 * 80 + 0.35 * 50 + 0.20 * 40 + 0.10 * 90)) <
                    1e-9);
        s.m[METRIC_GR_ACTIVE] = value_missing(STATE_BLANK);
        assert_int_equal(real_util(&s, &o).state, STATE_NONE);
        s.m[METRIC_GPU_UTIL] = value_ok(0.5); /* stands in for gr_active */
        assert_true(fabs(real_util(&s, &o).v - (28 + 17.5 + 8 + 5)) < 1e-9);
        s.m[METRIC_TENSOR_ACTIVE] = value_missing(STATE_BLANK);
        assert_false(value_is_set(real_util(&s, &o)));
        assert_int_equal(weights_parse("1,0,1,2", &o.weights, NULL), 0);
        assert_true(value_is_set(real_util(&s, &o))); /* tensor has no weight now */
        assert_true(fabs(o.weights.sm - 0.25) < 1e-12 && fabs(o.weights.gr - 0.5) < 1e-12);
}

static void bad_weights(void **state UNUSED)
{
        static const char *const bad[] = {"",        "1,2,3",    "1,2,3,4,5", "1,2,3,x",
                                          "0,0,0,0", "-1,1,1,1", "1,,1,1",    "nan,1,1,1"};
        struct weights w = {7, 7, 7, 7};
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                struct err err = {0};
                assert_int_equal(weights_parse(bad[i], &w, &err), ERR_USAGE);
                assert_true(err.hint[0] != '\0');
                assert_true(w.sm == 7);
        }
}

static void margins(void **state UNUSED)
{
        struct compute_options o = ai();
        struct numbers n = {62, 70, 10, 90, 0, 0, 0};
        struct sample s = sample_of(&n);
        struct verdict v = classify(&s, &o);
        assert_int_equal(v.margin.other, WORKLOAD_TENSOR);
        assert_int_equal(v.margin.metric, METRIC_SM_ACTIVE);
        assert_true(v.margin.change < 0 && v.margin.change > -0.0201);
}

/* Moving one input by the margin really changes the class, and by half of it does not. */
static void margins_are_true(void **state UNUSED)
{
        struct compute_options o = ai();
        uint64_t seed = 12345;
        for (int i = 0; i < 3000; i++) {
                double in[7];
                for (size_t k = 0; k < ARRAY_LEN(in); k++) {
                        seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
                        in[k] = (double)(seed >> 40) / 167772.16;
                }
                struct numbers n = {in[0], in[1], in[2], in[3], in[4], in[5], in[6] * 2e7};
                struct sample s = sample_of(&n);
                struct verdict v = classify(&s, &o);
                if (v.margin.other == WORKLOAD_UNKNOWN)
                        continue;
                struct sample half = s;
                s.m[v.margin.metric].v += v.margin.change * 1.000001;
                half.m[v.margin.metric].v += v.margin.change / 2;
                assert_int_equal(classify(&s, &o).workload, v.margin.other);
                assert_int_equal(classify(&half, &o).workload, v.workload);
        }
}

/* Narrow columns have a short word for each class, of its own, and never half of one. */
static void words_that_fit(void **state UNUSED)
{
        for (enum workload w = 0; w < WORKLOAD_COUNT; w++) {
                const char *brief = workload_words(w, CLASS_BRIEF_W);
                assert_true(brief[0] && strlen(brief) <= CLASS_BRIEF_W);
                assert_string_equal(workload_words(w, 64), workload_status(w));
                assert_string_equal(workload_words(w, 2), "");
                for (enum workload k = 0; k < w; k++)
                        assert_string_not_equal(brief, workload_words(k, CLASS_BRIEF_W));
        }
        assert_string_equal(workload_words(WORKLOAD_TENSOR_HEAVY, 19), "tensor+");
        assert_string_equal(workload_words(WORKLOAD_TENSOR_HEAVY, 20), "tensor-heavy compute");
        assert_string_equal(workload_words(WORKLOAD_TENSOR_HEAVY, 6), "");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(words_that_fit),
            cmocka_unit_test(every_rule),
            cmocka_unit_test(the_score_is_a_percentage),
            cmocka_unit_test(one_direction),
            cmocka_unit_test(missing_counters),
            cmocka_unit_test(idle_without_counters),
            cmocka_unit_test(what_keeps_idle_from_being_concluded),
            cmocka_unit_test(slices_are_bounded_by_their_gpu),
            cmocka_unit_test(asleep),
            cmocka_unit_test(real_util_values),
            cmocka_unit_test(bad_weights),
            cmocka_unit_test(margins),
            cmocka_unit_test(margins_are_true),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
