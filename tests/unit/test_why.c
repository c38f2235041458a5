/* Jobs that do not go on, and those that do: what is concluded of looks that are written down here.
 */
#include "test.h"

#include "base/attr.h"
#include "compute/why/why.h"

#include <stdio.h>
#include <string.h>

#define RANKS_MAX 8

/* What one rank does. The line is its own; in: the library's function below it, "" for none. */
struct rank_case {
        int line;
        const char *in, *call, *target;
        char state; /* R, S, D; T and t: halted */
        unsigned places;
        double busy, wakes;
        enum snapshot_figure figure; /* one figure, where value is above 0 */
        double value;
};

#define REDUCE 10, "all_reduce", "recvfrom", "socket", 'S', 1, 0, 0, SNAPSHOT_IO, 0
#define QUIET 1, 0, 0, SNAPSHOT_IO, 0

static const struct {
        const char *why;
        size_t n, world, local;
        struct rank_case ranks[RANKS_MAX];
        enum why_outcome outcome;
        enum why_cause cause; /* the first; WHY_CAUSE_COUNT: none */
        int rank;             /* -1: none */
} cases[] = {
    {"all make progress",
     2,
     2,
     2,
     {{10, "", "", "", 'R', 8, 0.9, 50, SNAPSHOT_MINOR, 5000},
      {11, "", "", "", 'R', 8, 0.9, 50, SNAPSHOT_MINOR, 5000}},
     WHY_FINE,
     WHY_CAUSE_COUNT,
     -1},
    {"one reads a checkpoint, the others wait for it",
     3,
     3,
     3,
     {{20, "read", "read", "/data/ckpt", 'S', 1, 0.02, 9, SNAPSHOT_IO, 1e8}, {REDUCE}, {REDUCE}},
     WHY_FINE,
     WHY_CAUSE_COUNT,
     -1},
    {"one is in a call on a dead mount",
     3,
     3,
     3,
     {{REDUCE}, {20, "", "openat", "/mnt/x", 'D', QUIET}, {REDUCE}},
     WHY_FOUND,
     WHY_FILE,
     1},
    {"one is blocked in a driver",
     3,
     3,
     3,
     {{REDUCE}, {REDUCE}, {20, "", "ioctl", "", 'D', QUIET}},
     WHY_FOUND,
     WHY_BLOCKED,
     2},
    {"one was stopped",
     3,
     3,
     3,
     {{REDUCE}, {REDUCE}, {20, "", "", "", 'T', QUIET}},
     WHY_FOUND,
     WHY_STOPPED,
     2},
    {"one is traced",
     3,
     3,
     3,
     {{REDUCE}, {REDUCE}, {20, "", "", "", 't', QUIET}},
     WHY_FOUND,
     WHY_DEBUGGER,
     2},
    {"one loops",
     3,
     3,
     3,
     {{REDUCE}, {20, "", "", "", 'R', 2, 1, 30, SNAPSHOT_IO, 0}, {REDUCE}},
     WHY_NOT_KNOWN,
     WHY_LOOP,
     1},
    {"one runs and uses new memory",
     3,
     3,
     3,
     {{REDUCE}, {20, "", "", "", 'R', 2, 1, 30, SNAPSHOT_MINOR, 5000}, {REDUCE}},
     WHY_FINE,
     WHY_CAUSE_COUNT,
     -1},
    {"one takes another collective",
     3,
     3,
     3,
     {{REDUCE}, {30, "barrier", "recvfrom", "socket", 'S', QUIET}, {REDUCE}},
     WHY_FOUND,
     WHY_ORDER,
     1},
    {"data does not come",
     3,
     3,
     3,
     {{REDUCE}, {REDUCE}, {30, "recv", "recvfrom", "socket", 'S', QUIET}},
     WHY_FOUND,
     WHY_DATA,
     2},
    {"data comes slowly",
     3,
     3,
     3,
     {{REDUCE}, {REDUCE}, {30, "recv", "recvfrom", "socket", 'S', 1, 0.01, 9, SNAPSHOT_IO, 0}},
     WHY_FINE,
     WHY_CAUSE_COUNT,
     -1},
    {"one sleeps",
     3,
     3,
     3,
     {{REDUCE}, {REDUCE}, {30, "", "clock_nanosleep", "", 'S', QUIET}},
     WHY_NOT_KNOWN,
     WHY_SLEEP,
     2},
    {"one waits for a lock",
     3,
     3,
     3,
     {{REDUCE}, {30, "", "futex", "", 'S', QUIET}, {REDUCE}},
     WHY_FOUND,
     WHY_LOCK,
     1},
    {"the same alone", 1, 1, 1, {{30, "", "futex", "", 'S', QUIET}}, WHY_FOUND, WHY_LOCK, 0},
    {"one that only takes turns with the interpreter's lock",
     1,
     1,
     1,
     {{30, "", "futex", "", 'S', 1, 0.05, 200, SNAPSHOT_IO, 0}},
     WHY_FINE,
     WHY_CAUSE_COUNT,
     -1},
    {"one is swapped out",
     3,
     3,
     3,
     {{REDUCE}, {REDUCE}, {30, "", "", "", 'D', 1, 0.1, 50, SNAPSHOT_SWAP, 1e9}},
     WHY_FOUND,
     WHY_SWAPPED,
     2},
    {"it waits for a terminal",
     1,
     1,
     1,
     {{30, "", "read", "/dev/pts/0", 'S', QUIET}},
     WHY_FINE,
     WHY_CAUSE_COUNT,
     -1},
    {"all wait in one place",
     3,
     3,
     3,
     {{REDUCE}, {REDUCE}, {REDUCE}},
     WHY_NOT_KNOWN,
     WHY_TOGETHER,
     -1},
    {"one is missing at the end",
     3,
     4,
     4,
     {{REDUCE}, {REDUCE}, {REDUCE}},
     WHY_FOUND,
     WHY_RANK_MISSING,
     3},
    {"other nodes have the rest", 2, 64, 2, {{REDUCE}, {REDUCE}}, WHY_NOT_KNOWN, WHY_TOGETHER, -1},
};

static uint32_t text(struct stack_snapshot *l, const char *s)
{
        return stack_intern_text(l->table, s, strlen(s));
}

static uint32_t stack_of(struct stack_snapshot *l, const struct rank_case *c)
{
        struct stack_frame own = {.file = text(l, "/job/train.py"),
                                  .function = text(l, "step"),
                                  .line = (uint32_t)c->line,
                                  .whose = STACK_USER};
        struct stack_frame in = {.file = text(l, "/x/site-packages/dist.py"),
                                 .function = text(l, c->in),
                                 .line = 5,
                                 .whose = STACK_LIBRARY};
        uint32_t stack =
            stack_intern_call(l->table, STACK_EMPTY, stack_intern_frame(l->table, &own));
        return c->in[0] ? stack_intern_call(l->table, stack, stack_intern_frame(l->table, &in))
                        : stack;
}

static void add_rank(struct stack_snapshot *l, uint32_t host, size_t rank, size_t world,
                     size_t local, const struct rank_case *c)
{
        const struct stack_process is = {
            .pid = 100 + (int32_t)rank, .ppid = 1, .access = STACK_READABLE};
        struct snapshot_process *p = stack_snapshot_add_process(l, host, &is);
        struct snapshot_thread *t = stack_snapshot_add_thread(l);
        p->rank = value_ok((double)rank);
        p->world = value_ok((double)world);
        p->local = value_ok((double)local);
        p->watched_s = value_ok(10);
        p->halt = c->state == 'T'   ? SNAPSHOT_STOPPED
                  : c->state == 't' ? SNAPSHOT_TRACED
                                    : SNAPSHOT_GOES_ON;
        p->tracer = c->state == 't' ? 77 : 0;
        if (c->value > 0)
                p->figures[c->figure] = value_ok(c->value);
        if (c->value > 0 && c->figure == SNAPSHOT_SWAP)
                p->figures[SNAPSHOT_MAJOR] = value_ok(500);
        t->tid = is.pid;
        t->is_main = true;
        t->state = c->state == 'R'   ? STACK_RUNNING
                   : c->state == 'D' ? STACK_BLOCKED
                                     : STACK_WAITING;
        t->stack = stack_of(l, c);
        t->call = text(l, c->call);
        t->target = text(l, c->target);
        t->n_samples = 40;
        t->places = c->places;
        t->busy = t->ready = value_ok(c->busy);
        t->wakes = value_ok(c->wakes);
        t->idle_s = value_ok(41);
}

static void fill(struct stack_snapshot *l, size_t at)
{
        assert_int_equal(stack_snapshot_init(l), 0);
        assert_non_null(stack_snapshot_add_host(l, ""));
        for (size_t i = 0; i < cases[at].n; i++)
                add_rank(l, 0, i, cases[at].world, cases[at].local, &cases[at].ranks[i]);
        stack_snapshot_settle(l);
}

static void concludes(void **state UNUSED)
{
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct stack_snapshot snapshot;
                struct why why;
                fill(&snapshot, i);
                assert_int_equal(why_conclude(&snapshot, NULL, &why), 0);
                enum why_cause cause = why.n_findings > 0 ? why.findings[0].cause : WHY_CAUSE_COUNT;
                double rank = why.n_findings > 0 ? value_or(why.findings[0].rank, -1) : -1;
                if (cases[i].cause == WHY_TOGETHER)
                        rank = -1;
                if (why.outcome != cases[i].outcome || cause != cases[i].cause ||
                    (int)rank != cases[i].rank)
                        fail_msg("%s: %s, cause %s of rank %g", cases[i].why,
                                 why_outcome_name(why.outcome),
                                 cause < WHY_CAUSE_COUNT ? why_cause_info(cause)->name : "none",
                                 rank);
                why_finish(&why);
                stack_snapshot_finish(&snapshot);
        }
}

/* NCCL's word joins what was seen of the process, or names one that nothing else shows. */
static void nccl_is_heard(void **state UNUSED)
{
        struct stack_snapshot snapshot;
        struct ras_report ras = {0};
        struct why why;
        fill(&snapshot, 17);
        struct ras_rank *r = ras_report_add(&ras);
        r->rank = value_ok(7); /* of its communicator */
        r->pid = 101;
        r->trouble = RAS_BEHIND;
        r->count = value_ok(41);
        r->most = value_ok(42);
        assert_int_equal(why_conclude(&snapshot, &ras, &why), 0);
        assert_int_equal(why.outcome, WHY_FOUND);
        assert_int_equal(why.findings[0].cause, WHY_ORDER);
        assert_true(why.findings[0].rank.v == 1);
        assert_string_equal(why.findings[0].detail, "NCCL: it began 41 of 42 collectives");
        why_finish(&why);
        ras_report_finish(&ras);
        stack_snapshot_finish(&snapshot);
}

/* Several ranks of one node that differ, while those of the other wait for them. */
static void a_node_has_them_all(void **state UNUSED)
{
        static const struct rank_case waits = {REDUCE};
        static const struct rank_case reads = {20, "", "openat", "/mnt/x", 'D', QUIET};
        static const struct {
                const char *why;
                const char *differ; /* of ranks 0 and 1 on one node, 2 and 3 on the other */
                enum why_cause first;
                uint32_t host;
        } given[] = {
            {"both of the second node", "..xx", WHY_NODE, 1},
            {"one alone is that rank's cause", "...x", WHY_FILE, 1},
            {"one of each", ".x.x", WHY_FILE, 0},
        };
        for (size_t i = 0; i < ARRAY_LEN(given); i++) {
                struct stack_snapshot snapshot;
                struct why why;
                assert_int_equal(stack_snapshot_init(&snapshot), 0);
                assert_non_null(stack_snapshot_add_host(&snapshot, "node1"));
                assert_non_null(stack_snapshot_add_host(&snapshot, "node2"));
                for (size_t rank = 0; rank < 6; rank++)
                        add_rank(&snapshot, rank == 2 || rank == 3, rank, 6, 3,
                                 rank < 4 && given[i].differ[rank] == 'x' ? &reads : &waits);
                stack_snapshot_settle(&snapshot);
                assert_int_equal(why_conclude(&snapshot, NULL, &why), 0);
                if (why.outcome != WHY_FOUND || why.findings[0].cause != given[i].first ||
                    why.findings[0].host != given[i].host)
                        fail_msg("%s: %s", given[i].why,
                                 why_cause_info(why.findings[0].cause)->name);
                if (given[i].first == WHY_NODE)
                        assert_string_equal(why.findings[0].detail, "2 of its 2");
                why_finish(&why);
                stack_snapshot_finish(&snapshot);
        }
}

/* A chain of parents that leads back to itself ends. */
static void parents_in_a_ring(void **state UNUSED)
{
        struct stack_snapshot snapshot;
        struct why why;
        fill(&snapshot, 0);
        snapshot.processes[0].is.ppid = 101;
        snapshot.processes[1].is.ppid = 100;
        for (size_t i = 0; i < 2; i++)
                snapshot.processes[i].rank = value_missing(STATE_NONE);
        stack_snapshot_settle(&snapshot);
        assert_int_equal(why_conclude(&snapshot, NULL, &why), 0);
        assert_int_equal(why.outcome, WHY_FINE);
        why_finish(&why);
        stack_snapshot_finish(&snapshot);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(concludes),
            cmocka_unit_test(nccl_is_heard),
            cmocka_unit_test(parents_in_a_ring),
            cmocka_unit_test(a_node_has_them_all),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
