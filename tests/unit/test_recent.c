/* What a GPU was in the last half minute, counted sample by sample. */
#include "test.h"

#include "base/attr.h"
#include "base/clock.h"
#include "compute/recent.h"

#include <string.h>

#define NOW (1000 * NS_PER_S)

/* One sample a second; a letter each, the newest last. */
static size_t make_past(const char *text, struct said *ret)
{
        static const struct {
                char letter;
                uint8_t limiter, workload, held_by;
                bool absent;
        } kinds[] = {
            {'T', LIMITER_COMPUTE_TENSOR, WORKLOAD_TENSOR_HEAVY, HELD_BY_NOTHING, false},
            {'P', LIMITER_COMPUTE_TENSOR, WORKLOAD_TENSOR_HEAVY, HELD_BY_POWER, false},
            {'H', LIMITER_COMPUTE_TENSOR, WORKLOAD_TENSOR_HEAVY, HELD_BY_THERMAL, false},
            {'I', LIMITER_HOST_INPUT, WORKLOAD_IDLE, HELD_BY_NOTHING, false},
            {'C', LIMITER_COPY_LINK, WORKLOAD_IDLE, HELD_BY_NOTHING, false},
            {'S', LIMITER_HOST_STARTING, WORKLOAD_IDLE, HELD_BY_NOTHING, false},
            {'M', LIMITER_MEMORY_BANDWIDTH, WORKLOAD_MEMORY_BOUND, HELD_BY_NOTHING, false},
            {'.', LIMITER_HOST_INPUT, WORKLOAD_IDLE, HELD_BY_POWER, true},
        };
        size_t n = strlen(text);
        for (size_t i = 0; i < n; i++) {
                for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
                        if (kinds[k].letter == text[i])
                                ret[i] = (struct said){NOW - (int64_t)(n - 1 - i) * NS_PER_S,
                                                       kinds[k].workload, kinds[k].limiter,
                                                       kinds[k].held_by, !kinds[k].absent};
                }
        }
        return n;
}

static void what_it_was(void **state UNUSED)
{
        static const struct {
                const char *past, *why;
                double seconds, starved, power, thermal;
                bool is_starved, is_held, settled, class_has_settled;
                enum limiter mostly, by;
                enum held_by held;
        } cases[] = {
            {"TTTTTTTTTT", "the same all the time", 9, 0, 0, 0, false, false, true, true,
             LIMITER_COMPUTE_TENSOR, LIMITER_UNKNOWN, HELD_BY_NOTHING},
            {"MMMMTTTTTT", "six of ten are enough", 9, 0, 0, 0, false, false, true, true,
             LIMITER_COMPUTE_TENSOR, LIMITER_UNKNOWN, HELD_BY_NOTHING},
            {"SMMMMTTTTT", "five of ten are not", 9, 0, 0, 0, false, false, false, false,
             LIMITER_COMPUTE_TENSOR, LIMITER_UNKNOWN, HELD_BY_NOTHING},
            {"CCCIITTTTT", "half of the time is worth a word", 9, 0.5, 0, 0, true, false, false,
             false, LIMITER_COMPUTE_TENSOR, LIMITER_COPY_LINK, HELD_BY_NOTHING},
            {"CIICTTTTTT", "less is not; copies starve it, too", 9, 0.4, 0, 0, false, false, true,
             true, LIMITER_COMPUTE_TENSOR, LIMITER_HOST_INPUT, HELD_BY_NOTHING},
            {"SSSSMTTTTT", "nobody waits for a start", 9, 0, 0, 0, false, false, false, false,
             LIMITER_COMPUTE_TENSOR, LIMITER_UNKNOWN, HELD_BY_NOTHING},
            {"PPPPPTTTTM", "clocks held half of the time", 9, 0, 0.5, 0, false, true, true, true,
             LIMITER_COMPUTE_TENSOR, LIMITER_UNKNOWN, HELD_BY_NOTHING},
            {"HHHHHHTTTT", "by heat", 9, 0, 0, 0.6, false, true, true, true, LIMITER_COMPUTE_TENSOR,
             LIMITER_UNKNOWN, HELD_BY_THERMAL},
            {"....TTTT", "what nobody saw counts for nothing", 7, 0, 0, 0, false, false, true, true,
             LIMITER_COMPUTE_TENSOR, LIMITER_UNKNOWN, HELD_BY_NOTHING},
            {"IIIIIIIIIIIIIIIIIIIITTTTTTTTTT", "what it mostly is, is of the last ten seconds", 29,
             2 / 3.0, 0, 0, true, false, true, true, LIMITER_COMPUTE_TENSOR, LIMITER_HOST_INPUT,
             HELD_BY_NOTHING},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct said past[40] = {0};
                struct recent r;
                size_t n = make_past(cases[i].past, past);
                assert_true(recent_of(past, n, NOW, &r));
                bool right = r.seconds == cases[i].seconds && r.starved == cases[i].starved &&
                             r.power == cases[i].power && r.thermal == cases[i].thermal &&
                             r.is_starved == cases[i].is_starved && r.is_held == cases[i].is_held &&
                             r.settled == cases[i].settled &&
                             r.class_has_settled == cases[i].class_has_settled &&
                             r.mostly == cases[i].mostly && r.by == cases[i].by &&
                             r.held == cases[i].held;
                if (!right)
                        fail_msg("%s: %s", cases[i].past, cases[i].why);
        }
}

/* Nothing is known of a GPU that was not seen, or not of late. */
static void nothing_is_known(void **state UNUSED)
{
        struct said past[40] = {0};
        struct recent r = {.seconds = -1};
        assert_false(recent_of(past, 0, NOW, &r));
        assert_false(recent_of(past, make_past("....", past), NOW, &r));
        assert_false(recent_of(past, make_past("TT..........", past), NOW, &r));
        assert_true(r.seconds == -1);
        assert_true(recent_of(past, make_past("TTT.........", past), NOW, &r));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(what_it_was),
            cmocka_unit_test(nothing_is_known),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
