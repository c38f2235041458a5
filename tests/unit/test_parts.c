/* What the library keeps of a host is what it gives back. */
#include "test.h"

#include "api/parts.h"
#include "base/attr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CORES 3
#define GPUS 2

/* No two of its numbers are equal. */
static void fill_host(struct host *h)
{
        double v = 100;
        *h = (struct host){.tick = 1,
                           .asked = 2,
                           .taken = 3,
                           .late = 4,
                           .missed = 5,
                           .wall_ns = 6,
                           .mono_ns = 7,
                           .interval_ns = 8,
                           .n_cores = CORES,
                           .n_gpus = GPUS};
        for (enum system_figure f = 0; f < SYSTEM_COUNT; f++)
                h->system[f] = value_ok(v++);
        for (size_t i = 0; i < CORES; i++)
                h->cores[i].util = value_ok(v++);
        for (size_t i = 0; i < GPUS; i++)
                snprintf(h->gpus[i], sizeof(h->gpus[i]), "gpu %zu", i);
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                struct level_state *level = &h->levels[l];
                level->asked = l % 2 == 0;
                level->present = l % 3 == 0;
                snprintf(level->why, sizeof(level->why), "why %d", (int)l);
                snprintf(level->name, sizeof(level->name), "name %d", (int)l);
                for (enum figure f = 0; f < FIGURE_COUNT; f++)
                        level->f[f] = f % 5 == 4 ? value_missing(STATE_DENIED) : value_ok(v++);
                for (size_t i = 0; i < GPUS; i++)
                        level->gpus[i].util = value_ok(v++);
        }
}

static void compare_levels(const struct host *a, const struct host *b)
{
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                const struct level_state *x = &a->levels[l], *y = &b->levels[l];
                assert_int_equal(x->asked, y->asked);
                assert_int_equal(x->present, y->present);
                assert_string_equal(x->why, y->why);
                assert_string_equal(x->name, y->name);
                assert_memory_equal(x->f, y->f, sizeof(x->f));
                for (size_t i = 0; i < GPUS; i++)
                        assert_true(x->gpus[i].util.v == y->gpus[i].util.v);
        }
}

static void a_host_comes_back_whole(void **state UNUSED)
{
        struct host *h = calloc(1, sizeof(*h));
        struct stock *stock = stock_new();
        assert_true(h && stock);
        fill_host(h);
        struct host_snapshot *kept = host_snapshot_make(stock, h);
        struct host *back = host_snapshot_host(kept);
        assert_non_null(back);
        assert_int_equal(back->tick, 1);
        assert_int_equal(back->asked, 2);
        assert_int_equal(back->taken, 3);
        assert_int_equal(back->late, 4);
        assert_int_equal(back->missed, 5);
        assert_int_equal(back->wall_ns, 6);
        assert_int_equal(back->mono_ns, 7);
        assert_int_equal(back->interval_ns, 8);
        assert_int_equal(back->n_cores, CORES);
        assert_int_equal(back->n_gpus, GPUS);
        assert_memory_equal(back->system, h->system, sizeof(h->system));
        for (size_t i = 0; i < CORES; i++)
                assert_true(back->cores[i].util.v == h->cores[i].util.v);
        for (size_t i = 0; i < GPUS; i++)
                assert_string_equal(back->gpus[i], h->gpus[i]);
        compare_levels(back, h);
        free(back);
        host_snapshot_unref(kept);
        stock_close(stock);
        free(h);
}

/* A part that was used before has nothing left of what it held. */
static void a_part_is_used_again(void **state UNUSED)
{
        struct host *h = calloc(1, sizeof(*h));
        struct stock *stock = stock_new();
        assert_true(h && stock);
        fill_host(h);
        struct host_snapshot *first = host_snapshot_make(stock, h);
        host_snapshot_unref(first);
        *h = (struct host){.tick = 9};
        struct host_snapshot *second = host_snapshot_make(stock, h);
        struct host *back = host_snapshot_host(second);
        assert_ptr_equal(first, second);
        assert_int_equal(back->tick, 9);
        assert_int_equal(back->missed, 0);
        assert_int_equal(back->n_cores + back->n_gpus, 0);
        compare_levels(back, h);
        free(back);
        host_snapshot_unref(second);
        stock_close(stock);
        free(h);
}

static void nothing_is_no_host(void **state UNUSED)
{
        assert_null(host_snapshot_host(NULL));
        assert_null(host_snapshot_ref(NULL));
        host_snapshot_unref(NULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(a_host_comes_back_whole),
            cmocka_unit_test(a_part_is_used_again),
            cmocka_unit_test(nothing_is_no_host),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
