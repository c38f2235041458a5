/* The whole host reader on the real machine: it works, and its ticks allocate nothing. */
#include "test.h"

#include "base/attr.h"
#include "base/clock.h"
#include "engine/host.h"
#include "read/host/energy.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void reads_this_machine(void **state UNUSED)
{
        struct err err = {0};
        struct host_view *v = NULL;
        struct host *h = NULL;
        struct host_config c = {.root = "", .levels = LEVELS_ALL, .pid = getpid(), .pss = true};
        assert_int_equal(host_view_open(&c, &v, &err), 0);
        for (int i = 0; i < 3; i++) {
                assert_int_equal(host_view_tick(v, &h, &err), 0);
                usleep(20000);
        }
        const struct level_state *p = &h->levels[LEVEL_PROCESS];
        assert_true(p->present);
        assert_true(p->f[FIGURE_PROCESSES].v == 1);
        assert_true(p->f[FIGURE_RSS].v > 0);
        assert_true(h->levels[LEVEL_SYSTEM].f[FIGURE_PROCESSES].v > 1);
        assert_true(h->system[SYSTEM_MEM_TOTAL].v > 1e6);
        assert_int_equal(h->system[SYSTEM_USER].state, STATE_OK);
        assert_true(host_view_levels_of(v, getpid()) & LEVEL_BIT(LEVEL_PROCESS));
        assert_false(host_view_levels_of(v, 1) & LEVEL_BIT(LEVEL_PROCESS));
        host_view_close(v);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static void ticks_do_not_allocate(void **state UNUSED)
{
        struct err err = {0};
        struct host_view *v = NULL;
        struct host *h;
        struct host_config c = {.root = "", .levels = LEVELS_ALL, .pid = getpid()};
        if (SANITIZED) /* their allocator tells other numbers */
                return;
        assert_int_equal(host_view_open(&c, &v, &err), 0);
        for (int i = 0; i < 40; i++)
                assert_int_equal(host_view_tick(v, &h, &err), 0);
        struct mallinfo2 before = mallinfo2();
        for (int i = 0; i < 50; i++)
                assert_int_equal(host_view_tick(v, &h, &err), 0);
        struct mallinfo2 after = mallinfo2();
        assert_int_equal(before.uordblks, after.uordblks);
        assert_int_equal(before.arena, after.arena);
        host_view_close(v);
}

/* Counters of energy start over, some after minutes. */
static void energy_grows(void **state UNUSED)
{
        static const struct {
                uint64_t before, now, range;
                double gap_s;
                bool known;
                uint64_t grown;
        } cases[] = {
            {100, 130, 1000000000, 0.1, true, 30},
            {999999990, 20, 1000000000, 0.1, true, 30}, /* it started over */
            {100, 100, 1000000000, 0.1, true, 0},
            {100, 130, 1000000000, 1.5, false, 0}, /* perhaps more than once */
            {100, 1000000001, 1000000000, 0.1, false, 0},
            {1000000001, 130, 1000000000, 0.1, false, 0},
            {0, 1, 0, 0, false, 0}, /* a range that is none */
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                uint64_t grown = 0;
                assert_int_equal(energy_growth(cases[i].before, cases[i].now, cases[i].range,
                                               (int64_t)(cases[i].gap_s * 1e9), &grown),
                                 cases[i].known);
                assert_int_equal(grown, cases[i].grown);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(reads_this_machine),
            cmocka_unit_test(ticks_do_not_allocate),
            cmocka_unit_test(energy_grows),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
