/* Tapes: threads mark while the recorder takes marks in; each mark is in the file once. */
#include "test.h"

#include "base/attr.h"
#include "session/session.h"
#include "session/tape.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 4
#define MARKS_EACH 7000 /* of each: more than three tapes hold in all */

struct marker {
        struct tape_writer *tape;
        int thread;
        atomic_int *running;
        int failed;
};

static void *mark_all(void *arg)
{
        struct marker *k = arg;
        for (int i = 0; i < MARKS_EACH; i++) {
                struct mark m = {.wall_ns = 1000 + i,
                                 .mono_ns = i + 1,
                                 .type = MARK_STEP,
                                 .has_seconds = true,
                                 .seconds = i,
                                 .has_value = true,
                                 .value = -i};
                snprintf(m.name, sizeof(m.name), "thread %d", k->thread);
                k->failed += tape_put(k->tape, &m) != 1;
        }
        atomic_fetch_sub(k->running, 1);
        return NULL;
}

static char *make_folder(char *folder)
{
        char *made = mkdtemp(folder);
        assert_non_null(made);
        return made;
}

/* Each mark is whole, which its two numbers show, and there once. */
static void check_marks(const struct mark *marks, size_t n)
{
        char *seen = calloc(THREADS, MARKS_EACH);
        assert_non_null(seen);
        for (size_t i = 0; i < n; i++) {
                const struct mark *m = &marks[i];
                int thread = -1, at = (int)m->seconds;
                assert_int_equal(sscanf(m->name, "thread %d", &thread), 1);
                assert_in_range(thread, 0, THREADS - 1);
                assert_in_range(at, 0, MARKS_EACH - 1);
                assert_true(m->has_value && (int)m->value == -at && m->wall_ns == 1000 + at);
                assert_int_equal(seen[thread * MARKS_EACH + at]++, 0);
        }
        assert_int_equal(n, THREADS * MARKS_EACH);
        free(seen);
}

static void threads_mark_while_the_recorder_commits(void **state UNUSED)
{
        char folder[] = "/tmp/assay-tape-XXXXXX", path[64];
        struct err err = {0};
        struct session *s = NULL;
        struct tape_writer *tape = NULL;
        pthread_t threads[THREADS];
        struct marker markers[THREADS];
        atomic_int running = THREADS;
        snprintf(path, sizeof(path), "%s/run.assay", make_folder(folder));
        assert_int_equal(session_create(path, 0, &s, &err), 0);
        assert_int_equal(tape_writer_open(path, &tape, &err), 0);
        for (int i = 0; i < THREADS; i++) {
                markers[i] = (struct marker){tape, i, &running, 0};
                assert_int_equal(pthread_create(&threads[i], NULL, mark_all, &markers[i]), 0);
        }
        while (atomic_load(&running) > 0)
                assert_int_equal(session_commit(s, &err), 0);
        for (int i = 0; i < THREADS; i++) {
                pthread_join(threads[i], NULL);
                assert_int_equal(markers[i].failed, 0);
        }
        assert_int_equal(session_close(s, &err), 0);

        struct mark late = {.type = MARK_STEP, .name = "late"};
        assert_int_equal(tape_put(tape, &late), 0); /* the recording has ended */
        tape_writer_close(tape);

        struct session_reader *r = NULL;
        struct mark *marks = NULL;
        size_t n = 0;
        assert_int_equal(session_open(path, &r, &err), 0);
        assert_int_equal(session_marks(r, &marks, &n, &err), 0);
        check_marks(marks, n);
        for (size_t i = 0; i < n; i++)
                mark_finish(&marks[i]);
        free(marks);
        session_reader_close(r);
        unlink(path);
        rmdir(folder);
}

static void what_does_not_fit_is_refused(void **state UNUSED)
{
        char folder[] = "/tmp/assay-tape-XXXXXX", path[64];
        struct err err = {0};
        struct session *s = NULL;
        struct tape_writer *tape = NULL;
        snprintf(path, sizeof(path), "%s/run.assay", make_folder(folder));
        assert_true(tape_writer_open(path, &tape, &err) < 0); /* nobody records */
        assert_int_equal(session_create(path, 0, &s, &err), 0);
        assert_int_equal(tape_writer_open(path, &tape, &err), 0);
        struct mark nameless = {.type = MARK_STEP}, rich = {.type = MARK_EVENT, .name = "x"};
        rich.data = (char[]){"{}"};
        assert_int_equal(tape_put(tape, &nameless), -EINVAL);
        assert_int_equal(tape_put(tape, &rich), -EINVAL);
        assert_int_equal(session_close(s, &err), 0);
        tape_writer_close(tape);
        unlink(path);
        rmdir(folder);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(threads_mark_while_the_recorder_commits),
            cmocka_unit_test(what_does_not_fit_is_refused),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
