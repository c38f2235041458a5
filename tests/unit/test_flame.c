/* Stacks added up as trees: sums, stretches, folding, processes. */
#include "test.h"

#include "base/attr.h"
#include "compute/flame.h"

#include <stdio.h>
#include <string.h>

enum { MAIN, HELPER, WORKER, THREADS };

/* A trainer with two threads, on GPU 0, and a worker of another program on GPU 1; two stretches. */
struct rig {
        struct stack_table *table;
        struct stack_process processes[2];
        struct stack_thread threads[THREADS];
        struct stack_log log;
        struct stretch stretches[2];
        struct stretch_gpu gpus[2];
        struct stretch_list list;
        struct where_finder finder;
        struct flame_maker maker;
        struct flame flame;
        uint32_t step, parse, work, futex;
};

static uint32_t call_line(struct rig *r, uint32_t parent, const char *file, uint32_t line)
{
        struct stack_frame f = {.file = stack_intern_text(r->table, file, strlen(file)),
                                .line = line};
        return stack_intern_call(r->table, parent, stack_intern_frame(r->table, &f));
}

static void hold(struct rig *r, int pid, const char *gpu)
{
        struct process held = {.pid = pid};
        snprintf(held.gpu, sizeof(held.gpu), "%s", gpu);
        struct process_list list = {.list = &held, .n = 1};
        assert_int_equal(where_see_processes(&r->finder, &list), 0);
}

static void begin(struct rig *r)
{
        *r = (struct rig){0};
        assert_int_equal(stack_table_open(&r->table), 0);
        r->processes[0].pid = 10;
        r->processes[1].pid = 20;
        r->threads[MAIN] = (struct stack_thread){.process = 0, .is_main = true};
        r->threads[HELPER] = (struct stack_thread){.process = 0};
        r->threads[WORKER] = (struct stack_thread){.process = 1, .is_main = true};
        r->log = (struct stack_log){r->table, r->threads, THREADS, r->processes, 2};
        r->step = call_line(r, STACK_EMPTY, "train.py", 88);
        r->parse = call_line(r, r->step, "data.py", 212);
        r->work = call_line(r, STACK_EMPTY, "other.py", 5);
        r->futex = stack_intern_text(r->table, "futex", 5);
        for (size_t i = 0; i < 2; i++) {
                r->stretches[i].begin_s = (double)i * 5;
                r->stretches[i].end_s = (double)(i + 1) * 5;
                gpu_set_add(&r->stretches[i].gpus, i);
                snprintf(r->gpus[i].source_label, sizeof(r->gpus[i].source_label), "%zu", i);
        }
        r->list = (struct stretch_list){
            .seconds = 10, .n = 2, .list = r->stretches, .n_gpus = 2, .gpus = r->gpus};
        hold(r, 10, "0");
        hold(r, 20, "1");
        flame_begin(&r->maker, &r->list);
}

static void add(struct rig *r, int second, uint32_t thread, uint32_t stack, enum stack_state state,
                uint32_t n_samples)
{
        struct stack_count c = {.thread = thread,
                                .stack = stack,
                                .n_samples = n_samples,
                                .call = state == STACK_RUNNING ? STACK_TEXT_NONE : r->futex,
                                .state = (uint8_t)state,
                                .seconds = n_samples * 0.05};
        struct stack_window w = {.n = 1, .counts = &c};
        assert_int_equal(flame_add(&r->maker, &r->finder, &r->list, &r->log, second, &w), 0);
}

static void conclude(struct rig *r)
{
        assert_int_equal(flame_conclude(&r->maker, &r->log, &r->flame), 0);
}

static void end(struct rig *r)
{
        flame_finish(&r->flame);
        flame_maker_finish(&r->maker);
        where_finish(&r->finder);
        stack_table_close(r->table);
}

/* The only child of a node that is of this kind; 0 for none. */
static uint32_t child(const struct flame_tree *t, uint32_t parent, enum flame_kind kind,
                      uint32_t what)
{
        uint32_t found = 0;
        for (uint32_t i = 1; i < t->n; i++) {
                const struct flame_node *n = &t->nodes[i];
                if (n->parent == parent && n->kind == kind && n->what == what) {
                        assert_int_equal(found, 0);
                        found = i;
                }
        }
        return found;
}

static void check_time(const struct flame_tree *t, uint32_t node, double seconds, double running)
{
        assert_float_equal(t->nodes[node].seconds, seconds, 1e-9);
        assert_float_equal(t->nodes[node].running_s, running, 1e-9);
}

static void times_add_up_on_the_way_down(void **state UNUSED)
{
        struct rig r;
        begin(&r);
        add(&r, 1, MAIN, r.parse, STACK_RUNNING, 20);
        add(&r, 2, MAIN, r.parse, STACK_RUNNING, 20);
        add(&r, 2, MAIN, r.step, STACK_WAITING, 10);
        add(&r, 2, HELPER, r.step, STACK_RUNNING, 30);
        conclude(&r);
        const struct flame_tree *t = &r.flame.trees[0];
        assert_int_equal(t->stretch, SIZE_MAX);
        check_time(t, 0, 4, 3.5);
        assert_int_equal(t->nodes[0].n_samples, 80);
        uint32_t process = child(t, 0, FLAME_PROCESS, 0);
        check_time(t, process, 4, 3.5);
        uint32_t main = child(t, process, FLAME_THREAD, MAIN);
        check_time(t, main, 2.5, 2);
        uint32_t step = child(t, main, FLAME_FRAME, stack_node(r.table, r.step)->frame);
        check_time(t, step, 2.5, 2);
        check_time(t, child(t, step, FLAME_FRAME, stack_node(r.table, r.parse)->frame), 2, 2);
        check_time(t, child(t, step, FLAME_CALL, r.futex), 0.5, 0);
        check_time(t, child(t, process, FLAME_THREAD, HELPER), 1.5, 1.5);
        assert_int_equal(t->n_folded, 0);
        end(&r);
}

static void a_stretch_has_its_own_time_and_processes(void **state UNUSED)
{
        struct rig r;
        begin(&r);
        add(&r, 1, MAIN, r.step, STACK_RUNNING, 20);
        add(&r, 1, WORKER, r.work, STACK_RUNNING, 20); /* of GPU 1, which the first is not about */
        add(&r, 7, MAIN, r.step, STACK_RUNNING, 40);
        add(&r, 7, WORKER, r.work, STACK_RUNNING, 10);
        conclude(&r);
        assert_int_equal(r.flame.n, 4);
        check_time(&r.flame.trees[0], 0, 4.5, 4.5);
        assert_int_equal(r.flame.trees[2].stretch, 0);
        check_time(&r.flame.trees[2], 0, 1, 1);
        assert_int_equal(r.flame.trees[3].stretch, 1);
        check_time(&r.flame.trees[3], 0, 0.5, 0.5);
        end(&r);
}

static void a_stretch_without_samples_has_no_tree(void **state UNUSED)
{
        struct rig r;
        begin(&r);
        add(&r, 1, MAIN, r.step, STACK_RUNNING, 20);
        conclude(&r);
        assert_int_equal(r.flame.n, 3);
        assert_true(r.flame.trees[1].together && r.flame.n_left_out == 1);
        end(&r);
}

static void threads_together(void **state UNUSED)
{
        struct rig r;
        begin(&r);
        add(&r, 1, MAIN, r.parse, STACK_RUNNING, 20);
        add(&r, 1, HELPER, r.parse, STACK_WAITING, 10);
        add(&r, 1, WORKER, r.step, STACK_RUNNING, 30);
        conclude(&r);
        const struct flame_tree *t = &r.flame.trees[1];
        assert_true(t->together && t->stretch == SIZE_MAX && !r.flame.trees[0].together);
        uint32_t step = child(t, 0, FLAME_FRAME, stack_node(r.table, r.step)->frame);
        check_time(t, step, 3, 2.5);
        uint32_t parse = child(t, step, FLAME_FRAME, stack_node(r.table, r.parse)->frame);
        check_time(t, parse, 1.5, 1);
        check_time(t, child(t, parse, FLAME_CALL, r.futex), 0.5, 0);
        end(&r);
}

/* However many lines there are, the tree is bounded, and what is folded is counted. */
static void what_is_small_is_folded(void **state UNUSED)
{
        struct rig r;
        begin(&r);
        const uint32_t lines = 10000;
        for (uint32_t i = 0; i < lines; i++)
                add(&r, 1, MAIN, call_line(&r, r.step, "many.py", i + 1), STACK_RUNNING, 1);
        add(&r, 1, MAIN, r.parse, STACK_RUNNING, 200);
        conclude(&r);
        const struct flame_tree *t = &r.flame.trees[0];
        assert_int_equal(t->n_folded, lines);
        assert_true(t->n <= FLAME_NODES_MAX);
        check_time(t, 0, lines * 0.05 + 10, lines * 0.05 + 10);
        uint32_t step = child(t, child(t, child(t, 0, FLAME_PROCESS, 0), FLAME_THREAD, MAIN),
                              FLAME_FRAME, stack_node(r.table, r.step)->frame);
        check_time(t, child(t, step, FLAME_FOLDED, 0), lines * 0.05, lines * 0.05);
        end(&r);
}

/* Samples that stand for no time at all are in no picture, and keep nobody busy. */
static void no_time_at_all(void **state UNUSED)
{
        struct rig r;
        begin(&r);
        struct stack_count c = {.thread = MAIN, .stack = r.step, .n_samples = 3};
        struct stack_window w = {.n = 1, .counts = &c};
        assert_int_equal(flame_add(&r.maker, &r.finder, &r.list, &r.log, 1, &w), 0);
        conclude(&r);
        assert_int_equal(r.flame.trees[0].n, 2);
        check_time(&r.flame.trees[0], 0, 0, 0);
        end(&r);
}

static void processes_have_their_busiest_lines(void **state UNUSED)
{
        struct rig r;
        begin(&r);
        add(&r, 1, MAIN, r.step, STACK_WAITING, 100);
        add(&r, 1, HELPER, r.parse, STACK_WAITING, 900);
        add(&r, 1, WORKER, r.work, STACK_RUNNING, 40);
        conclude(&r);
        assert_int_equal(r.flame.n_processes, 2);
        const struct flame_process *p = r.flame.processes;
        assert_int_equal(p[0].process, 1);
        assert_float_equal(p[0].running_s, 2, 1e-9);
        assert_false(p[0].waits);
        assert_string_equal(p[0].places[0].own.file, "other.py");
        assert_int_equal(p[1].n_threads, 2);
        assert_true(p[1].waits);
        assert_int_equal(p[1].n, 1);
        assert_string_equal(p[1].places[0].own.file, "train.py");
        assert_float_equal(p[1].places[0].share, 1, 1e-9);
        end(&r);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(times_add_up_on_the_way_down),
            cmocka_unit_test(a_stretch_has_its_own_time_and_processes),
            cmocka_unit_test(a_stretch_without_samples_has_no_tree),
            cmocka_unit_test(threads_together),
            cmocka_unit_test(what_is_small_is_folded),
            cmocka_unit_test(no_time_at_all),
            cmocka_unit_test(processes_have_their_busiest_lines),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
