/* A program that stopped, and those that only pause: what is said of each, tick by tick. */
#include "test.h"

#include "base/attr.h"
#include "base/clock.h"
#include "compute/stall.h"

#include <math.h>

/* What a GPU and its host show in one part of a case. */
struct part {
        double seconds;
        double util, dram, power, unrest; /* unrest: watts up and down */
        double pcie;                      /* bytes a second */
        double first;                     /* cores of the main thread */
        enum evidence evidence;           /* and one more figure of the host */
        double value;
};

#define TRAINING 60, 0.98, 0.4, 450, 60, 5e8, 0.6, EVIDENCE_HOLDERS, 0
#define SPINS 1.0, 0.001, 130, 1, 2e4, 1.0
#define SPINNING SPINS, QUIET
#define SLEEPS 1.0, 0.001, 130, 1, 2e4, 0.0
#define ASLEEP SLEEPS, QUIET
#define QUIET EVIDENCE_HOLDERS, 0

static const struct {
        const char *why;
        struct part parts[3];
        double least, most; /* what is said at the end, in seconds */
} cases[] = {
    {"a rank that waits in a collective, its main thread in a loop",
     {{TRAINING}, {41, SPINNING}},
     39,
     41},
    {"the same asleep in a call of the driver", {{TRAINING}, {41, ASLEEP}}, 39, 41},
    {"too short to say", {{TRAINING}, {10, SPINNING}}, 0, 0},
    {"it goes on", {{TRAINING}, {41, SPINNING}, {5, 0.98, 0.4, 450, 60, 5e8, 0.6, QUIET}}, 0, 0},
    {"nothing was there before", {{300, SPINNING}}, 0, 0},
    {"a validation", {{TRAINING}, {120, 0.7, 0.1, 250, 20, 1e6, 0.9, QUIET}}, 0, 0},
    {"a compilation by the main thread", {{TRAINING}, {120, 0, 0, 110, 0, 0, 1.0, QUIET}}, 0, 0},
    {"a compilation by others", {{TRAINING}, {120, SPINS, EVIDENCE_CPU_CHILDREN, 1.5}}, 0, 0},
    {"a checkpoint while others wait",
     {{TRAINING}, {120, SLEEPS, EVIDENCE_WRITE_CHARS, 2e8}},
     0,
     0},
    {"data that comes over the network", {{TRAINING}, {120, SLEEPS, EVIDENCE_NET_RX, 1e8}}, 0, 0},
    {"a notebook that is left alone", {{TRAINING}, {600, 0, 0, 110, 0, 0, 0, QUIET}}, 0, 0},
    {"a main thread that goes from one thing to the next",
     {{TRAINING}, {120, 1.0, 0.001, 130, 1, 2e4, 0.5, QUIET}},
     0,
     0},
    {"kernels that compute without memory: their power moves",
     {{TRAINING}, {120, 1.0, 0.001, 300, 30, 2e4, 1.0, QUIET}},
     0,
     0},
};

static struct value play(size_t at, double interval_s)
{
        struct stall s = {0};
        struct value ret = value_missing(STATE_NONE);
        int64_t now = NS_PER_S;
        size_t tick = 0;
        for (size_t i = 0; i < ARRAY_LEN(cases[at].parts); i++) {
                const struct part *p = &cases[at].parts[i];
                for (double t = 0; t < p->seconds; t += interval_s, tick++) {
                        struct sample sample = {0};
                        struct host_evidence host = {0};
                        double wave = tick % 2 ? 1 : -1;
                        sample.m[METRIC_GPU_UTIL] = value_ok(p->util);
                        sample.m[METRIC_DRAM_ACTIVE] = value_ok(p->dram);
                        sample.m[METRIC_POWER] = value_ok(p->power + wave * p->unrest);
                        sample.m[METRIC_PCIE_RX] = value_ok(p->pcie);
                        sample.m[METRIC_FB_USED] = value_ok(4e10);
                        host.e[EVIDENCE_HOLDERS] = value_ok(1);
                        host.e[EVIDENCE_CPU_FIRST] = value_ok(p->first);
                        if (p->value > 0)
                                host.e[p->evidence] = value_ok(p->value);
                        now += clock_from_seconds(interval_s);
                        ret = stall_add(&s, &sample, &host, now);
                }
        }
        return ret;
}

static void says_stalled_only_of_what_stopped(void **state UNUSED)
{
        static const double intervals[] = {0.1, 1, 5};
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                for (size_t k = 0; k < ARRAY_LEN(intervals); k++) {
                        struct value v = play(i, intervals[k]);
                        double slack = cases[i].least > 0 ? 8 : 0; /* the means settle */
                        if (!value_is_set(v) || v.v > cases[i].most + intervals[k] ||
                            v.v < cases[i].least - slack - intervals[k])
                                fail_msg("%s, every %g s: %g", cases[i].why, intervals[k], v.v);
                }
        }
}

static void unknown_without_counters(void **state UNUSED)
{
        struct stall s = {0};
        struct sample sample = {0};
        sample.m[METRIC_GPU_UTIL] = value_ok(1);
        sample.m[METRIC_POWER] = value_ok(130);
        for (int64_t t = 1; t < 200; t++)
                assert_false(value_is_set(stall_add(&s, &sample, NULL, t * NS_PER_S)));
}

static void a_gap_says_nothing(void **state UNUSED)
{
        struct stall s = {0};
        struct sample sample = {0};
        sample.m[METRIC_GPU_UTIL] = sample.m[METRIC_DRAM_ACTIVE] = value_ok(1);
        sample.m[METRIC_POWER] = value_ok(400);
        int64_t t = 1;
        for (; t < 100; t++)
                stall_add(&s, &sample, NULL, t * NS_PER_S);
        sample.m[METRIC_DRAM_ACTIVE] = value_ok(0);
        assert_true(stall_add(&s, &sample, NULL, (t + 3600) * NS_PER_S).v == 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(says_stalled_only_of_what_stopped),
            cmocka_unit_test(unknown_without_counters),
            cmocka_unit_test(a_gap_says_nothing),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
