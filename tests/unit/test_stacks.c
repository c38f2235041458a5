/* The reader of stacks, over memory that tests/tools/stack_image.py made. */
#include "test.h"

#include "base/attr.h"
#include "read/stacks/code.h"
#include "read/stacks/layout.h"
#include "read/stacks/maps.h"
#include "read/stacks/task.h"
#include "read/stacks/walk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BASE UINT64_C(0x10000)

struct memory {
        uint8_t *data;
        size_t size;
        size_t gone_from; /* nothing can be read from here on */
};

static ssize_t read_memory(void *arg, const struct iovec *to, const struct iovec *from, size_t n)
{
        struct memory *m = arg;
        size_t done = 0;
        for (size_t i = 0; i < n; i++) {
                uint64_t at = (uintptr_t)from[i].iov_base - BASE;
                if (at > m->gone_from || from[i].iov_len > m->gone_from - at) {
                        errno = EFAULT;
                        return done > 0 ? (ssize_t)done : -1;
                }
                memcpy((uint8_t *)to->iov_base + done, m->data + at, from[i].iov_len);
                done += from[i].iov_len;
        }
        return (ssize_t)done;
}

static void load(const char *name, struct memory *m)
{
        char path[512];
        snprintf(path, sizeof(path), "%s/../fuzz/corpus/stack_memory/%s", getenv("FIXTURES"), name);
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        fseek(f, 0, SEEK_END);
        m->size = m->gone_from = (size_t)ftell(f);
        rewind(f);
        m->data = malloc(m->size);
        assert_non_null(m->data);
        assert_int_equal(fread(m->data, 1, m->size, f), m->size);
        fclose(f);
}

struct world {
        struct memory memory;
        struct remote remote;
        struct runtime runtime;
        struct stack_table *table;
        struct code_cache codes;
        char why[RUNTIME_WHY_MAX];
};

static enum runtime_found open_world(const char *image, struct world *w)
{
        const uint64_t base = BASE;
        memset(w, 0, sizeof(*w));
        load(image, &w->memory);
        assert_int_equal(remote_init(&w->remote), 0);
        assert_int_equal(stack_table_open(&w->table), 0);
        remote_use(&w->remote, 1, read_memory, &w->memory);
        remote_begin(&w->remote, NULL);
        return runtime_find(&w->remote, &base, 1, &w->runtime, w->why);
}

static void close_world(struct world *w)
{
        code_cache_finish(&w->codes);
        stack_table_close(w->table);
        remote_finish(&w->remote);
        free(w->memory.data);
}

/* "train.py:12 step < train.py:4 main": the first thread's stack from the innermost frame out. */
static void describe(struct world *w, char *to, size_t size)
{
        struct runtime_thread threads[64];
        uint32_t stack;
        size_t n = runtime_list_threads(&w->remote, &w->runtime, threads, ARRAY_LEN(threads));
        to[0] = '\0';
        if (n == 0 ||
            !walk_stack(&w->codes, &w->remote, &w->runtime, w->table, threads[0].current, &stack))
                return;
        for (uint32_t at = stack; at != STACK_EMPTY; at = stack_node(w->table, at)->parent) {
                const struct stack_frame *f =
                    stack_frame(w->table, stack_node(w->table, at)->frame);
                size_t len = strlen(to);
                snprintf(to + len, size - len, "%s%s:%u %s", len > 0 ? " < " : "",
                         stack_text(w->table, f->file), f->line, stack_text(w->table, f->function));
        }
}

static void images(void **state UNUSED)
{
        static const struct {
                const char *image;
                enum runtime_found found;
                const char *text; /* the stack, or why not */
        } cases[] = {
            {"plain_3_9", RUNTIME_FOUND, "train.py:10 step < train.py:2 main"},
            {"plain_3_13", RUNTIME_FOUND, "train.py:11 step < train.py:3 main"},
            {"escapes_3_13", RUNTIME_FOUND, "?[2Ja.py:2 ?f?"},
            {"loop_3_9", RUNTIME_FOUND, ""},
            {"loop_3_13", RUNTIME_FOUND, ""},
            {"free_threaded", RUNTIME_UNSUPPORTED,
             "CPython 3.13: free-threaded builds cannot be read"},
            {"too_new", RUNTIME_UNSUPPORTED, "CPython 3.20: newer than this program knows"},
            {"long_name", RUNTIME_FOUND, "train.py:11 step < ?:3 main"},
            {"no_symbols", RUNTIME_FOUND, "train.py:11 step < train.py:3 main"},
            {"no_python", RUNTIME_NONE, ""},
            {"many_headers", RUNTIME_NONE, ""},
            {"cut_3_9", RUNTIME_NONE, ""},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct world w;
                char text[512] = "";
                enum runtime_found found = open_world(cases[i].image, &w);
                if (found == RUNTIME_FOUND)
                        describe(&w, text, sizeof(text));
                else
                        snprintf(text, sizeof(text), "%s", w.why);
                if (found != cases[i].found || strcmp(text, cases[i].text) != 0)
                        fail_msg("%s: %d, '%s'", cases[i].image, found, text);
                close_world(&w);
        }
}

/* Beyond STACK_DEPTH_MAX callers are left out, and a frame says so. */
/* The offsets that builds of Debian have, in the first order that fits them. */
static void released_offsets(void **state UNUSED)
{
        static const struct {
                const char *file;
                uint32_t threads, gil_locked, gil_holder, current, pthread, owner, bytecode;
        } cases[] = {{"3.13.18", 7344, 16, 8, 72, 152, 70, 200},
                     {"3.14.10", 7344, 16, 8, 72, 152, 74, 208},
                     {"3.15.2", 7336, 16, 8, 72, 176, 74, 208}};
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                char path[512];
                uint64_t words[LAYOUT_WORDS];
                struct layout l;
                unsigned k = 0;
                int r;
                snprintf(path, sizeof(path), "%s/../fuzz/corpus/stack_offsets/%s",
                         getenv("FIXTURES"), cases[i].file);
                FILE *f = fopen(path, "rb");
                assert_non_null(f);
                assert_int_equal(fread(words, 1, sizeof(words), f), sizeof(words));
                fclose(f);
                while ((r = layout_read(words, k, &l)) == -EAGAIN)
                        k++;
                if (r != 0)
                        fail_msg("%s: no order fits", cases[i].file);
                assert_int_equal(l.interpreter_threads, cases[i].threads);
                assert_int_equal(l.gil_locked, cases[i].gil_locked);
                assert_int_equal(l.gil_holder, cases[i].gil_holder);
                assert_int_equal(l.thread_current, cases[i].current);
                assert_int_equal(l.thread_pthread, cases[i].pthread);
                assert_int_equal(l.thread_native, cases[i].pthread + 8);
                assert_int_equal(l.frame_owner, cases[i].owner);
                assert_int_equal(l.code_bytecode, cases[i].bytecode);
        }
}

static void deep_stacks_are_cut(void **state UNUSED)
{
        struct world w;
        struct runtime_thread t;
        uint32_t stack, outer;
        assert_int_equal(open_world("deep_3_13", &w), RUNTIME_FOUND);
        assert_int_equal(runtime_list_threads(&w.remote, &w.runtime, &t, 1), 1);
        assert_true(walk_stack(&w.codes, &w.remote, &w.runtime, w.table, t.current, &stack));
        assert_int_equal(stack_node(w.table, stack)->depth, STACK_DEPTH_MAX + 1);
        for (outer = stack; stack_node(w.table, outer)->parent != STACK_EMPTY;)
                outer = stack_node(w.table, outer)->parent;
        assert_int_equal(stack_node(w.table, outer)->frame, STACK_FRAME_CUT);
        close_world(&w);
}

/* A second look reads all that the first one asked for with one call. */
static void a_plan_needs_one_call(void **state UNUSED)
{
        struct world w;
        struct remote_plan plan = {0};
        char text[512];
        assert_int_equal(open_world("threads_3_13", &w), RUNTIME_FOUND);
        uint64_t calls[3];
        for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
                uint64_t before = w.remote.total_calls;
                remote_begin(&w.remote, &plan);
                describe(&w, text, sizeof(text));
                remote_end(&w.remote, &plan);
                assert_string_equal(text, "train.py:11 step < train.py:3 main");
                calls[i] = w.remote.total_calls - before;
        }
        assert_true(calls[0] > 10);
        assert_int_equal(calls[1], 1);
        assert_int_equal(calls[2], 1);
        remote_plan_finish(&plan);
        close_world(&w);
}

/* Memory that goes away between looks: nothing is made up. */
static void memory_that_goes_away(void **state UNUSED)
{
        struct world w;
        struct remote_plan plan = {0};
        char text[512];
        assert_int_equal(open_world("plain_3_13", &w), RUNTIME_FOUND);
        for (size_t kept = w.memory.size; kept > 0; kept = kept / 2) {
                w.memory.gone_from = kept;
                remote_begin(&w.remote, &plan);
                describe(&w, text, sizeof(text));
                remote_end(&w.remote, &plan);
                assert_true(strcmp(text, "") == 0 || kept > w.memory.size / 2);
        }
        remote_plan_finish(&plan);
        close_world(&w);
}

static void whose_code(void **state UNUSED)
{
        static const struct {
                const char *file;
                enum stack_whose whose;
        } cases[] = {
            {"/home/ann/train.py", STACK_USER},
            {"train.py", STACK_USER},
            {"<stdin>", STACK_USER},
            {"<ipython-input-3-abc>", STACK_USER},
            {"/tmp/ipykernel_12/345.py", STACK_USER},
            {"/home/ann/python3.11-notes/a.py", STACK_USER},
            {"/home/ann/python3.d/a.py", STACK_USER},
            {"/usr/lib/python3.11/json/decoder.py", STACK_INTERPRETER},
            {"/opt/conda/lib/python3.9/threading.py", STACK_INTERPRETER},
            {"/usr/lib/python3.13t/queue.py", STACK_INTERPRETER},
            {"<frozen importlib._bootstrap>", STACK_INTERPRETER},
            {"/v/lib/python3.11/site-packages/torch/x.py", STACK_LIBRARY},
            {"/usr/lib/python3/dist-packages/numpy/core.py", STACK_LIBRARY},
            {"<__array_function__ internals>", STACK_LIBRARY},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                if (code_whose(cases[i].file) != cases[i].whose)
                        fail_msg("%s", cases[i].file);
        }
}

static void files_of_proc(void **state UNUSED)
{
        static const char line[] = "7f00-7f10 rw-p 00000a00 08:01 77    /usr/bin/py 3 (deleted)";
        char path[MAPS_PATH_MAX];
        struct mapping m;
        bool runs;
        int64_t call;
        assert_true(maps_parse(line, strlen(line), path, &m));
        assert_true(m.begin == 0x7f00 && m.end == 0x7f10 && m.offset == 0xa00 && m.may_write);
        assert_string_equal(m.path, "/usr/bin/py 3");
        assert_false(maps_parse("7f10-7f00 r--p 0 0:0 0", 22, path, &m));
        assert_true(task_parse_call("running\n", 8, &runs, &call) && runs);
        assert_true(task_parse_call("230 0x1 0x2\n", 12, &runs, &call) && !runs && call == 230);
        assert_true(task_parse_call("-1 0x1 0x2\n", 11, &runs, &call) && !runs && call == -1);
        assert_false(task_parse_call("0x1 2", 5, &runs, &call));
        uint64_t argument[2] = {0};
        assert_true(task_parse_arguments("230 0x1 0xfF 0x3\n", 17, &call, argument));
        assert_true(call == 230 && argument[0] == 1 && argument[1] == 255);
        assert_false(task_parse_arguments("running\n", 8, &call, argument));
        assert_false(task_parse_arguments("230 0x1\n", 8, &call, argument));
        assert_false(task_parse_arguments("-1 0x1 0x2\n", 11, &call, argument));
        struct task_runs ran = {0};
        double last_ms = 0;
        assert_true(task_parse_runs("12 34 5\n", 8, &ran));
        assert_true(ran.has_times && ran.cpu_ns == 12 && ran.waited_ns == 34 && ran.times == 5);
        assert_false(task_parse_runs("12 34\n", 6, &ran));
        assert_true(task_parse_last_run("x (1)\nse.exec_start    :   674760.38\n", 36, &last_ms));
        assert_true(last_ms == 674760);
        assert_false(task_parse_last_run("se.exec_start\n", 14, &last_ms));
        assert_int_equal(task_parse_inner("Name:\tx\nNSpid:\t4242\t17\n", 23), 17);
        assert_int_equal(task_parse_inner("Name:\tx\nNSpid:\t4242\n", 20), 4242);
        assert_int_equal(task_parse_inner("Name:\tx\n", 8), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(images),
            cmocka_unit_test(released_offsets),
            cmocka_unit_test(deep_stacks_are_cut),
            cmocka_unit_test(a_plan_needs_one_call),
            cmocka_unit_test(memory_that_goes_away),
            cmocka_unit_test(whose_code),
            cmocka_unit_test(files_of_proc),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
