/* Sessions hold the host and the processes: what is written is read, and so is what is missing. */
#include "test.h"

#include "base/attr.h"
#include "base/clock.h"
#include "session/host_series.h"
#include "session/session.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static char folder[] = "/tmp/assay-host-XXXXXX";
static char path[64];

static int make_folder(void **state UNUSED)
{
        if (!mkdtemp(folder))
                return -1;
        snprintf(path, sizeof(path), "%s/t.assay", folder);
        return 0;
}

static int remove_folder(void **state UNUSED)
{
        char command[100];
        snprintf(command, sizeof(command), "rm -rf '%s'", folder);
        return system(command);
}

static void series(void **state UNUSED)
{
        size_t places = 0;
        for (size_t i = 0; i < HOST_SERIES_COUNT; i++) {
                struct series_scale s = series_scale(host_series_info(i));
                enum metric_scope scope = host_series_scope(i);
                assert_int_equal(
                    host_series_find(metric_scope_name(scope), host_series_info(i)->name), i);
                assert_true(s.step == 1 || s.scale == 1);
                places += host_series_items(i);
        }
        assert_int_equal(places, HOST_PLACES_MAX);
        assert_false(host_series_kept(FIGURE_CPU_TIME));
        assert_true(host_series_kept(FIGURE_CPU));
        assert_int_equal(host_series_find("level", "no_such"), HOST_SERIES_COUNT);
}

/* Every value that is kept gets a number of its own, or a reason. */
static struct value made_up(size_t series, size_t item, int tick)
{
        struct series_scale s = series_scale(host_series_info(series));
        unsigned mix = (unsigned)(series * 31 + item * 7 + (unsigned)tick * 13);
        if (mix % 11 == 0)
                return value_missing((enum state)(STATE_BLANK + mix / 11 % 4));
        return value_ok((mix % 997) * s.step / s.scale);
}

/* A core comes at tick 10 and leaves at tick 290; the job's level ends at tick 150. */
static void fill(struct host *h, int tick)
{
        *h = (struct host){.wall_ns = (1000 + tick) * NS_PER_S,
                           .mono_ns = (1000 + tick) * NS_PER_S,
                           .interval_ns = tick ? NS_PER_S : 0,
                           .n_cores = tick >= 10 && tick < 290 ? 3 : 2,
                           .n_gpus = tick < 5 ? 0 : 2,
                           .n_servings = 2};
        snprintf(h->gpus[0], sizeof(h->gpus[0]), "0");
        snprintf(h->gpus[1], sizeof(h->gpus[1]), "1");
        for (size_t i = 0; i < h->n_servings; i++) {
                h->servings[i].present = true;
                h->servings[i].kind = ENGINE_VLLM;
                snprintf(h->servings[i].url, SERVING_TEXT_MAX, "http://127.0.0.1:%zu", 8000 + i);
        }
        for (size_t i = 0; i < HOST_SERIES_COUNT; i++) {
                for (size_t k = 0; k < host_series_items(i); k++) {
                        bool present = host_series_scope(i) == METRIC_SCOPE_CORE ? k < h->n_cores
                                       : host_series_scope(i) == METRIC_SCOPE_SERVING
                                           ? k < h->n_servings
                                       : host_scope_has_gpus(host_series_scope(i))
                                           ? k % HOST_GPUS_MAX < h->n_gpus
                                           : true;
                        if (present && host_series_kept(i))
                                *host_value(h, i, k) = made_up(i, k, tick);
                }
        }
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                h->levels[l].asked = l != LEVEL_USER;
                h->levels[l].present = l != LEVEL_SLURM || tick < 150;
                snprintf(h->levels[l].name, HOST_TEXT_MAX, "%s", level_name(l));
        }
        memset(h->levels[LEVEL_USER].f, 0, sizeof(h->levels[LEVEL_USER].f));
        if (!h->levels[LEVEL_SLURM].present) {
                memset(h->levels[LEVEL_SLURM].f, 0, sizeof(h->levels[LEVEL_SLURM].f));
                snprintf(h->levels[LEVEL_SLURM].why, HOST_TEXT_MAX, "the job is over");
        }
        if (tick >= 200)
                snprintf(h->levels[LEVEL_PROCESS].name, HOST_TEXT_MAX, "another name");
}

static void check_host(const struct host *got, const struct host *wanted, int tick)
{
        assert_int_equal(got->wall_ns, wanted->wall_ns);
        assert_int_equal(got->mono_ns, wanted->mono_ns);
        assert_int_equal(got->interval_ns, wanted->interval_ns);
        assert_int_equal(got->n_cores, wanted->n_cores);
        assert_int_equal(got->n_servings, wanted->n_servings);
        for (size_t i = 0; i < wanted->n_servings; i++) {
                assert_true(got->servings[i].present);
                assert_int_equal(got->servings[i].kind, wanted->servings[i].kind);
                assert_string_equal(got->servings[i].url, wanted->servings[i].url);
        }
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                assert_int_equal(got->levels[l].asked, wanted->levels[l].asked);
                if (!wanted->levels[l].asked)
                        continue;
                assert_int_equal(got->levels[l].present, wanted->levels[l].present);
                assert_string_equal(got->levels[l].name, wanted->levels[l].name);
                assert_string_equal(got->levels[l].why, wanted->levels[l].why);
        }
        for (size_t i = 0; i < HOST_SERIES_COUNT; i++) {
                for (size_t k = 0; k < host_series_items(i); k++) {
                        struct value a = *host_value((struct host *)got, i, k);
                        struct value b = *host_value((struct host *)wanted, i, k);
                        if (a.state != b.state || fabs(a.v - b.v) > 1e-9 * fabs(b.v))
                                fail_msg("tick %d, %s of %zu: %g (%s) for %g (%s)", tick,
                                         host_series_info(i)->name, k, a.v, state_name(a.state),
                                         b.v, state_name(b.state));
                }
        }
}

static int check_file(void)
{
        static struct host wanted;
        struct session_reader *r = NULL;
        struct err err = {0};
        const struct host *h;
        int n = 0, got;
        if (session_open(path, &r, &err) < 0)
                fail_msg("%s", err.msg);
        while ((got = session_next_host(r, &h, &err)) > 0) {
                fill(&wanted, n);
                check_host(h, &wanted, n++);
        }
        assert_int_equal(got, 0);
        session_reader_close(r);
        return n;
}

static struct session *write_hosts(int ticks, bool frames)
{
        static struct host h;
        struct session *s = NULL;
        struct err err = {0};
        unlink(path);
        assert_int_equal(session_create(path, SESSION_START_FIRST, &s, &err), 0);
        for (int i = 0; i < ticks; i++) {
                struct frame f = {.wall_ns = (1000 + i) * NS_PER_S,
                                  .mono_ns = (1000 + i) * NS_PER_S,
                                  .provenance = ""};
                fill(&h, i);
                assert_true(session_add_host(s, &h, &err) >= 0);
                /* Frames come oftener, so that the two roll at different times. */
                for (int k = 0; frames && k < 3; k++)
                        assert_true(session_add(s, &f, &err) >= 0);
        }
        return s;
}

static void written_is_read(void **state UNUSED)
{
        static const int ticks[] = {0, 1, 127, 128, 129, 300};
        for (size_t i = 0; i < 2 * ARRAY_LEN(ticks); i++) {
                struct err err = {0};
                assert_int_equal(session_close(write_hosts(ticks[i / 2], i % 2), &err), 0);
                assert_int_equal(check_file(), ticks[i / 2]);
        }
}

static void readable_while_it_grows(void **state UNUSED)
{
        struct err err = {0};
        struct session *s = write_hosts(200, true);
        assert_int_equal(session_commit(s, &err), 0);
        assert_int_equal(check_file(), 200);
        assert_int_equal(session_close(s, &err), 0);
}

static void without_a_host(void **state UNUSED)
{
        struct err err = {0};
        struct session_reader *r = NULL;
        const struct host *h;
        char old[256];
        snprintf(old, sizeof(old), "%s/session/tour.assay", getenv("FIXTURES"));
        const char *const files[] = {path, old};
        assert_int_equal(session_close(write_hosts(0, false), &err), 0);
        for (size_t i = 0; i < ARRAY_LEN(files); i++) {
                if (session_open(files[i], &r, &err) < 0)
                        fail_msg("%s", err.msg);
                assert_int_equal(session_next_host(r, &h, &err), 0);
                session_reader_close(r);
        }
}

/* ---- processes ---- */

static void make_process(struct process *p, int pid, int tick)
{
        *p = (struct process){.pid = pid,
                              .ppid = pid == 8 ? 7 : 1,
                              .start_ns = 900 * NS_PER_S,
                              .type = PROCESS_COMPUTE,
                              .gpu = "0",
                              .user = "alice",
                              .command = "python train.py",
                              .child = pid == 8,
                              /* Found after it started. */
                              .framework = tick < 3 ? FRAMEWORK_NONE : FRAMEWORK_TORCH,
                              .gpu_memory = value_ok((pid == 7 ? 64.0 : 64.0 + tick) * 1048576),
                              .sm_util = value_ok(0.5),
                              .mem_copy_util = value_missing(STATE_UNSUPPORTED),
                              .cpu = value_ok(pid == 8 ? 0 : 1.25), /* none is a figure, too */
                              .rss = value_missing(STATE_DENIED)};
}

static void add_processes(struct session *s, int tick)
{
        struct process list[2];
        struct err err = {0};
        make_process(&list[0], 7, tick);
        make_process(&list[1], 8, tick);
        struct frame f = {.wall_ns = (1000 + tick) * NS_PER_S,
                          .mono_ns = (1000 + tick) * NS_PER_S,
                          .provenance = "",
                          .knows_processes = true,
                          .processes = {list, tick < 30 ? 2 : 1}};
        assert_true(session_add(s, &f, &err) >= 0);
        if (tick % 7 == 0)
                assert_int_equal(session_commit(s, &err), 0);
}

static void processes(void **state UNUSED)
{
        struct session *s = NULL;
        struct session_reader *r = NULL;
        struct err err = {0};
        const struct frame *f;
        int n = 0;
        unlink(path);
        assert_int_equal(session_create(path, SESSION_START_FIRST, &s, &err), 0);
        for (int i = 0; i < 200; i++)
                add_processes(s, i);
        assert_int_equal(session_close(s, &err), 0);
        assert_int_equal(session_open(path, &r, &err), 0);
        while (session_next(r, &f, &err) > 0) {
                struct process wanted;
                assert_true(f->knows_processes);
                assert_int_equal(f->processes.n, n < 30 ? 2 : 1);
                for (size_t i = 0; i < f->processes.n; i++) {
                        const struct process *p = &f->processes.list[i];
                        make_process(&wanted, 7 + (int)i, n);
                        assert_int_equal(p->pid, wanted.pid);
                        assert_string_equal(p->command, wanted.command);
                        assert_int_equal(p->ppid, wanted.ppid);
                        assert_int_equal(p->child, wanted.child);
                        assert_int_equal(p->framework, FRAMEWORK_TORCH);
                        assert_true(fabs(p->gpu_memory.v - wanted.gpu_memory.v) <= 10 * 1048576);
                        assert_int_equal(p->mem_copy_util.state, STATE_UNSUPPORTED);
                        assert_int_equal(p->rss.state, STATE_DENIED);
                        assert_true(value_is_set(p->cpu) && p->cpu.v == wanted.cpu.v);
                        assert_true(value_is_set(p->sm_util) && p->sm_util.v == 0.5);
                        assert_float_equal(p->elapsed.v, 100 + n, 1e-6);
                }
                n++;
        }
        session_reader_close(r);
        assert_int_equal(n, 200);
}

/* A session of 0.1.0, schema 1: everything it has is read, what it lacks is missing. */
static void old_files_read_for_ever(void **state UNUSED)
{
        struct session_reader *r = NULL;
        struct err err = {0};
        const struct host *h = NULL;
        const struct frame *f = NULL;
        char old[256];
        size_t hosts = 0, frames = 0, processes = 0;
        snprintf(old, sizeof(old), "%s/session/schema1.assay", getenv("FIXTURES"));
        if (session_open(old, &r, &err) < 0)
                fail_msg("%s", err.msg);
        assert_int_equal((int)session_number(r, "schema_version", 0), 1);
        while (session_next_host(r, &h, &err) > 0) {
                hosts++;
                assert_true(h->levels[LEVEL_PROCESS].present);
                for (size_t i = 0; i < EVIDENCE_COUNT; i++)
                        assert_int_equal(h->evidence[0].e[i].state, STATE_NONE);
        }
        while (session_next(r, &f, &err) > 0) {
                frames++;
                for (size_t i = 0; i < f->processes.n; i++, processes++) {
                        assert_true(f->processes.list[i].pid > 0);
                        assert_false(f->processes.list[i].child);
                        assert_int_equal(f->processes.list[i].framework, FRAMEWORK_NONE);
                }
        }
        session_reader_close(r);
        assert_true(hosts > 10 && frames > 10 && processes > 10);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(series),
            cmocka_unit_test(written_is_read),
            cmocka_unit_test(readable_while_it_grows),
            cmocka_unit_test(without_a_host),
            cmocka_unit_test(processes),
            cmocka_unit_test(old_files_read_for_ever),
        };
        return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
