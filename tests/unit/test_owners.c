/* Who holds a GPU, by what files and answers of others say; and when a job counts as idle. */
#include "base/base64.h"
#include "read/listing.h"
#include "read/owners/job_seek.h"
#include "read/owners/owners.h"
#include "serve/counters.h"
#include "serve/keeper.h"
#include "serve/records.h"
#include "serve/sacct.h"
#include "serve/slots.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define HASH "4ea3f5d7a8b2b6a4e1e0c1b7e7c0fd12"
#define UID "0a1b2c3d-1111-2222-3333-444455556666"

static void test_pod_uids(void **state)
{
        static const struct {
                const char *path, *uid; /* NULL: none */
        } cases[] = {
            {"/kubepods.slice/kubepods-burstable.slice/"
             "kubepods-burstable-pod0a1b2c3d_1111_2222_3333_444455556666.slice/"
             "cri-containerd-ab.scope",
             UID},
            {"/kubepods/besteffort/pod" UID "/0123", UID},
            {"/kubelet.slice/kubepods.slice/kubepods-pod0a1b2c3d_1111_2222_3333_444455556666.slice",
             UID},
            {"/user.slice/pod" UID, NULL},
            {"/kubepods/burstable/pod" HASH "/0123", HASH}, /* a static pod */
            {"/kubepods.slice/kubepods-burstable-pod" HASH ".slice/cri.scope", HASH},
            {"/kubepods/burstable/pod" HASH "0/0123", NULL},
            {"/kubepods/podless/pod123", NULL},
            {"/kubepods/pod0a1b2c3d-1111-2222-3333-44445555666", NULL},
            {"", NULL},
        };
        char uid[64];
        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                bool found = owners_pod_uid(cases[i].path, uid, sizeof(uid));
                assert_int_equal(found, cases[i].uid != NULL);
                if (found)
                        assert_string_equal(uid, cases[i].uid);
        }
}

static void test_pod_folders(void **state)
{
        struct owner o = {0};
        (void)state;
        assert_true(owners_pod_folder("ml_llm-0_" UID, UID, &o));
        assert_string_equal(o.namespace, "ml");
        assert_string_equal(o.pod, "llm-0");
        assert_true(owners_pod_folder("kube-system_etcd-n1_" HASH, HASH, &o));
        assert_string_equal(o.pod, "etcd-n1");
        assert_false(owners_pod_folder("ml_llm-0_" UID, "other", &o));
        assert_false(owners_pod_folder("ml_" UID, UID, &o));
        assert_false(owners_pod_folder("__" UID, UID, &o));
        assert_false(owners_pod_folder("", UID, &o));
}

static void test_variables(void **state)
{
        static const char env[] =
            "PATH=/bin\0SLURM_JOB_ACCOUNT=physics\0XSLURM_JOB_USER=x\0SLURM_JOB_USER=alice";
        char text[16];
        (void)state;
        assert_true(owners_variable(env, sizeof(env), "SLURM_JOB_ACCOUNT", text, sizeof(text)));
        assert_string_equal(text, "physics");
        assert_true(owners_variable(env, sizeof(env), "SLURM_JOB_USER", text, sizeof(text)));
        assert_string_equal(text, "alice");
        assert_false(owners_variable(env, sizeof(env) - 1, "SLURM_JOB_USER", text,
                                     sizeof(text)));                      /* cut off */
        assert_false(owners_variable(env, sizeof(env), "PATH", text, 3)); /* too long */
        assert_false(owners_variable(env, 0, "PATH", text, sizeof(text)));
}

static void test_mapping_names(void **state)
{
        int32_t index, gi;
        (void)state;
        assert_true(owners_mapping_name("0", &index, &gi) && index == 0 && gi == -1);
        assert_true(owners_mapping_name("3.7", &index, &gi) && index == 3 && gi == 7);
        assert_false(owners_mapping_name(".7", &index, &gi));
        assert_false(owners_mapping_name("3.", &index, &gi));
        assert_false(owners_mapping_name("3.7.1", &index, &gi));
        assert_false(owners_mapping_name("notes", &index, &gi));
        assert_false(owners_mapping_name("99999999999999999999", &index, &gi));
}

/* PodResources{name "p", namespace "n", containers {name "c", devices {"nvidia.com/gpu",
 * "GPU-1"}}}. */
static void test_kubelet_answers(void **state)
{
        static const unsigned char whole[] = "\x0a\x26\x0a\x01p\x12\x01n\x1a\x1e\x0a\x01"
                                             "c\x12\x19\x0a\x0envidia.com/gpu\x12\x05GPU-1\x18\x01";
        struct allocation list[4];
        (void)state;
        size_t size = sizeof(whole) - 1;
        assert_int_equal(kubelet_parse(whole, size, list, 4), 1);
        assert_string_equal(list[0].device, "GPU-1");
        assert_string_equal(list[0].who.pod, "p");
        assert_string_equal(list[0].who.namespace, "n");
        assert_string_equal(list[0].who.container, "c");
        assert_int_equal(kubelet_parse(whole, size, list, 0), 0);
        assert_int_equal(kubelet_parse(whole, 0, list, 4), 0); /* no pods */
        for (size_t n = 1; n < size; n++)
                assert_int_equal(kubelet_parse(whole, n, list, 4), -1); /* cut off anywhere */
        /* One good pod, then nonsense: half an answer is none. */
        unsigned char more[sizeof(whole) + 2];
        memcpy(more, whole, size);
        memcpy(more + size, "\x0a\x7f", 2);
        assert_int_equal(kubelet_parse(more, size + 2, list, 4), -1);
        memcpy(more + size, "\x0b\x00", 2);
        assert_int_equal(kubelet_parse(more, size + 2, list, 4), -1);
}

/* Claims: by a UUID in the CDI name, else by the driver's name of the device; other drivers are
 * none. */
static void test_devices_of_claims(void **state)
{
        static const struct {
                const char *id, *uuid, *device, *pci;
                bool same;
        } rows[] = {
            {"GPU-1", "GPU-1", "", "", true},
            {"GPU-1::3", "GPU-1", "", "", true},
            {"GPU-1", "GPU-11", "", "", false},
            {"", "", "", "", false},
            {"gpu-3", "GPU-1", "nvidia3", "", true},
            {"gpu-3", "GPU-1", "nvidia13", "", false},
            {"gpu-3-mig-9-4-4", "GPU-1", "nvidia3", "", false}, /* which slice is not said */
            {"gpu-", "GPU-1", "nvidia", "", false},
            {"0000-03-00-0-0x56a0", "", "", "0000:03:00.0", true},
            {"0000-3B-00-0", "", "", "00000000:3b:00.0", true},
            {"0000-03-00-0x", "", "", "0000:03:00.0", false},
            {"0000-03-00-1", "", "", "0000:03:00.0", false},
            {"0000", "", "", "0000:03:00.0", false},
            {"x", "", "", "", false},
        };
        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_int_equal(
                    owners_is_device(rows[i].id, rows[i].uuid, rows[i].device, rows[i].pci),
                    rows[i].same);
}

static double idle_for(struct idle_window *w, int64_t t, double seen, double idle)
{
        const double by_reason[IDLE_REASON_COUNT] = {[IDLE_STARVED] = idle};
        double ret[IDLE_REASON_COUNT];
        double wasted = idle_window_add(w, t, seen, by_reason, ret);
        assert_true(wasted == ret[IDLE_STARVED]);
        return wasted;
}

static void test_idleness(void **state)
{
        struct idle_window w = {0};
        double wasted = 0;
        int64_t t = 1000000;
        (void)state;
        /* Nine minutes idle: not yet. */
        for (int i = 0; i < 470; i++)
                wasted += idle_for(&w, t++, 1, 1);
        assert_true(wasted == 0);
        /* After ten minutes all of them count, and then each second. */
        for (int i = 0; i < 430; i++)
                wasted += idle_for(&w, t++, 1, 1);
        assert_true(wasted > 880 && wasted <= 900);
        /* Work ends it. */
        double before = wasted;
        for (int i = 0; i < 120; i++)
                wasted += idle_for(&w, t++, 1, 0);
        assert_true(wasted < before + 40);
        /* Idle again: nothing that was told is told again. */
        before = wasted;
        for (int i = 0; i < 1200; i++)
                wasted += idle_for(&w, t++, 1, 1);
        assert_true(wasted - before <= 1200 && wasted - before >= 1100);
        /* Time that nobody saw is no idleness. */
        struct idle_window unseen = {0};
        wasted = 0;
        for (int i = 0; i < 2000; i++)
                wasted += idle_for(&unseen, t++, i % 2 ? 0 : 1, i % 2 ? 0 : 1);
        assert_true(wasted == 0);
}

static struct owner slurm_job(const char *job, int32_t gpu)
{
        struct owner o = {.kind = OWNER_SLURM, .index = gpu, .gi = -1};
        snprintf(o.job, sizeof(o.job), "%s", job);
        return o;
}

#define SECOND INT64_C(1000000000)

static void test_slots(void **state)
{
        struct owner *list = calloc(OWNERS_MAX, sizeof(*list));
        struct slots *s = slots_open();
        int64_t now = SECOND;
        (void)state;
        /* One owner a GPU, each in the first slot of its own. */
        list[0] = slurm_job("1", 0);
        list[1] = slurm_job("2", 1);
        assert_int_equal(slots_assign(s, list, 2, now), 2);
        assert_int_equal(list[0].slot, 1);
        assert_int_equal(list[1].slot, 1);
        /* The next job of GPU 0 gets another slot; the first is told as gone, not at once. */
        list[0] = slurm_job("3", 0);
        list[1] = slurm_job("2", 1);
        assert_int_equal(slots_assign(s, list, 2, now += SECOND), 3);
        assert_int_equal(list[0].slot, 2);
        assert_int_equal(list[2].slot, 1);
        assert_false(list[2].gone);
        assert_int_equal(slots_assign(s, list, 2, now += 5 * SECOND), 3);
        assert_true(list[2].gone);
        assert_string_equal(list[2].job, "1");
        /* It comes back to the slot it had. */
        list[0] = slurm_job("1", 0);
        assert_int_equal(slots_assign(s, list, 1, now += SECOND), 3);
        assert_int_equal(list[0].slot, 1);
        /* A quarter of an hour later the others are forgotten, and their slots are free. */
        list[0] = slurm_job("1", 0);
        assert_int_equal(slots_assign(s, list, 1, now += SLOT_LINGER_NS + SECOND), 1);
        list[0] = slurm_job("9", 0);
        assert_int_equal(slots_assign(s, list, 1, now += SECOND), 2);
        assert_int_equal(list[0].slot, 2);
        /* More jobs in a short time than slots: the one that let go first makes room. */
        for (int i = 0; i < 3 * HOLDING_SLOTS; i++) {
                char job[16];
                snprintf(job, sizeof(job), "n%d", i);
                list[0] = slurm_job(job, 0);
                slots_assign(s, list, 1, now += 5 * SECOND);
                assert_true(list[0].slot >= 1 && list[0].slot <= HOLDING_SLOTS);
        }
        /* In turn, so that a slot's next owner comes as late as can be. */
        for (int i = 0; i < 2 * HOLDING_SLOTS; i++) {
                char job[16];
                snprintf(job, sizeof(job), "r%d", i);
                list[0] = slurm_job(job, 7);
                slots_assign(s, list, 1, now += 5 * SECOND);
                assert_int_equal(list[0].slot, 1 + i % HOLDING_SLOTS);
        }
        /* More at a time than slots: the last ones have none. */
        for (int i = 0; i <= HOLDING_SLOTS; i++) {
                char job[16];
                snprintf(job, sizeof(job), "s%d", i);
                list[i] = slurm_job(job, 5);
        }
        slots_assign(s, list, HOLDING_SLOTS + 1, now += SECOND);
        assert_int_equal(list[HOLDING_SLOTS - 1].slot, HOLDING_SLOTS);
        assert_int_equal(list[HOLDING_SLOTS].slot, 0);
        slots_close(s);
        free(list);
}

static void test_counters_text(void **state)
{
        struct integrals in = {.present = 1u << INTEGRAL_OBSERVED}, back;
        struct strbuf text = {0};
        (void)state;
        in.v[INTEGRAL_OBSERVED] = 1.0 / 3;
        in.class_s[WORKLOAD_TENSOR_HEAVY] = 5;
        in.health_s[HEALTH_HOT] = 6;
        in.limiter_s[LIMITER_COUNT - 1] = 7;
        in.finding_s[HEALTH_REASON_COUNT - 1] = 8;
        in.n_xids = 1;
        in.idle_s[IDLE_WAITING] = 8;
        in.holdings[0].held_s = 9;
        in.holdings[7].wasted_s[IDLE_NO_PROCESS] = 10;
        in.holdings[7].real_s = 0.5;
        in.xids[0] = (struct integral_xid){31, 2};
        counters_put(&in, &text);
        counters_parse(strbuf_str(&text), &back);
        assert_memory_equal(&in, &back, sizeof(in));
        counters_parse("unknown=5\nobserved=-1\nclass nonsense=3\n=\nobserved\n", &back);
        assert_int_equal(back.present & ~(1u << INTEGRAL_OBSERVED), 0);
        assert_true(back.v[INTEGRAL_OBSERVED] == 0);
        strbuf_finish(&text);
}

static void put_environ(const char *root, const char *process, const char *text, size_t n)
{
        char path[128];
        snprintf(path, sizeof(path), "%s/proc/%s", root, process);
        assert_int_equal(mkdir(path, 0755), 0);
        snprintf(path, sizeof(path), "%s/proc/%s/environ", root, process);
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        assert_int_equal(fwrite(text, 1, n, f), n);
        assert_int_equal(fclose(f), 0);
}

static void test_processes_of_a_job(void **state)
{
        static const struct {
                const char *process, *text;
                size_t n;
        } made[] = {
#define ENVIRON(text) text, sizeof(text)
            {"self", ENVIRON("SLURM_JOB_ID=7")},
            {"20", ENVIRON("A=b")},
            {"31", ENVIRON("A=b\0SLURM_JOB_ID=7")},
            {"42", ENVIRON("SLURM_JOBID=78")},
#undef ENVIRON
        };
        static const struct {
                const char *job;
                int32_t pid;
                const char *why;
        } rows[] = {{"7", 31, "by a pid, not by a name"},
                    {"78", 42, "the older variable"},
                    {"8", 0, "no process is of it"}};
        char root[] = "/tmp/test_owners.XXXXXX", path[64], buf[4096];
        (void)state;
        assert_non_null(mkdtemp(root));
        snprintf(path, sizeof(path), "%s/proc", root);
        int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(job_seek(fd, NULL, "7", buf, sizeof(buf)), 0); /* no /proc at all */
        assert_int_equal(mkdir(path, 0755), 0);
        for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++)
                put_environ(root, made[i].process, made[i].text, made[i].n);
        struct listing *listing = listing_open_root(root);
        assert_non_null(listing);
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
                if (job_seek(fd, listing, rows[i].job, buf, sizeof(buf)) != rows[i].pid)
                        fail_msg("%s", rows[i].why);
        }
        listing_close(listing);
        close(fd);
        snprintf(path, sizeof(path), "rm -r %s", root);
        assert_int_equal(system(path), 0);
}

/* What sacct writes, and what no number of it is. */
static void test_accounting(void **state UNUSED)
{
        static const struct {
                const char *text;
                bool found;
                double cpus, memory, elapsed, limit, nodes; /* -1: missing */
        } rows[] = {
            {"4711|615|20|8|1|billing=8,cpu=8,mem=64000M,node=1\n", true, 8, 64000.0 * 1048576, 615,
             1200, 1},
            {"47|1|1|1|1|mem=1G\n4711|5|20|8|2|mem=1.5T", true, 8, 1.5 * 1099511627776.0, 5, 1200,
             2},
            {"4711|5|UNLIMITED|8|1|cpu=8\n", true, 8, -1, 5, -1, 1},
            {"4711|5|Partition_Limit||1|mem=400M", true, -1, 400.0 * 1048576, 5, -1, 1},
            {"4711|-5|1|1|1|mem=12X", true, 1, -1, -1, 60, 1},
            {"4711.batch|5|20|8|1|mem=1G\n", false, 0, 0, 0, 0, 0}, /* a step is not the job */
            {"4711|5|20|8\n", false, 0, 0, 0, 0, 0},
            {"", false, 0, 0, 0, 0, 0},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct job_request q;
                assert_int_equal(sacct_parse(rows[i].text, strlen(rows[i].text), "4711", &q),
                                 rows[i].found);
                if (!rows[i].found)
                        continue;
                assert_true(value_or(q.cpus, -1) == rows[i].cpus);
                assert_true(value_or(q.memory, -1) == rows[i].memory);
                assert_true(value_or(q.elapsed_s, -1) == rows[i].elapsed);
                assert_true(value_or(q.limit_s, -1) == rows[i].limit);
                assert_true(value_or(q.nodes, -1) == rows[i].nodes);
        }
        assert_true(owners_cpus("16").v == 16 && owners_cpus("16(x4)").v == 16);
        assert_false(value_is_set(owners_cpus("72(x2),36")) || value_is_set(owners_cpus("")) ||
                     value_is_set(owners_cpus("0")) || value_is_set(owners_cpus("8,8")));
}

/* A record's use goes into the text of its counters and comes back; other lines are passed over. */
static void test_use_of_a_record(void **state UNUSED)
{
        static struct record r, back;
        struct strbuf text = {0};
        char name[16];
        r = (struct record){.gpus = "0,2/7", .n_each = 2};
        r.use.cpu_s = value_ok(12.5);
        r.each[1].util = value_ok(0);
        r.each[1].memory_peak = value_ok(5e9);
        strbuf_puts(&text, "seen=5\n");
        record_put_use(&r, &text);
        strbuf_puts(&text, "gpu 64 util=1\ngpu x util=1\njob cpus=-1\ngpu 1\n");
        back = (struct record){0};
        record_parse_use(strbuf_str(&text), &back);
        assert_true(back.use.cpu_s.v == 12.5 && !value_is_set(back.use.cpus));
        assert_int_equal(back.n_each, 2);
        assert_false(value_is_set(back.each[0].util));
        assert_true(value_is_set(back.each[1].util) && back.each[1].util.v == 0);
        assert_true(back.each[1].memory_peak.v == 5e9);
        assert_true(record_gpu_name(&r, 1, name, sizeof(name)));
        assert_string_equal(name, "2/7");
        assert_false(record_gpu_name(&r, 2, name, sizeof(name)));
        strbuf_finish(&text);
}

static void test_base64(void **state UNUSED)
{
        static const struct {
                const char *plain, *coded;
        } rows[] = {
            {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"\xff\xfe\xfd", "//79"}};
        static const char *const bad[] = {"Z", "Zg=a", "Z g=", "Zm9vZ", "Zm9v-"};
        char back[8];
        size_t n;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct strbuf out = {0};
                base64_put(&out, rows[i].plain, strlen(rows[i].plain));
                assert_string_equal(strbuf_str(&out), rows[i].coded);
                assert_true(base64_read(strbuf_str(&out), out.len, back, sizeof(back), &n));
                assert_int_equal(n, strlen(rows[i].plain));
                assert_memory_equal(back, rows[i].plain, n);
                strbuf_finish(&out);
        }
        for (size_t i = 0; i < ARRAY_LEN(bad); i++)
                assert_false(base64_read(bad[i], strlen(bad[i]), back, sizeof(back), &n));
        assert_false(base64_read("Zm9vZm9v", 8, back, 5, &n)); /* longer than there is room */
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_accounting),
            cmocka_unit_test(test_use_of_a_record),
            cmocka_unit_test(test_base64),
            cmocka_unit_test(test_pod_uids),
            cmocka_unit_test(test_pod_folders),
            cmocka_unit_test(test_variables),
            cmocka_unit_test(test_mapping_names),
            cmocka_unit_test(test_kubelet_answers),
            cmocka_unit_test(test_devices_of_claims),
            cmocka_unit_test(test_idleness),
            cmocka_unit_test(test_slots),
            cmocka_unit_test(test_counters_text),
            cmocka_unit_test(test_processes_of_a_job),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
