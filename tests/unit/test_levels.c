#include "test.h"

#include "base/attr.h"
#include "base/clock.h"
#include "compute/levels.h"

#include <math.h>
#include <string.h>

static struct host before, now;

static int begin(void **state UNUSED)
{
        memset(&before, 0, sizeof(before));
        memset(&now, 0, sizeof(now));
        before.mono_ns = 10 * NS_PER_S;
        now.mono_ns = 12 * NS_PER_S;
        before.levels[LEVEL_USER].present = now.levels[LEVEL_USER].present = true;
        return 0;
}

static bool near(struct value v, double x)
{
        return v.state == STATE_OK && fabs(v.v - x) < 1e-9;
}

static void rates_come_from_counters(void **state UNUSED)
{
        struct value *a = before.levels[LEVEL_USER].f, *b = now.levels[LEVEL_USER].f;
        a[FIGURE_CPU_TIME] = value_ok(5);
        b[FIGURE_CPU_TIME] = value_ok(8);
        b[FIGURE_CPUS] = value_ok(4);
        a[FIGURE_READ_TOTAL] = value_ok(100);
        b[FIGURE_READ_TOTAL] = value_ok(50);
        b[FIGURE_WRITE_TOTAL] = value_missing(STATE_DENIED);
        b[FIGURE_READ_COUNT_TOTAL] = value_ok(7);
        b[FIGURE_MEMORY] = value_ok(512);
        b[FIGURE_MEMORY_LIMIT] = value_ok(1024);
        levels_compute(&before, &now);
        assert_true(near(b[FIGURE_CPU], 1.5));
        assert_true(near(b[FIGURE_CPU_SHARE], 0.375));
        assert_int_equal(b[FIGURE_READ].state, STATE_ERROR);       /* a counter never falls */
        assert_int_equal(b[FIGURE_WRITE].state, STATE_DENIED);     /* the reason is kept */
        assert_int_equal(b[FIGURE_READ_COUNT].state, STATE_BLANK); /* nothing to compare with */
        assert_true(near(b[FIGURE_MEMORY_SHARE], 0.5));
        assert_int_equal(now.interval_ns, 2 * NS_PER_S);
}

/* Thirty forks that share 800 MiB sum to 24 GiB: that is no use of a limit. */
static void an_upper_bound_reaches_no_limit(void **state UNUSED)
{
        struct value *b = now.levels[LEVEL_USER].f;
        b[FIGURE_MEMORY] = value_ok(24e9);
        b[FIGURE_MEMORY_LIMIT] = value_ok(20e9);
        b[FIGURE_MEMORY_BOUND] = value_ok(1);
        levels_compute(&before, &now);
        assert_int_equal(b[FIGURE_MEMORY_SHARE].state, STATE_BLANK);
        b[FIGURE_MEMORY_BOUND] = value_ok(0);
        levels_compute(&before, &now);
        assert_true(near(b[FIGURE_MEMORY_SHARE], 1.2));
}

static void the_first_tick_has_no_rates(void **state UNUSED)
{
        struct value *b = now.levels[LEVEL_USER].f;
        b[FIGURE_CPU_TIME] = value_ok(8);
        now.system[SYSTEM_USER_TIME] = value_ok(1);
        levels_compute(NULL, &now);
        assert_int_equal(b[FIGURE_CPU].state, STATE_BLANK);
        assert_int_equal(now.system[SYSTEM_USER].state, STATE_BLANK);
        assert_true(near(b[FIGURE_CPU_TIME], 8));
}

static void a_level_that_comes_has_no_rate_at_first(void **state UNUSED)
{
        before.levels[LEVEL_USER].present = false;
        before.levels[LEVEL_USER].f[FIGURE_CPU_TIME] = value_ok(1);
        now.levels[LEVEL_USER].f[FIGURE_CPU_TIME] = value_ok(9);
        levels_compute(&before, &now);
        assert_int_equal(now.levels[LEVEL_USER].f[FIGURE_CPU].state, STATE_BLANK);
}

static void shares_sum_to_one(void **state UNUSED)
{
        for (int i = 0; i < 8; i++) {
                before.system[SYSTEM_USER_TIME + i] = value_ok(10);
                now.system[SYSTEM_USER_TIME + i] = value_ok(10 + i);
        }
        now.levels[LEVEL_SYSTEM].present = true;
        now.levels[LEVEL_SYSTEM].f[FIGURE_CPUS] = value_ok(8);
        before.system[SYSTEM_IOWAIT_TIME] = value_ok(100); /* the kernel lets this one fall */
        levels_compute(&before, &now);
        double sum = 0;
        for (int i = 0; i < 8; i++)
                sum += now.system[SYSTEM_USER + i].v;
        assert_true(fabs(sum - 1) < 1e-9);
        assert_true(near(now.system[SYSTEM_IOWAIT], 0));
        /* 0 + 1 + 2 + 5 + 6 of 24: not idle, not stolen, not waiting. */
        assert_true(near(now.levels[LEVEL_SYSTEM].f[FIGURE_CPU_SHARE], 14.0 / 24));
        assert_true(near(host_cpu_busy(&now), 14.0 / 24)); /* what the dashboard shows */
        assert_true(near(now.levels[LEVEL_SYSTEM].f[FIGURE_CPU], 8 * 14.0 / 24));
}

/* One rule for every counter. */
static void rates_have_one_rule(void **state UNUSED)
{
        const struct value none = value_missing(STATE_NONE), stale = {.v = 7, .state = STATE_STALE};
        const struct {
                struct value now, before;
                double seconds;
                enum state state;
                double v;
                const char *why;
        } rows[] = {
            {value_ok(8), value_ok(5), 2, STATE_OK, 1.5, "growth over time"},
            {value_ok(5), value_ok(5), 2, STATE_OK, 0, "nothing happened"},
            {value_ok(4), value_ok(5), 2, STATE_ERROR, 0, "it fell: reset, wrapped or restarted"},
            {value_ok(8), none, 2, STATE_BLANK, 0, "nothing to compare with"},
            {value_ok(8), value_ok(5), 0, STATE_BLANK, 0, "no time passed"},
            {stale, value_ok(5), 2, STATE_BLANK, 0, "no news"},
            {value_missing(STATE_DENIED), value_ok(5), 2, STATE_DENIED, 0, "the reason is kept"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct value v = value_rate(rows[i].now, rows[i].before, rows[i].seconds);
                if (v.state != rows[i].state || (v.state == STATE_OK && v.v != rows[i].v))
                        fail_msg("%s: %g, %s", rows[i].why, v.v, state_name((enum state)v.state));
        }
}

/* The same for whole numbers; of many, one that fell adds nothing. */
static void whole_counters_have_the_same_rule(void **state UNUSED)
{
        const uint64_t far = 1ULL << 60;
        const struct {
                uint64_t now, before;
                double seconds;
                enum state state;
                double v;
                uint64_t growth;
                const char *why;
        } rows[] = {
            {8, 5, 2, STATE_OK, 1.5, 3, "growth over time"},
            {5, 5, 2, STATE_OK, 0, 0, "nothing happened"},
            {4, 5, 2, STATE_ERROR, 0, 0, "it fell"},
            {8, 5, 0, STATE_BLANK, 0, 3, "no time passed"},
            {far + 1, far, 1, STATE_OK, 1, 1, "exact however far it has counted"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct value v = counter_rate(rows[i].now, rows[i].before, rows[i].seconds);
                if (v.state != rows[i].state || (v.state == STATE_OK && v.v != rows[i].v))
                        fail_msg("%s: %g, %s", rows[i].why, v.v, state_name((enum state)v.state));
                assert_int_equal(counter_growth(rows[i].now, rows[i].before), rows[i].growth);
        }
}

static void cores_know_who_is_busy(void **state UNUSED)
{
        before.n_cores = now.n_cores = 4;
        for (int i = 0; i < 4; i++) {
                before.cores[i] = (struct host_core){.busy_s = 1, .total_s = 10};
                now.cores[i] = (struct host_core){.busy_s = 1 + i * 0.04, .total_s = 11};
        }
        now.cores[3] = (struct host_core){0}; /* went offline */
        levels_compute(&before, &now);
        assert_true(near(now.system[SYSTEM_BUSY_CORES], 1));
        assert_true(near(now.system[SYSTEM_CPU_MAX], 0.08));
        assert_true(near(now.system[SYSTEM_CPU_MIN], 0));
        assert_int_equal(now.cores[3].util.state, STATE_NONE);
}

static void gpus_add_up_by_level(void **state UNUSED)
{
        size_t g = levels_add_gpu(&now, "0");
        struct level_gpu some = {.util = value_ok(0.7), .memory = value_ok(100)};
        unsigned mask = LEVEL_BIT(LEVEL_USER) | LEVEL_BIT(LEVEL_SYSTEM);
        levels_set_device(&now, g, (struct level_gpu){.util = value_ok(0.9)});
        levels_add_process(&now, mask, g, some);
        levels_add_process(&now, mask, g, some);
        assert_true(near(now.levels[LEVEL_USER].gpus[g].util, 1));
        assert_true(near(now.levels[LEVEL_USER].gpus[g].memory, 200));
        assert_int_equal(now.levels[LEVEL_USER].gpus[g].mem_copy_util.state, STATE_NONE);
        assert_true(near(now.levels[LEVEL_SYSTEM].gpus[g].util, 0.9));
        assert_int_equal(now.levels[LEVEL_PROCESS].gpus[g].util.state, STATE_NONE);
}

static void names_are_read(void **state UNUSED)
{
        unsigned mask;
        assert_true(levels_parse("process,system", &mask));
        assert_int_equal(mask, LEVEL_BIT(LEVEL_PROCESS) | LEVEL_BIT(LEVEL_SYSTEM));
        assert_true(levels_parse("all", &mask));
        assert_int_equal(mask, LEVELS_ALL);
        assert_false(levels_parse("", &mask));
        assert_false(levels_parse("process,", &mask));
        assert_false(levels_parse("proces", &mask));
}

/* A table is only as good as its rows. */
static void tables_are_whole(void **state UNUSED)
{
        for (size_t i = 0; i < FIGURE_COUNT; i++) {
                const struct metric_info *f = figure_info((enum figure)i);
                assert_true(f->name && f->help && strlen(f->help) > 3);
                assert_true(f->kind != METRIC_KIND_RATE ||
                            figure_info(f->of)->kind == METRIC_KIND_COUNTER);
                for (size_t k = 0; k < i; k++)
                        assert_string_not_equal(f->name, figure_info((enum figure)k)->name);
        }
        for (size_t i = 0; i < SYSTEM_COUNT; i++) {
                const struct metric_info *f = system_figure_info((enum system_figure)i);
                bool from = f->kind == METRIC_KIND_RATE || f->kind == METRIC_KIND_SHARE;
                assert_true(f->name && f->help && strlen(f->help) > 2);
                assert_true(!from || system_figure_info(f->of)->kind == METRIC_KIND_COUNTER);
        }
        for (size_t i = 0; i < EVIDENCE_COUNT; i++) {
                const struct metric_info *f = evidence_info((enum evidence)i);
                assert_true(f->name && f->help && strlen(f->help) > 3);
                assert_true(f->kind != METRIC_KIND_RATE ||
                            evidence_info(f->of)->kind == METRIC_KIND_COUNTER);
                for (size_t k = 0; k < i; k++)
                        assert_string_not_equal(f->name, evidence_info((enum evidence)k)->name);
        }
        for (size_t i = 1; i < FRAMEWORK_COUNT; i++)
                assert_true(strlen(framework_name(i)) > 2 && framework_mapped(i)[0] == '/');
}

static void a_gpu_is_found_by_its_label(void **state UNUSED)
{
        static const struct {
                const char *label;
                size_t place;
                const char *why;
        } rows[] = {
            {"0", 0, "a GPU"},
            {"1", 1, "the second"},
            {"1/7", 2, "a slice that has a place of its own"},
            {"0/3", 0, "a slice without one counts for its GPU"},
            {"10", HOST_GPUS_MAX, "not GPU 1"},
            {"", HOST_GPUS_MAX, "no label"},
        };
        static struct host h = {.n_gpus = 3, .gpus = {"0", "1", "1/7"}};
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                if (host_find_gpu(&h, rows[i].label) != rows[i].place)
                        fail_msg("%s", rows[i].why);
        }
}

/* Ticks of the kernel's clock are coarse: more than all of the time is all of it, less than none is
 * none. */
static void cores_are_never_more_than_busy(void **state UNUSED)
{
        before = now = (struct host){.n_cores = 2};
        now.mono_ns = NS_PER_S;
        before.cores[0] = before.cores[1] = (struct host_core){.busy_s = 1, .total_s = 10};
        now.cores[0] = (struct host_core){.busy_s = 2.2, .total_s = 11};
        now.cores[1] = (struct host_core){.busy_s = 0.9, .total_s = 11};
        levels_compute(&before, &now);
        assert_float_equal(now.cores[0].util.v, 1, 1e-12);
        assert_float_equal(now.cores[1].util.v, 0, 1e-12);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(cores_are_never_more_than_busy),
            cmocka_unit_test_setup(rates_come_from_counters, begin),
            cmocka_unit_test_setup(an_upper_bound_reaches_no_limit, begin),
            cmocka_unit_test_setup(the_first_tick_has_no_rates, begin),
            cmocka_unit_test_setup(a_level_that_comes_has_no_rate_at_first, begin),
            cmocka_unit_test_setup(shares_sum_to_one, begin),
            cmocka_unit_test(rates_have_one_rule),
            cmocka_unit_test(whole_counters_have_the_same_rule),
            cmocka_unit_test_setup(cores_know_who_is_busy, begin),
            cmocka_unit_test_setup(gpus_add_up_by_level, begin),
            cmocka_unit_test(names_are_read),
            cmocka_unit_test(tables_are_whole),
            cmocka_unit_test(a_gpu_is_found_by_its_label),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
