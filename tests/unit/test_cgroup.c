#include "test.h"

#include "base/attr.h"
#include "read/host/cgroup.h"
#include "read/host/slurm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(reads_paths),   cmocka_unit_test(reads_mounts),
            cmocka_unit_test(reads_numbers), cmocka_unit_test(reads_io),
            cmocka_unit_test(finds_jobs),    cmocka_unit_test(finds_containers),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
