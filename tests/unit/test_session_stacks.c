/* Stacks in a session: what was seen is read again to the millisecond, also after a kill. */
#include "test.h"

#include "base/attr.h"
#include "base/clock.h"
#include "engine/stack_play.h"
#include "session/session.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define START_WALL (1700000000LL * NS_PER_S)
#define START_MONO (500LL * NS_PER_S)

static char path[256];
static struct stack_table *table;
static uint32_t parse, collate, train;

static uint32_t call_of(uint32_t parent, const char *file, const char *function, uint32_t line,
                        enum stack_whose whose)
{
        struct stack_frame f = {.file = stack_intern_text(table, file, strlen(file)),
                                .function = stack_intern_text(table, function, strlen(function)),
                                .first_line = line - 1,
                                .line = line,
                                .whose = whose};
        return stack_intern_call(table, parent, stack_intern_frame(table, &f));
}

static int set_up(void **state UNUSED)
{
        snprintf(path, sizeof(path), "%s/assay-stacks-%d.assay",
                 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", getpid());
        unlink(path);
        assert_int_equal(stack_table_open(&table), 0);
        train = call_of(STACK_EMPTY, "/home/u/train.py", "main", 88, STACK_USER);
        collate = call_of(train, "/home/u/data.py", "collate", 212, STACK_USER);
        parse = call_of(collate, "/usr/lib/python3/json/decoder.py", "raw_decode", 353,
                        STACK_INTERPRETER);
        return 0;
}

static int tear_down(void **state UNUSED)
{
        unlink(path);
        stack_table_close(table);
        return 0;
}

static struct session *start_session(void)
{
        struct session *s = NULL;
        struct err err = {0};
        struct frame f = {.wall_ns = START_WALL, .mono_ns = START_MONO};
        assert_int_equal(session_create(path, START_WALL, &s, &err), 0);
        assert_true(session_add(s, &f, &err) >= 0);
        return s;
}

static struct stack_sample sample_at(double elapsed, uint32_t stack, int tid)
{
        return (struct stack_sample){.mono_ns = START_MONO + clock_from_seconds(elapsed),
                                     .stands_for_ns = 50 * NS_PER_MS,
                                     .start_ticks = 77,
                                     .pid = 10,
                                     .tid = tid,
                                     .thread = stack_intern_text(table, "python3", 7),
                                     .stack = stack,
                                     .state = STACK_RUNNING,
                                     .holds_gil = tid == 10,
                                     .is_main = tid == 10};
}

static void add_at(struct session *s, double elapsed, uint32_t stack, int tid)
{
        struct stack_sample sample = sample_at(elapsed, stack, tid);
        session_add_stacks(s, table, &sample, 1);
}

/* Seconds of a thread in the function of its own place, over all windows. */
static double seconds_in(const char *file, int tid, const char *function, size_t *ret_windows)
{
        struct session_reader *r = NULL;
        const struct stack_log *all = NULL;
        struct stack_window w;
        struct err err = {0};
        double seconds = 0;
        assert_int_equal(session_open(file, &r, &err), 0);
        assert_int_equal(session_stacks(r, &all, &err), 0);
        assert_non_null(all);
        for (*ret_windows = 0; session_next_stacks(r, &w, &err) > 0; ++*ret_windows) {
                for (size_t i = 0; i < w.n; i++) {
                        const struct stack_thread *t = &all->threads[w.counts[i].thread];
                        struct stack_place p = stack_find_place(all->table, w.counts[i].stack);
                        const struct stack_frame *f =
                            stack_frame(all->table, stack_node(all->table, p.own)->frame);
                        assert_int_equal(all->processes[t->process].pid, 10);
                        assert_int_equal(w.counts[i].holds_gil, t->is_main);
                        if (t->tid == tid && !strcmp(stack_text(all->table, f->function), function))
                                seconds += w.counts[i].seconds;
                }
        }
        session_reader_close(r);
        return seconds;
}

/* A commit in the middle of a window: what comes after it in the same window is added, not lost. */
static void windows_grow(void **state UNUSED)
{
        struct session *s = start_session();
        struct err err = {0};
        struct stack_process p = {.pid = 10,
                                  .start_ticks = 77,
                                  .access = STACK_READABLE,
                                  .runtime = "CPython 3.11.7",
                                  .command = "python3 train.py"};
        session_add_stack_process(s, &p);
        for (int i = 0; i < 60; i++) {
                add_at(s, i * 0.05, i % 3 == 0 ? train : parse, 10);
                add_at(s, i * 0.05 + 0.001, collate, 11);
                if (i % 7 == 0)
                        assert_int_equal(session_commit(s, &err), 0);
        }
        assert_int_equal(session_commit(s, &err), 0);
        size_t windows;
        /* The recorder lives: this is what a reader sees, and what a kill leaves. */
        assert_float_equal(seconds_in(path, 10, "main", &windows), 1.0, 1e-9);
        assert_int_equal(windows, 3);
        assert_float_equal(seconds_in(path, 10, "collate", &windows), 2.0, 1e-9);
        assert_float_equal(seconds_in(path, 11, "collate", &windows), 3.0, 1e-9);
        assert_int_equal(session_close(s, &err), 0);
        assert_float_equal(seconds_in(path, 11, "collate", &windows), 3.0, 1e-9);
}

static int64_t one_number(const char *sql)
{
        sqlite3 *db;
        sqlite3_stmt *q;
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(q), SQLITE_ROW);
        int64_t v = sqlite3_column_int64(q, 0);
        sqlite3_finalize(q);
        sqlite3_close(db);
        return v;
}

static void views_say_the_same(void **state UNUSED)
{
        struct session *s = start_session();
        struct err err = {0};
        for (int i = 0; i < 40; i++)
                add_at(s, i * 0.05, parse, 10);
        assert_int_equal(session_close(s, &err), 0);
        assert_int_equal(one_number("SELECT round(sum(seconds) * 1000) FROM stacks"), 2000);
        assert_int_equal(one_number("SELECT sum(looks) FROM stacks"), 40);
        assert_int_equal(one_number("SELECT count(*) FROM stacks WHERE file = '/home/u/data.py' AND"
                                    " line = 212 AND function = 'collate' AND in_function ="
                                    " 'raw_decode' AND in_line = 353 AND gil AND main AND"
                                    " state = 'running' AND tid = 10"),
                         2);
        assert_int_equal(one_number("SELECT count(*) FROM stack_frames WHERE stack = (SELECT"
                                    " min(stack) FROM stacks)"),
                         3);
        assert_int_equal(one_number("SELECT line FROM stack_frames WHERE depth = 2 AND whose ="
                                    " 'user'"),
                         88);
}

static void nothing_when_redacted(void **state UNUSED)
{
        struct session *s = NULL;
        struct err err = {0};
        struct frame f = {.wall_ns = START_WALL, .mono_ns = START_MONO};
        struct stack_process p = {.pid = 10, .command = "python3 secret.py"};
        assert_int_equal(session_create(path, START_WALL, &s, &err), 0);
        session_keep_commands(s, COMMANDS_NONE);
        assert_true(session_add(s, &f, &err) >= 0);
        session_add_stack_process(s, &p);
        add_at(s, 0.1, parse, 10);
        assert_int_equal(session_close(s, &err), 0);
        assert_int_equal(one_number("SELECT count(*) FROM stack_text"), 0);
        assert_int_equal(one_number("SELECT count(*) FROM stack_process"), 0);
        assert_int_equal(one_number("SELECT count(*) FROM stack_window"), 0);
        struct session_reader *r = NULL;
        const struct stack_log *all;
        assert_int_equal(session_open(path, &r, &err), 0);
        assert_int_equal(session_stacks(r, &all, &err), 0);
        assert_null(all);
        session_reader_close(r);
}

/* A file that is made to harm: ids that lead nowhere, in circles, or out of range. */
static void ids_are_checked(void **state UNUSED)
{
        static const char *const harms[] = {
            "UPDATE stack_node SET parent = id",
            "UPDATE stack_node SET parent = 4000000000, frame = -1",
            "UPDATE stack_frame SET file = -5, function = 99999999, line = -1, whose = 77",
            "UPDATE stack_thread SET id = id + 70000",
            "UPDATE stack_thread SET pid = -1, tid = 99999999999, name = 1e300",
            "UPDATE stack_window SET data = x'ffffffffffffffffffffff'",
            "UPDATE stack_kind SET thread = -1, stack = 99999999, call = 1e300, flags = 77",
            "UPDATE stack_kind SET id = id + 16777215",
            "UPDATE stack_window SET data = x'00', id = 9223372036854775807 WHERE id = 1",
            "UPDATE stack_window SET data = zeroblob(3000000)",
            "INSERT INTO stack_text VALUES(9223372036854775807, 'x')",
            "UPDATE stack_text SET text = x'1b5b324a'",
        };
        for (size_t i = 0; i < ARRAY_LEN(harms); i++) {
                struct session *s = start_session();
                struct err err = {0};
                add_at(s, 0.1, parse, 10);
                add_at(s, 1.1, collate, 11);
                assert_int_equal(session_close(s, &err), 0);
                sqlite3 *db;
                assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
                assert_int_equal(sqlite3_exec(db, harms[i], NULL, NULL, NULL), SQLITE_OK);
                sqlite3_close(db);
                struct session_reader *r = NULL;
                const struct stack_log *all = NULL;
                struct stack_window w;
                assert_int_equal(session_open(path, &r, &err), 0);
                session_stacks(r, &all, &err);
                while (session_next_stacks(r, &w, &err) > 0) {
                        for (size_t k = 0; k < w.n; k++) {
                                assert_true(w.counts[k].thread < all->n_threads);
                                const struct stack_thread *t = &all->threads[w.counts[k].thread];
                                assert_true(t->process < all->n_processes);
                                struct stack_place p =
                                    stack_find_place(all->table, w.counts[k].stack);
                                const char *f = stack_text(
                                    all->table,
                                    stack_frame(all->table, stack_node(all->table, p.own)->frame)
                                        ->file);
                                assert_null(strchr(f, 27));
                        }
                }
                session_reader_close(r);
                unlink(path);
        }
}

static int64_t begin_ns; /* on the reader's clock */

static const char *function_at(struct stack_play *p, double elapsed, size_t *ret_counts)
{
        const struct stack_live *live = stack_play_at(p, begin_ns + clock_from_seconds(elapsed));
        const struct stack_sample *s = live ? stack_live_thread(live, 10) : NULL;
        *ret_counts = live ? live->window.n : 0;
        if (!s)
                return "";
        const struct stack_table *t = live->log.table;
        return stack_text(t, stack_frame(t, stack_node(t, s->stack)->frame)->function);
}

/* What is played tells the line of its time, forward and back, and counts half a minute. */
static void played_at_any_time(void **state UNUSED)
{
        struct session *s = start_session();
        struct err err = {0};
        struct stack_process process = {.pid = 10, .start_ticks = 77, .access = STACK_READABLE};
        session_add_stack_process(s, &process);
        for (int i = 0; i < 1200; i++)
                add_at(s, i * 0.05, i < 800 ? train : parse, 10);
        assert_int_equal(session_close(s, &err), 0);
        struct session_reader *r = NULL;
        assert_int_equal(session_open(path, &r, &err), 0);
        begin_ns = session_start_ns(r);
        session_reader_close(r);
        struct stack_play *p = stack_play_open(path);
        size_t counts;
        assert_non_null(p);
        assert_string_equal(function_at(p, 2.5, &counts), "main");
        assert_int_equal(counts, 3);
        assert_string_equal(function_at(p, 59.5, &counts), "raw_decode");
        assert_int_equal(counts, 30);
        assert_string_equal(function_at(p, 10.5, &counts), "main");
        assert_int_equal(counts, 11);
        assert_string_equal(function_at(p, 41.5, &counts), "raw_decode");
        assert_string_equal(function_at(p, -1, &counts), "");  /* before its beginning */
        assert_string_equal(function_at(p, 300, &counts), ""); /* long after its end */
        stack_play_close(p);
        assert_null(stack_play_open("/dev/null"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(windows_grow, set_up, tear_down),
            cmocka_unit_test_setup_teardown(views_say_the_same, set_up, tear_down),
            cmocka_unit_test_setup_teardown(nothing_when_redacted, set_up, tear_down),
            cmocka_unit_test_setup_teardown(ids_are_checked, set_up, tear_down),
            cmocka_unit_test_setup_teardown(played_at_any_time, set_up, tear_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
