/* The queue of what is pushed: its bound, what a restart finds, and files that are damaged. */
#include "serve/push_queue.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct rig {
        char dir[64];
        struct push_queue *q;
};

static void reopen(struct rig *r, bool disk, size_t bytes, const char *kind)
{
        char notice[256];
        push_queue_close(r->q);
        const struct push_queue_config c = {
            .dir = disk ? r->dir : NULL, .kind = kind, .bytes_max = bytes};
        r->q = push_queue_open(&c, notice, sizeof(notice));
        assert_non_null(r->q);
        assert_string_equal(notice, "");
}

static void start(struct rig *r, bool disk, size_t bytes)
{
        *r = (struct rig){.dir = "/tmp/assay-push-XXXXXX"};
        assert_non_null(mkdtemp(r->dir));
        reopen(r, disk, bytes, "a");
}

static void stop(struct rig *r)
{
        char command[128];
        push_queue_close(r->q);
        snprintf(command, sizeof(command), "rm -r '%s'", r->dir);
        assert_int_equal(system(command), 0);
}

static size_t add(struct rig *r, int64_t time_ms, const char *body)
{
        return push_queue_add(r->q, time_ms, body, strlen(body));
}

/* Takes the oldest and compares it; body NULL: nothing waits. */
static void expect(struct rig *r, const char *body, int64_t time_ms, size_t lost)
{
        struct push_item item;
        size_t got;
        bool found = push_queue_first(r->q, &item, &got);
        assert_int_equal(got, lost);
        assert_int_equal(found, body != NULL);
        if (!found)
                return;
        assert_int_equal(item.len, strlen(body));
        assert_memory_equal(item.body, body, item.len);
        assert_int_equal(item.time_ms, time_ms);
        push_queue_done(r->q, item.number);
        push_queue_done(r->q, item.number); /* once more does nothing */
        free(item.body);
}

static void test_order_and_bound(void **state)
{
        (void)state;
        for (int disk = 0; disk < 2; disk++) {
                struct rig r;
                start(&r, disk, 10);
                expect(&r, NULL, 0, 0);
                assert_int_equal(add(&r, 1, "aaaa"), 0);
                assert_int_equal(add(&r, 2, "bbbb"), 0);
                assert_int_equal(add(&r, 3, "cccc"), 1); /* the oldest goes */
                assert_int_equal(push_queue_count(r.q), 2);
                assert_int_equal(push_queue_bytes(r.q), 8);
                assert_int_equal(add(&r, 4, "longer than all"),
                                 1); /* fits never: the others stay */
                expect(&r, "bbbb", 2, 0);
                assert_int_equal(add(&r, 5, "0123456789"), 1);
                expect(&r, "0123456789", 5, 0);
                expect(&r, NULL, 0, 0);
                assert_int_equal(push_queue_bytes(r.q), 0);
                stop(&r);
        }
}

static void test_many(void **state)
{
        struct rig r;
        char body[16];
        (void)state;
        start(&r, false, SIZE_MAX);
        size_t dropped = 0;
        for (int i = 0; i < PUSH_WAITING_MAX + 100; i++) {
                snprintf(body, sizeof(body), "%d", i);
                dropped += add(&r, i, body);
        }
        assert_int_equal(dropped, 100);
        assert_int_equal(push_queue_count(r.q), PUSH_WAITING_MAX);
        expect(&r, "100", 100, 0);
        stop(&r);
}

static void test_restart(void **state)
{
        struct rig r;
        (void)state;
        start(&r, true, 1000);
        for (int i = 0; i < 20; i++)
                add(&r, i, i % 2 ? "odd" : "even");
        expect(&r, "even", 0, 0);
        reopen(&r, true, 1000, "a");
        assert_int_equal(push_queue_count(r.q), 19);
        expect(&r, "odd", 1, 0);
        add(&r, 20, "new");
        reopen(&r, true, 10, "a"); /* a smaller bound: the newest stay */
        expect(&r, "even", 18, 0);
        expect(&r, "odd", 19, 0);
        reopen(&r, true, 1000, "a");
        expect(&r, "new", 20, 0);
        add(&r, 21, "x");
        reopen(&r, true, 1000, "b"); /* of another kind: useless */
        expect(&r, NULL, 0, 0);
        reopen(&r, true, 1000, "a");
        expect(&r, NULL, 0, 0);
        stop(&r);
}

static void put_file(const struct rig *r, const char *name, const char *text)
{
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", r->dir, name);
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fputs(text, f);
        fclose(f);
}

static bool present(const struct rig *r, const char *name)
{
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", r->dir, name);
        return access(path, F_OK) == 0;
}

static void test_damage(void **state)
{
        static const struct {
                const char *name, *text;
                bool kept; /* the file is not ours */
                size_t lost;
                const char *why;
        } cases[] = {
            {"0000000000000001.push", "", false, 0, "a power cut emptied it"},
            {"0000000000000001.push", "assay push 1 a 5 4 0\nabcd", false, 1, "a wrong checksum"},
            {"0000000000000001.push", "assay push 1 a 5 4 0\nab", false, 1, "cut off"},
            {"0000000000000001.push", "assay push 1 a 5 99999999999999 0\n", false, 0, "too long"},
            {"0000000000000001.push", "assay push 2 a 5 4 0\nabcd", false, 0, "another version"},
            {"0000000000000001.new", "assay push 1 a 5 4 0\nabcd", false, 0, "half written"},
            {"notes.txt", "hello", true, 0, "somebody else's file"},
            {"1.push", "hello", true, 0, "a name that we do not give"},
        };
        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct rig r;
                start(&r, true, 1000);
                put_file(&r, cases[i].name, cases[i].text);
                reopen(&r, true, 1000, "a");
                add(&r, 7, "good");
                if (present(&r, cases[i].name) != (cases[i].kept || cases[i].lost > 0))
                        fail_msg("%s", cases[i].why);
                expect(&r, "good", 7, cases[i].lost);
                stop(&r);
        }
}

/* A disk that takes nothing: memory does. */
static void test_disk_fails(void **state)
{
        struct rig r;
        char notice[256];
        (void)state;
        start(&r, true, 1000);
        assert_int_equal(rmdir(r.dir), 0);
        add(&r, 1, "kept");
        expect(&r, "kept", 1, 0);
        assert_int_equal(mkdir(r.dir, 0700), 0);
        const struct push_queue_config c = {
            .dir = "/proc/none/push", .kind = "a", .bytes_max = 100};
        struct push_queue *q = push_queue_open(&c, notice, sizeof(notice));
        assert_non_null(strstr(notice, "/proc/none/push"));
        assert_int_equal(push_queue_add(q, 1, "x", 1), 0);
        assert_int_equal(push_queue_count(q), 1);
        push_queue_close(q);
        stop(&r);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_order_and_bound), cmocka_unit_test(test_many),
            cmocka_unit_test(test_restart),         cmocka_unit_test(test_damage),
            cmocka_unit_test(test_disk_fails),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
