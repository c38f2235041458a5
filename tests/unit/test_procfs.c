#include "test.h"

#include "base/attr.h"
#include "read/host/procfs.h"
#include "read/host/sysfiles.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TAIL                                                                                       \
        " S 10 20 30 0 -1 4194304 1 2 3 4 500 60 7 8 20 0 5 0 98765 1000000 321 "                  \
        "18446744073709551615"

static void reads_stat(void **state UNUSED)
{
        static const struct {
                const char *text;
                int result;
                const char *comm;
                const char *why;
        } cases[] = {
            {"42 (python3)" TAIL, 0, "python3", "an ordinary process"},
            {"42 (a) R 1 (b))" TAIL, 0, "a) R 1 (b)", "a name made to look like a state"},
            {"42 (two\nlines)" TAIL, 0, "two\nlines", "a name with an end of line"},
            {"42 ()" TAIL, 0, "", "no name"},
            {"42 (python3", -EBADMSG, NULL, "cut in the name"},
            {"42 (python3) S 10 20", -EBADMSG, NULL, "cut in the numbers"},
            {"42 (x) S 10 20 30 0 -1 1 1 2 3 4 -5 60 7 8 20 0 5 0 9 1 3 1", -EBADMSG, NULL,
             "a negative time is a lie"},
            {"0 (idle)" TAIL, -EBADMSG, NULL, "no process has pid 0"},
            {"x (y)" TAIL, -EBADMSG, NULL, "no pid"},
            {"", -EBADMSG, NULL, "empty"},
            {")(", -EBADMSG, NULL, "brackets the wrong way round"},
            {"99999999999 (x)" TAIL, -EBADMSG, NULL, "a pid beyond 32 bits"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct proc_stat s = {.pid = 77};
                int r = procfs_stat(cases[i].text, strlen(cases[i].text), &s);
                if (r != cases[i].result)
                        fail_msg("%s: %d", cases[i].why, r);
                if (r < 0 && s.pid != 77)
                        fail_msg("%s: the result was touched", cases[i].why);
                if (r == 0 && strcmp(s.comm, cases[i].comm) != 0)
                        fail_msg("%s: name '%s'", cases[i].why, s.comm);
        }
        struct proc_stat s;
        assert_int_equal(procfs_stat("42 (p)" TAIL, strlen("42 (p)" TAIL), &s), 0);
        assert_int_equal(s.pid, 42);
        assert_int_equal(s.ppid, 10);
        assert_int_equal(s.pgrp, 20);
        assert_int_equal(s.session, 30);
        assert_int_equal(s.own, 560);
        assert_int_equal(s.waited, 15);
        assert_int_equal(s.minor, 1);
        assert_int_equal(s.major, 3);
        assert_int_equal(s.threads, 5);
        assert_int_equal(s.start, 98765);
        assert_int_equal(s.rss_pages, 321);
}

static void reads_who_holds_it_up(void **state UNUSED)
{
        static const char text[] = "Name:\tx\nTracerPid:\t41\nVmSwap:\t  12 kB\n";
        int32_t tracer = 7;
        uint64_t swap = 7;
        assert_true(procfs_halted(text, sizeof(text) - 1, &tracer, &swap));
        assert_int_equal(tracer, 41);
        assert_int_equal(swap, 12288);
        assert_false(procfs_halted("TracerPid:\t1\n", 13, &tracer, &swap));
        assert_false(procfs_halted("TracerPid:\t-1\nVmSwap:\t1 kB\n", 27, &tracer, &swap));
        assert_int_equal(tracer, 41);
}

static void cut_stat_is_refused_or_the_same(void **state UNUSED)
{
        static const char text[] = "42 (p)" TAIL;
        struct proc_stat whole, s;
        assert_int_equal(procfs_stat(text, sizeof(text) - 1, &whole), 0);
        size_t last_field = (size_t)(strrchr(text, ' ') - text);
        for (size_t n = 0; n < last_field - 3; n++)
                assert_int_equal(procfs_stat(text, n, &s), -EBADMSG);
}

static void reads_io(void **state UNUSED)
{
        static const char text[] = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\n"
                                   "write_bytes: 8192\ncancelled_write_bytes: 0\n";
        struct proc_io io;
        assert_int_equal(procfs_io(text, sizeof(text) - 1, &io), 0);
        assert_int_equal(io.v[PROC_IO_RCHAR], 1);
        assert_int_equal(io.v[PROC_IO_SYSCW], 4);
        assert_int_equal(io.v[PROC_IO_READ], 4096);
        assert_int_equal(io.v[PROC_IO_WRITE], 8192);
        assert_int_equal(procfs_io(text, 20, &io), -EBADMSG);
        assert_int_equal(procfs_io("wchar: 1\n", 9, &io), -EBADMSG);
}

static void reads_status(void **state UNUSED)
{
        static const char text[] = "Name:\tx\nUid:\t1000\t0\t0\t0\nGid:\t100\t100\t100\t100\n"
                                   "Cpus_allowed:\tff\nCpus_allowed_list:\t0-3,8\n";
        struct proc_status s;
        assert_int_equal(procfs_status(text, sizeof(text) - 1, &s), 0);
        assert_int_equal(s.uid, 1000); /* the real one, not the effective */
        assert_int_equal(s.gid, 100);
        assert_int_equal(s.cpus, 5);
        assert_int_equal(procfs_status("Name:\tx\n", 8, &s), -EBADMSG);
        assert_int_equal(procfs_status("Uid:\t-1\nGid:\t1\n", 15, &s), -EBADMSG);
}

static void counts_cpu_lists(void **state UNUSED)
{
        static const struct {
                const char *text;
                uint32_t count; /* 0: refused */
        } cases[] = {{"0", 1},       {"0-3", 4}, {"0-3,8,10-11\n", 7}, {"", 0},
                     {"3-1", 0},     {"0-", 0},  {"0-99999999", 0},    {"a", 0},
                     {"0,1,2,3", 4}, {"63", 1}};
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                uint32_t n = 0;
                bool ok = procfs_cpu_list(cases[i].text, strlen(cases[i].text), &n);
                if (ok != (cases[i].count > 0) || (ok && n != cases[i].count))
                        fail_msg("'%s' gave %u", cases[i].text, n);
        }
}

static void reads_limits_and_smaps(void **state UNUSED)
{
        static const char limits[] =
            "Limit                     Soft Limit           Hard Limit           Units     \n"
            "Max cpu time              unlimited            unlimited            seconds   \n"
            "Max address space         4294967296           unlimited            bytes     \n";
        static const char none[] =
            "Max address space         unlimited            unlimited  bytes\n";
        static const char smaps[] = "55aa-7ffe ---p 00000000 00:00 0    [rollup]\nRss: 100 kB\n"
                                    "Pss:   60 kB\nPss_Dirty: 1 kB\nPrivate_Clean: 10 kB\n"
                                    "Private_Dirty: 20 kB\n";
        uint64_t v;
        struct proc_smaps s;
        assert_int_equal(procfs_limits(limits, sizeof(limits) - 1, &v), 0);
        assert_true(v == 4294967296);
        assert_int_equal(procfs_limits(none, sizeof(none) - 1, &v), 0);
        assert_true(v == UINT64_MAX);
        assert_int_equal(procfs_limits("", 0, &v), -EBADMSG);
        assert_int_equal(procfs_smaps(smaps, sizeof(smaps) - 1, &s), 0);
        assert_int_equal(s.pss, 60 * 1024);
        assert_int_equal(s.uss, 30 * 1024);
        assert_int_equal(procfs_smaps("Rss: 1 kB\n", 10, &s), -EBADMSG);
}

static void finds_variables(void **state UNUSED)
{
        static const char env[] = "A=1\0XSLURM_JOB_ID=9\0SLURM_JOB_ID=77\0B=";
        char v[8];
        assert_true(procfs_environ(env, sizeof(env) - 1, "SLURM_JOB_ID", v, sizeof(v)));
        assert_string_equal(v, "77");
        assert_false(procfs_environ(env, sizeof(env) - 1, "JOB_ID", v, sizeof(v)));
        assert_true(procfs_environ(env, sizeof(env) - 1, "B", v, sizeof(v)));
        assert_string_equal(v, "");
}

static void reads_the_machine(void **state UNUSED)
{
        static const char stat[] = "cpu  10 1 2 100 3 4 5 6 0 0\ncpu0 5 0 1 50 1 2 2 3 0 0\n"
                                   "cpu2 5 1 1 50 2 2 3 3 0 0\nintr 5\n";
        struct cpu_times total, cores[8];
        size_t n;
        assert_int_equal(sysfiles_stat(stat, sizeof(stat) - 1, &total, cores, 8, &n), 0);
        assert_int_equal(n, 3); /* CPU 1 is offline, and stays in its place */
        assert_int_equal(cores[1].t[3], 0);
        assert_int_equal(cores[2].t[4], 2);
        assert_int_equal(total.t[7], 6);
        assert_int_equal(sysfiles_stat("intr 1\n", 7, &total, cores, 8, &n), -EBADMSG);

        static const char mem[] = "MemTotal: 1000 kB\nMemFree: 200 kB\nMemAvailable: 600 kB\n"
                                  "SwapTotal: 50 kB\nSwapFree: 20 kB\n";
        struct meminfo m;
        assert_int_equal(sysfiles_meminfo(mem, sizeof(mem) - 1, &m), 0);
        assert_int_equal(m.available, 600 * 1024);
        assert_int_equal(m.swap_free, 20 * 1024);
        assert_int_equal(sysfiles_meminfo("MemFree: 1 kB\n", 14, &m), -EBADMSG);

        struct loadavg l;
        assert_int_equal(sysfiles_loadavg("0.50 1.25 2.00 3/456 789\n", 25, &l), 0);
        assert_int_equal(l.threads, 456);
        assert_true(l.five == 1.25);
        assert_int_equal(sysfiles_loadavg("0.50 1.25\n", 10, &l), -EBADMSG);

        static const char psi[] = "some avg10=0.00 avg60=0.00 avg300=0.00 total=123\n"
                                  "full avg10=0.00 avg60=0.00 avg300=0.00 total=45\n";
        struct pressure p;
        assert_int_equal(sysfiles_pressure(psi, sizeof(psi) - 1, &p), 0);
        assert_int_equal(p.some, 123);
        assert_int_equal(p.full, 45);
}

static void add_up(const struct device_io *d, void *arg)
{
        struct device_io *sum = arg;
        sum->in += d->in;
        sum->out += d->out;
        sum->in_ops++;
}

static void reads_devices(void **state UNUSED)
{
        static const char disks[] = "   8       0 sda 10 0 100 5 20 0 200 7 0 9 9\n"
                                    "   8       1 sda1 short\n 259 0 nvme0n1 1 0 8 1 1 0 16 1\n";
        static const char net[] = "Inter-|   Receive\n face |bytes    packets errs\n"
                                  "    lo: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\n"
                                  "  eth0:2000 3 0 0 0 0 0 0 500 4 0 0 0 0 0 0\n";
        struct device_io sum = {0};
        sysfiles_diskstats(disks, sizeof(disks) - 1, add_up, &sum);
        assert_int_equal(sum.in_ops, 2);
        assert_int_equal(sum.in, 108 * 512);
        assert_int_equal(sum.out, 216 * 512);
        sum = (struct device_io){0};
        sysfiles_netdev(net, sizeof(net) - 1, add_up, &sum);
        assert_int_equal(sum.in_ops, 2);
        assert_int_equal(sum.in, 2100);
        assert_int_equal(sum.out, 600);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(reads_stat),
            cmocka_unit_test(reads_who_holds_it_up),
            cmocka_unit_test(cut_stat_is_refused_or_the_same),
            cmocka_unit_test(reads_io),
            cmocka_unit_test(reads_status),
            cmocka_unit_test(counts_cpu_lists),
            cmocka_unit_test(reads_limits_and_smaps),
            cmocka_unit_test(finds_variables),
            cmocka_unit_test(reads_the_machine),
            cmocka_unit_test(reads_devices),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
