#include "test.h"

#include "base/attr.h"
#include "engine/history.h"

#include <string.h>

static struct entity people[3] = {{.slot = 0}, {.slot = 1}, {.slot = 40}};

/* A frame of one entity in which POWER is v, or missing when v is negative. */
static void push(struct history *h, size_t who, int64_t wall_ns, double v)
{
        struct row row = {.sample.who = &people[who]};
        struct frame frame = {.wall_ns = wall_ns, .n = 1, .rows = &row};
        row.sample.m[METRIC_POWER] = v < 0 ? value_missing(STATE_BLANK) : value_ok(v);
        assert_int_equal(history_push(h, &frame), 0);
}

static size_t copy(struct history *h, size_t who, int64_t from, int64_t until, struct point *ret,
                   size_t max)
{
        return history_copy(h, people[who].slot, METRIC_POWER, from, until, ret, max);
}

static void keeps_the_last(void **state UNUSED)
{
        struct history *h = history_open(4);
        struct point p[8];
        for (int i = 0; i < 10; i++)
                push(h, 0, i * 10, i);
        assert_int_equal(copy(h, 0, 0, INT64_MAX, p, ARRAY_LEN(p)), 4);
        for (int i = 0; i < 4; i++) {
                assert_true(p[i].present);
                assert_int_equal(p[i].wall_ns, (6 + i) * 10);
                assert_true((int)p[i].v == 6 + i);
        }
        assert_int_equal(copy(h, 0, 70, 80, p, ARRAY_LEN(p)), 2);
        assert_int_equal(p[0].wall_ns, 70);
        assert_int_equal(copy(h, 0, 0, 85, p, 1), 1);
        assert_int_equal(p[0].wall_ns, 80);
        assert_int_equal(copy(h, 0, 200, 300, p, ARRAY_LEN(p)), 0);
        assert_int_equal(history_copy(h, 7, METRIC_POWER, 0, 100, p, 8), 0);
        assert_int_equal(history_copy(h, 0, METRIC_ENERGY, 0, 100, p, 8), 0);
        history_close(h);
}

static void missing_stays_missing(void **state UNUSED)
{
        struct history *h = history_open(8);
        struct point p[8];
        push(h, 0, 10, 1);
        push(h, 0, 20, -1);
        push(h, 2, 30, 7); /* entity 0 is not in this frame */
        push(h, 0, 40, 3);
        assert_int_equal(copy(h, 0, 0, 100, p, 8), 4);
        assert_true(p[0].present && !p[1].present && !p[2].present && p[3].present);
        assert_int_equal(copy(h, 2, 0, 100, p, 8), 4);
        assert_true(!p[0].present && p[2].present && !p[3].present);
        history_close(h);
}

/* A slot of the ring that held a value once must not show it again. */
static void forgets_overwritten(void **state UNUSED)
{
        struct history *h = history_open(3);
        struct point p[8];
        for (int i = 0; i < 3; i++)
                push(h, 0, i, 5);
        for (int i = 3; i < 6; i++)
                push(h, 1, i, 6);
        assert_int_equal(copy(h, 0, 0, 100, p, 8), 3);
        assert_false(p[0].present || p[1].present || p[2].present);
        history_close(h);
}

static void goes_back(void **state UNUSED)
{
        struct history *h = history_open(8);
        struct point p[8];
        int64_t before = -1;
        for (int i = 1; i <= 6; i++)
                push(h, 0, i * 10, i);
        push(h, 0, 30, 33);
        assert_int_equal(copy(h, 0, 0, 100, p, 8), 3);
        assert_int_equal(p[2].wall_ns, 30);
        assert_true((int)p[2].v == 33);
        assert_true(history_before(h, 30, &before));
        assert_int_equal(before, 20);
        assert_false(history_before(h, 10, &before));
        push(h, 0, 5, 1);
        assert_int_equal(copy(h, 0, 0, 100, p, 8), 1);
        history_close(h);
}

/* Going back over a ring that has wrapped must not bring overwritten samples to life. */
static void goes_back_after_wrapping(void **state UNUSED)
{
        struct history *h = history_open(4);
        struct point p[8];
        for (int i = 1; i <= 10; i++)
                push(h, 0, i * 10, i);
        push(h, 0, 80, 88);
        assert_int_equal(copy(h, 0, 0, 1000, p, 8), 2);
        assert_int_equal(p[0].wall_ns, 70);
        assert_int_equal(p[1].wall_ns, 80);
        history_close(h);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(keeps_the_last),           cmocka_unit_test(missing_stays_missing),
            cmocka_unit_test(forgets_overwritten),      cmocka_unit_test(goes_back),
            cmocka_unit_test(goes_back_after_wrapping),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
