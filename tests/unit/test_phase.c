/* Which samples are a phase's. */
#include "test.h"

#include "base/attr.h"
#include "base/clock.h"
#include "model/frame.h"
#include "model/host.h"
#include "model/phase.h"

static void the_middle_of_a_window(void **state UNUSED)
{
        static const struct {
                const char *why;
                int64_t before_mono_ms; /* of the frame before; -1 for none */
                int64_t wall_ms, mono_ms, window_ms, moment_ms;
        } cases[] = {
            {"the window that the source tells", 4900, 5000, 5000, 400, 4800},
            {"however long it is", 4900, 50000, 5000, 30000, 35000},
            {"else the time since the frame before", 4900, 5000, 5000, 0, 4950},
            {"by the clock that nobody sets", 4900, 7000, 5000, 0, 6950},
            {"at most a second of it", 1000, 5000, 5000, 0, 4500},
            {"a first frame stands where it is", -1, 5000, 5000, 0, 5000},
            {"unless its window is known", -1, 5000, 5000, 100, 4950},
            {"time that goes back is none", 9000, 5000, 5000, 0, 5000},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct phase_clock clock = {0};
                struct frame before = {.mono_ns = cases[i].before_mono_ms * NS_PER_MS};
                struct frame f = {.wall_ns = cases[i].wall_ms * NS_PER_MS,
                                  .mono_ns = cases[i].mono_ms * NS_PER_MS,
                                  .window_ns = cases[i].window_ms * NS_PER_MS};
                if (cases[i].before_mono_ms >= 0)
                        phase_moment(&clock, &before);
                if (phase_moment(&clock, &f) != cases[i].moment_ms * NS_PER_MS)
                        fail_msg("%s", cases[i].why);
        }
        struct host h = {.wall_ns = 5000, .interval_ns = 3000};
        assert_int_equal(phase_moment_of_host(&h), 3500);
}

static void its_first_moment_and_not_its_last(void **state UNUSED)
{
        const struct phase p = {"a", 10, 20, false, NULL}, back = {"b", 20, 10, false, NULL};
        assert_false(phase_holds(&p, 9));
        assert_true(phase_holds(&p, 10));
        assert_true(phase_holds(&p, 19));
        assert_false(phase_holds(&p, 20));
        for (int64_t t = 5; t < 25; t++)
                assert_false(phase_holds(&back, t));
}

struct held {
        int by_phase[8];
        int least;
};

static void note(void *arg, size_t phase, int by)
{
        struct held *h = arg;
        h->by_phase[phase] += by;
        h->least = MIN(h->least, h->by_phase[phase]);
}

/* However time goes, the cursor says what each phase says by itself. */
static void the_cursor_agrees(void **state UNUSED)
{
        static const struct phase list[] = {
            {"all", 0, 100, false, NULL},       {"a", 10, 40, false, NULL},
            {"none", 15, 15, false, NULL},      {"inner", 20, 30, false, NULL},
            {"set back", 25, 20, false, NULL},  {"b", 40, 60, false, NULL},
            {"open", 90, INT64_MAX, true, NULL}};
        static const int64_t moments[] = {0,  5,  10, 10, 15, 24, 26, 39, 40,  60, 61, 99,
                                          95, 30, 20, 19, 26, 12, -5, 90, 100, 40, 0};
        struct phase_order order;
        struct phase_cursor cursor = {0};
        struct held held = {0};
        assert_int_equal(phase_order_init(&order, list, ARRAY_LEN(list)), 0);
        for (size_t i = 0; i < ARRAY_LEN(moments); i++) {
                size_t active = 0;
                phase_cursor_move(&cursor, &order, moments[i], note, &held);
                for (size_t k = 0; k < ARRAY_LEN(list); k++) {
                        active += phase_holds(&list[k], moments[i]);
                        assert_int_equal(held.by_phase[k], phase_holds(&list[k], moments[i]));
                }
                assert_int_equal(cursor.active, active);
        }
        assert_int_equal(held.least, 0);
        phase_order_finish(&order);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(the_middle_of_a_window),
            cmocka_unit_test(its_first_moment_and_not_its_last),
            cmocka_unit_test(the_cursor_agrees),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
