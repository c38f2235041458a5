/* The flight recorder: what it keeps and at what cost, what makes it write, and where. */
#include "test.h"

#include "base/attr.h"
#include "base/clock.h"
#include "engine/dump_folder.h"
#include "engine/dump_runs.h"
#include "engine/flight.h"
#include "engine/flight_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define GPUS 8
#define HZ 10
#define KEEP_S 600
#define START_NS (1700000000 * NS_PER_S)
/* What ten minutes of eight GPUs at ten a second may take, all buffers included. */
#define MEMORY_MOST ((size_t)16 << 20)

static char folder[] = "/tmp/assay-flight-XXXXXX";

static int make_folder(void **state UNUSED)
{
        return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state UNUSED)
{
        char command[100];
        snprintf(command, sizeof(command), "rm -rf '%s'", folder);
        return system(command);
}

static struct entity gpus[GPUS];
static struct row rows[GPUS];

/* Every metric that can change does, at every tick: harder to keep than any GPU. */
static void fill_frame(struct frame *f, int tick)
{
        static uint32_t seed = 1;
        *f = (struct frame){.tick = (uint64_t)tick,
                            .wall_ns = START_NS + tick * (NS_PER_S / HZ),
                            .mono_ns = NS_PER_S + tick * (NS_PER_S / HZ),
                            .window_ns = NS_PER_S / HZ,
                            .provenance = "test",
                            .n = GPUS,
                            .rows = rows};
        memset(rows, 0, sizeof(rows));
        for (uint32_t i = 0; i < GPUS; i++) {
                gpus[i] = (struct entity){
                    .slot = i, .index = (int32_t)i, .gi = -1, .ci = -1, .flat = -1, .shown = true};
                snprintf(gpus[i].label, sizeof(gpus[i].label), "%u", i);
                rows[i].sample.who = &gpus[i];
                rows[i].health.state = HEALTH_OK;
                for (size_t m = 0; m < METRIC_COUNT; m++) {
                        seed = seed * 1664525u + 1013904223u;
                        /* Of a hundred metrics a GPU has about seventy, of which half stand still.
                         */
                        if (m % 3 == 2)
                                continue;
                        rows[i].sample.m[m] =
                            value_ok(m % 3 ? 500 * (seed >> 8) / 16777216.0 : 42.0);
                }
                rows[i].sample.m[METRIC_SM_ACTIVE] = value_ok((tick % 1000) / 1000.0);
                rows[i].sample.m[METRIC_XID_COUNT] = value_ok(0);
                rows[i].sample.m[METRIC_STALLED] = value_ok(0); /* that would be an event */
        }
}

static void fill_host(struct host *h, int tick)
{
        static uint32_t seed = 7;
        h->wall_ns = START_NS + tick * (NS_PER_S / HZ);
        h->mono_ns = NS_PER_S + tick * (NS_PER_S / HZ);
        h->interval_ns = NS_PER_S;
        h->n_cores = 192;
        h->levels[LEVEL_SYSTEM].asked = h->levels[LEVEL_SYSTEM].present = true;
        for (size_t i = 0; i < FIGURE_COUNT; i++) {
                seed = seed * 1664525u + 1013904223u;
                h->levels[LEVEL_SYSTEM].f[i] = value_ok(seed >> 8);
        }
        for (size_t i = 0; i < h->n_cores; i++) {
                seed = seed * 1664525u + 1013904223u;
                h->cores[i].util = value_ok((seed >> 8) / 16777216.0);
        }
}

static struct flight *open_flight(const char *dumps)
{
        struct flight *f = NULL;
        struct err err = {0};
        const struct flight_config config = {.keep_ns = KEEP_S * NS_PER_S,
                                             .folder = dumps,
                                             .program = "test",
                                             .interval_s = 1.0 / HZ};
        if (flight_open(&config, &f, &err) < 0)
                fail_msg("%s", err.msg);
        return f;
}

static void feed(struct flight *f, int from, int to)
{
        static struct host host;
        struct frame frame;
        for (int tick = from; tick < to; tick++) {
                fill_frame(&frame, tick);
                flight_add(f, &frame);
                if (tick % HZ == 0) {
                        fill_host(&host, tick);
                        flight_add_host(f, &host);
                }
        }
}

static void wait_for_dump(struct flight *f, uint64_t number, struct dump_status *ret)
{
        for (int i = 0; i < 2000; i++) {
                struct timespec rest = {.tv_nsec = 5 * NS_PER_MS};
                flight_status(f, ret);
                if (ret->err.code)
                        fail_msg("%s", ret->err.msg);
                if (ret->written[DUMP_CAUSE_REQUEST] >= number && !ret->busy)
                        return;
                nanosleep(&rest, NULL);
        }
        fail_msg("no dump came");
}

static void ask(struct flight *f, const char *text)
{
        struct dump_reason r;
        flight_reason(&r, DUMP_CAUSE_REQUEST, "", "%s", text);
        assert_true(flight_request(f, &r));
}

/* Reads a dump: how many ticks there are, the first and last. */
struct dump_contents {
        int ticks, host_ticks;
        int64_t first_ns, last_ns;
        bool has_mark;
};

static struct dump_contents read_dump(const char *path)
{
        struct session_reader *r = NULL;
        struct dump_contents c = {0};
        struct err err = {0};
        const struct frame *f;
        const struct host *h;
        if (session_open(path, &r, &err) < 0)
                fail_msg("%s", err.msg);
        while (session_next(r, &f, &err) > 0) {
                if (c.ticks++ == 0)
                        c.first_ns = f->wall_ns;
                c.last_ns = f->wall_ns;
                assert_int_equal(f->n, GPUS);
                int64_t tick = (f->wall_ns - START_NS) / (NS_PER_S / HZ);
                assert_float_equal(f->rows[3].sample.m[METRIC_SM_ACTIVE].v,
                                   (double)(tick % 1000) / 1000, 1e-9);
        }
        while (session_next_host(r, &h, &err) > 0) {
                c.host_ticks++;
                assert_int_equal(h->n_cores, 192);
                assert_true(h->levels[LEVEL_SYSTEM].present);
        }
        struct mark *marks = NULL;
        size_t n = 0;
        assert_int_equal(session_marks(r, &marks, &n, &err), 0);
        for (size_t i = 0; i < n; i++) {
                c.has_mark |= strcmp(marks[i].name, "the reason") == 0;
                mark_finish(&marks[i]);
        }
        free(marks);
        session_reader_close(r);
        return c;
}

static void ten_minutes_of_eight_gpus(void **state UNUSED)
{
        char dumps[64], path[256];
        struct dump_status s;
        snprintf(dumps, sizeof(dumps), "%s/ten", folder);
        struct flight *f = open_flight(dumps);
        /* Eleven: what is too old goes. */
        feed(f, 0, 660 * HZ);
        ask(f, "the reason");
        wait_for_dump(f, 1, &s);
        size_t memory = flight_memory(f);
        print_message("kept in %.1f MB; a dump of %.1f MB in %.0f ms\n", memory / 1e6,
                      (double)s.bytes / 1e6, (double)s.took_ns / 1e6);
        assert_true(memory <= MEMORY_MOST);
        assert_in_range(s.kept_ns, (KEEP_S - 1) * NS_PER_S, (KEEP_S + 1) * NS_PER_S);
        snprintf(path, sizeof(path), "%s/%s", dumps, s.file);
        struct dump_contents c = read_dump(path);
        assert_true(c.has_mark);
        assert_int_equal(c.last_ns, START_NS + (660 * HZ - 1) * (NS_PER_S / HZ));
        assert_in_range(c.ticks, KEEP_S * HZ, KEEP_S * HZ + 1);
        assert_in_range(c.host_ticks, KEEP_S - 1, KEEP_S + 1);
        flight_close(f);
}

/* Sixty-four instances: the bound in bytes holds, and less time is kept. */
static void the_bound_costs_time(void **state UNUSED)
{
        static struct entity who[FLIGHT_GPUS_MAX + 8];
        static struct row many[FLIGHT_GPUS_MAX + 8];
        char dumps[64];
        struct dump_status s;
        snprintf(dumps, sizeof(dumps), "%s/many", folder);
        struct flight *f = open_flight(dumps);
        for (int tick = 0; tick < 2560; tick++) {
                struct frame frame;
                fill_frame(&frame, tick);
                for (uint32_t i = 0; i < ARRAY_LEN(many); i++) {
                        who[i] = (struct entity){
                            .slot = i, .index = (int32_t)i, .gi = -1, .ci = -1, .flat = -1};
                        many[i] = rows[(i + (uint32_t)tick) % GPUS];
                        many[i].sample.who = &who[i];
                }
                frame.rows = many;
                frame.n = ARRAY_LEN(many);
                flight_add(f, &frame);
        }
        ask(f, "the reason");
        wait_for_dump(f, 1, &s);
        assert_in_range(s.kept_ns, 20 * NS_PER_S, 250 * NS_PER_S);
        assert_in_range(s.bytes, 1, FLIGHT_BYTES + (1 << 20));
        flight_close(f);
}

static void asked_twice_is_one_dump(void **state UNUSED)
{
        char dumps[64];
        struct dump_status s;
        struct dump_reason r;
        snprintf(dumps, sizeof(dumps), "%s/twice", folder);
        struct flight *f = open_flight(dumps);
        feed(f, 0, 20);
        ask(f, "the reason");
        wait_for_dump(f, 1, &s);
        ask(f, "the reason");
        ask(f, "the reason");
        ask(f, "another reason");
        wait_for_dump(f, 2, &s);
        assert_int_equal(s.written[DUMP_CAUSE_REQUEST], 2);
        /* Of events that come by themselves the second is held back, once the first is in a dump;
         * another GPU's is not. */
        flight_reason(&r, DUMP_CAUSE_XID, "0", "XID 79");
        assert_true(flight_request(f, &r));
        assert_true(flight_request(f, &r));
        flight_reason(&r, DUMP_CAUSE_XID, "0", "XID 48");
        assert_false(flight_request(f, &r));
        flight_reason(&r, DUMP_CAUSE_XID, "1", "XID 48");
        assert_true(flight_request(f, &r));
        flight_status(f, &s);
        assert_true(s.busy);
        assert_int_equal(s.held_back, 1);
        /* The end does not wait for what may follow. */
        flight_close(f);
}

static void what_makes_it_write(void **state UNUSED)
{
        static const struct {
                const char *reason;
                double count, last; /* below 0: not told */
                uint32_t findings;
                enum dump_cause cause; /* DUMP_CAUSE_COUNT for none */
                const char *text;
        } cases[] = {
            {"nothing new", 0, -1, 0, DUMP_CAUSE_COUNT, NULL},
            {"a grave one", 1, 79, 0, DUMP_CAUSE_XID, "XID 79: the GPU has fallen off the bus"},
            {"a grave one and its finding are one event", 1, 79, 1u << HEALTH_REASON_XID_FATAL,
             DUMP_CAUSE_XID, "XID 79: the GPU has fallen off the bus"},
            {"a program's own", 1, 31, 0, DUMP_CAUSE_XID,
             "XID 31: a kernel of the program used an invalid address"},
            {"a program that was ended", 1, 45, 0, DUMP_CAUSE_COUNT, NULL},
            {"a number nobody knows", 1, 999, 0, DUMP_CAUSE_XID, "XID 999"},
            {"a source without a count", -1, 48, 0, DUMP_CAUSE_XID,
             "XID 48: uncorrectable memory error"},
            {"critical health", 0, -1, 1u << HEALTH_REASON_LOST, DUMP_CAUSE_HEALTH,
             "the GPU does not answer"},
            {"a warning", 0, -1, 1u << HEALTH_REASON_REPLAYS, DUMP_CAUSE_COUNT, NULL},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct flight_seen seen[FLIGHT_GPUS_MAX] = {0};
                struct dump_reason r[4];
                struct frame f;
                fill_frame(&f, 0);
                for (size_t k = 0; k < GPUS; k++)
                        rows[k].sample.m[METRIC_XID_LAST] = value_missing(STATE_NONE);
                assert_int_equal(flight_watch(seen, &f, r, 4), 0);
                struct value *m = rows[2].sample.m;
                m[METRIC_XID_COUNT] =
                    cases[i].count < 0 ? value_missing(STATE_NONE) : value_ok(cases[i].count);
                if (cases[i].last >= 0)
                        m[METRIC_XID_LAST] = value_ok(cases[i].last);
                rows[2].health.findings = cases[i].findings;
                size_t n = flight_watch(seen, &f, r, 4);
                if (n != (cases[i].cause < DUMP_CAUSE_COUNT))
                        fail_msg("%s: %zu events", cases[i].reason, n);
                if (n > 0) {
                        assert_int_equal(r[0].cause, cases[i].cause);
                        assert_string_equal(r[0].text, cases[i].text);
                        assert_string_equal(r[0].gpu, "2");
                }
                /* It is said once. */
                assert_int_equal(flight_watch(seen, &f, r, 4), 0);
        }
}

/* A GPU that is broken when a recorder starts is no event. */
static void what_was_there_before_is_no_event(void **state UNUSED)
{
        struct flight_seen seen[FLIGHT_GPUS_MAX] = {0};
        struct dump_reason r[4];
        struct frame f;
        fill_frame(&f, 0);
        rows[1].sample.m[METRIC_XID_COUNT] = value_ok(3);
        rows[1].sample.m[METRIC_XID_LAST] = value_ok(79);
        rows[1].health.findings = 1u << HEALTH_REASON_REMAPPED;
        assert_int_equal(flight_watch(seen, &f, r, 4), 0);
}

static void names_of_dumps(void **state UNUSED)
{
        static const struct {
                const char *name;
                bool is_one;
        } cases[] = {
            {"dump-20261119-030507-1.assay", true},
            {"dump-20261119-030507-4194304-2.assay", true},
            {"dump-20261119-030507-1.assay.bak", false},
            {"dump-20261119-030507.assay", false},
            {"dump-20261119-030507-.assay", false},
            {"dump-2026111-030507-1.assay", false},
            {"dump-20261119-030507-1-.assay", false},
            {"run.assay", false},
            {".part-1-2", false},
            {"", false},
            {"dump-20261119-030507-1-11111111111111111111111111111111111111111111.assay", false},
        };
        char made[64];
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                if (dump_folder_is_name(cases[i].name) != cases[i].is_one)
                        fail_msg("%s", cases[i].name);
        }
        dump_folder_name(START_NS, 3, made, sizeof(made));
        assert_true(dump_folder_is_name(made));
}

static void put_file(const char *dir, const char *name, size_t size, int age_s)
{
        char path[200];
        snprintf(path, sizeof(path), "%s/%s", dir, name);
        int fd = open(path, O_CREAT | O_WRONLY, 0600);
        assert_true(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
        struct timespec now[2];
        clock_gettime(CLOCK_REALTIME, &now[0]);
        now[0].tv_sec -= age_s;
        now[1] = now[0];
        futimens(fd, now);
        close(fd);
}

static bool is_present(const char *dir, const char *name)
{
        char path[200];
        struct stat st;
        snprintf(path, sizeof(path), "%s/%s", dir, name);
        return lstat(path, &st) == 0;
}

static void the_folder_is_bounded(void **state UNUSED)
{
        static const unsigned char image[1000] = "what a dump is does not matter here";
        char dir[64], name[64], put[64], link[128];
        struct err err = {0};
        struct stat st;
        snprintf(dir, sizeof(dir), "%s/bounded", folder);
        int fd = dump_folder_open(dir, &err);
        assert_true(fd >= 0);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0700);
        for (int i = 0; i < DUMP_FOLDER_FILES + 5; i++) {
                snprintf(name, sizeof(name), "dump-20261119-0305%02d-1.assay", i);
                put_file(dir, name, 100, 1000 - i);
        }
        put_file(dir, "mine.assay", 100, 5000);
        put_file(dir, ".part-77-1", 100, 5000);
        snprintf(link, sizeof(link), "%s/dump-20200101-000000-1.assay", dir);
        assert_int_equal(symlink("mine.assay", link), 0);
        assert_int_equal(
            dump_folder_put(fd, START_NS, image, sizeof(image), put, sizeof(put), &err), 0);
        assert_true(is_present(dir, put));
        /* The oldest went, as many as were too many; what is no dump of ours stays. */
        for (int i = 0; i < DUMP_FOLDER_FILES + 5; i++) {
                snprintf(name, sizeof(name), "dump-20261119-0305%02d-1.assay", i);
                assert_int_equal(is_present(dir, name), i >= 6);
        }
        assert_true(is_present(dir, "mine.assay"));
        assert_true(is_present(dir, "dump-20200101-000000-1.assay"));
        assert_false(is_present(dir, ".part-77-1")); /* whoever wrote it is dead */
        /* One that is larger than all may be takes the room of all others, and no more. */
        put_file(dir, "dump-20261119-040000-1.assay", DUMP_FOLDER_BYTES, 1);
        assert_int_equal(
            dump_folder_put(fd, START_NS, image, sizeof(image), put, sizeof(put), &err), 0);
        assert_false(is_present(dir, "dump-20261119-040000-1.assay"));
        assert_true(is_present(dir, put));
        close(fd);
}

static void the_folder_is_ones_own(void **state UNUSED)
{
        char dir[64], link[128];
        struct err err = {0};
        snprintf(dir, sizeof(dir), "%s/target", folder);
        assert_int_equal(mkdir(dir, 0755), 0);
        snprintf(link, sizeof(link), "%s/link", folder);
        assert_int_equal(symlink("target", link), 0);
        assert_true(dump_folder_open(link, &err) < 0);
        /* One that others could read is closed to them. */
        int fd = dump_folder_open(dir, &err);
        struct stat st;
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0700);
        close(fd);
}

static void runs_are_found(void **state UNUSED)
{
        char dir[64], path[128];
        struct dump_run *run = NULL;
        struct dump_run_info *list = NULL, info;
        struct err err = {0};
        size_t n = 0;
        snprintf(dir, sizeof(dir), "%s/runs", folder);
        assert_int_equal(dump_run_open(dir, "serve", dir, &run, &err), 0);
        /* What a dead program left, what is no such file, and one that says another pid. */
        put_file(dir, ".run-999999", 100, 1);
        put_file(dir, ".run-12x", 100, 1);
        put_file(dir, "run-12", 100, 1);
        assert_int_equal(dump_runs_list(dir, &list, &n, &err), 0);
        assert_int_equal(n, 1);
        assert_int_equal(list[0].pid, getpid());
        assert_string_equal(list[0].program, "serve");
        assert_string_equal(list[0].folder, dir);
        assert_false(is_present(dir, ".run-999999"));
        struct dump_status s = {.asked_mono_ns = 77};
        snprintf(s.file, sizeof(s.file), "dump-20261119-030507-1.assay");
        dump_run_update(run, &s);
        assert_true(dump_runs_find(dir, getpid(), &info));
        assert_int_equal(info.answered_ns, 77);
        assert_string_equal(info.file, "dump-20261119-030507-1.assay");
        /* A file that names what is no dump is not believed. */
        snprintf(s.file, sizeof(s.file), "../../etc/passwd");
        dump_run_update(run, &s);
        assert_false(dump_runs_find(dir, getpid(), &info));
        /* Nor is one whose process has started at another time. */
        list[0].start_ticks++;
        assert_int_equal(dump_run_request(&list[0], &err), -ESRCH);
        dump_run_close(run);
        snprintf(path, sizeof(path), ".run-%d", getpid());
        assert_false(is_present(dir, path));
        free(list);
}

static void a_stall_is_an_event_after_a_while(void **state UNUSED)
{
        struct flight_seen seen[FLIGHT_GPUS_MAX] = {0};
        struct entity who = {.label = "0"};
        struct row row = {.sample.who = &who};
        struct frame f = {.n = 1, .rows = &row};
        struct dump_reason r[4];
        static const struct {
                double seconds;
                size_t events;
        } steps[] = {{0, 0}, {20, 0}, {31, 1}, {32, 0}, {0, 0}, {45, 1}};
        for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
                row.sample.m[METRIC_STALLED] = value_ok(steps[i].seconds);
                assert_int_equal(flight_watch(seen, &f, r, 4), steps[i].events);
                if (steps[i].events > 0)
                        assert_int_equal(r[0].cause, DUMP_CAUSE_STALLED);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(ten_minutes_of_eight_gpus),
            cmocka_unit_test(the_bound_costs_time),
            cmocka_unit_test(asked_twice_is_one_dump),
            cmocka_unit_test(what_makes_it_write),
            cmocka_unit_test(what_was_there_before_is_no_event),
            cmocka_unit_test(names_of_dumps),
            cmocka_unit_test(the_folder_is_bounded),
            cmocka_unit_test(the_folder_is_ones_own),
            cmocka_unit_test(a_stall_is_an_event_after_a_while),
            cmocka_unit_test(runs_are_found),
        };
        return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
