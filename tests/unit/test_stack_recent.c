/* The last half minute of stacks: what is counted, what is forgotten, what is newest. */
#include "test.h"

#include "base/attr.h"
#include "base/clock.h"
#include "engine/stack_recent.h"

#define NOW (100 * NS_PER_S)

static struct stack_sample sample(int64_t at_ns, int32_t pid, int32_t tid, uint32_t stack)
{
        return (struct stack_sample){.mono_ns = at_ns,
                                     .stands_for_ns = 50 * NS_PER_MS,
                                     .start_ticks = 7,
                                     .pid = pid,
                                     .tid = tid,
                                     .stack = stack,
                                     .state = STACK_RUNNING,
                                     .is_main = pid == tid};
}

static const struct stack_process processes[] = {
    {.pid = 10, .start_ticks = 7, .access = STACK_READABLE},
    {.pid = 20, .start_ticks = 7, .access = STACK_READABLE},
};

struct rig {
        struct stack_table *table;
        struct stack_recent *recent;
};

static struct rig begin(void)
{
        struct rig r = {0};
        assert_int_equal(stack_table_open(&r.table), 0);
        assert_int_equal(stack_recent_open(&r.recent), 0);
        assert_null(stack_recent_take(r.recent));
        return r;
}

static void end(struct rig *r)
{
        stack_recent_close(r->recent);
        stack_table_close(r->table);
}

static void counts_and_newest(void **state UNUSED)
{
        struct rig r = begin();
        const struct stack_sample samples[] = {
            sample(NOW - 40 * NS_PER_S, 10, 10, 3), /* too old */
            sample(NOW - 2 * NS_PER_S, 10, 10, 3),  sample(NOW - NS_PER_S, 10, 10, 3),
            sample(NOW - NS_PER_S / 2, 10, 10, 4),  sample(NOW - NS_PER_S, 10, 11, 3),
            sample(NOW - NS_PER_S, 99, 99, 3), /* of a process that nobody described */
        };
        stack_recent_add(r.recent, samples, ARRAY_LEN(samples));
        stack_recent_publish(r.recent, r.table, processes, ARRAY_LEN(processes), NOW);
        const struct stack_live *live = stack_recent_take(r.recent);
        assert_non_null(live);
        assert_int_equal(live->log.n_processes, 2);
        assert_int_equal(live->log.n_threads, 2);
        assert_int_equal(live->window.n, 3);
        assert_int_equal(live->window.counts[0].n_samples, 2);
        assert_float_equal(live->window.counts[0].seconds, 0.1, 1e-9);
        assert_int_equal(live->span_ns, 2 * NS_PER_S);
        assert_int_equal(stack_live_thread(live, 10)->stack, 4);
        assert_null(stack_live_thread(live, 20)); /* it was not met */
        assert_null(stack_live_thread(live, 99));
        assert_int_equal(stack_live_process(live, 20)->pid, 20);
        const struct stack_sample *threads[4];
        assert_int_equal(stack_live_threads(live, 10, threads, ARRAY_LEN(threads)), 2);
        assert_int_equal(threads[0]->tid, 10); /* the first thread comes first */
        end(&r);
}

static void who_holds_the_lock_comes_first(void **state UNUSED)
{
        struct rig r = begin();
        struct stack_sample holds = sample(NOW, 10, 12, 5);
        struct stack_sample first = sample(NOW, 10, 10, 4);
        holds.holds_gil = true;
        stack_recent_add(r.recent, &first, 1);
        stack_recent_add(r.recent, &holds, 1);
        stack_recent_publish(r.recent, r.table, processes, ARRAY_LEN(processes), NOW);
        assert_int_equal(stack_live_thread(stack_recent_take(r.recent), 10)->tid, 12);
        /* Seconds later it is not met any more: nothing is said of it. */
        stack_recent_publish(r.recent, r.table, processes, ARRAY_LEN(processes),
                             NOW + 10 * NS_PER_S);
        assert_null(stack_live_thread(stack_recent_take(r.recent), 10));
        end(&r);
}

/* More samples, threads and stacks than there is room for: what fits is told. */
static void bounded(void **state UNUSED)
{
        struct rig r = begin();
        for (uint32_t i = 0; i < 40000; i++) {
                struct stack_sample s = sample(NOW, 10, (int32_t)(i % 5000) + 1, i);
                stack_recent_add(r.recent, &s, 1);
        }
        stack_recent_publish(r.recent, r.table, processes, ARRAY_LEN(processes), NOW);
        const struct stack_live *live = stack_recent_take(r.recent);
        assert_in_range(live->log.n_threads, 1, 5000);
        assert_in_range(live->window.n, live->log.n_threads, 16384);
        for (size_t i = 0; i < live->window.n; i++)
                assert_true(live->window.counts[i].thread < live->log.n_threads);
        end(&r);
}

/* What was taken stays as it is until the next is taken. */
static void a_picture_stays(void **state UNUSED)
{
        struct rig r = begin();
        struct stack_sample s = sample(NOW, 10, 10, 4);
        stack_recent_add(r.recent, &s, 1);
        stack_recent_publish(r.recent, r.table, processes, 1, NOW);
        const struct stack_live *live = stack_recent_take(r.recent);
        for (int i = 1; i <= 5; i++)
                stack_recent_publish(r.recent, r.table, processes, 0, NOW + i);
        assert_int_equal(live->mono_ns, NOW);
        assert_int_equal(live->log.n_threads, 1);
        live = stack_recent_take(r.recent);
        assert_int_equal(live->mono_ns, NOW + 5);
        assert_int_equal(live->log.n_threads, 0);
        assert_ptr_equal(stack_recent_take(r.recent), live);
        end(&r);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(counts_and_newest),
            cmocka_unit_test(who_holds_the_lock_comes_first),
            cmocka_unit_test(bounded),
            cmocka_unit_test(a_picture_stays),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
