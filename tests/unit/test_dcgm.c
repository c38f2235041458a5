#include "test.h"

#include "base/attr.h"
#include "base/clock.h"
#include "life/helper.h"
#include "read/dcgm/command.h"
#include "read/dcgm/failure.h"
#include "read/dcgm/local.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static struct dcgm_inventory inventory;

static void feed(const char *name, bool (*take)(struct dcgm_inventory *, const char *, size_t))
{
        char path[4096], line[512];
        snprintf(path, sizeof(path), "%s/dcgm/%s", getenv("FIXTURES"), name);
        FILE *f = fopen(path, "re");
        assert_non_null(f);
        while (fgets(line, sizeof(line), f))
                take(&inventory, line, strcspn(line, "\n"));
        fclose(f);
}

static int read_mig(void **state UNUSED)
{
        memset(&inventory, 0, sizeof(inventory));
        feed("discovery-l-mig.txt", dcgm_take_gpu);
        feed("discovery-c-mig.txt", dcgm_take_slice);
        return 0;
}

static void lists_gpus(void **state UNUSED)
{
        assert_int_equal(inventory.n_gpus, 2);
        assert_int_equal(inventory.gpus[1].id, 1);
        assert_string_equal(inventory.gpus[1].name, "NVIDIA H100 80GB HBM3");
        assert_string_equal(inventory.gpus[1].pci, "00000000:28:00.0");
        assert_string_equal(inventory.gpus[1].uuid, "GPU-00000001-1111-2222-3333-444444440001");
        assert_int_equal(dcgm_expected_rows(&inventory), 2 + 5);
}

static void renames(void **state UNUSED)
{
        static const struct {
                enum entity_kind kind;
                int32_t index, flat;
                enum entity_kind becomes;
                int32_t gpu, gi, ci;
                const char *why;
        } cases[] = {
            {ENTITY_GPU, 1, -1, ENTITY_GPU, 1, -1, -1, "a GPU"},
            {ENTITY_GPU_INSTANCE, -1, 7, ENTITY_GPU_INSTANCE, 1, 1, -1, "a GPU instance"},
            {ENTITY_COMPUTE_INSTANCE, -1, 7, ENTITY_COMPUTE_INSTANCE, 1, 1, 0, "same flat number"},
            {ENTITY_COMPUTE_INSTANCE, -1, 9, ENTITY_COMPUTE_INSTANCE, 1, 2, 1, "second of its GI"},
            {ENTITY_GPU_INSTANCE, -1, 9, ENTITY_OTHER, 0, 0, 0, "no such GPU instance"},
            {ENTITY_GPU, 5, -1, ENTITY_OTHER, 0, 0, 0, "no such GPU"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct entity_key key = {.kind = cases[i].kind,
                                         .index = cases[i].index,
                                         .gi = -1,
                                         .ci = -1,
                                         .flat = cases[i].flat};
                dcgm_rename(&inventory, &key);
                if (key.kind != cases[i].becomes)
                        fail_msg("%s", cases[i].why);
                if (key.kind == ENTITY_OTHER)
                        continue;
                if (key.index != cases[i].gpu || key.gi != cases[i].gi || key.ci != cases[i].ci ||
                    key.flat != -1)
                        fail_msg("%s: %d/%d/%d", cases[i].why, key.index, key.gi, key.ci);
        }
}

static void listing_lines(void **state UNUSED)
{
        static const struct {
                const char *line;
                bool gpu, slice, field;
                const char *why;
        } cases[] = {
            {"| 0      | Name: NVIDIA H200    |", false, false, false, "before the table of GPUs"},
            {"| GPU ID | Device Information   |", true, false, false, "the table begins"},
            {"| 3      | Name: NVIDIA H200    |", true, false, false, "a GPU"},
            {"|        | Device UUID: GPU-1   |", true, false, false, "its UUID"},
            {"| 3      | Name: NVIDIA H200    |", false, false, false, "the same number again"},
            {"|        | Device UUID: GPU-2   |", false, false, false, "and what belongs to it"},
            {"| GPU ID | Device Information   |", true, false, false, "once more"},
            {"| 70000  | Name: x              |", false, false, false, "a number no GPU has"},
            {"0 CPUs found.", false, false, false, "another table follows"},
            {"| 4      | Name: a CPU          |", false, false, false, "not a GPU"},
            {"| -> I 3/1     | GPU Instance (EntityID: 0) |", false, true, false, "an instance"},
            {"|  -> CI 3/1/2 | Compute (EntityID: 1)      |", false, true, false, "a compute one"},
            {"| -> I 3/1/2   | GPU Instance (EntityID: 0) |", false, false, false, "too deep"},
            {"| -> CI 3/1    | Compute (EntityID: 1)      |", false, false, false,
             "not deep enough"},
            {"| -> I 3/      | GPU Instance (EntityID: 0) |", false, false, false, "half a path"},
            {"| -> I 3/1     | GPU Instance (EntityID: )  |", false, false, false, "no id"},
            {"| GPU 3        | GPU GPU-1 (EntityID: 3)    |", false, true, false, "the GPU above"},
            {"gpu_utilization            GPUTL               203", false, false, true, "a field"},
            {"203", false, false, false, "a number without a name"},
            {"odd XX 4096", false, false, false, "a number no field has"},
            {"", false, false, false, "nothing"},
            {"|", false, false, false, "a bar"},
            {"||", false, false, false, "two bars"},
            {"|||", false, false, false, "no words"},
        };
        struct dcgm_fields fields = {0};
        memset(&inventory, 0, sizeof(inventory));
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const char *s = cases[i].line;
                if (dcgm_take_gpu(&inventory, s, strlen(s)) != cases[i].gpu ||
                    dcgm_take_slice(&inventory, s, strlen(s)) != cases[i].slice ||
                    dcgm_take_field(&fields, s, strlen(s)) != cases[i].field)
                        fail_msg("row %zu: %s", i, cases[i].why);
        }
        assert_int_equal(inventory.n_gpus, 1);
        assert_string_equal(inventory.gpus[0].uuid, "GPU-1");
        assert_true(dcgm_has_field(&fields, 203) && !dcgm_has_field(&fields, 204));
}

static void judges_failures(void **state UNUSED)
{
        static const struct {
                const char *said;
                int status;
                enum dcgm_failure failure;
                const char *why;
        } cases[] = {
            {"Error setting watches. Result: -34: in use", 222, DCGM_IN_USE, "by its number"},
            {"Warning\n\nError setting watches. Result: -17: x", 239, DCGM_NOT_PERMITTED,
             "after a warning"},
            {"Error setting watches. Result: -29: x", 227, DCGM_NEEDS_ROOT, "needs root"},
            {"Error setting watches. Result: -33: x", 223, DCGM_NO_MODULE, "no module"},
            {"Error setting watches. Result: -36: x", 220, DCGM_NOT_SUPPORTED, "not supported"},
            {"Error setting watches. Result: -38: x", 218, DCGM_NOT_ONE_PASS, "several passes"},
            {"Error getting values information. Return -21: x", 235, DCGM_UNREACHABLE,
             "the engine dies while streaming"},
            {"Error: unable to establish a connection to the specified host: x", 235,
             DCGM_UNREACHABLE, "by its text"},
            {"", 235, DCGM_UNREACHABLE, "by the status alone"},
            {"Return -35: The specified group is empty", 221, DCGM_NO_GPU, "no GPU"},
            {"Error: Got error -1 while adding", 255, DCGM_BAD_GPU, "a GPU that is not there"},
            {"Error: Got invalid field ID. Please", 255, DCGM_BAD_FIELD, "an unknown field"},
            {"Error: Invalid value 'x'", 254, DCGM_BAD_ARGUMENT, "a wrong argument"},
            {"", 0, DCGM_ENDED, "it ended as if all were well"},
            {"", 137, DCGM_ENDED, "killed: no DCGM code"},
            {"", 255, DCGM_ENDED, "255 has several causes"},
            {"Result: -", 1, DCGM_ENDED, "cut in the number"},
            {"Result: -99999999999: x", 1, DCGM_ENDED, "an endless number"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                enum dcgm_failure f =
                    dcgm_failure_of(cases[i].said, strlen(cases[i].said), cases[i].status);
                if (f != cases[i].failure)
                        fail_msg("%s: got %d", cases[i].why, (int)f);
        }
}

static void every_failure_has_a_remedy(void **state UNUSED)
{
        for (enum dcgm_failure f = DCGM_FINE + 1; f < DCGM_FAILURE_COUNT; f++) {
                struct err err = {0};
                assert_int_equal(dcgm_failure_report(f, "", "/nowhere", &err), ERR_NO_SOURCE);
                assert_true(strlen(err.msg) > 10 && strlen(err.hint) > 10);
                /* Both fit into one notice beside the words around them. */
                assert_true(strlen(err.msg) + strlen(err.hint) < 290);
        }
}

static void builds_commands(void **state UNUSED)
{
        static const unsigned wanted[] = {203, 1002, 1006, 155};
        struct dcgm_ids ids;
        struct dcgm_command c;
        read_mig(NULL);
        dcgm_choose_ids(wanted, ARRAY_LEN(wanted), DCGM_PLAN_ONE_PASS, true, NULL, &ids);
        dcgm_build_command(DCGM_STREAM, "dcgmi", "node:1", &ids, &inventory, 250, &c);
        static const char *const words[] = {
            "dcgmi", "dmon",       "--host", "node:1", "-c",
            "0",     "-d",         "250",    "-e",     "50,54,203,1002,155",
            "-i",    "*,*/*,*/*/*"};
        for (size_t i = 0; i < ARRAY_LEN(words); i++)
                assert_string_equal(c.argv[i], words[i]);
        assert_null(c.argv[ARRAY_LEN(words)]);
        dcgm_choose_ids(wanted, ARRAY_LEN(wanted), DCGM_PLAN_DEVICE, false, NULL, &ids);
        inventory.n_slices = 0;
        inventory.gpus[0].local = -1;
        dcgm_build_command(DCGM_STREAM, "dcgmi", NULL, &ids, &inventory, 100, &c);
        assert_string_equal(c.ids, "203,155");
        assert_string_equal(c.entities, "1");
}

static void knows_its_own_machine(void **state UNUSED)
{
        static const char *const here[] = {
            NULL, "", "localhost", "localhost:5555", "127.0.0.1", "unix:///run/x.sock"};
        for (size_t i = 0; i < ARRAY_LEN(here); i++)
                assert_true(dcgm_host_is_local(here[i]));
        assert_false(dcgm_host_is_local("node7"));
        assert_false(dcgm_host_is_local("10.0.0.1:5555"));
}

static size_t read_all(int fd, char *buf, size_t size)
{
        size_t n = 0;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        while (n < size - 1 && poll(&p, 1, 5000) > 0) {
                ssize_t got = read(fd, buf + n, size - 1 - n);
                if (got <= 0)
                        break;
                n += (size_t)got;
        }
        buf[n] = '\0';
        return n;
}

static bool hides(const char *variable)
{
        return strncmp(variable, "CUDA_VISIBLE_DEVICES=", 21) == 0;
}

static const struct helper_options how = {.hides = hides};

static void child_starts_clean(void **state UNUSED)
{
        struct helper c = HELPER_NONE;
        char out[4096];
        const char *argv[] = {"/bin/sh", "-c",
                              "grep -E 'SigBlk|SigIgn' /proc/self/status; "
                              "echo [$CUDA_VISIBLE_DEVICES]; cat; exit 235",
                              NULL};
        sigset_t blocked, before;
        sigfillset(&blocked);
        setenv("CUDA_VISIBLE_DEVICES", "3", 1);
        pthread_sigmask(SIG_BLOCK, &blocked, &before);
        void (*old)(int) = signal(SIGPIPE, SIG_IGN);
        assert_int_equal(helper_start(&c, argv, &how), 0);
        signal(SIGPIPE, old);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        read_all(c.out_fd, out, sizeof(out));
        assert_non_null(strstr(out, "SigBlk:\t0000000000000000"));
        assert_non_null(strstr(out, "SigIgn:\t0000000000000000"));
        assert_non_null(strstr(out, "[]"));
        assert_int_equal(helper_finish(&c), 235);
        helper_stop(&c);
        assert_int_equal(c.pid, 0);
}

static void child_that_cannot_start(void **state UNUSED)
{
        struct helper c = HELPER_NONE;
        const char *argv[] = {"/nonexistent/dcgmi", NULL};
        assert_int_equal(helper_start(&c, argv, &how), -ENOENT);
        assert_int_equal(c.out_fd, -1);
        helper_stop(&c); /* fine without one */
}

static void stubborn_child_is_killed(void **state UNUSED)
{
        struct helper c = HELPER_NONE;
        char buf[16];
        const char *argv[] = {"/bin/sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; done",
                              NULL};
        assert_int_equal(helper_start(&c, argv, &how), 0);
        struct pollfd p = {.fd = c.out_fd, .events = POLLIN};
        assert_int_equal(poll(&p, 1, 5000), 1);
        assert_true(read(c.out_fd, buf, sizeof(buf)) > 0);
        pid_t pid = c.pid;
        int64_t began = clock_mono_ns();
        helper_stop(&c);
        assert_true(clock_mono_ns() - began < NS_PER_S);
        assert_int_equal(kill(pid, 0), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup(lists_gpus, read_mig),
            cmocka_unit_test_setup(renames, read_mig),
            cmocka_unit_test(listing_lines),
            cmocka_unit_test(judges_failures),
            cmocka_unit_test(every_failure_has_a_remedy),
            cmocka_unit_test(builds_commands),
            cmocka_unit_test(knows_its_own_machine),
            cmocka_unit_test(child_starts_clean),
            cmocka_unit_test(child_that_cannot_start),
            cmocka_unit_test(stubborn_child_is_killed),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
