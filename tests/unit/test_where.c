/* Whose lines answer for a limiter, and which are too few to be told. */
#include "test.h"

#include "base/attr.h"
#include "compute/where.h"
#include "present/text/where.h"

#include <stdio.h>
#include <string.h>

enum { TRAINER = 10, WORKER = 20, LAUNCHER = 5 };

/* A run of ten seconds with one stretch on one GPU: a trainer that holds it, and a worker. */
struct rig {
        struct stack_table *table;
        struct stack_process processes[3];
        struct stack_thread threads[4];
        struct stack_log log;
        struct stretch stretch;
        struct stretch_gpu gpu;
        struct stretch_list list;
        struct where_finder finder;
        uint32_t main_line, work_line, json_line;
};

static uint32_t call_line(struct rig *r, uint32_t parent, const char *file, const char *function,
                          uint32_t line, enum stack_whose whose)
{
        struct stack_frame f = {.file = stack_intern_text(r->table, file, strlen(file)),
                                .function = stack_intern_text(r->table, function, strlen(function)),
                                .line = line,
                                .whose = whose};
        return stack_intern_call(r->table, parent, stack_intern_frame(r->table, &f));
}

static void begin(struct rig *r, enum limiter limiter)
{
        *r = (struct rig){0};
        assert_int_equal(stack_table_open(&r->table), 0);
        r->processes[0] = (struct stack_process){.pid = TRAINER, .ppid = LAUNCHER};
        r->processes[1] = (struct stack_process){.pid = WORKER, .ppid = TRAINER};
        r->processes[2] = (struct stack_process){.pid = LAUNCHER};
        for (uint32_t i = 0; i < 3; i++)
                r->threads[i] = (struct stack_thread){.process = i, .is_main = true};
        r->threads[3] = (struct stack_thread){.process = 0};
        r->log = (struct stack_log){r->table, r->threads, 4, r->processes, 3};
        r->main_line = call_line(r, STACK_EMPTY, "/home/u/train.py", "main", 88, STACK_USER);
        r->work_line = call_line(r, STACK_EMPTY, "/home/u/data.py", "collate", 212, STACK_USER);
        r->json_line = call_line(r, r->work_line, "/usr/lib/python3.11/json/decoder.py",
                                 "raw_decode", 353, STACK_INTERPRETER);
        r->stretch = (struct stretch){.begin_s = 0, .end_s = 10, .limit = {.limiter = limiter}};
        gpu_set_add(&r->stretch.gpus, 0);
        snprintf(r->gpu.source_label, sizeof(r->gpu.source_label), "0");
        r->list = (struct stretch_list){
            .seconds = 10, .n = 1, .list = &r->stretch, .n_gpus = 1, .gpus = &r->gpu};
        r->list.n_findings = 1;
        r->list.findings[0] = (struct limit_finding){.limiter = limiter, .n = 1};
        struct process held = {.pid = TRAINER, .ppid = LAUNCHER};
        snprintf(held.gpu, sizeof(held.gpu), "0");
        assert_int_equal(
            where_see_processes(&r->finder, &(struct process_list){.list = &held, .n = 1}), 0);
}

static void end(struct rig *r)
{
        where_finish(&r->finder);
        free(r->list.wheres);
        stack_table_close(r->table);
}

static void add(struct rig *r, int second, uint32_t thread, uint32_t stack, enum stack_state state,
                uint32_t n_samples)
{
        struct stack_count c = {.thread = thread,
                                .stack = stack,
                                .n_samples = n_samples,
                                .state = (uint8_t)state,
                                .seconds = n_samples * 0.05};
        struct stack_window w = {.n = 1, .counts = &c};
        assert_int_equal(where_add(&r->finder, &r->list, &r->log, second, &w), 0);
}

static const struct where *conclude(struct rig *r)
{
        assert_int_equal(where_conclude(&r->finder, &r->log, &r->list), 0);
        /* A finding of one stretch says what the stretch says. */
        const struct where *stretch = stretch_list_where(&r->list, r->stretch.where);
        const struct where *finding = stretch_list_where(&r->list, r->list.findings[0].where);
        assert_int_equal(stretch != NULL, finding != NULL);
        return finding;
}

/* The trainer's own code is not asked about its workers, nor the launcher about anything. */
static void code_is_the_holders(void **state UNUSED)
{
        struct rig r;
        begin(&r, LIMITER_HOST_CODE);
        add(&r, 1, 0, r.json_line, STACK_RUNNING, 30);
        add(&r, 2, 0, r.main_line, STACK_RUNNING, 10);
        add(&r, 2, 0, r.main_line, STACK_WAITING, 100); /* it rests: no CPU time */
        add(&r, 3, 1, r.work_line, STACK_RUNNING, 500);
        add(&r, 3, 2, r.work_line, STACK_RUNNING, 500);
        add(&r, 12, 0, r.main_line, STACK_RUNNING, 500); /* after the stretch */
        const struct where *w = conclude(&r);
        assert_non_null(w);
        assert_int_equal(w->n, 1);
        assert_string_equal(w->parts[0].rule->name, "code");
        assert_int_equal(w->parts[0].n_samples, 40);
        assert_float_equal(w->parts[0].seconds, 2.0, 1e-9);
        assert_int_equal(w->parts[0].n, 2);
        const struct where_place *p = w->parts[0].places;
        assert_float_equal(p[0].share, 0.75, 1e-9);
        assert_string_equal(p[0].own.file, "/home/u/data.py");
        assert_int_equal(p[0].own.line, 212);
        assert_string_equal(p[0].own.function, "collate");
        assert_int_equal(p[0].inner.line, 353);
        assert_float_equal(p[1].share, 0.25, 1e-9);
        assert_string_equal(p[1].inner.file, "");
        end(&r);
}

static void input_is_the_workers_and_who_waits(void **state UNUSED)
{
        struct rig r;
        begin(&r, LIMITER_HOST_INPUT);
        add(&r, 1, 1, r.work_line, STACK_RUNNING, 60);
        add(&r, 1, 1, r.json_line, STACK_RUNNING, 20);
        add(&r, 1, 0, r.main_line, STACK_WAITING, 40);
        const struct where *w = conclude(&r);
        assert_non_null(w);
        assert_int_equal(w->n, 2);
        assert_string_equal(w->parts[0].rule->name, "workers");
        /* One line, whatever it is in: the most frequent is shown. */
        assert_int_equal(w->parts[0].n, 1);
        assert_float_equal(w->parts[0].places[0].share, 1, 1e-9);
        assert_int_equal(w->parts[0].places[0].n_samples, 80);
        assert_string_equal(w->parts[0].places[0].inner.file, "");
        assert_string_equal(w->parts[1].rule->name, "main");
        assert_int_equal(w->parts[1].places[0].own.line, 88);
        end(&r);
}

/* A parent that prepares what the process on the GPU computes with. */
static void a_parent_may_feed(void **state UNUSED)
{
        struct rig r;
        begin(&r, LIMITER_HOST_INPUT);
        add(&r, 1, 2, r.work_line, STACK_RUNNING, 60);
        add(&r, 1, 0, r.main_line, STACK_WAITING, 40);
        const struct where *w = conclude(&r);
        assert_non_null(w);
        assert_string_equal(w->parts[0].rule->name, "workers");
        assert_int_equal(w->parts[0].places[0].own.line, 212);
        end(&r);
}

/* No process prepares data: threads of the program do. */
static void threads_that_load(void **state UNUSED)
{
        struct rig r;
        begin(&r, LIMITER_HOST_INPUT);
        add(&r, 1, 3, r.work_line, STACK_RUNNING, 60);
        add(&r, 1, 0, r.main_line, STACK_WAITING, 40);
        const struct where *w = conclude(&r);
        assert_non_null(w);
        assert_int_equal(w->n, 2);
        assert_string_equal(w->parts[0].rule->name, "code");
        assert_int_equal(w->parts[0].places[0].own.line, 212);
        assert_string_equal(w->parts[1].rule->name, "main");
        end(&r);
}

/* A comprehension is a function of its own before 3.12, on the line of the one around it. */
static void a_line_is_one_place(void **state UNUSED)
{
        struct rig r;
        begin(&r, LIMITER_HOST_CODE);
        uint32_t inside =
            call_line(&r, r.work_line, "/home/u/data.py", "collate.<listcomp>", 212, STACK_USER);
        uint32_t below = call_line(&r, inside, "/usr/lib/python3.11/json/decoder.py", "raw_decode",
                                   353, STACK_INTERPRETER);
        add(&r, 1, 0, r.work_line, STACK_RUNNING, 30);
        add(&r, 1, 0, inside, STACK_RUNNING, 50);
        add(&r, 1, 0, below, STACK_RUNNING, 20);
        const struct where *w = conclude(&r);
        assert_non_null(w);
        assert_int_equal(w->parts[0].n, 1);
        assert_float_equal(w->parts[0].places[0].share, 1, 1e-9);
        assert_string_equal(w->parts[0].places[0].own.function, "collate");
        assert_string_equal(w->parts[0].places[0].inner.file, "");
        end(&r);
}

/* What libraries use of each other says less than the library that the program calls. */
static void plumbing(void **state UNUSED)
{
        static const struct {
                const char *called, *inner, *function, *says;
        } cases[] = {
            {"subprocess.py", "selectors.py", "select", "start other programs"},
            {"argparse.py", "shutil.py", "get_terminal_size", "command line"},
            {"shutil.py", "shutil.py", "copyfile", "copy files"},
            {"mine.py", "selectors.py", "select", "event loop"},
            {"", "selectors.py", "select", "event loop"},
            {"queue.py", "threading.py", "wait", "fills the queue"},
            {"multiprocessing/queues.py", "multiprocessing/connection.py", "_recv", "other end"},
            {"re/__init__.py", "re/__init__.py", "sub", "search and replace"},
            {"re/__init__.py", "re/_parser.py", "parse", "compile patterns"},
            {"json/__init__.py", "json/decoder.py", "raw_decode", "parse it once"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                static struct where w;
                w = (struct where){.n = 1, .parts = {{.n = 1}}};
                struct where_place *p = &w.parts[0].places[0];
                p->inner.whose = p->called.whose = STACK_INTERPRETER;
                snprintf(p->inner.file, sizeof(p->inner.file), "/usr/lib/python3.11/%s",
                         cases[i].inner);
                snprintf(p->inner.function, sizeof(p->inner.function), "%s", cases[i].function);
                if (cases[i].called[0])
                        snprintf(p->called.file, sizeof(p->called.file), "/usr/lib/python3.11/%s",
                                 cases[i].called);
                const char *advice = where_advice(&w);
                if (!advice || !strstr(advice, cases[i].says))
                        fail_msg("%s in %s: %s", cases[i].inner, cases[i].called,
                                 advice ? advice : "nothing");
        }
}

/* What is known of a place, by library, function and system call. */
static void known_places(void **state UNUSED)
{
        static const struct {
                const char *file, *function;
                enum stack_whose whose;
                const char *call, *says; /* says NULL: nothing is known */
        } cases[] = {
            {"/usr/lib/python3.11/json/decoder.py", "raw_decode", STACK_INTERPRETER, "", "parse"},
            {"/home/u/json/decoder.py", "raw_decode", STACK_USER, "", NULL},
            {"/v/site-packages/mine/json/decoder.py", "f", STACK_LIBRARY, "", NULL},
            {"/v/site-packages/PIL/Image.py", "resize", STACK_LIBRARY, "", "decode images"},
            {"/v/site-packages/torch/_tensor.py", "item", STACK_LIBRARY, "", "read values back"},
            {"/v/site-packages/torch/serialization.py", "save", STACK_LIBRARY, "", "async_save"},
            {"/v/site-packages/torch/cuda/memory.py", "empty_cache", STACK_LIBRARY, "",
             "leave out"},
            {"/v/site-packages/torch/_inductor/x.py", "f", STACK_LIBRARY, "", "compiled code"},
            {"/v/site-packages/torch/_inductor/x.py", "<module>", STACK_LIBRARY, "", "import"},
            {"<frozen importlib._bootstrap>", "_load", STACK_INTERPRETER, "", "import"},
            {"/usr/lib/python3.11/threading.py", "wait", STACK_INTERPRETER, "futex", "lock"},
            {"/home/u/a.py", "f", STACK_USER, "futex", "waits for a lock"},
            {"/home/u/a.py", "f", STACK_USER, "clock_nanosleep", "sleeps"},
            {"/home/u/a.py", "<module>", STACK_USER, "", NULL},
            {"/home/u/a.py", "f", STACK_USER, "ioctl", NULL},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                static struct where w;
                w = (struct where){.n = 1, .parts = {{.n = 1}}};
                struct where_place *p = &w.parts[0].places[0];
                struct code_line *line = cases[i].whose == STACK_USER ? &p->own : &p->inner;
                snprintf(line->file, sizeof(line->file), "%s", cases[i].file);
                snprintf(line->function, sizeof(line->function), "%s", cases[i].function);
                line->whose = cases[i].whose;
                snprintf(p->call, sizeof(p->call), "%s", cases[i].call);
                const char *advice = where_advice(&w);
                if (cases[i].says ? !advice || !strstr(advice, cases[i].says) : advice != NULL)
                        fail_msg("%s %s %s: %s", cases[i].file, cases[i].function, cases[i].call,
                                 advice ? advice : "nothing");
        }
}

/* A main thread that only joins says nothing; a thread that loads data beside a busy one neither.
 */
static void threads_answer_for_a_main_thread_that_joins(void **state UNUSED)
{
        static const struct {
                const char *reason, *file, *function;
                enum stack_whose whose;
                uint32_t joins, works, others;
                const char *answer;
        } cases[] = {
            {"joins", "/usr/lib/python3.11/threading.py", "Thread.join", STACK_INTERPRETER, 90, 10,
             40, "threads"},
            {"works too", "/usr/lib/python3.11/threading.py", "Thread.join", STACK_INTERPRETER, 70,
             30, 40, "waiting"},
            {"of nobody", "/usr/lib/python3.11/threading.py", "Thread.join", STACK_INTERPRETER, 90,
             10, 0, "waiting"},
            {"waits for a pool", "/usr/lib/python3.11/concurrent/futures/_base.py", "result",
             STACK_INTERPRETER, 100, 0, 40, "threads"},
            {"waits for a lock", "/usr/lib/python3.11/threading.py", "wait", STACK_INTERPRETER, 100,
             0, 40, "waiting"},
            {"joins a path", "/usr/lib/python3.11/posixpath.py", "join", STACK_INTERPRETER, 100, 0,
             40, "waiting"},
            {"joins by itself", "/home/u/threading.py", "join", STACK_USER, 100, 0, 40, "waiting"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct rig r;
                begin(&r, LIMITER_HOST_WAITING);
                uint32_t join = call_line(&r, r.main_line, cases[i].file, cases[i].function, 1100,
                                          cases[i].whose);
                add(&r, 1, 0, join, STACK_WAITING, cases[i].joins);
                add(&r, 1, 0, r.main_line, STACK_RUNNING, cases[i].works);
                add(&r, 1, 3, r.work_line, STACK_WAITING, cases[i].others);
                const struct where *w = conclude(&r);
                assert_non_null(w);
                if (strcmp(w->parts[0].rule->name, cases[i].answer) != 0)
                        fail_msg("%s: %s", cases[i].reason, w->parts[0].rule->name);
                end(&r);
        }
}

/* Nor does the loop of a framework, in which no line is the user's. */
static void threads_answer_for_a_loop_of_a_framework(void **state UNUSED)
{
        struct rig r;
        begin(&r, LIMITER_COMPUTE_TENSOR);
        uint32_t loop = call_line(&r, STACK_EMPTY, "/x/site-packages/ray/worker.py", "main_loop",
                                  900, STACK_LIBRARY);
        add(&r, 1, 0, loop, STACK_WAITING, 100);
        add(&r, 1, 3, r.work_line, STACK_WAITING, 100);
        const struct where *w = conclude(&r);
        assert_non_null(w);
        assert_string_equal(w->parts[0].rule->name, "threads");
        assert_int_equal(w->parts[0].places[0].own.line, 212);
        end(&r);
}

static void too_few_samples_say_nothing(void **state UNUSED)
{
        static const struct {
                const char *reason;
                uint32_t main, work;
                size_t places;
        } cases[] = {
            {"nineteen samples", 19, 0, 0},        {"twenty are enough", 20, 0, 1},
            {"four of a place are not", 30, 4, 1}, {"five are", 30, 5, 2},
            {"below a twentieth", 200, 10, 1},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct rig r;
                begin(&r, LIMITER_LAUNCH);
                add(&r, 1, 0, r.main_line, STACK_RUNNING, cases[i].main);
                if (cases[i].work)
                        add(&r, 1, 0, r.work_line, STACK_RUNNING, cases[i].work);
                const struct where *w = conclude(&r);
                size_t n = w ? w->parts[0].n : 0;
                if (n != cases[i].places)
                        fail_msg("%s: %zu places", cases[i].reason, n);
                end(&r);
        }
}

/* Where nobody is seen in a call on files, the threads that run stand in. */
static void storage_is_calls_on_files(void **state UNUSED)
{
        struct rig r;
        begin(&r, LIMITER_HOST_STORAGE);
        struct stack_count c = {.thread = 1,
                                .stack = r.work_line,
                                .call = stack_intern_text(r.table, "read", 4),
                                .n_samples = 25,
                                .state = STACK_WAITING,
                                .seconds = 1};
        struct stack_window w = {.n = 1, .counts = &c};
        assert_int_equal(where_add(&r.finder, &r.list, &r.log, 1, &w), 0);
        add(&r, 2, 0, r.main_line, STACK_RUNNING, 300);
        const struct where *found = conclude(&r);
        assert_non_null(found);
        assert_int_equal(found->parts[0].n_samples, 25);
        assert_int_equal(found->parts[0].places[0].own.line, 212);
        end(&r);
        begin(&r, LIMITER_HOST_STORAGE);
        add(&r, 2, 0, r.main_line, STACK_RUNNING, 300);
        found = conclude(&r);
        assert_non_null(found);
        assert_int_equal(found->parts[0].places[0].own.line, 88);
        assert_string_equal(found->parts[0].rule->words, "of the CPU time in");
        end(&r);
}

/* While it waits for the GPU, kernels run: that is no time of the host's. Of a limit of launches it
 * is. */
static void waiting_for_the_gpu_is_no_work(void **state UNUSED)
{
        static const struct {
                const char *file, *function;
                enum limiter limiter;
                uint32_t line;
        } cases[] = {
            {"/v/site-packages/torch/cuda/__init__.py", "synchronize", LIMITER_HOST_STORAGE, 212},
            {"/v/site-packages/torch/cuda/streams.py", "Event.synchronize", LIMITER_HOST_CODE, 212},
            {"/v/site-packages/jax/_src/array.py", "block_until_ready", LIMITER_HOST_CODE, 212},
            {"/v/site-packages/torch/cuda/__init__.py", "synchronize", LIMITER_LAUNCH, 88},
            {"/v/site-packages/torch/storage.py", "cpu", LIMITER_HOST_STORAGE, 88},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct rig r;
                begin(&r, cases[i].limiter);
                uint32_t waits = call_line(&r, r.main_line, cases[i].file, cases[i].function, 1162,
                                           STACK_LIBRARY);
                add(&r, 2, 0, waits, STACK_RUNNING, 300);
                add(&r, 2, 0, r.work_line, STACK_RUNNING, 40);
                const struct where *found = conclude(&r);
                assert_non_null(found);
                if (found->parts[0].places[0].own.line != cases[i].line)
                        fail_msg("%s: line %u", cases[i].function,
                                 found->parts[0].places[0].own.line);
                end(&r);
        }
}

/* Of another GPU's process nothing is said here. */
static void another_gpu(void **state UNUSED)
{
        struct rig r;
        begin(&r, LIMITER_HOST_CODE);
        struct stretch_gpu gpus[2] = {r.gpu, r.gpu};
        snprintf(gpus[1].source_label, sizeof(gpus[1].source_label), "1");
        r.list.gpus = gpus;
        r.list.n_gpus = 2;
        r.stretch.gpus = (struct gpu_set){0};
        gpu_set_add(&r.stretch.gpus, 1);
        add(&r, 1, 0, r.main_line, STACK_RUNNING, 100);
        assert_null(conclude(&r));
        end(&r);
}

/* Rules name each limiter at most twice, and none for what is unknown or idle. */
static void rules_of_limiters(void **state UNUSED)
{
        const struct where_rule *rules[WHERE_RULES_MAX];
        assert_int_equal(where_rules(LIMITER_UNKNOWN, rules), 0);
        assert_int_equal(where_rules(LIMITER_IDLE, rules), 0);
        for (enum limiter i = LIMITER_IDLE_ALLOCATED; i < LIMITER_COUNT; i++)
                assert_true(where_rules(i, rules) >= 1);
        assert_int_equal(where_rules(LIMITER_HOST_INPUT, rules), 3);
}

/* Only what serves the GPU that is asked about counts, in the window that is given. */
static void now_is_one_gpu(void **state UNUSED)
{
        struct rig r;
        struct where w;
        begin(&r, LIMITER_HOST_CODE);
        struct process held[2] = {{.pid = TRAINER, .ppid = LAUNCHER}, {.pid = 77}};
        snprintf(held[0].gpu, sizeof(held[0].gpu), "0");
        snprintf(held[1].gpu, sizeof(held[1].gpu), "1");
        r.processes[1] = (struct stack_process){.pid = 77}; /* of the other GPU */
        struct process_list list = {.list = held, .n = 2};
        struct stack_count counts[] = {
            {.thread = 0,
             .stack = r.json_line,
             .n_samples = 30,
             .state = STACK_RUNNING,
             .seconds = 1.5},
            {.thread = 1,
             .stack = r.main_line,
             .n_samples = 90,
             .state = STACK_RUNNING,
             .seconds = 4.5},
        };
        struct stack_window window = {.n = 2, .counts = counts};
        assert_int_equal(where_find_now(&list, &r.log, &window, "0", LIMITER_HOST_CODE, &w), 0);
        assert_int_equal(w.n, 1);
        assert_int_equal(w.parts[0].n_samples, 30);
        assert_int_equal(w.parts[0].places[0].own.line, 212);
        assert_int_equal(where_find_now(&list, &r.log, &window, "1", LIMITER_HOST_CODE, &w), 0);
        assert_int_equal(w.parts[0].n_samples, 90);
        counts[0].n_samples = 3; /* too few to say anything */
        assert_int_equal(where_find_now(&list, &r.log, &window, "0", LIMITER_HOST_CODE, &w), 0);
        assert_int_equal(w.n, 0);
        end(&r);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(now_is_one_gpu),
            cmocka_unit_test(code_is_the_holders),
            cmocka_unit_test(input_is_the_workers_and_who_waits),
            cmocka_unit_test(a_parent_may_feed),
            cmocka_unit_test(threads_that_load),
            cmocka_unit_test(a_line_is_one_place),
            cmocka_unit_test(known_places),
            cmocka_unit_test(plumbing),
            cmocka_unit_test(threads_answer_for_a_main_thread_that_joins),
            cmocka_unit_test(threads_answer_for_a_loop_of_a_framework),
            cmocka_unit_test(too_few_samples_say_nothing),
            cmocka_unit_test(storage_is_calls_on_files),
            cmocka_unit_test(waiting_for_the_gpu_is_no_work),
            cmocka_unit_test(another_gpu),
            cmocka_unit_test(rules_of_limiters),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
