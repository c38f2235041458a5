/* Counters that are exact: what a tick adds, and what it does not. */
#include "base/attr.h"
#include "base/clock.h"
#include "compute/integrals.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static struct entity gpu = {.kind = ENTITY_GPU, .label = "0"};

struct rig {
        struct integrals in;
        struct integrator it;
        struct row row;
        int64_t now_ns;
};

static void tick(struct rig *r, double seconds, double window)
{
        r->now_ns += clock_from_seconds(seconds);
        struct frame f = {
            .mono_ns = r->now_ns, .window_ns = clock_from_seconds(window), .rows = &r->row, .n = 1};
        r->row.sample.who = &gpu;
        integrals_add(&r->in, &r->it, &f, &r->row, false);
}

static void set(struct rig *r, enum metric m, double v)
{
        r->row.sample.m[m] = value_ok(v);
}

static void near(double got, double want)
{
        if (fabs(got - want) > 1e-9)
                fail_msg("%.12g is not %.12g", got, want);
}

/* A burst of 0.3 s every 7 s at 10 Hz: the integral is the truth, whoever looks when. */
static void test_bursts_add_up(void **state)
{
        struct rig r = {.now_ns = 5};
        (void)state;
        set(&r, METRIC_SM_ACTIVE, 0);
        tick(&r, 0, 0.1);
        for (int i = 0; i < 7000; i++) {
                set(&r, METRIC_SM_ACTIVE, i % 70 < 3 ? 1 : 0);
                tick(&r, 0.1, 0.1);
        }
        near(r.in.v[INTEGRAL_OBSERVED], 700);
        near(r.in.v[INTEGRAL_ACTIVE_SM], 30);
        near(r.in.limiter_s[0], 700);
}

/* Why a GPU that is held computes nothing: by the limiter, else by its memory; never guessed. */
static void test_idle_reasons(void **state)
{
        static const struct {
                enum limiter limiter;
                double used; /* bytes; -1: missing */
                enum idle_reason want;
        } cases[] = {
            {LIMITER_HOST_INPUT, 5e9, IDLE_STARVED},
            {LIMITER_HOST_CODE, -1, IDLE_STARVED},
            {LIMITER_HOST_WAITING, 5e9, IDLE_WAITING},
            {LIMITER_HOST_STARTING, 0, IDLE_STARTING},
            {LIMITER_IDLE_ALLOCATED, 5e9, IDLE_MEMORY_HELD},
            {LIMITER_IDLE, 0, IDLE_NO_PROCESS},
            {LIMITER_IDLE, -1, IDLE_NO_PROCESS},
            {LIMITER_UNKNOWN, 5e9, IDLE_MEMORY_HELD},
            {LIMITER_UNKNOWN, 0, IDLE_NO_PROCESS},
            {LIMITER_UNKNOWN, -1, IDLE_UNKNOWN},
        };
        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct rig r = {.now_ns = 5};
                set(&r, METRIC_SM_ACTIVE, 0);
                r.row.verdict.workload = WORKLOAD_IDLE;
                r.row.limit.limiter = (uint8_t)cases[i].limiter;
                if (cases[i].used >= 0)
                        set(&r, METRIC_FB_USED, cases[i].used);
                tick(&r, 0, 1);
                tick(&r, 1, 1);
                for (enum idle_reason k = 0; k < IDLE_REASON_COUNT; k++)
                        near(r.in.idle_s[k], k == cases[i].want ? 1 : 0);
                r.row.verdict.workload = WORKLOAD_TENSOR;
                tick(&r, 1, 1);
                near(r.in.idle_s[cases[i].want], 1);
        }
}

static void test_pauses(void **state)
{
        static const struct {
                double passed, window, want;
                const char *why;
        } cases[] = {
            {0.1, 0.1, 0.1, "a tick in time"},
            {0.14, 0.1, 0.14, "the driver's clock and ours differ a little"},
            {5, 0.1, 0.1, "only the window was seen"},
            {0.2, 0, 0.2, "a late tick without a window"},
            {60, 0, 0.1, "a pause without a window counts as one tick"},
            {-3, 0, 0, "time that goes back adds nothing"},
        };
        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct rig r = {.now_ns = NS_PER_S * 1000};
                set(&r, METRIC_SM_ACTIVE, 1);
                tick(&r, 0, cases[i].window);
                tick(&r, 0.1, cases[i].window);
                double before = r.in.v[INTEGRAL_OBSERVED];
                tick(&r, cases[i].passed, cases[i].window);
                near(r.in.v[INTEGRAL_OBSERVED] - before, cases[i].want);
        }
}

/* Real Utilization of old counters is old, whatever its state says. */
static void test_a_gpu_that_hangs_adds_nothing(void **state)
{
        struct rig r = {.now_ns = NS_PER_S};
        (void)state;
        set(&r, METRIC_SM_ACTIVE, 1);
        set(&r, METRIC_REAL_UTIL, 50);
        tick(&r, 0, 0);
        tick(&r, 1, 0);
        r.row.sample.m[METRIC_SM_ACTIVE].state = STATE_STALE;
        tick(&r, 1, 0);
        near(r.in.v[INTEGRAL_REAL], 0.5);
        near(r.in.v[INTEGRAL_SEEN], 1);
}

static void test_what_is_observed(void **state)
{
        static const struct {
                enum state sm, util;
                double want;
                const char *why;
        } cases[] = {
            {STATE_OK, STATE_NONE, 1, "counters"},
            {STATE_BLANK, STATE_OK, 0, "a profiler holds the counters"},
            {STATE_ERROR, STATE_OK, 0, "they failed"},
            {STATE_UNSUPPORTED, STATE_OK, 0, "utilization does not tell what the units do"},
            {STATE_NONE, STATE_OK, 0, "a source without counters"},
            {STATE_DENIED, STATE_OK, 0, "counters for root only"},
            {STATE_STALE, STATE_STALE, 0, "nothing new"},
        };
        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct rig r = {.now_ns = NS_PER_S};
                r.row.sample.m[METRIC_SM_ACTIVE] = value_missing(cases[i].sm);
                r.row.sample.m[METRIC_GPU_UTIL] = value_missing(cases[i].util);
                tick(&r, 0, 0);
                tick(&r, 1, 0);
                near(r.in.v[INTEGRAL_OBSERVED], cases[i].want);
        }
}

/* Without counters the class is unknown; what the limiter knows to be idle is idle all the same. */
static void test_idle_without_counters(void **state)
{
        static const struct {
                enum limiter limiter;
                double util; /* -1: missing */
                enum idle_reason want;
                const char *why;
        } cases[] = {
            {LIMITER_IDLE_ALLOCATED, 0, IDLE_MEMORY_HELD, "memory is held, nothing runs"},
            {LIMITER_IDLE, -1, IDLE_NO_PROCESS, "nobody is there"},
            {LIMITER_HOST_WAITING, 0, IDLE_WAITING, "it waits"},
            {LIMITER_HOST_STARTING, 0.01, IDLE_STARTING, "it starts"},
            {LIMITER_HOST_WAITING, 0.6, IDLE_REASON_COUNT, "it waits between kernels"},
            {LIMITER_HOST_WAITING, -1, IDLE_REASON_COUNT, "nobody knows whether kernels run"},
            {LIMITER_KERNEL, 0.99, IDLE_REASON_COUNT, "it is busy"},
            {LIMITER_UNKNOWN, 0, IDLE_REASON_COUNT, "nobody is accused on what is not known"},
        };
        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct rig r = {.now_ns = 5};
                bool idle = cases[i].want < IDLE_REASON_COUNT;
                r.row.sample.m[METRIC_SM_ACTIVE] = value_missing(STATE_UNSUPPORTED);
                r.row.verdict.workload = WORKLOAD_UNKNOWN;
                r.row.limit.limiter = (uint8_t)cases[i].limiter;
                set(&r, METRIC_FB_USED, cases[i].limiter == LIMITER_IDLE ? 0 : 5e9);
                if (cases[i].util >= 0)
                        set(&r, METRIC_GPU_UTIL, cases[i].util);
                tick(&r, 0, 1);
                tick(&r, 2, 2);
                for (enum idle_reason k = 0; k < IDLE_REASON_COUNT; k++)
                        near(r.in.idle_s[k], k == cases[i].want ? 2 : 0);
                near(r.in.v[INTEGRAL_IDLE_UNOBSERVED], idle ? 2 : 0);
                near(r.in.v[INTEGRAL_OBSERVED], 0);
                near(r.in.v[INTEGRAL_SEEN], 2);
        }
}

static void test_energy(void **state)
{
        struct rig r = {.now_ns = NS_PER_S};
        (void)state;
        set(&r, METRIC_POWER, 100);
        tick(&r, 0, 0);
        tick(&r, 1, 0);
        near(r.in.v[INTEGRAL_ENERGY], 100); /* power × time where there is no counter */
        set(&r, METRIC_ENERGY, 5000);
        tick(&r, 1, 0);
        set(&r, METRIC_ENERGY, 5230);
        tick(&r, 1, 0);
        near(r.in.v[INTEGRAL_ENERGY], 430); /* the counter from its first reading on */
        set(&r, METRIC_ENERGY, 10);
        tick(&r, 1, 0);
        set(&r, METRIC_ENERGY, 30);
        tick(&r, 1, 0);
        near(r.in.v[INTEGRAL_ENERGY], 550); /* a reset takes nothing away */
        for (int i = 0; i < 3; i++)
                tick(&r, 1, 0);
        near(r.in.v[INTEGRAL_ENERGY], 850); /* power × time until it moves */
        set(&r, METRIC_ENERGY, 330);
        tick(&r, 1, 0);
        near(r.in.v[INTEGRAL_ENERGY], 850); /* it was ahead: it waits */
}

static void test_growth_and_xids(void **state)
{
        struct rig r = {.now_ns = NS_PER_S};
        (void)state;
        set(&r, METRIC_PCIE_REPLAY, 7);
        set(&r, METRIC_XID_COUNT, 0);
        set(&r, METRIC_XID_LAST, 0);
        tick(&r, 1, 0);
        near(r.in.v[INTEGRAL_PCIE_REPLAYS], 7);
        set(&r, METRIC_PCIE_REPLAY, 9);
        set(&r, METRIC_XID_COUNT, 2);
        set(&r, METRIC_XID_LAST, 31);
        tick(&r, 1, 0);
        near(r.in.v[INTEGRAL_PCIE_REPLAYS], 9);
        set(&r, METRIC_PCIE_REPLAY, 3); /* the driver was loaded anew */
        tick(&r, 1, 0);
        near(r.in.v[INTEGRAL_PCIE_REPLAYS], 12);
        assert_int_equal(r.in.n_xids, 1);
        assert_int_equal(r.in.xids[0].xid, 31);
        near(r.in.xids[0].n, 2);
}

static void test_idle_allocation(void **state)
{
        struct rig r = {.now_ns = NS_PER_S};
        (void)state;
        r.row.verdict.workload = WORKLOAD_IDLE;
        set(&r, METRIC_GPU_UTIL, 0);
        set(&r, METRIC_FB_USED, 5e6);
        tick(&r, 0, 0);
        tick(&r, 1, 0);
        near(r.in.v[INTEGRAL_IDLE_ALLOCATED], 0); /* the driver's own memory is nobody's */
        set(&r, METRIC_FB_USED, 4e9);
        tick(&r, 1, 0);
        near(r.in.v[INTEGRAL_IDLE_ALLOCATED], 1);
        r.row.verdict.workload = WORKLOAD_TENSOR;
        tick(&r, 1, 0);
        near(r.in.v[INTEGRAL_IDLE_ALLOCATED], 1);
        near(r.in.class_s[WORKLOAD_IDLE], 2);
        near(r.in.class_s[WORKLOAD_TENSOR], 1);
}

/* Findings overlap: each has its own time, whatever the state of health is. */
static void test_findings(void **state)
{
        struct rig r = {.now_ns = 5};
        struct integrals later, since;
        (void)state;
        set(&r, METRIC_GPU_TEMP, 96);
        tick(&r, 0, 0);
        r.row.health =
            (struct health){.state = HEALTH_WARN, .findings = 1u << HEALTH_REASON_LINK_NARROW};
        tick(&r, 1, 0);
        r.row.health.findings |= 1u << HEALTH_REASON_GPU_HOT;
        tick(&r, 1, 0);
        near(r.in.finding_s[HEALTH_REASON_LINK_NARROW], 2);
        near(r.in.finding_s[HEALTH_REASON_GPU_HOT], 1);
        near(r.in.finding_s[HEALTH_REASON_LOST], 0);
        struct integrals before = r.in;
        tick(&r, 1, 0);
        later = r.in;
        integrals_since(&before, &later, &since);
        near(since.finding_s[HEALTH_REASON_LINK_NARROW], 1);
        integrals_sum(&since, &before);
        near(since.finding_s[HEALTH_REASON_GPU_HOT], 2);
}

static void test_differences(void **state)
{
        struct rig r = {.now_ns = NS_PER_S};
        struct integrals from, d;
        (void)state;
        set(&r, METRIC_SM_ACTIVE, 0.5);
        tick(&r, 0, 0);
        tick(&r, 1, 0);
        from = r.in;
        tick(&r, 1, 0);
        integrals_since(&from, &r.in, &d);
        near(d.v[INTEGRAL_ACTIVE_SM], 0.5);
        integrals_sum(&d, &d);
        near(d.v[INTEGRAL_ACTIVE_SM], 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_bursts_add_up),
            cmocka_unit_test(test_idle_reasons),
            cmocka_unit_test(test_pauses),
            cmocka_unit_test(test_what_is_observed),
            cmocka_unit_test(test_idle_without_counters),
            cmocka_unit_test(test_a_gpu_that_hangs_adds_nothing),
            cmocka_unit_test(test_energy),
            cmocka_unit_test(test_growth_and_xids),
            cmocka_unit_test(test_idle_allocation),
            cmocka_unit_test(test_findings),
            cmocka_unit_test(test_differences),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
