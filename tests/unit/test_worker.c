#include "test.h"

#include "base/attr.h"
#include "base/clock.h"
#include "life/worker.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct thing {
        struct crew crew;
        bool hang; /* under the lock: the worker does not look at stop */
        unsigned beats;
        atomic_uint *freed;
};

static void free_thing(struct crew *c)
{
        struct thing *t = (struct thing *)((char *)c - offsetof(struct thing, crew));
        atomic_fetch_add(t->freed, 1);
        free(t);
}

static void work(void *arg)
{
        struct thing *t = arg;
        crew_lock(&t->crew);
        while (t->hang || !t->crew.stop) {
                t->beats++;
                crew_request_stop(&t->crew);
                crew_wait(&t->crew, clock_mono_ns() + NS_PER_MS);
        }
        crew_unlock(&t->crew);
}

static struct thing *make(atomic_uint *freed, unsigned workers, bool hang)
{
        struct thing *t = calloc(1, sizeof(*t));
        assert_non_null(t);
        t->freed = freed;
        t->hang = hang;
        crew_init(&t->crew, free_thing);
        for (unsigned i = 0; i < workers; i++)
                assert_int_equal(crew_start(&t->crew, work, t), 0);
        crew_lock(&t->crew);
        while (workers > 0 && t->beats < 10)
                crew_wait(&t->crew, INT64_MAX);
        crew_unlock(&t->crew);
        return t;
}

static void the_last_frees(void **state UNUSED)
{
        for (unsigned workers = 0; workers < 4; workers++) {
                atomic_uint freed = 0;
                struct thing *t = make(&freed, workers, false);
                assert_false(crew_stopping(&t->crew));
                assert_true(crew_leave(&t->crew, 10 * NS_PER_S));
                assert_int_equal(atomic_load(&freed), 1);
        }
}

static void what_hangs_is_left_behind(void **state UNUSED)
{
        atomic_uint freed = 0;
        struct thing *t = make(&freed, 2, true);
        crew_stop(&t->crew);
        assert_false(crew_ended(&t->crew, NS_PER_MS));
        /* The driver returns later, in a thread that nobody waits for. */
        crew_lock(&t->crew);
        t->crew.owned = false;
        crew_unlock(&t->crew);
        assert_int_equal(atomic_load(&freed), 0);
        crew_lock(&t->crew);
        t->hang = false;
        crew_unlock(&t->crew);
        const struct timespec nap = {.tv_nsec = 1000000};
        while (atomic_load(&freed) == 0)
                nanosleep(&nap, NULL);
        assert_int_equal(atomic_load(&freed), 1);
}

static void waits_end_in_time(void **state UNUSED)
{
        atomic_uint freed = 0;
        struct thing *t = make(&freed, 0, false);
        crew_lock(&t->crew);
        assert_false(crew_wait(&t->crew, clock_mono_ns() - 1));
        crew_unlock(&t->crew);
        crew_stop(&t->crew);
        assert_true(crew_stopping(&t->crew));
        assert_true(crew_leave(&t->crew, 0));
}

/* A thread of another crew uses the thing too: it is freed by whom of both leaves last. */
static void a_guest_is_a_worker(void **state UNUSED)
{
        atomic_uint freed = 0;
        struct thing *t = make(&freed, 1, false);
        crew_join(&t->crew);
        assert_false(crew_leave(&t->crew, 10 * NS_PER_MS));
        assert_int_equal(freed, 0);
        crew_part(&t->crew);
        assert_int_equal(freed, 1);
}

/* A thing whose worker works for another thing, which owns it. */
struct outer {
        struct crew crew;
        struct thing *inner;
        atomic_int *inner_workers; /* when the outer one was freed */
};

static void free_outer(struct crew *c)
{
        struct outer *o = (struct outer *)((char *)c - offsetof(struct outer, crew));
        crew_lock(&o->inner->crew);
        int workers = (int)o->inner->crew.workers;
        crew_unlock(&o->inner->crew);
        crew_leave(&o->inner->crew, 0);
        atomic_store(o->inner_workers, workers);
        free(o);
}

static void who_works_for_two_leaves_its_own_first(void **state UNUSED)
{
        for (int i = 0; i < 50; i++) {
                atomic_uint freed = 0;
                atomic_int workers = -1;
                struct outer *o = calloc(1, sizeof(*o));
                assert_non_null(o);
                crew_init(&o->crew, free_outer);
                o->inner_workers = &workers;
                o->inner = make(&freed, 0, false);
                assert_int_equal(crew_start_for(&o->inner->crew, &o->crew, work, o->inner), 0);
                struct crew *inner = &o->inner->crew;
                /* The owner waits for the worker, or has left when it ends. */
                if (i % 2)
                        crew_stop(inner);
                crew_leave(&o->crew, i % 2 ? 10 * NS_PER_S : 0);
                if (i % 2 == 0)
                        crew_stop(inner);
                const struct timespec nap = {.tv_nsec = 100000};
                while (atomic_load(&workers) < 0)
                        nanosleep(&nap, NULL);
                assert_int_equal(workers, 0);
                assert_int_equal(freed, 1);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(the_last_frees),
            cmocka_unit_test(what_hangs_is_left_behind),
            cmocka_unit_test(waits_end_in_time),
            cmocka_unit_test(a_guest_is_a_worker),
            cmocka_unit_test(who_works_for_two_leaves_its_own_first),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
