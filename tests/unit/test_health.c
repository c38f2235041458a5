#include "test.h"

#include "base/attr.h"
#include "compute/compute.h"

#include <string.h>

static const struct compute_options plain = {.weights = {0.35, 0.35, 0.2, 0.1}};

static void each_finding(void **state UNUSED)
{
        static const struct {
                enum metric metric;
                double value;
                enum health_state expected;
                const char *why;
        } cases[] = {
            {METRIC_REMAP_FAILURE, 1, HEALTH_CRIT, "a failed replacement"},
            {METRIC_REMAPPED_UNCORRECTABLE, 1, HEALTH_CRIT, "one uncorrectable row"},
            {METRIC_LOST, 1, HEALTH_CRIT, "a lost GPU"},
            {METRIC_XID_LAST, 79, HEALTH_CRIT, "fallen off the bus"},
            {METRIC_XID_LAST, 48, HEALTH_CRIT, "an uncorrectable memory error"},
            {METRIC_XID_LAST, 43, HEALTH_WARN, "a channel that was reset"},
            {METRIC_XID_LAST, 13, HEALTH_WARN, "an exception in a kernel"},
            {METRIC_XID_LAST, 45, HEALTH_OK, "a clean-up after another error"},
            {METRIC_XID_LAST, 31, HEALTH_WARN, "an application's page fault"},
            {METRIC_XID_LAST, 0, HEALTH_OK, "no XID"},
            {METRIC_PCIE_REPLAY_RATE, 0.1, HEALTH_WARN, "replays"},
            {METRIC_REMAP_PENDING, 1, HEALTH_WARN, "a pending replacement"},
            {METRIC_GPU_TEMP, 93, HEALTH_HOT, "at the default warning"},
            {METRIC_GPU_TEMP, 92.9, HEALTH_OK, "below it"},
            {METRIC_MEM_TEMP, 93, HEALTH_HOT, "memory at the default warning"},
            {METRIC_THROTTLE_REASONS, 0x40, HEALTH_HOT, "hardware thermal slowdown"},
            {METRIC_MEMORY_UNREPAIRABLE, 1, HEALTH_CRIT, "memory beyond repair"},
            {METRIC_RECOVERY_ACTION, 1, HEALTH_CRIT, "the driver wants a reset"},
            {METRIC_RECOVERY_ACTION, 0, HEALTH_OK, "it wants nothing"},
            {METRIC_FABRIC_STATUS, 4, HEALTH_CRIT, "the fabric manager failed"},
            {METRIC_FABRIC_STATUS, 3, HEALTH_OK, "it runs"},
            {METRIC_NVLINK_ERROR_RATE, 0.1, HEALTH_WARN, "NVLink errors"},
            {METRIC_NVLINK_CRC_FLIT_ERRORS, 1e6, HEALTH_UNKNOWN, "damaged flits tell nothing"},
            {METRIC_THROTTLE_REASONS, 0x4, HEALTH_OK, "the power cap is no illness"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct sample s = {0};
                s.m[cases[i].metric] = value_ok(cases[i].value);
                if (health_of(&s, &(struct health_history){0}, &plain).state != cases[i].expected)
                        fail_msg(
                            "%s: %s", cases[i].why,
                            health_name(health_of(&s, &(struct health_history){0}, &plain).state));
        }
}

static void nothing_known(void **state UNUSED)
{
        struct sample s = {0};
        struct compute_options zero = plain;
        zero.missing_is_zero = true;
        assert_int_equal(health_of(&s, &(struct health_history){0}, &plain).state, HEALTH_UNKNOWN);
        assert_int_equal(health_of(&s, &(struct health_history){0}, &zero).state, HEALTH_OK);
        s.m[METRIC_XID_LAST] = value_ok(79); /* older tools do not look at it */
        assert_int_equal(health_of(&s, &(struct health_history){0}, &zero).state, HEALTH_OK);
}

static void thresholds_by_model(void **state UNUSED)
{
        static const struct {
                const char *model;
                double hot;
        } cases[] = {{"NVIDIA A100-SXM4-40GB", 93},
                     {"NVIDIA H100 80GB HBM3", 95},
                     {"NVIDIA H200", 95},
                     {"NVIDIA RTX 6000 Ada Generation", 92},
                     {"Tesla V100", 93}};
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct entity e = {0};
                entity_set_text(&e, ENTITY_TEXT_MODEL, cases[i].model, strlen(cases[i].model));
                struct sample s = {.who = &e};
                s.m[METRIC_GPU_TEMP] = value_ok(cases[i].hot);
                assert_int_equal(health_of(&s, &(struct health_history){0}, &plain).state,
                                 HEALTH_HOT);
                s.m[METRIC_GPU_TEMP] = value_ok(cases[i].hot - 0.5);
                assert_int_equal(health_of(&s, &(struct health_history){0}, &plain).state,
                                 HEALTH_OK);
        }
        struct sample own = {0};
        own.m[METRIC_GPU_TEMP] = value_ok(88);
        own.m[METRIC_TEMP_MAX_OPERATING] = value_ok(87);
        own.m[METRIC_TEMP_SLOWDOWN] = value_ok(90);
        assert_int_equal(health_of(&own, &(struct health_history){0}, &plain).state, HEALTH_HOT);
}

/* The worst of several, whichever is found first. */
static void the_worst_counts(void **state UNUSED)
{
        struct sample s = {0};
        s.m[METRIC_GPU_TEMP] = value_ok(99);
        s.m[METRIC_XID_LAST] = value_ok(79);
        s.m[METRIC_PCIE_REPLAY_RATE] = value_ok(1);
        assert_int_equal(health_of(&s, &(struct health_history){0}, &plain).state, HEALTH_CRIT);
        s.m[METRIC_XID_LAST] = value_ok(0);
        assert_int_equal(health_of(&s, &(struct health_history){0}, &plain).state, HEALTH_WARN);
}

/* A link that is slow while the GPU idles saves power. */
static void links_under_load(void **state UNUSED)
{
        static const struct {
                double util, now;
                enum health_state expected;
        } cases[] = {{0.5, 1, HEALTH_WARN}, {0.49, 1, HEALTH_OK}, {0.9, 4, HEALTH_OK}};
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct sample s = {0};
                s.m[METRIC_GPU_UTIL] = value_ok(cases[i].util);
                s.m[METRIC_PCIE_GEN] = value_ok(cases[i].now);
                s.m[METRIC_PCIE_GEN_MAX] = value_ok(4);
                assert_int_equal(health_of(&s, &(struct health_history){0}, &plain).state,
                                 cases[i].expected);
        }
}

/* Errors matter while they rise, and from then on. */
static void errors_that_rise(void **state UNUSED)
{
        static const struct {
                double errors;
                enum health_state expected;
        } ticks[] = {{7, HEALTH_OK}, {7, HEALTH_OK}, {8, HEALTH_CRIT}, {8, HEALTH_CRIT}};
        struct compute c;
        struct entity e = {0};
        compute_init(&c, &plain);
        for (size_t i = 0; i < ARRAY_LEN(ticks); i++) {
                struct row row = {.sample = {.who = &e}};
                row.sample.m[METRIC_ECC_DBE_VOLATILE] = value_ok(ticks[i].errors);
                assert_int_equal(compute_row(&c, (int64_t)i * 1000000000, NULL, &row), 0);
                assert_int_equal(row.health.state, ticks[i].expected);
        }
        compute_finish(&c);
}

/* Sources report the newest XID only: one that follows hides neither a grave one nor a program's.
 */
static void an_xid_is_remembered(void **state UNUSED)
{
        static const struct {
                double xid;
                enum health_state expected;
                const char *words; /* of the worst reason */
        } ticks[] = {
            {0, HEALTH_OK, NULL},
            {45, HEALTH_OK, NULL},
            {31, HEALTH_WARN, "XID 31: a kernel of the program used an invalid address"},
            {79, HEALTH_CRIT, "XID 79: the GPU has fallen off the bus"},
            {45, HEALTH_CRIT, "XID 79: the GPU has fallen off the bus"},
            {13, HEALTH_CRIT, "XID 79: the GPU has fallen off the bus"},
            {95, HEALTH_CRIT,
             "XID 95: an uncorrectable memory error that may affect every program"},
        };
        struct health_history history = {0};
        for (size_t i = 0; i < ARRAY_LEN(ticks); i++) {
                struct sample s = {0};
                char words[HEALTH_WORDS_MAX];
                s.m[METRIC_XID_LAST] = value_ok(ticks[i].xid);
                struct health h = health_of(&s, &history, &plain);
                assert_int_equal(h.state, ticks[i].expected);
                if (!ticks[i].words) {
                        assert_int_equal(h.findings, 0);
                        continue;
                }
                enum health_reason worst = (enum health_reason)__builtin_ctz(h.findings);
                assert_string_equal(health_reason_words(&h, worst, words, sizeof(words)),
                                    ticks[i].words);
        }
        struct health both = {.findings = 1u << HEALTH_REASON_XID_APPLICATION, .program_xid = 43};
        struct health slice = {.grave_xid = 62};
        health_join(&slice, &both);
        assert_int_equal(slice.program_xid, 43);
        assert_int_equal(slice.grave_xid, 62);
}

/* Memory of which there is none is a mistake of the source, not a ratio. */
static void memory_without_a_total(void **state UNUSED)
{
        struct compute c;
        struct entity e = {0};
        struct row row = {.sample = {.who = &e}};
        compute_init(&c, &plain);
        row.sample.m[METRIC_FB_USED] = value_ok(1);
        row.sample.m[METRIC_FB_TOTAL] = value_ok(0);
        assert_int_equal(compute_row(&c, 0, NULL, &row), 0);
        assert_false(value_is_set(row.sample.m[METRIC_FB_USED_RATIO]));
        compute_finish(&c);
}

static void replays_a_second(void **state UNUSED)
{
        static const struct {
                double count, rate; /* below 0: not known */
        } ticks[] = {{5, -1}, {15, 5}, {15, 0}, {19, 2}};
        struct compute c;
        struct entity e = {0};
        compute_init(&c, &plain);
        for (size_t i = 0; i < ARRAY_LEN(ticks); i++) {
                struct row row = {.sample = {.who = &e}};
                row.sample.m[METRIC_PCIE_REPLAY] = value_ok(ticks[i].count);
                assert_int_equal(compute_row(&c, (int64_t)i * 2000000000, NULL, &row), 0);
                struct value rate = row.sample.m[METRIC_PCIE_REPLAY_RATE];
                assert_int_equal(value_is_set(rate), ticks[i].rate >= 0);
                if (value_is_set(rate))
                        assert_float_equal(rate.v, ticks[i].rate, 1e-9);
        }
        compute_finish(&c);
}

static void memory_has_its_own_limit(void **state UNUSED)
{
        struct sample s = {0};
        s.m[METRIC_MEM_TEMP] = value_ok(94);
        s.m[METRIC_MEM_TEMP_MAX_OPERATING] = value_ok(95);
        assert_int_equal(health_of(&s, &(struct health_history){0}, &plain).state, HEALTH_OK);
        s.m[METRIC_MEM_TEMP] = value_ok(95);
        assert_int_equal(health_of(&s, &(struct health_history){0}, &plain).state, HEALTH_HOT);
}

static void nvlink_errors_rise(void **state UNUSED)
{
        static const struct {
                double flits, replays;
                enum health_state expected;
        } ticks[] = {{5, 3, HEALTH_OK}, {9, 3, HEALTH_OK}, {9, 4, HEALTH_WARN}, {9, 4, HEALTH_OK}};
        struct compute c;
        struct entity e = {0};
        compute_init(&c, &plain);
        for (size_t i = 0; i < ARRAY_LEN(ticks); i++) {
                struct row row = {.sample = {.who = &e}};
                row.sample.m[METRIC_XID_LAST] = value_ok(0);
                row.sample.m[METRIC_NVLINK_CRC_FLIT_ERRORS] = value_ok(ticks[i].flits);
                row.sample.m[METRIC_NVLINK_REPLAYS] = value_ok(ticks[i].replays);
                assert_int_equal(compute_row(&c, (int64_t)i * 1000000000, NULL, &row), 0);
                assert_int_equal(row.health.state, ticks[i].expected);
        }
        compute_finish(&c);
}

static void narrow_link(void **state UNUSED)
{
        struct sample s = {0};
        s.m[METRIC_PCIE_GEN] = value_ok(1);
        s.m[METRIC_PCIE_GEN_MAX] = value_ok(5);
        s.m[METRIC_GPU_UTIL] = value_ok(0);
        assert_int_equal(health_of(&s, &(struct health_history){0}, &plain).state,
                         HEALTH_OK); /* saving power */
        s.m[METRIC_GPU_UTIL] = value_ok(1);
        assert_int_equal(health_of(&s, &(struct health_history){0}, &plain).state, HEALTH_WARN);
        s.m[METRIC_PCIE_GEN] = value_ok(5);
        s.m[METRIC_PCIE_WIDTH] = value_ok(8);
        s.m[METRIC_PCIE_WIDTH_MAX] = value_ok(16);
        assert_int_equal(health_of(&s, &(struct health_history){0}, &plain).state, HEALTH_WARN);
}

/* Rates and rising counters over ticks, through the whole of compute. */
static void over_time(void **state UNUSED)
{
        struct compute c;
        compute_init(&c, &plain);
        struct entity e = {0};
        static const struct {
                double replay, dbe;
                bool rate_there;
                double rate;
                enum health_state health;
                const char *why;
        } ticks[] = {
            {7, 0, false, 0, HEALTH_OK, "no rate in the first tick"},
            {7, 0, true, 0, HEALTH_OK, "nothing new"},
            {9, 0, true, 4, HEALTH_WARN, "two in half a second"},
            {1, 0, false, 0, HEALTH_OK, "a reset counter gives no rate"},
            {1, 1, true, 0, HEALTH_CRIT, "an uncorrectable error"},
            {1, 1, true, 0, HEALTH_CRIT, "which stays true"},
        };
        for (size_t i = 0; i < ARRAY_LEN(ticks); i++) {
                struct row row = {.sample = {.who = &e}};
                row.sample.m[METRIC_PCIE_REPLAY] = value_ok(ticks[i].replay);
                row.sample.m[METRIC_ECC_DBE_VOLATILE] = value_ok(ticks[i].dbe);
                assert_int_equal(compute_row(&c, (int64_t)i * 500000000, NULL, &row), 0);
                struct value rate = row.sample.m[METRIC_PCIE_REPLAY_RATE];
                if (value_is_set(rate) != ticks[i].rate_there || rate.v != ticks[i].rate ||
                    row.health.state != ticks[i].health)
                        fail_msg("tick %zu: %s", i, ticks[i].why);
        }
        compute_finish(&c);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(the_worst_counts),
            cmocka_unit_test(links_under_load),
            cmocka_unit_test(errors_that_rise),
            cmocka_unit_test(replays_a_second),
            cmocka_unit_test(an_xid_is_remembered),
            cmocka_unit_test(memory_without_a_total),
            cmocka_unit_test(each_finding),
            cmocka_unit_test(nothing_known),
            cmocka_unit_test(thresholds_by_model),
            cmocka_unit_test(narrow_link),
            cmocka_unit_test(memory_has_its_own_limit),
            cmocka_unit_test(nvlink_errors_rise),
            cmocka_unit_test(over_time),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
