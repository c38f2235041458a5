#include "test.h"

#include "base/attr.h"
#include "read/host/cgroup.h"
#include "read/host/slurm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void reads_paths(void **state UNUSED)
{
        static const char hybrid[] = "9:name=systemd:/a\n4:memory:/slurm/uid_0/job_7/step_0\n"
                                     "2:cpu,cpuacct:/b\n0::/\n";
        struct cgroup_paths p;
        assert_int_equal(cgroup_parse_paths(hybrid, sizeof(hybrid) - 1, &p), 0);
        assert_string_equal(p.path[CGROUP_MEMORY], "/slurm/uid_0/job_7/step_0");
        assert_string_equal(p.path[CGROUP_CPU], "/b");
        assert_string_equal(p.path[CGROUP_CPUACCT], "/b");
        assert_string_equal(p.path[CGROUP_UNIFIED], "/");
        assert_string_equal(p.path[CGROUP_CPUSET], "");
        assert_int_equal(cgroup_main(&p), CGROUP_MEMORY);
        assert_int_equal(cgroup_parse_paths("0::/user.slice/x\n", 17, &p), 0);
        assert_int_equal(cgroup_main(&p), CGROUP_UNIFIED);
        assert_int_equal(cgroup_parse_paths("0::/\n", 5, &p), 0);
        assert_int_equal(cgroup_main(&p), CGROUP_KINDS);
        assert_int_equal(cgroup_parse_paths("nothing\n", 8, &p), -EBADMSG);
}

static void reads_mounts(void **state UNUSED)
{
        static const char text[] =
            "22 27 0:21 / /proc rw,relatime - proc proc rw,hidepid=invisible\n"
            "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw master:1 - cgroup cgroup "
            "rw,cpu,cpuacct\n"
            "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
        struct cgroup_mounts m;
        char folder[256];
        cgroup_parse_mounts(text, sizeof(text) - 1, &m);
        assert_true(m.hidepid);
        assert_true(cgroup_folder(&m, CGROUP_CPU, "/docker/abc/x", folder, sizeof(folder)));
        assert_string_equal(folder, "/sys/fs/cgroup/cpu,cpuacct/x");
        assert_true(cgroup_folder(&m, CGROUP_UNIFIED, "/", folder, sizeof(folder)));
        assert_string_equal(folder, "/sys/fs/cgroup/unified");
        assert_false(cgroup_folder(&m, CGROUP_MEMORY, "/", folder, sizeof(folder)));
}

static void reads_numbers(void **state UNUSED)
{
        uint64_t v;
        double cpus;
        assert_true(cgroup_parse_key("user_usec 1\nusage_usec 25\n", 26, "usage_usec", &v));
        assert_int_equal(v, 25);
        assert_false(cgroup_parse_key("usage_usecs 25\n", 15, "usage_usec", &v));
        assert_true(cgroup_parse_one("max\n", 4, &v));
        assert_true(v == UINT64_MAX);
        assert_false(cgroup_parse_one("-1\n", 3, &v));
        assert_true(cgroup_parse_cpu_max("150000 100000\n", 14, &cpus));
        assert_true(cpus == 1.5);
        assert_true(cgroup_parse_cpu_max("max 100000\n", 11, &cpus));
        assert_true(cpus == 0);
        assert_false(cgroup_parse_cpu_max("1 0\n", 4, &cpus));
}

static void add_up(const struct cgroup_io *io, void *arg)
{
        struct cgroup_io *sum = arg;
        sum->read += io->read;
        sum->write += io->write;
        sum->device = io->device;
}

static void reads_io(void **state UNUSED)
{
        static const char text[] = "8:0 rbytes=100 wbytes=200 rios=1 wios=2 dbytes=0 dios=0\n"
                                   "259:1 rbytes=5 wbytes=\nrubbish\n";
        struct cgroup_io sum = {0};
        cgroup_parse_io(text, sizeof(text) - 1, add_up, &sum);
        assert_int_equal(sum.read, 105);
        assert_int_equal(sum.write, 200);
        assert_true(sum.device == ((uint64_t)259 << 32 | 1));
}

static void finds_jobs(void **state UNUSED)
{
        static const struct {
                const char *path, *job; /* NULL: not of a job */
                size_t folder;
                const char *why;
        } cases[] = {
            {"/slurm/uid_1000/job_77/step_0/task_0", "77", 22, "version 1"},
            {"/slurm_node1/uid_0/job_5", "5", 24, "version 1, named node"},
            {"/system.slice/slurmstepd.scope/job_12/step_batch/user", "12", 37, "version 2"},
            {"/system.slice/n1_slurmstepd.scope/job_12", "12", 40, "version 2, several daemons"},
            {"/system.slice/slurm.service/job_3", "3", 33, "the daemon's service"},
            {"/system.slice/slurmstepd.scope/s0123ABCDEF/step_0", "", 42, "a SLUID"},
            {"/system.slice/slurmstepd.scope/system", NULL, 0, "the daemon itself"},
            {"/user.slice/job_7", NULL, 0, "somebody's folder of that name"},
            {"/slurmx/uid_0/job_5", NULL, 0, "not Slurm's"},
            {"/", NULL, 0, "the root"},
            {"", NULL, 0, "nothing"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct slurm_place p;
                bool found = slurm_find(cases[i].path, &p);
                if (found != (cases[i].job != NULL))
                        fail_msg("%s", cases[i].why);
                if (found && (strcmp(p.job, cases[i].job) != 0 || p.folder_len != cases[i].folder))
                        fail_msg("%s: job '%s' folder %zu", cases[i].why, p.job, p.folder_len);
        }
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void finds_containers(void **state UNUSED)
{
        static const struct {
                const char *path;
                bool found;
        } cases[] = {
            {"/docker/" ID, true},
            {"/system.slice/docker-" ID ".scope", true},
            {"/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID ".scope/x", true},
            {"/kubepods/burstable/pod1/" ID, true},
            {"/user.slice/" ID "0", false},
            {"/user.slice/abc", false},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                char id[80];
                bool found = cgroup_container(cases[i].path, id, sizeof(id));
                if (found != cases[i].found || (found && strcmp(id, ID) != 0))
                        fail_msg("%s", cases[i].path);
        }
}

#define V1                                                                                         \
        "3 1 0:3 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"                           \
        "4 1 0:4 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
#define V2 "5 1 0:5 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
#define HYBRID V1 "5 1 0:5 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"

static void put_file(const char *root, const char *path, const char *text)
{
        char full[512];
        snprintf(full, sizeof(full), "%s/%s", root, path);
        for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
                *slash = '\0';
                mkdir(full, 0700);
                *slash = '/';
        }
        FILE *f = fopen(full, "w");
        assert_non_null(f);
        fputs(text, f);
        fclose(f);
}

static void make_machine(const char *root)
{
        char devices[12000] = "";
        for (int i = 0; i < 300; i++)
                snprintf(devices + strlen(devices), 40, "8:%d rbytes=1000 wbytes=2000\n", i);
        put_file(root, "sys/fs/cgroup/memory/job/memory.usage_in_bytes", "4096\n");
        put_file(root, "sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
        put_file(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "65536\n");
        put_file(root, "sys/fs/cgroup/cpu,cpuacct/job/cpuacct.usage", "1500000000\n");
        put_file(root, "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "50000\n");
        put_file(root, "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
        put_file(root, "sys/fs/cgroup/job/cpu.stat", "usage_usec 2500000\n");
        put_file(root, "sys/fs/cgroup/job/memory.current", "8192\n");
        put_file(root, "sys/fs/cgroup/job/memory.max", "max\n");
        put_file(root, "sys/fs/cgroup/job/io.stat", "8:0 rbytes=5 wbytes=7\n");
        put_file(root, "sys/fs/cgroup/unified/job/cpu.stat", "usage_usec 3500000\n");
        put_file(root, "sys/fs/cgroup/thread/cpu.stat", "usage_usec 4500000\n");
        put_file(root, "sys/fs/cgroup/disks/io.stat", devices);
        put_file(root, "sys/fs/memory.current", "66\n");
        put_file(root, "sys/fs/cgroup/odd/memory.current", "\xff-1 many\n");
        put_file(root, "sys/fs/cgroup/odd/cpu.max", "1 0\n");
}

static double or_minus(struct value v)
{
        return value_is_set(v) ? v.v : -1;
}

/* -1: missing. What a group does not say is missing, and never a neighbour's or a sum cut short. */
static void reads_every_kind_of_group(void **state UNUSED)
{
        static const struct {
                const char *mounts, *paths;
                double cpu_s, memory, limit, quota, read;
                const char *why;
        } cases[] = {
            {V1, "3:memory:/job\n4:cpu,cpuacct:/job\n", 1.5, 4096, 65536, 0.5, -1, "version 1"},
            {V2, "0::/job\n", 2.5, 8192, -1, -1, 5, "version 2"},
            {HYBRID, "3:memory:/job\n4:cpu,cpuacct:/job\n0::/job\n", 3.5, 4096, 65536, 0.5, -1,
             "hybrid"},
            {V2, "0::/thread\n", 4.5, -1, -1, -1, -1, "threaded: no memory of its own"},
            {V2, "0::/job (deleted)\n", -1, -1, -1, -1, -1, "deleted"},
            {V2, "0::/gone\n", -1, -1, -1, -1, -1, "deleted meanwhile"},
            {V2, "0::/..\n", -1, -1, -1, -1, -1, "outside of the namespace"},
            {V2, "0::/../job\n", -1, -1, -1, -1, -1, "a neighbour of the namespace"},
            {V2, "0::/disks\n", -1, -1, -1, -1, -1, "more devices than are read"},
            {V2, "0::/odd\n", -1, -1, -1, -1, -1, "numbers that are none"},
            {"", "0::/job\n", -1, -1, -1, -1, -1, "nothing is mounted"},
        };
        char root[] = "/tmp/assay-test-cgroup-XXXXXX", remove[64];
        assert_non_null(mkdtemp(root));
        make_machine(root);
        int dir = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct cgroup_mounts m;
                struct cgroup_paths p;
                struct cgroup_counters c;
                cgroup_parse_mounts(cases[i].mounts, strlen(cases[i].mounts), &m);
                assert_int_equal(cgroup_parse_paths(cases[i].paths, strlen(cases[i].paths), &p), 0);
                cgroup_read(dir, &m, &p, &c);
                if (or_minus(c.cpu_s) != cases[i].cpu_s || or_minus(c.memory) != cases[i].memory ||
                    or_minus(c.memory_limit) != cases[i].limit ||
                    or_minus(c.quota) != cases[i].quota || or_minus(c.read) != cases[i].read)
                        fail_msg("%s: %g s, %g bytes of %g, %g CPUs, %g read", cases[i].why,
                                 or_minus(c.cpu_s), or_minus(c.memory), or_minus(c.memory_limit),
                                 or_minus(c.quota), or_minus(c.read));
        }
        close(dir);
        snprintf(remove, sizeof(remove), "rm -r %s", root);
        assert_int_equal(system(remove), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(reads_paths),
            cmocka_unit_test(reads_mounts),
            cmocka_unit_test(reads_numbers),
            cmocka_unit_test(reads_io),
            cmocka_unit_test(finds_jobs),
            cmocka_unit_test(finds_containers),
            cmocka_unit_test(reads_every_kind_of_group),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
