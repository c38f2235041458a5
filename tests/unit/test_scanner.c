/* The scanner over trees made by hand, where every number and every tick is known. */
#include "test.h"

#include "base/attr.h"
#include "base/clock.h"
#include "read/host/files.h"
#include "read/host/scanner.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static char root[64];
static int root_fd;
static struct scanner *scanner;
static int64_t boot_ns;

static int remove_one(const char *path, const struct stat *st UNUSED, int type UNUSED,
                      struct FTW *w UNUSED)
{
        return remove(path);
}

static int begin(void **state UNUSED)
{
        snprintf(root, sizeof(root), "/tmp/assay-scan-XXXXXX");
        assert_non_null(mkdtemp(root));
        char path[128];
        snprintf(path, sizeof(path), "%s/proc", root);
        mkdir(path, 0755);
        root_fd = files_open_root(root);
        boot_ns = 1000 * NS_PER_S;
        return 0;
}

static int end(void **state UNUSED)
{
        scanner_close(scanner);
        scanner = NULL;
        close(root_fd);
        return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void put(int pid, const char *name, const char *text, size_t n)
{
        char path[160];
        snprintf(path, sizeof(path), "%s/proc/%d", root, pid);
        mkdir(path, 0755);
        snprintf(path, sizeof(path), "%s/proc/%d/%s", root, pid, name);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, n), n);
        close(fd);
}

/* One process of the tree. start is in clock ticks since boot, of 100 a second. */
struct fake {
        int pid, ppid, start, own, waited, uid, read;
        int session, pgrp; /* 0: 1 */
        const char *cgroup, *job;
};

static void put_fake(struct fake f)
{
        char text[512];
        int n =
            snprintf(text, sizeof(text),
                     "%d (x) S %d %d %d 0 -1 0 0 0 0 0 %d 0 %d 0 20 0 2 0 %d 0 10 0", f.pid, f.ppid,
                     f.pgrp ? f.pgrp : 1, f.session ? f.session : 1, f.own, f.waited, f.start);
        put(f.pid, "stat", text, (size_t)n);
        n = snprintf(text, sizeof(text),
                     "rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: %d\n"
                     "write_bytes: 0\n",
                     f.read);
        put(f.pid, "io", text, (size_t)n);
        n = snprintf(text, sizeof(text), "Uid:\t%d\t0\t0\t0\nGid:\t1\t1\t1\t1\n", f.uid);
        put(f.pid, "status", text, (size_t)n);
        n = snprintf(text, sizeof(text), "0::%s\n", f.cgroup ? f.cgroup : "/");
        put(f.pid, "cgroup", text, (size_t)n);
        n = snprintf(text, sizeof(text), "A=b%cSLURM_JOB_ID=%s", 0, f.job ? f.job : "");
        put(f.pid, "environ", text, f.job ? (size_t)n : 3);
}

static void drop(int pid)
{
        char path[160];
        snprintf(path, sizeof(path), "%s/proc/%d", root, pid);
        assert_int_equal(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void start_reaped(unsigned levels, struct scan_target target, int reaper)
{
        struct err err = {0};
        struct scan_config c = {.root = root_fd,
                                .levels = levels,
                                .target = target,
                                .reaper = reaper,
                                .fd_budget = 64,
                                .clock_ticks = 100,
                                .page_size = 4096};
        if (target.group[0] == '\0')
                c.target.group_kind = CGROUP_KINDS;
        assert_int_equal(scanner_open(&c, &scanner, &err), 0);
}

static void start(unsigned levels, struct scan_target target)
{
        start_reaped(levels, target, 0);
}

/* A second later. */
static void tick(void)
{
        assert_int_equal(scanner_tick(scanner, boot_ns), 0);
        boot_ns += NS_PER_S;
}

static const struct scan_sum *sum(enum level level)
{
        return scanner_sum(scanner, level);
}

#define TARGET                                                                                     \
        (struct scan_target)                                                                       \
        {                                                                                          \
                .pid = 100                                                                         \
        }
#define PROCESS LEVEL_BIT(LEVEL_PROCESS)

static void follows_forks(void **state UNUSED)
{
        put_fake((struct fake){.pid = 100, .ppid = 50, .start = 10, .own = 5, .waited = 7});
        put_fake((struct fake){.pid = 200, .ppid = 50, .start = 11, .own = 1000});
        start(PROCESS, TARGET);
        tick();
        assert_int_equal(sum(LEVEL_PROCESS)->processes, 1);
        assert_int_equal(sum(LEVEL_PROCESS)->cpu, 12); /* what its children used before counts */
        /* A grandchild with a lower pid than its parent: numbers went round. */
        put_fake((struct fake){.pid = 99, .ppid = 150, .start = 100050, .own = 3});
        put_fake((struct fake){.pid = 150, .ppid = 100, .start = 100040, .own = 4});
        tick();
        assert_int_equal(sum(LEVEL_PROCESS)->processes, 3);
        assert_int_equal(sum(LEVEL_PROCESS)->cpu, 19);
        assert_int_equal(sum(LEVEL_PROCESS)->threads, 6);
        assert_int_equal(sum(LEVEL_PROCESS)->rss, 3 * 40960);
}

static void waited_for_children_count_once(void **state UNUSED)
{
        put_fake((struct fake){.pid = 100, .ppid = 50, .start = 10, .read = 10});
        put_fake((struct fake){.pid = 101, .ppid = 100, .start = 20, .own = 100, .read = 500});
        start(PROCESS, TARGET);
        tick();
        assert_int_equal(sum(LEVEL_PROCESS)->cpu, 100);
        assert_int_equal(sum(LEVEL_PROCESS)->io[PROC_IO_READ], 510);
        /* It used 30 more and read 40 more before its end; the parent waited, and took both over.
         */
        drop(101);
        put_fake((struct fake){.pid = 100, .ppid = 50, .start = 10, .waited = 130, .read = 550});
        tick();
        assert_int_equal(sum(LEVEL_PROCESS)->cpu, 130);
        assert_int_equal(sum(LEVEL_PROCESS)->io[PROC_IO_READ], 550);
        /* One that came and went between two ticks. */
        put_fake((struct fake){.pid = 100, .ppid = 50, .start = 10, .waited = 155, .read = 556});
        tick();
        assert_int_equal(sum(LEVEL_PROCESS)->cpu, 155);
        assert_int_equal(sum(LEVEL_PROCESS)->io[PROC_IO_READ], 556);
}

static void unwaited_children_are_kept(void **state UNUSED)
{
        put_fake((struct fake){.pid = 100, .ppid = 50, .start = 10, .read = 10});
        put_fake((struct fake){.pid = 101, .ppid = 100, .start = 20, .own = 100, .read = 500});
        start(PROCESS, TARGET);
        tick();
        /* The parent ignores SIGCHLD: nothing arrives there, and it reads 5 bytes of its own. */
        drop(101);
        put_fake((struct fake){.pid = 100, .ppid = 50, .start = 10, .read = 15});
        tick();
        assert_int_equal(sum(LEVEL_PROCESS)->cpu, 100);
        assert_int_equal(sum(LEVEL_PROCESS)->io[PROC_IO_READ], 515);
        assert_int_equal(sum(LEVEL_PROCESS)->processes, 1);
}

static void orphans_stay(void **state UNUSED)
{
        put_fake((struct fake){.pid = 1, .ppid = 0, .start = 1, .own = 9});
        put_fake((struct fake){.pid = 100, .ppid = 50, .start = 10});
        put_fake((struct fake){.pid = 101, .ppid = 100, .start = 20, .own = 10});
        start(PROCESS, TARGET);
        tick();
        /* Its parent ended, init took it over, and it began a session. */
        put_fake((struct fake){.pid = 101, .ppid = 1, .start = 20, .own = 50, .session = 101});
        drop(100);
        tick();
        assert_int_equal(sum(LEVEL_PROCESS)->cpu, 50);
        /* A child of that session whose parent was never seen. */
        put_fake((struct fake){
            .pid = 103, .ppid = 1, .start = 100150, .own = 5, .session = 101, .pgrp = 102});
        tick();
        assert_int_equal(sum(LEVEL_PROCESS)->cpu, 55);
        assert_int_equal(sum(LEVEL_PROCESS)->processes, 2);
        drop(101);
        drop(103);
        tick();
        assert_int_equal(sum(LEVEL_PROCESS)->cpu, 55); /* never falls */
        assert_int_equal(sum(LEVEL_PROCESS)->processes, 0);
}

static void put_children(int pid, const char *text)
{
        char path[160];
        snprintf(path, sizeof(path), "%s/proc/%d", root, pid);
        mkdir(path, 0755);
        snprintf(path, sizeof(path), "%s/proc/%d/task", root, pid);
        mkdir(path, 0755);
        snprintf(path, sizeof(path), "%s/proc/%d/task/%d", root, pid, pid);
        mkdir(path, 0755);
        snprintf(path, sizeof(path), "task/%d/children", pid);
        put(pid, path, text, strlen(text));
}

static void orphans_come_to_the_reaper(void **state UNUSED)
{
        put_fake((struct fake){.pid = 50, .ppid = 1, .start = 9});
        put_fake((struct fake){.pid = 98, .ppid = 50, .start = 9});
        put_fake((struct fake){.pid = 99, .ppid = 50, .start = 10}); /* just before the target */
        put_fake((struct fake){.pid = 100, .ppid = 50, .start = 10, .own = 1});
        put_children(50, "98 99 100 ");
        start_reaped(PROCESS, TARGET, 50);
        tick();
        assert_int_equal(sum(LEVEL_PROCESS)->processes, 1);
        /* One whose parent was never seen, its child, and one that another thread started. */
        put_fake((struct fake){.pid = 201, .ppid = 50, .start = 100050, .own = 10});
        put_fake((struct fake){.pid = 202, .ppid = 201, .start = 100051, .own = 100});
        put_fake((struct fake){.pid = 203, .ppid = 50, .start = 100052, .own = 1000});
        put_children(50, "98 99 100 201 ");
        tick();
        assert_int_equal(sum(LEVEL_PROCESS)->cpu, 111);
        assert_int_equal(sum(LEVEL_PROCESS)->processes, 3);
        /* They go on without the command. */
        drop(100);
        put_fake((struct fake){.pid = 204, .ppid = 50, .start = 100150, .own = 10000});
        put_children(50, "98 99 201 204 ");
        tick();
        assert_int_equal(sum(LEVEL_PROCESS)->cpu, 10111);
        assert_int_equal(sum(LEVEL_PROCESS)->processes, 3);
}

static void nobody_else_reaps(void **state UNUSED)
{
        put_fake((struct fake){.pid = 50, .ppid = 1, .start = 9});
        put_fake((struct fake){.pid = 100, .ppid = 51, .start = 10, .own = 1});
        put_children(50, "201 ");
        start_reaped(PROCESS, TARGET, 50);
        put_fake((struct fake){.pid = 201, .ppid = 50, .start = 100050, .own = 10});
        tick();
        assert_int_equal(sum(LEVEL_PROCESS)->processes, 1);
}

static void brothers_in_a_pipeline_are_not_children(void **state UNUSED)
{
        put_fake((struct fake){.pid = 100, .ppid = 50, .start = 10, .pgrp = 100, .session = 50});
        put_fake((struct fake){.pid = 101, .ppid = 50, .start = 11, .pgrp = 100, .session = 50});
        start(PROCESS, TARGET);
        tick();
        put_fake(
            (struct fake){.pid = 102, .ppid = 50, .start = 100001, .pgrp = 100, .session = 50});
        put_fake((struct fake){.pid = 103, .ppid = 1, .start = 100001, .pgrp = 100, .session = 50});
        tick();
        assert_int_equal(sum(LEVEL_PROCESS)->processes, 2); /* 100 and 103, which was re-parented */
}

static void a_reused_pid_is_new(void **state UNUSED)
{
        put_fake((struct fake){.pid = 100, .ppid = 50, .start = 10});
        put_fake((struct fake){.pid = 101, .ppid = 100, .start = 20, .own = 70});
        start(PROCESS, TARGET);
        tick();
        /* Same number, same folder, another process: a stranger with much CPU time. */
        put_fake((struct fake){.pid = 101, .ppid = 1, .start = 99000, .own = 5000});
        tick();
        assert_int_equal(sum(LEVEL_PROCESS)->cpu, 70);
        assert_int_equal(sum(LEVEL_PROCESS)->processes, 1);
        put_fake((struct fake){.pid = 100, .ppid = 1, .start = 100100, .own = 4000});
        tick();
        assert_int_equal(sum(LEVEL_PROCESS)->processes, 0);
        assert_int_equal(sum(LEVEL_PROCESS)->cpu, 70);
}

static void users_are_by_real_uid(void **state UNUSED)
{
        put_fake((struct fake){.pid = 10, .ppid = 1, .start = 5, .uid = 1000, .own = 20});
        put_fake((struct fake){.pid = 11, .ppid = 10, .start = 6, .uid = 0, .own = 300});
        start(LEVEL_BIT(LEVEL_USER), (struct scan_target){.has_uid = true, .uid = 1000});
        tick();
        assert_int_equal(sum(LEVEL_USER)->cpu, 20);
        /* sudo's child ends: its parent's counter takes over what was root's. */
        drop(11);
        put_fake(
            (struct fake){.pid = 10, .ppid = 1, .start = 5, .uid = 1000, .own = 25, .waited = 300});
        tick();
        assert_int_equal(sum(LEVEL_USER)->cpu, 25);
        /* One of root's becomes the user's: it counts from here. */
        put_fake((struct fake){.pid = 12, .ppid = 1, .start = 7, .uid = 0, .own = 900});
        tick();
        put_fake((struct fake){.pid = 12, .ppid = 1, .start = 7, .uid = 1000, .own = 910});
        tick();
        assert_int_equal(sum(LEVEL_USER)->processes, 2);
        assert_int_equal(sum(LEVEL_USER)->cpu, 25);
        put_fake((struct fake){.pid = 12, .ppid = 1, .start = 7, .uid = 1000, .own = 950});
        tick();
        assert_int_equal(sum(LEVEL_USER)->cpu, 65);
}

static void the_busiest_come_first(void **state UNUSED)
{
        struct host_process p[2];
        put_fake((struct fake){.pid = 10, .ppid = 1, .own = 500, .uid = 7});
        put_fake((struct fake){.pid = 11, .ppid = 1, .own = 0, .uid = 7});
        put_fake((struct fake){.pid = 12, .ppid = 1, .own = 0, .uid = 7});
        put_fake((struct fake){.pid = 13, .ppid = 1, .own = 0, .uid = 8});
        start(LEVEL_BIT(LEVEL_USER), (struct scan_target){.has_uid = true, .uid = 7});
        tick();
        assert_int_equal(scanner_busiest(scanner, 1, p, 2), 0); /* nothing to compare with yet */
        put_fake((struct fake){.pid = 11, .ppid = 1, .own = 80, .uid = 7, .read = 4000});
        put_fake((struct fake){.pid = 12, .ppid = 1, .own = 150, .uid = 7});
        put_fake((struct fake){.pid = 13, .ppid = 1, .own = 900, .uid = 8});
        tick();
        assert_int_equal(scanner_busiest(scanner, 1, p, 2), 2);
        assert_int_equal(p[0].pid, 12);
        assert_int_equal(p[1].pid, 11);
        assert_float_equal((float)p[0].cpu.v, 1.5f, 1e-6f);
        assert_float_equal((float)p[1].disk.v, 4000.0f, 1e-3f);
        assert_int_equal(scanner_busiest(scanner, 0, p, 2), 0);
}

/* What a process did whose counters fell is not known: neither 0 nor less. */
static void a_process_whose_counters_fell_is_an_error(void **state UNUSED)
{
        static const struct {
                int own, read;
                enum state cpu, disk;
                const char *why;
        } rows[] = {
            {600, 9000, STATE_OK, STATE_OK, "both grew"},
            {600, 9000, STATE_OK, STATE_OK, "nothing happened"},
            {100, 9500, STATE_ERROR, STATE_OK, "its CPU time fell"},
            {110, 400, STATE_OK, STATE_ERROR, "its bytes fell"},
            {120, 500, STATE_OK, STATE_OK, "both grow again"},
        };
        struct host_process p;
        put_fake((struct fake){.pid = 10, .ppid = 1, .own = 500, .uid = 7, .read = 8000});
        start(LEVEL_BIT(LEVEL_USER), (struct scan_target){.has_uid = true, .uid = 7});
        tick();
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                put_fake((struct fake){
                    .pid = 10, .ppid = 1, .own = rows[i].own, .uid = 7, .read = rows[i].read});
                tick();
                assert_int_equal(scanner_busiest(scanner, 1, &p, 1), 1);
                if (p.cpu.state != rows[i].cpu || p.disk.state != rows[i].disk)
                        fail_msg("%s: CPU is %s, disk is %s", rows[i].why,
                                 state_name((enum state)p.cpu.state),
                                 state_name((enum state)p.disk.state));
        }
}

static void jobs_are_by_group_then_environment(void **state UNUSED)
{
        put_fake((struct fake){.pid = 10, .start = 1, .job = "77"});
        put_fake((struct fake){.pid = 11, .start = 1, .job = "78"});
        put_fake((struct fake){.pid = 12,
                               .start = 1,
                               .job = "77",
                               .cgroup = "/system.slice/slurmstepd.scope/job_78/step_0"});
        put_fake((struct fake){
            .pid = 13, .start = 1, .cgroup = "/system.slice/slurmstepd.scope/job_77/step_0/user"});
        put_fake((struct fake){.pid = 14, .ppid = 10, .start = 2}); /* cleared its environment */
        put_fake((struct fake){.pid = 15, .start = 1});
        struct scan_target t = {0};
        strcpy(t.job, "77");
        start(LEVEL_BIT(LEVEL_SLURM), t);
        tick();
        assert_int_equal(sum(LEVEL_SLURM)->processes, 3);
        assert_true(scanner_find(scanner, 14)->levels);
        assert_false(scanner_find(scanner, 12)->levels);
        const struct cgroup_paths *g = scanner_job_groups(scanner);
        assert_non_null(g);
        assert_string_equal(g->path[CGROUP_UNIFIED], "/system.slice/slurmstepd.scope/job_77");
}

static void groups_are_by_path(void **state UNUSED)
{
        put_fake((struct fake){.pid = 10, .start = 1, .cgroup = "/a/b"});
        put_fake((struct fake){.pid = 11, .start = 1, .cgroup = "/a/b/c"});
        put_fake((struct fake){.pid = 12, .start = 1, .cgroup = "/a/bc"});
        struct scan_target t = {.group_kind = CGROUP_UNIFIED, .group = "/a/b"};
        start(LEVEL_BIT(LEVEL_CGROUP), t);
        tick();
        assert_int_equal(sum(LEVEL_CGROUP)->processes, 2);
}

static void lies_do_no_harm(void **state UNUSED)
{
        put_fake((struct fake){.pid = 100, .ppid = 50, .start = 10, .own = 500});
        put_fake((struct fake){.pid = 101, .ppid = 101, .start = 10}); /* its own parent */
        put_fake((struct fake){.pid = 102, .ppid = 103, .start = 10}); /* each other's */
        put_fake((struct fake){.pid = 103, .ppid = 102, .start = 10});
        put(104, "stat", "rubbish", 7);
        put(105, "stat", "", 0);
        put(106, "cgroup", "0::/\n", 5); /* no stat at all */
        start(LEVELS_ALL, (struct scan_target){.pid = 100, .has_uid = true, .uid = 0});
        tick();
        put_fake((struct fake){.pid = 100, .ppid = 50, .start = 10, .own = 100}); /* falls */
        tick();
        assert_int_equal(sum(LEVEL_PROCESS)->cpu, 500);
        assert_int_equal(sum(LEVEL_PROCESS)->processes, 1);
        put(100, "io", "rchar: x\n", 9);
        tick();
        assert_int_equal(sum(LEVEL_PROCESS)->io_unread, 1);
}

static void a_missing_target_is_an_error(void **state UNUSED)
{
        struct err err = {0};
        struct scan_config c = {.root = root_fd, .levels = PROCESS, .target = TARGET};
        assert_int_equal(scanner_open(&c, &scanner, &err), ERR_USAGE);
        assert_non_null(strstr(err.msg, "100"));
        assert_true(err.hint[0]);
}

static void descriptors_stay_in_budget(void **state UNUSED)
{
        for (int i = 0; i < 200; i++)
                put_fake(
                    (struct fake){.pid = 100 + i, .ppid = i ? 100 : 50, .start = 10, .own = i});
        start(PROCESS, TARGET);
        for (int i = 0; i < 3; i++)
                tick();
        int probe = dup(root_fd); /* the lowest free number tells how many are open */
        assert_true(probe < 64 + 16);
        close(probe);
        assert_int_equal(sum(LEVEL_PROCESS)->processes, 200);
        assert_int_equal(sum(LEVEL_PROCESS)->cpu, 199 * 200 / 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
        const struct CMUnitTest tests[] = {
            CASE(follows_forks),
            CASE(waited_for_children_count_once),
            CASE(unwaited_children_are_kept),
            CASE(orphans_stay),
            CASE(orphans_come_to_the_reaper),
            CASE(nobody_else_reaps),
            CASE(brothers_in_a_pipeline_are_not_children),
            CASE(a_reused_pid_is_new),
            CASE(users_are_by_real_uid),
            CASE(the_busiest_come_first),
            CASE(a_process_whose_counters_fell_is_an_error),
            CASE(jobs_are_by_group_then_environment),
            CASE(groups_are_by_path),
            CASE(lies_do_no_harm),
            CASE(a_missing_target_is_an_error),
            CASE(descriptors_stay_in_budget),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
