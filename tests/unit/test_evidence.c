/* What the host does for each GPU, over trees made by hand, where every number is known. */
#include "test.h"

#include "base/attr.h"
#include "base/clock.h"
#include "compute/levels.h"
#include "engine/process_tree.h"
#include "engine/processes.h"
#include "read/host/evidence.h"
#include "read/host/files.h"
#include "read/host/framework.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static char root[64];
static int root_fd;
static struct scanner *scanner;
static struct evidence_reader *evidence;
static struct cgroup_mounts mounts;
static struct host hosts[2];
static unsigned now;
static int64_t clock_ns;

static int remove_one(const char *path, const struct stat *st UNUSED, int type UNUSED,
                      struct FTW *w UNUSED)
{
        return remove(path);
}

static int begin(void **state UNUSED)
{
        snprintf(root, sizeof(root), "/tmp/assay-evidence-XXXXXX");
        assert_non_null(mkdtemp(root));
        char path[128];
        snprintf(path, sizeof(path), "%s/proc", root);
        mkdir(path, 0755);
        root_fd = files_open_root(root);
        clock_ns = 1000 * NS_PER_S;
        now = 0;
        memset(hosts, 0, sizeof(hosts));
        return 0;
}

static int end(void **state UNUSED)
{
        evidence_close(evidence);
        scanner_close(scanner);
        evidence = NULL;
        scanner = NULL;
        close(root_fd);
        return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void put(const char *path, const char *text)
{
        char full[192];
        snprintf(full, sizeof(full), "%s/proc/%s", root, path);
        for (char *slash = full + strlen(root) + 6; (slash = strchr(slash, '/')); slash++) {
                *slash = '\0';
                mkdir(full, 0755);
                *slash = '/';
        }
        int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
        close(fd);
}

/* One process; all of it started long before the first tick. */
struct fake {
        int pid, ppid, own, waited, read;
        char state; /* 0: S */
        bool io_denied;
};

static void put_stat(const char *path, int id, const struct fake *f)
{
        char text[256];
        snprintf(text, sizeof(text), "%d (x) %c %d 1 1 0 -1 0 0 0 0 0 %d 0 %d 0 20 0 2 0 %d 0 10 0",
                 id, f->state ? f->state : 'S', f->ppid, f->own, f->waited, 10);
        put(path, text);
}

static void put_fake(struct fake f)
{
        char path[64], text[256];
        snprintf(path, sizeof(path), "%d/stat", f.pid);
        put_stat(path, f.pid, &f);
        snprintf(path, sizeof(path), "%d/io", f.pid);
        snprintf(text, sizeof(text),
                 "rchar: %d\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: %d\nwrite_bytes: 0\n",
                 2 * f.read, f.read);
        if (!f.io_denied)
                put(path, text);
        snprintf(path, sizeof(path), "%d/status", f.pid);
        put(path, "Uid:\t1\t1\t1\t1\nGid:\t1\t1\t1\t1\nCpus_allowed_list:\t0-7\n");
}

/* A thread of a process; the main thread's number is the process's. */
static void put_thread(int pid, int tid, int own, char state)
{
        char path[64];
        struct fake f = {.pid = tid, .ppid = 1, .own = own, .state = state};
        snprintf(path, sizeof(path), "%d/task/%d/stat", pid, tid);
        put_stat(path, tid, &f);
}

static void drop(int pid)
{
        char path[160];
        snprintf(path, sizeof(path), "%s/proc/%d", root, pid);
        assert_int_equal(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void start(int32_t target)
{
        struct err err = {0};
        struct scan_config c = {.root = root_fd,
                                .levels = target ? LEVEL_BIT(LEVEL_PROCESS) : 0,
                                .target = {.pid = target, .group_kind = CGROUP_KINDS},
                                .fd_budget = 64,
                                .clock_ticks = 100,
                                .page_size = 4096};
        assert_int_equal(scanner_open(&c, &scanner, &err), 0);
        assert_int_equal(evidence_open(root_fd, &mounts, 64, &evidence), 0);
}

/* A second later. */
static const struct host *tick(void)
{
        struct host *before = hosts[now].mono_ns ? &hosts[now] : NULL, *h = &hosts[!now];
        memset(h, 0, sizeof(*h));
        h->mono_ns = clock_ns;
        assert_int_equal(scanner_tick(scanner, clock_ns), 0);
        evidence_fill(evidence, scanner, scanner_find(scanner, 100) != NULL, h);
        levels_compute(before, h);
        clock_ns += NS_PER_S;
        now = !now;
        return h;
}

static void hold(size_t n_gpus, const struct host_holder *list, size_t n)
{
        evidence_hold(evidence, scanner, n_gpus, true, list, n);
}
#define HOLD(n_gpus, ...)                                                                          \
        hold(n_gpus, (const struct host_holder[]){__VA_ARGS__},                                    \
             sizeof((const struct host_holder[]){__VA_ARGS__}) / sizeof(struct host_holder))

static void is(const struct host *h, size_t gpu, enum evidence of, double v)
{
        struct value got = h->evidence[gpu].e[of];
        if (got.state != STATE_OK || got.v < v - 1e-9 || got.v > v + 1e-9)
                fail_msg("%s of GPU %zu is %g (%s), not %g", evidence_info(of)->name, gpu, got.v,
                         state_name((enum state)got.state), v);
}

static void is_missing(const struct host *h, size_t gpu, enum evidence of, enum state why)
{
        struct value got = h->evidence[gpu].e[of];
        if (got.state != why)
                fail_msg("%s of GPU %zu is %g (%s), not %s", evidence_info(of)->name, gpu, got.v,
                         state_name((enum state)got.state), state_name(why));
}

/* A trainer with two loader workers, one of which has a worker of its own, and a stranger. */
static void main_and_children_are_apart(void **state UNUSED)
{
        put_fake((struct fake){.pid = 200, .ppid = 1, .own = 1000, .read = 50});
        put_fake((struct fake){.pid = 201, .ppid = 200, .own = 100});
        put_fake((struct fake){.pid = 202, .ppid = 200, .own = 100, .state = 'D'});
        put_fake((struct fake){.pid = 203, .ppid = 202, .own = 100});
        put_fake((struct fake){.pid = 300, .ppid = 1, .own = 100});
        start(0);
        HOLD(1, {200, 0});
        is_missing(tick(), 0, EVIDENCE_CPU_MAIN, STATE_BLANK); /* nothing to compare with */
        put_fake((struct fake){.pid = 200, .ppid = 1, .own = 1050, .read = 150});
        put_fake((struct fake){.pid = 201, .ppid = 200, .own = 180});
        put_fake((struct fake){.pid = 202, .ppid = 200, .own = 190, .state = 'D', .read = 1000});
        put_fake((struct fake){.pid = 203, .ppid = 202, .own = 110});
        put_fake((struct fake){.pid = 300, .ppid = 1, .own = 200, .read = 9999});
        const struct host *h = tick();
        is(h, 0, EVIDENCE_HOLDERS, 1);
        is(h, 0, EVIDENCE_HOLDERS_HIDDEN, 0);
        is(h, 0, EVIDENCE_CPU_MAIN, 0.5);
        is(h, 0, EVIDENCE_CPU_CHILDREN, 1.8);
        is(h, 0, EVIDENCE_CHILDREN, 3);
        is(h, 0, EVIDENCE_WORKERS, 3);
        is(h, 0, EVIDENCE_READ, 1100);
        is(h, 0, EVIDENCE_READ_CHARS, 2200);
        is(h, 0, EVIDENCE_IO_WAIT, 1);
        is(h, 0, EVIDENCE_CPUS, 8);
}

/* Helpers that rest are no workers; who begins to work is one a second later. */
static void workers_are_those_that_work(void **state UNUSED)
{
        put_fake((struct fake){.pid = 200, .ppid = 1, .own = 1000});
        put_fake((struct fake){.pid = 201, .ppid = 200, .own = 100});
        put_fake((struct fake){.pid = 202, .ppid = 200, .own = 100});
        start(0);
        HOLD(1, {200, 0});
        tick();
        put_fake((struct fake){.pid = 201, .ppid = 200, .own = 200});
        put_fake((struct fake){.pid = 202, .ppid = 200, .own = 104});
        put_fake((struct fake){.pid = 203, .ppid = 200, .own = 90});
        is(tick(), 0, EVIDENCE_WORKERS, 1);
        put_fake((struct fake){.pid = 201, .ppid = 200, .own = 201});
        put_fake((struct fake){.pid = 202, .ppid = 200, .own = 109});
        put_fake((struct fake){.pid = 203, .ppid = 200, .own = 180});
        is(tick(), 0, EVIDENCE_WORKERS, 2);
        drop(203);
        is(tick(), 0, EVIDENCE_WORKERS, 0);
        put_fake((struct fake){.pid = 202, .ppid = 200, .own = 109, .state = 'R'});
        is(tick(), 0, EVIDENCE_WORKERS, 1); /* others have its CPU */
}

/* What a worker used that came and went, or ended, is its parent's waited-for time. */
static void children_count_after_their_end(void **state UNUSED)
{
        put_fake((struct fake){.pid = 200, .ppid = 1, .own = 100});
        put_fake((struct fake){.pid = 201, .ppid = 200, .own = 100});
        start(0);
        HOLD(1, {200, 0});
        tick();
        drop(201);
        put_fake((struct fake){.pid = 200, .ppid = 1, .own = 110, .waited = 170});
        const struct host *h = tick();
        is(h, 0, EVIDENCE_CPU_MAIN, 0.1);
        is(h, 0, EVIDENCE_CPU_CHILDREN, 0.7);
        is(h, 0, EVIDENCE_CHILDREN, 0);
}

/* Ranks under a parent that holds a GPU too, as multiprocessing's spawn makes them. */
static void each_rank_has_its_own_workers(void **state UNUSED)
{
        put_fake((struct fake){.pid = 200, .ppid = 1});
        put_fake((struct fake){.pid = 210, .ppid = 200});
        put_fake((struct fake){.pid = 220, .ppid = 200});
        put_fake((struct fake){.pid = 211, .ppid = 210});
        put_fake((struct fake){.pid = 221, .ppid = 220});
        put_fake((struct fake){.pid = 230, .ppid = 200});
        start(0);
        HOLD(3, {200, 0}, {210, 0}, {220, 1}, {220, 2});
        tick();
        put_fake((struct fake){.pid = 200, .ppid = 1, .own = 1});
        put_fake((struct fake){.pid = 210, .ppid = 200, .own = 2});
        put_fake((struct fake){.pid = 220, .ppid = 200, .own = 4});
        put_fake((struct fake){.pid = 211, .ppid = 210, .own = 8});
        put_fake((struct fake){.pid = 221, .ppid = 220, .own = 16});
        put_fake((struct fake){.pid = 230, .ppid = 200, .own = 32});
        const struct host *h = tick();
        is(h, 0, EVIDENCE_HOLDERS, 2);
        is(h, 0, EVIDENCE_CPU_MAIN, 0.03);
        is(h, 0, EVIDENCE_CPU_CHILDREN, 0.40);
        for (size_t gpu = 1; gpu < 3; gpu++) { /* one process on several GPUs */
                is(h, gpu, EVIDENCE_CPU_MAIN, 0.04);
                is(h, gpu, EVIDENCE_CPU_CHILDREN, 0.16);
        }
        /* A worker that makes a context of its own holds the GPU from then on. */
        HOLD(3, {200, 0}, {210, 0}, {220, 1}, {220, 2}, {221, 1});
        put_fake((struct fake){.pid = 221, .ppid = 220, .own = 20});
        tick();
        put_fake((struct fake){.pid = 221, .ppid = 220, .own = 30});
        h = tick();
        is(h, 1, EVIDENCE_HOLDERS, 2);
        is(h, 1, EVIDENCE_CPU_MAIN, 0.1);
        is(h, 1, EVIDENCE_CPU_CHILDREN, 0);
        is(h, 2, EVIDENCE_CPU_CHILDREN, 0);
}

static void an_orphan_serves_on(void **state UNUSED)
{
        put_fake((struct fake){.pid = 1, .ppid = 0});
        put_fake((struct fake){.pid = 200, .ppid = 1});
        put_fake((struct fake){.pid = 201, .ppid = 200});
        put_fake((struct fake){.pid = 202, .ppid = 201});
        start(0);
        HOLD(1, {200, 0});
        tick();
        drop(201);
        put_fake((struct fake){.pid = 202, .ppid = 1, .own = 10});
        is(tick(), 0, EVIDENCE_CPU_CHILDREN, 0.1);
        /* Another holder comes: all are decided anew, and it is still the first one's. */
        put_fake((struct fake){.pid = 300, .ppid = 1});
        HOLD(1, {200, 0}, {300, 0});
        put_fake((struct fake){.pid = 202, .ppid = 1, .own = 20});
        is(tick(), 0, EVIDENCE_CPU_CHILDREN, 0.1);
        /* Who it served ends: it serves nobody. */
        drop(200);
        hold(1, NULL, 0);
        is(tick(), 0, EVIDENCE_HOLDERS, 0);
        assert_true(scanner_find(scanner, 202)->serves == 0);
}

/* While nobody holds the GPU, the watched command stands for its holders. */
static void the_command_stands_in(void **state UNUSED)
{
        put_fake((struct fake){.pid = 100, .ppid = 1, .own = 100});
        put_fake((struct fake){.pid = 101, .ppid = 100, .own = 100});
        put_fake((struct fake){.pid = 102, .ppid = 100, .own = 100});
        start(100);
        hold(1, NULL, 0);
        tick();
        put_fake((struct fake){.pid = 100, .ppid = 1, .own = 190});
        put_fake((struct fake){.pid = 101, .ppid = 100, .own = 150});
        const struct host *h = tick();
        is(h, 0, EVIDENCE_HOLDERS, 0);
        is(h, 0, EVIDENCE_CPU_MAIN, 0.9);
        is(h, 0, EVIDENCE_CPU_CHILDREN, 0.5);
        /* Its child takes the GPU: from here on it is the main process, without a jump. */
        HOLD(1, {101, 0});
        put_fake((struct fake){.pid = 101, .ppid = 100, .own = 160});
        tick();
        put_fake((struct fake){.pid = 101, .ppid = 100, .own = 180});
        put_fake((struct fake){.pid = 100, .ppid = 1, .own = 290});
        h = tick();
        is(h, 0, EVIDENCE_CPU_MAIN, 0.2);
        is(h, 0, EVIDENCE_CPU_CHILDREN, 1); /* the parent serves it */
}

/* A command's processes that hold no GPU, and descend from none that does, feed those that do; a
 * stranger's do not, and a rank's workers are that rank's alone. */
static void what_feeds_the_holders(void **state UNUSED)
{
        put_fake((struct fake){.pid = 100, .ppid = 1});
        put_fake((struct fake){.pid = 110, .ppid = 100}); /* a server of data */
        put_fake((struct fake){.pid = 111, .ppid = 110});
        put_fake((struct fake){.pid = 120, .ppid = 100}); /* two ranks */
        put_fake((struct fake){.pid = 121, .ppid = 120});
        put_fake((struct fake){.pid = 130, .ppid = 100});
        put_fake((struct fake){.pid = 300, .ppid = 1}); /* somebody else's */
        put_fake((struct fake){.pid = 301, .ppid = 300});
        start(100);
        HOLD(3, {120, 0}, {130, 1}, {301, 2});
        tick();
        put_fake((struct fake){.pid = 100, .ppid = 1, .own = 1});
        put_fake((struct fake){.pid = 110, .ppid = 100, .own = 2});
        put_fake((struct fake){.pid = 111, .ppid = 110, .own = 4});
        put_fake((struct fake){.pid = 121, .ppid = 120, .own = 8});
        put_fake((struct fake){.pid = 130, .ppid = 100, .own = 16});
        put_fake((struct fake){.pid = 300, .ppid = 1, .own = 32});
        const struct host *h = tick();
        is(h, 0, EVIDENCE_CPU_CHILDREN, 0.15);
        is(h, 1, EVIDENCE_CPU_CHILDREN, 0.07);
        is(h, 1, EVIDENCE_CPU_MAIN, 0.16);
        is(h, 2, EVIDENCE_CPU_CHILDREN, 0);
}

/* A shell that only waits stands for the one it waits for. */
static void launchers_are_looked_through(void **state UNUSED)
{
        put_fake((struct fake){.pid = 100, .ppid = 1, .own = 1});
        put_fake((struct fake){.pid = 101, .ppid = 100, .own = 1});
        put_fake((struct fake){.pid = 102, .ppid = 101, .own = 100});
        start(100);
        evidence_hold(evidence, scanner, 1, false, NULL, 0);
        for (int i = 1; i <= 4; i++) {
                put_fake((struct fake){.pid = 102, .ppid = 101, .own = 100 + 70 * i});
                tick();
        }
        const struct host *h = &hosts[now];
        is(h, 0, EVIDENCE_CPU_MAIN, 0.7);
        is(h, 0, EVIDENCE_CPU_CHILDREN, 0);
        is_missing(h, 0, EVIDENCE_HOLDERS, STATE_NONE); /* the source cannot tell */
}

static void what_cannot_be_known_is_missing(void **state UNUSED)
{
        put_fake((struct fake){.pid = 200, .ppid = 1, .io_denied = true});
        put_fake((struct fake){.pid = 300, .ppid = 1});
        start(0);
        HOLD(4, {200, 0}, {777, 1}, {300, 2}, {778, 2});
        tick();
        const struct host *h = tick();
        is(h, 0, EVIDENCE_CPU_MAIN, 0);
        is_missing(h, 0, EVIDENCE_READ, STATE_DENIED); /* its I/O may not be read */
        is(h, 1, EVIDENCE_HOLDERS, 1);                 /* of another container */
        is(h, 1, EVIDENCE_HOLDERS_HIDDEN, 1);
        is_missing(h, 1, EVIDENCE_CPU_MAIN, STATE_DENIED);
        is_missing(h, 1, EVIDENCE_CPU_THREAD, STATE_DENIED);
        is_missing(h, 1, EVIDENCE_IO_WAIT, STATE_DENIED);
        is(h, 2, EVIDENCE_HOLDERS_HIDDEN, 1); /* one of two is known, and says so */
        is(h, 2, EVIDENCE_CPU_MAIN, 0);
        is(h, 3, EVIDENCE_HOLDERS, 0); /* nobody, and no command is watched */
        is_missing(h, 3, EVIDENCE_CPU_MAIN, STATE_NONE);
}

static void the_busiest_thread_is_found(void **state UNUSED)
{
        put_fake((struct fake){.pid = 200, .ppid = 1});
        put_thread(200, 200, 100, 'S');
        put_thread(200, 205, 100, 'D');
        start(0);
        HOLD(1, {200, 0});
        is_missing(tick(), 0, EVIDENCE_CPU_THREAD, STATE_BLANK);
        put_thread(200, 200, 110, 'S');
        put_thread(200, 205, 190, 'D');
        const struct host *h = tick();
        is(h, 0, EVIDENCE_CPU_THREAD, 0.9);
        is(h, 0, EVIDENCE_CPU_FIRST, 0.1); /* the main thread apart from the busiest */
        is(h, 0, EVIDENCE_IO_WAIT, 1);
        put_thread(200, 200, 215, 'S'); /* clock ticks are not in step: never above a core */
        h = tick();
        is(h, 0, EVIDENCE_CPU_THREAD, 1);
        is(h, 0, EVIDENCE_CPU_FIRST, 1);
        put_thread(200, 200, 5, 'S'); /* fell: not known, and the other is the busiest that is */
        put_thread(200, 205, 210, 'D');
        h = tick();
        is(h, 0, EVIDENCE_CPU_THREAD, 0.2);
        is_missing(h, 0, EVIDENCE_CPU_FIRST, STATE_ERROR);
        put_thread(200, 200, 15, 'S');
        put_thread(200, 205, 1, 'D');
        h = tick();
        is(h, 0, EVIDENCE_CPU_THREAD, 0.1);
        is(h, 0, EVIDENCE_CPU_FIRST, 0.1);
}

static void put_delay(int pid, int tid, const char *text)
{
        char path[64];
        snprintf(path, sizeof(path), "%d/task/%d/schedstat", pid, tid);
        put(path, text);
}

/* Threads that are ready, while others have the CPUs. */
static void the_longest_wait_for_a_cpu_is_found(void **state UNUSED)
{
        put_fake((struct fake){.pid = 200, .ppid = 1});
        put_thread(200, 200, 100, 'R');
        put_thread(200, 205, 100, 'S');
        put_delay(200, 200, "1000000000 5000000000 70\n");
        put_delay(200, 205, "1000000000 9000000000 70\n");
        start(0);
        HOLD(1, {200, 0});
        is_missing(tick(), 0, EVIDENCE_CPU_QUEUED, STATE_BLANK);
        put_thread(200, 200, 140, 'R'); /* it ran 40 % of a second, and waited for 55 % */
        put_delay(200, 200, "1400000000 5550000000 99\n");
        is(tick(), 0, EVIDENCE_CPU_QUEUED, 0.55);
        put_delay(200, 200, "1400000000 6550000000 99\n"); /* it never ran */
        is(tick(), 0, EVIDENCE_CPU_QUEUED, 1);
        put_thread(200, 200, 140, 'S');
        put_thread(200, 205, 180, 'S'); /* its first time is what the next is compared with */
        is(tick(), 0, EVIDENCE_CPU_QUEUED, 0);
        put_thread(200, 205, 260, 'S');
        put_delay(200, 205, "2600000000 9100000000 80\n");
        is(tick(), 0, EVIDENCE_CPU_QUEUED, 0.1);
        is(tick(), 0, EVIDENCE_CPU_QUEUED, 0);
}

static void kernels_that_do_not_count_waits(void **state UNUSED)
{
        static const struct {
                const char *text;
                enum state why;
        } given[] = {
            {NULL, STATE_UNSUPPORTED},
            {"0 0 0\n", STATE_UNSUPPORTED},
            {"1 2\n", STATE_ERROR},
            {"", STATE_ERROR},
        };
        for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
                if (i > 0) {
                        end(NULL);
                        begin(NULL);
                }
                put_fake((struct fake){.pid = 200, .ppid = 1});
                put_thread(200, 200, 100, 'R');
                put_thread(200, 205, 100, 'S');
                if (given[i].text)
                        put_delay(200, 200, given[i].text);
                start(0);
                HOLD(1, {200, 0});
                tick();
                put_thread(200, 200, 140, 'R');
                const struct host *h = tick();
                is(h, 0, EVIDENCE_CPU_THREAD, 0.4);
                is_missing(h, 0, EVIDENCE_CPU_QUEUED, given[i].why);
        }
}

/* A sum of what some processes show and others do not is missing. */
static void main_threads_are_summed(void **state UNUSED)
{
        put_fake((struct fake){.pid = 200, .ppid = 1});
        put_fake((struct fake){.pid = 300, .ppid = 1});
        put_fake((struct fake){.pid = 400, .ppid = 1});
        put_thread(200, 200, 100, 'S');
        put_thread(300, 300, 100, 'S');
        start(0);
        HOLD(2, {200, 0}, {300, 0}, {200, 1}, {400, 1});
        is_missing(tick(), 0, EVIDENCE_CPU_FIRST, STATE_BLANK);
        put_thread(200, 200, 150, 'S');
        put_thread(300, 300, 130, 'S');
        const struct host *h = tick();
        is(h, 0, EVIDENCE_CPU_FIRST, 0.8);
        assert_false(value_is_set(h->evidence[1].e[EVIDENCE_CPU_FIRST])); /* 400 shows no threads */
}

/* More threads than are looked at in one go: the busy one stays in sight. */
static void many_threads_go_by_turns(void **state UNUSED)
{
        enum { THREADS = 700, BUSY = 1555 };
        put_fake((struct fake){.pid = 200, .ppid = 1});
        for (int i = 0; i < THREADS; i++)
                put_thread(200, 1000 + i, 0, 'S');
        put_thread(200, 200, 0, 'S');
        start(0);
        HOLD(1, {200, 0});
        int seen = 0;
        for (int i = 1; i <= 8; i++) {
                put_thread(200, BUSY, 80 * i, 'R');
                put_thread(200, 200, 10 * i, 'S');
                const struct host *h = tick();
                if (i > 1)
                        is(h, 0, EVIDENCE_CPU_FIRST, 0.1); /* the main thread always */
                struct value v = h->evidence[0].e[EVIDENCE_CPU_THREAD];
                seen += value_is_set(v) && v.v > 0.75 && v.v < 0.85;
        }
        assert_true(seen >= 5);
}

static void frameworks_are_known_by_what_is_mapped(void **state UNUSED)
{
        static const struct {
                const char *maps;
                enum framework is;
                const char *why;
        } rows[] = {
            {"", FRAMEWORK_NONE, "nothing is mapped"},
            {"7f00-7f01 r-xp 0 08:01 5 /usr/lib/libc.so.6\n", FRAMEWORK_NONE, "no framework"},
            {"7f00-7f01 r-xp 0 08:01 5 /x/torch/lib/libtorch_cuda.so\n", FRAMEWORK_TORCH, "torch"},
            {"7f00 /x/torch/lib/libtorch.so\n7f01 /x/jaxlib/libjax_common.so\n", FRAMEWORK_JAX,
             "JAX whose data comes by torch's loader"},
            {"7f00-7f01 r-xp 0 08:01 5 /x/libtensorflow_framework.so.2\n", FRAMEWORK_TENSORFLOW,
             "tensorflow"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char path[32];
                snprintf(path, sizeof(path), "%zu/maps", 500 + i);
                put(path, rows[i].maps);
                put_fake((struct fake){.pid = (int)(500 + i), .ppid = 1});
        }
        start(0);
        HOLD(5, {500, 0}, {501, 1}, {502, 2}, {503, 3}, {504, 4});
        for (int i = 0; i < 8; i++)
                tick();
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct value v = hosts[now].evidence[i].e[EVIDENCE_FRAMEWORK];
                if (!value_is_set(v) || v.v != rows[i].is)
                        fail_msg("%s: %g", rows[i].why, v.v);
        }
}

/* A path that lies across two pieces is found all the same. */
static void a_cut_path_is_found(void **state UNUSED)
{
        static char maps[3 * 4096];
        struct framework_search l;
        struct value v = {0};
        for (size_t at = 4000; at < 4200; at += 13) {
                memset(maps, ' ', sizeof(maps) - 1);
                memcpy(maps + at, "/x/libtorch_cpu.so", 18);
                put("600/maps", maps);
                framework_init(&l);
                assert_int_equal(framework_begin(&l, root_fd, 600), -ENOENT);
                int proc = files_open(root_fd, "/proc");
                assert_int_equal(framework_begin(&l, proc, 600), 0);
                while (!framework_continue(&l, &v))
                        ;
                assert_true(value_is_set(v) && v.v == FRAMEWORK_TORCH);
                close(proc);
        }
}

/* The list that the job view draws a tree of: holders with their parents, and their children. */
static void the_tree_of_a_job(void **state UNUSED)
{
        put_fake((struct fake){.pid = 200, .ppid = 150});
        put_fake((struct fake){.pid = 201, .ppid = 200});
        put_fake((struct fake){.pid = 202, .ppid = 201});
        put_fake((struct fake){.pid = 203, .ppid = 200, .state = 'Z'});
        put_fake((struct fake){.pid = 300, .ppid = 150});
        put_fake((struct fake){.pid = 400, .ppid = 1});
        put("200/maps", "7f00-7f01 r-xp 0 08:01 5 /x/torch/lib/libtorch_cuda.so\n");
        struct process list[8] = {{.pid = 200, .slot = 0, .gpu = "0"},
                                  {.pid = 300, .slot = 1, .gpu = "1"},
                                  {.pid = 777, .slot = 1, .gpu = "1"},
                                  {.pid = 200, .slot = 2, .gpu = "2"}};
        static const struct {
                int pid, ppid;
                const char *gpu;
                const char *why;
        } children[] = {
            {201, 200, "0", "a worker"},
            {202, 201, "0", "a worker's child"},
        };
        struct process_tree *t = NULL;
        assert_int_equal(process_tree_open(root, NULL, &t), 0);
        for (int i = 0; i < 3; i++)
                assert_int_equal(process_tree_fill(t, i * NS_PER_S, list, 4, 4), 2);
        assert_int_equal(list[0].ppid, 150);
        assert_int_equal(list[3].ppid, 150);
        assert_int_equal(list[2].ppid, 0); /* of another container */
        assert_int_equal(list[0].framework, FRAMEWORK_TORCH);
        assert_int_equal(list[1].framework, FRAMEWORK_NONE);
        assert_false(list[0].child);
        for (size_t i = 0; i < ARRAY_LEN(children); i++) {
                const struct process *p = NULL;
                for (size_t k = 4; k < 6; k++)
                        p = list[k].pid == children[i].pid ? &list[k] : p;
                if (!p || p->ppid != children[i].ppid || !p->child || p->slot != 0 ||
                    strcmp(p->gpu, children[i].gpu) != 0)
                        fail_msg("%s", children[i].why);
        }
        assert_int_equal(process_tree_fill(t, 4 * NS_PER_S, list, 4, 1), 1); /* no more than fit */
        process_tree_close(t);
}

static size_t tell_processes(struct source *s UNUSED, struct process *ret, size_t max UNUSED)
{
        const struct process reported[] = {{.pid = 1, .on = {1, -1}},
                                           {.pid = 2, .on = {0, 7}},
                                           {.pid = 3, .on = {0, 9}},
                                           {.pid = 4, .on = {2, -1}},
                                           {.pid = 5, .on = {10, 3}},
                                           {.pid = 6, .on = {-1, -1}, .gpu = "0/7"},
                                           {.pid = 7, .on = {-1, -1}, .gpu = "10/1"}};
        memcpy(ret, reported, sizeof(reported));
        return ARRAY_LEN(reported);
}

/* A process points at the entity it is on, or at the GPU of a slice that is not shown. */
static void processes_find_their_gpu(void **state UNUSED)
{
        static const struct entity gpus[] = {
            {.slot = 4, .kind = ENTITY_GPU, .index = 10, .gi = -1, .label = "10"},
            {.slot = 3, .kind = ENTITY_GPU, .index = 1, .gi = -1, .label = "1"},
            {.slot = 2, .kind = ENTITY_GPU, .index = 0, .gi = -1, .label = "0"},
            {.slot = 1, .kind = ENTITY_GPU_INSTANCE, .index = 0, .gi = 7, .label = "0/7"}};
        static const struct {
                int pid;
                uint32_t slot;
                struct process_on on;
                const char *label;
        } want[] = {{1, 3, {1, -1}, "1"},    {2, 1, {0, 7}, "0/7"}, {3, 2, {0, 9}, "0/9"},
                    {5, 4, {10, 3}, "10/3"}, {6, 1, {0, 7}, "0/7"}, {7, 4, {10, 0}, "10/1"}};
        static const struct source_ops ops = {.finite = true, .processes = tell_processes};
        struct row rows[ARRAY_LEN(gpus)] = {0};
        struct frame f = {.rows = rows, .n = ARRAY_LEN(gpus)};
        struct process_join *j = NULL;
        for (size_t i = 0; i < ARRAY_LEN(gpus); i++)
                rows[i].sample.who = &gpus[i];
        assert_int_equal(process_join_open(&(struct process_join_config){.root = ""}, &j), 0);
        process_join_fill(j, &ops, NULL, &f);
        assert_int_equal(f.processes.n, ARRAY_LEN(want));
        for (size_t i = 0; i < ARRAY_LEN(want); i++) {
                const struct process *p = &f.processes.list[i];
                if (p->pid != want[i].pid || p->slot != want[i].slot ||
                    p->on.index != want[i].on.index || p->on.gi != want[i].on.gi ||
                    strcmp(p->gpu, want[i].label) != 0)
                        fail_msg("pid %d is on %s, slot %u", (int)p->pid, p->gpu, p->slot);
        }
        process_join_close(j);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(main_and_children_are_apart, begin, end),
            cmocka_unit_test_setup_teardown(workers_are_those_that_work, begin, end),
            cmocka_unit_test_setup_teardown(children_count_after_their_end, begin, end),
            cmocka_unit_test_setup_teardown(each_rank_has_its_own_workers, begin, end),
            cmocka_unit_test_setup_teardown(an_orphan_serves_on, begin, end),
            cmocka_unit_test_setup_teardown(what_feeds_the_holders, begin, end),
            cmocka_unit_test_setup_teardown(the_command_stands_in, begin, end),
            cmocka_unit_test_setup_teardown(launchers_are_looked_through, begin, end),
            cmocka_unit_test_setup_teardown(what_cannot_be_known_is_missing, begin, end),
            cmocka_unit_test_setup_teardown(the_busiest_thread_is_found, begin, end),
            cmocka_unit_test_setup_teardown(the_longest_wait_for_a_cpu_is_found, begin, end),
            cmocka_unit_test_setup_teardown(kernels_that_do_not_count_waits, begin, end),
            cmocka_unit_test_setup_teardown(main_threads_are_summed, begin, end),
            cmocka_unit_test_setup_teardown(many_threads_go_by_turns, begin, end),
            cmocka_unit_test_setup_teardown(frameworks_are_known_by_what_is_mapped, begin, end),
            cmocka_unit_test(processes_find_their_gpu),
            cmocka_unit_test_setup_teardown(the_tree_of_a_job, begin, end),
            cmocka_unit_test_setup_teardown(a_cut_path_is_found, begin, end),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
