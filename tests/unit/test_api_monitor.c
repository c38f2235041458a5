/* Monitors of the public interface that run: frames, readers, children, hanging drivers. */
#include "test.h"

#include <assay/assay.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define LEFT_BEHIND_ON_PURPOSE __lsan_disable()
#define NO_MORE_OF_IT __lsan_enable()
#endif
#endif
#ifndef LEFT_BEHIND_ON_PURPOSE
#define LEFT_BEHIND_ON_PURPOSE (void)0
#define NO_MORE_OF_IT (void)0
#endif

#define UNUSED __attribute__((unused))

static char folder[] = "/tmp/assay-api-XXXXXX";

static double now(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static const char *tour(void)
{
        return getenv("TOUR");
}

/* Starts one with options given as name, value, …, NULL. */
static assay_monitor *start(const char *name, ...)
{
        assay_options *o = assay_options_new();
        struct assay_error e = {0};
        va_list ap;
        va_start(ap, name);
        for (; name; name = va_arg(ap, const char *)) {
                if (assay_options_set(o, name, va_arg(ap, const char *), &e) < 0)
                        fail_msg("%s: %s", name, e.message);
        }
        va_end(ap);
        assay_monitor *m = assay_monitor_new(o);
        assay_options_free(o);
        if (assay_monitor_start(m, &e) < 0)
                fail_msg("%s (%s)", e.message, e.hint);
        return m;
}

static void wait_for(assay_monitor *m, uint64_t cursor)
{
        struct assay_error e = {0};
        if (assay_monitor_wait(m, cursor, 20, &e) != 1)
                fail_msg("no frame after %d: %s", (int)cursor, e.message);
}

/* All of a capture, as fast as it is read: the newest are kept, and the cursor finds them in order.
 */
static void history_and_cursor(void **state UNUSED)
{
        assay_monitor *m = start("source", tour(), "speed", "0", "history", "50", NULL);
        struct assay_error e = {0};
        uint64_t cursor = 0, before = 0;
        size_t n = 0;
        assay_frame *f;
        for (double end = now() + 20; assay_monitor_running(m) && now() < end;)
                usleep(1000);
        assert_int_equal(assay_monitor_running(m), 0);
        while (assay_monitor_next(m, &cursor, &f, &e) == 1) {
                assert_int_equal(assay_frame_tick(f), cursor);
                assert_true(before == 0 || cursor == before + 1);
                before = cursor;
                assert_int_equal(assay_frame_gpus(f), 1);
                assay_frame_unref(f);
                n++;
        }
        assert_int_equal(n, 50);
        assert_true(cursor > 1000);
        assert_int_equal(assay_monitor_wait(m, cursor, 5, &e), 0); /* at once: it is over */
        /* A cursor from the past finds the oldest that is kept, one from the future nothing. */
        uint64_t past = cursor - 70, future = UINT64_MAX;
        assert_int_equal(assay_monitor_next(m, &past, &f, &e), 1);
        assert_int_equal(past, cursor - 49);
        assay_frame_unref(f);
        assert_int_equal(assay_monitor_next(m, &future, &f, &e), 0);
        assert_int_equal(assay_monitor_wait(m, future, 5, &e), 0);
        assert_int_equal(assay_monitor_latest(m, &f, &e), 1);
        assert_int_equal(assay_frame_tick(f), cursor);
        struct assay_counts counts;
        assert_int_equal(assay_monitor_stop(m, &e), 0);
        assert_int_equal(assay_monitor_counts(m, &counts, &e), 0);
        assert_int_equal(counts.taken, cursor);
        assay_monitor_free(m);
        /* A frame that was taken outlives its monitor. */
        assert_string_equal(assay_frame_gpu_text(f, 0, "label"), "0");
        assert_non_null(strstr(assay_frame_gpu_text(f, 0, "model"), "H200"));
        assert_string_equal(assay_frame_gpu_text(f, 0, "no such"), "");
        assert_string_equal(assay_frame_gpu_text(f, 1, "label"), "");
        struct assay_value v = assay_frame_gpu(f, 0, assay_metric_find("power"));
        assert_int_equal(v.state, ASSAY_VALUE_OK);
        assert_true(v.v > 50 && v.v < 800);
        assert_int_equal(assay_frame_gpu(f, 0, assay_metric_find("enc_util")).v, 0);
        assert_int_not_equal(assay_frame_gpu(f, 0, assay_metric_find("asleep")).state,
                             ASSAY_VALUE_OK);
        assert_int_equal(assay_frame_gpu(f, 0, 100000).state, ASSAY_VALUE_ABSENT);
        struct assay_verdict verdict;
        assert_int_equal(assay_frame_verdict(f, 0, &verdict), 0);
        assert_true(verdict.rule >= 1 && verdict.rule <= 12 && verdict.rule_text[0]);
        assert_non_null(strstr(verdict.evidence, verdict.workload));
        assert_true(verdict.bottleneck[0] && verdict.health[0] && verdict.health_why);
        assert_int_equal(assay_frame_verdict(f, 1, &verdict), ASSAY_E_USAGE);
        assert_non_null(assay_frame_level_missing(f, ASSAY_LEVEL_PROCESS));
        char *json = NULL;
        assert_int_equal(assay_frame_json(f, &json, &e), 0);
        assert_non_null(strstr(json, "\"sm_active\":"));
        assert_null(strstr(json, "\"host\":{\"name\""));
        assay_free(json);
        assay_frame_unref(f);
}

/* This process at its levels, without a GPU. */
static void host_alone(void **state UNUSED)
{
        assay_monitor *m = start("interval", "0.1", NULL);
        struct assay_error e = {0};
        assay_frame *f = NULL;
        char *text = NULL;
        wait_for(m, 2);
        assert_int_equal(assay_monitor_latest(m, &f, &e), 1);
        char name[32];
        snprintf(name, sizeof(name), "%d", (int)getpid());
        assert_null(assay_frame_level_missing(f, ASSAY_LEVEL_PROCESS));
        assert_non_null(strstr(assay_frame_level_name(f, ASSAY_LEVEL_PROCESS), name));
        struct assay_value v =
            assay_frame_level(f, ASSAY_LEVEL_PROCESS, assay_figure_find("memory"));
        assert_int_equal(v.state, ASSAY_VALUE_OK);
        assert_true(v.v > 1e6);
        v = assay_frame_level(f, ASSAY_LEVEL_PROCESS, assay_figure_find("cpu"));
        assert_int_equal(v.state, ASSAY_VALUE_OK);
        v = assay_frame_system(f, assay_system_figure_find("mem_total"));
        assert_true(v.state == ASSAY_VALUE_OK && v.v > 1e8);
        assert_true(assay_frame_cores(f) >= 1);
        v = assay_frame_core(f, 0);
        assert_true(v.state == ASSAY_VALUE_OK && v.v >= 0 && v.v <= 1);
        assert_non_null(assay_frame_level_missing(f, 99));
        assert_int_equal(assay_frame_level(f, 99, 0).state, ASSAY_VALUE_ABSENT);
        assert_int_equal(assay_frame_level_gpu(f, ASSAY_LEVEL_PROCESS, 0, 0).state,
                         ASSAY_VALUE_ABSENT);
        assert_int_equal(assay_frame_json(f, &text, &e), 0);
        assert_non_null(strstr(text, "\"host\":{\"name\""));
        assay_free(text);
        assay_frame_unref(f);
        assert_int_equal(assay_monitor_describe(m, &text, &e), 0);
        assert_non_null(strstr(text, "\"levels\":[\"process\""));
        assert_non_null(strstr(text, "\"running\":true"));
        assay_free(text);
        assert_int_equal(assay_monitor_flush(m, &e), 0);
        assert_null(assay_monitor_session(m));
        assay_monitor_free(m);
}

/* Stop keeps what was measured; start begins anew with higher numbers. */
static void stop_and_start(void **state UNUSED)
{
        assay_monitor *m = start("interval", "0.1", "levels", "system", NULL);
        struct assay_error e = {0};
        assay_frame *f = NULL;
        wait_for(m, 1);
        assert_int_equal(assay_monitor_start(m, &e), 0); /* does nothing */
        assert_int_equal(assay_monitor_stop(m, &e), 0);
        assert_int_equal(assay_monitor_stop(m, &e), 0);
        assert_int_equal(assay_monitor_running(m), 0);
        assert_int_equal(assay_monitor_latest(m, &f, &e), 1);
        uint64_t tick = assay_frame_tick(f);
        assert_true(tick >= 2);
        assert_int_equal(assay_monitor_start(m, &e), 0);
        assert_int_equal(assay_monitor_running(m), 1);
        wait_for(m, tick);
        uint64_t cursor = 0;
        assay_frame *g = NULL;
        assert_int_equal(assay_monitor_next(m, &cursor, &g, &e), 1);
        assert_int_equal(cursor, tick + 1);
        assay_frame_unref(g);
        assay_monitor_free(m);
        assert_int_equal(assay_frame_tick(f), tick);
        assay_frame_unref(f);
}

/* ---- many readers ---- */

struct readers {
        assay_monitor *m;
        atomic_int over;
        atomic_ulong seen;
};

static void *read_frames(void *arg)
{
        struct readers *r = arg;
        uint64_t cursor = 0;
        assay_frame *kept = NULL;
        while (!atomic_load(&r->over)) {
                struct assay_verdict v;
                assay_frame *f;
                char *text = NULL;
                struct assay_counts counts;
                assay_monitor_wait(r->m, cursor, 0.05, NULL);
                if (assay_monitor_next(r->m, &cursor, &f, NULL) != 1)
                        continue;
                if (assay_frame_gpus(f) > 0 && assay_frame_verdict(f, 0, &v) == 0)
                        atomic_fetch_add(&r->seen, strlen(v.evidence) > 0);
                if (cursor % 16 == 0 && assay_frame_json(f, &text, NULL) == 0)
                        assay_free(text);
                if (cursor % 64 == 0 && assay_monitor_describe(r->m, &text, NULL) == 0)
                        assay_free(text);
                assay_monitor_counts(r->m, &counts, NULL);
                assay_frame_unref(kept);
                kept = assay_frame_ref(f);
                assay_frame_unref(f);
        }
        assay_frame_unref(kept);
        return NULL;
}

static void eight_readers(void **state UNUSED)
{
        struct readers r = {.m = start("source", tour(), "speed", "20", "levels", "process,system",
                                       "interval", "0.1", "history", "64", NULL)};
        pthread_t threads[8];
        for (size_t i = 0; i < 8; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, read_frames, &r), 0);
        usleep(1200000);
        assert_int_equal(assay_monitor_stop(r.m, NULL), 0);
        assert_int_equal(assay_monitor_start(r.m, NULL), 0);
        usleep(300000);
        atomic_store(&r.over, 1);
        for (size_t i = 0; i < 8; i++)
                pthread_join(threads[i], NULL);
        assert_true(atomic_load(&r.seen) > 100);
        assay_monitor_free(r.m);
}

/* ---- children ---- */

static int in_child(assay_monitor *m, assay_frame *f)
{
        struct assay_error e = {0};
        struct assay_counts counts;
        assay_frame *g = NULL;
        uint64_t cursor = 0;
        char *text = NULL;
        if (assay_monitor_latest(m, &g, &e) != ASSAY_E_FORKED || !e.hint[0])
                return 1;
        if (assay_monitor_next(m, &cursor, &g, &e) != ASSAY_E_FORKED ||
            assay_monitor_wait(m, 0, 5, &e) != ASSAY_E_FORKED ||
            assay_monitor_counts(m, &counts, &e) != ASSAY_E_FORKED ||
            assay_monitor_describe(m, &text, &e) != ASSAY_E_FORKED ||
            assay_monitor_flush(m, &e) != ASSAY_E_FORKED ||
            assay_monitor_start(m, &e) != ASSAY_E_FORKED ||
            assay_monitor_stop(m, &e) != ASSAY_E_FORKED || assay_monitor_running(m) != 0)
                return 2;
        /* What the parent measured is only memory. */
        if (assay_frame_json(f, &text, &e) != 0)
                return 3;
        assay_free(text);
        assay_frame_unref(f);
        assay_monitor_free(m);
        /* A monitor of its own works. */
        assay_monitor *own = assay_monitor_new(NULL);
        if (assay_monitor_start(own, &e) < 0 || assay_monitor_wait(own, 0, 10, &e) != 1)
                return 4;
        assay_monitor_free(own);
        return 0;
}

static void children(void **state UNUSED)
{
        char path[64];
        snprintf(path, sizeof(path), "%s/fork.assay", folder);
        assay_monitor *m = start("interval", "0.1", "output", path, NULL);
        struct assay_error e = {0};
        wait_for(m, 1);
        for (int i = 0; i < 5; i++) {
                assay_frame *f = NULL;
                assert_int_equal(assay_monitor_latest(m, &f, &e), 1);
                pid_t child = fork();
                if (child == 0)
                        _exit(in_child(m, f));
                int status = -1;
                waitpid(child, &status, 0);
                assert_int_equal(status, 0);
                assay_frame_unref(f);
        }
        assert_int_equal(assay_monitor_running(m), 1);
        assert_string_equal(assay_monitor_session(m), path);
        assert_int_equal(assay_monitor_flush(m, &e), 0);
        assert_int_equal(assay_monitor_stop(m, &e), 0);
        assay_monitor_free(m);
        struct stat st;
        assert_int_equal(stat(path, &st), 0);
        assert_true(st.st_size > 4096);
        strcat(path, "-wal");
        assert_int_equal(stat(path, &st), -1); /* complete: one plain file */
}

/* What is open is closed by exec. */
static void exec_inherits_nothing(void **state UNUSED)
{
        char path[64], command[256];
        snprintf(path, sizeof(path), "%s/exec.assay", folder);
        snprintf(command, sizeof(command), "ls -l /proc/self/fd | grep -c '%s'", folder);
        assay_monitor *m = start("interval", "0.1", "output", path, NULL);
        wait_for(m, 1);
        FILE *out = popen(command, "r");
        int n = -1;
        assert_int_equal(fscanf(out, "%d", &n), 1);
        pclose(out);
        assert_int_equal(n, 0);
        assay_monitor_free(m);
}

/* ---- a driver that hangs ---- */

/* A driver with one GPU and lines of its own. A library of its own too: one loads its lines once.
 */
static const char *driver(const char *name, const char *lines, const char *gpu)
{
        static char lib[64];
        char path[64], command[1024];
        snprintf(path, sizeof(path), "%s/%s.scn", folder, name);
        snprintf(lib, sizeof(lib), "%s/%s.so", folder, name);
        snprintf(command, sizeof(command), "cp '%s' %s", getenv("FAKE_NVML_LIB"), lib);
        assert_int_equal(system(command), 0);
        FILE *f = fopen(path, "w");
        fprintf(f,
                "nvmlSystemGetDriverVersion = 0 580.1\n%s[gpu]\nnvmlDeviceGetUUID = 0 GPU-1\n"
                "nvmlDeviceGetPowerUsage = 0 100000\n%s",
                lines, gpu);
        fclose(f);
        setenv("FAKE_NVML", path, 1);
        return lib;
}

static void a_driver_that_hangs(void **state UNUSED)
{
        const char *lib = driver("hang", "", "@0.6 * = hang\n");
        char session[64];
        snprintf(session, sizeof(session), "%s/hang.assay", folder);
        assay_monitor *m = start("backend", "nvml", "nvml-lib", lib, "interval", "0.1", "levels",
                                 "process", "output", session, NULL);
        struct assay_error e = {0};
        uint64_t cursor = 0;
        assay_frame *frame = NULL;
        bool hung = false;
        for (double end = now() + 20; now() < end && !hung;) {
                double began = now();
                assay_monitor_wait(m, cursor, 0.2, &e);
                if (assay_monitor_next(m, &cursor, &frame, &e) == 1) {
                        hung = assay_frame_gpu(frame, 0, assay_metric_find("power")).state ==
                               ASSAY_VALUE_STALE;
                        assay_frame_unref(frame);
                }
                assert_true(now() - began < 2);
        }
        assert_true(hung);
        double began = now();
        char *json = NULL;
        assert_int_equal(assay_monitor_flush(m, &e), 0);
        assert_int_equal(assay_monitor_describe(m, &json, &e), 0);
        assay_free(json);
        assert_true(now() - began < 2);
        began = now();
        assert_int_equal(assay_monitor_stop(m, &e), 0);
        assay_monitor_free(m);
        assert_true(now() - began < 5);
        unsetenv("FAKE_NVML");
}

static bool describes(assay_monitor *m, const char *what)
{
        struct assay_error e = {0};
        char *json = NULL;
        assert_int_equal(assay_monitor_describe(m, &json, &e), 0);
        bool found = strstr(json, what) != NULL;
        assay_free(json);
        return found;
}

/* Starting waits little, the host is watched meanwhile, and the GPU comes when the driver answers.
 */
static void a_driver_that_starts_slowly(void **state UNUSED)
{
        const char *lib = driver("slow", "nvmlInit_v2 = 0 delay 4000\n", "");
        double began = now();
        assay_monitor *m =
            start("backend", "nvml", "nvml-lib", lib, "interval", "0.1", "levels", "system", NULL);
        struct assay_error e = {0};
        assay_frame *f = NULL;
        assert_true(now() - began < 3.5);
        wait_for(m, 0);
        assert_true(describes(m, "\"num_gpus\":0") &&
                    describes(m, "no answer from the GPU source for "));
        assert_int_equal(assay_monitor_latest(m, &f, &e), 1);
        assert_null(assay_frame_level_missing(f, ASSAY_LEVEL_SYSTEM));
        size_t gpus = assay_frame_gpus(f);
        assert_int_equal(gpus, 0);
        assay_frame_unref(f);
        for (double end = now() + 20; now() < end && gpus == 0; usleep(20000)) {
                assert_int_equal(assay_monitor_latest(m, &f, &e), 1);
                gpus = assay_frame_gpus(f);
                assay_frame_unref(f);
        }
        assert_int_equal(gpus, 1);
        assert_true(describes(m, "\"notice\":null"));
        assert_int_equal(assay_monitor_stop(m, &e), 0);
        assay_monitor_free(m);
        unsetenv("FAKE_NVML");
}

static void a_driver_that_never_starts(void **state UNUSED)
{
        const char *lib = driver("never", "nvmlInit_v2 = hang\n", "");
        double began = now();
        LEFT_BEHIND_ON_PURPOSE;
        assay_monitor *m =
            start("backend", "nvml", "nvml-lib", lib, "interval", "0.1", "levels", "none", NULL);
        NO_MORE_OF_IT;
        struct assay_error e = {0};
        assay_frame *f = NULL;
        assert_true(now() - began < 3.5);
        assert_int_equal(assay_monitor_latest(m, &f, &e), 0);
        /* With nothing else to watch the monitor ends when the source gives up, and says so. */
        for (double end = now() + 20; now() < end && assay_monitor_running(m);)
                usleep(20000);
        assert_int_equal(assay_monitor_latest(m, &f, &e), ASSAY_E_NO_SOURCE);
        assert_non_null(strstr(e.message, "does not answer"));
        began = now();
        assay_monitor_stop(m, &e);
        assay_monitor_free(m);
        assert_true(now() - began < 1);
        unsetenv("FAKE_NVML");
}

static void a_pipe_without_a_writer(void **state UNUSED)
{
        char path[64];
        snprintf(path, sizeof(path), "%s/silent", folder);
        assert_int_equal(mkfifo(path, 0600), 0);
        double began = now();
        assay_monitor *m = start("source", path, NULL);
        struct assay_error e = {0};
        assert_true(now() - began < 3.5);
        assert_int_equal(assay_monitor_running(m), 1);
        assert_true(describes(m, "no answer from the GPU source for "));
        assert_int_equal(assay_monitor_stop(m, &e), 0);
        assay_monitor_free(m);
        assert_true(now() - began < 5);
        /* Whoever waits for it comes back, and cleans up. */
        close(open(path, O_WRONLY));
        usleep(200000);
}

/* A pipe whose writer falls silent: stop waits two seconds for the source, and leaves it. */
static void a_source_that_never_comes_back(void **state UNUSED)
{
        char path[64], line[4096];
        snprintf(path, sizeof(path), "%s/pipe", folder);
        assert_int_equal(mkfifo(path, 0600), 0);
        FILE *from = fopen(tour(), "r");
        int writer = open(path, O_RDWR);
        for (int i = 0; i < 20 && fgets(line, sizeof(line), from); i++)
                assert_true(write(writer, line, strlen(line)) > 0);
        fclose(from);
        assay_monitor *m = start("source", path, "speed", "0", "levels", "system", NULL);
        struct assay_error e = {0};
        wait_for(m, 5);
        double began = now();
        assert_int_equal(assay_monitor_stop(m, &e), 0);
        assert_int_equal(assay_monitor_running(m), 0);
        assay_frame *f = NULL;
        assert_int_equal(assay_monitor_latest(m, &f, &e), 1);
        assay_frame_unref(f);
        assay_monitor_free(m);
        assert_true(now() - began < 8);
        /* It comes back later, finds everything it uses, and frees it. */
        assert_int_equal(write(writer, "\n", 1), 1);
        close(writer);
        usleep(200000);
}

/* What is written stays where it was begun when the program goes elsewhere. */
static void another_folder(void **state UNUSED)
{
        struct assay_error e = {0};
        char here[4096];
        assert_non_null(getcwd(here, sizeof(here)));
        assert_int_equal(chdir(folder), 0);
        assay_monitor *m = start("interval", "0.1", "levels", "system", "output", "moved.assay",
                                 "hardware-monitor", "moved", NULL);
        assay_log *log = NULL;
        assert_int_equal(assay_log_open(NULL, "moved.assay", &log, &e), 0);
        assert_int_equal(chdir("/"), 0);
        assert_int_equal(assay_log_event(log, "elsewhere", NULL, &e), 0);
        wait_for(m, 2);
        assert_int_equal(assay_monitor_stop(m, &e), 0);
        const char *session = assay_monitor_session(m);
        assert_int_equal(session[0], '/');
        assay_table *t = NULL;
        assert_int_equal(assay_table_open(session, "events", NULL, &t, &e), 0);
        assert_int_equal(assay_table_rows(t), 1);
        assay_table_free(t);
        assay_log_close(log);
        assay_monitor_free(m);
        assert_int_equal(chdir(folder), 0);
        assert_int_equal(access("moved/cpu_metrics.csv", R_OK), 0);
        assert_int_not_equal(access("moved.assay-marks", F_OK), 0);
        assert_int_equal(chdir(here), 0);
}

/* A monitor that does not record tells the same as the file that it plays. */
static void findings_of_memory(void **state UNUSED)
{
        assay_monitor *m =
            start("source", tour(), "speed", "0", "levels", "none", "flops", "bf16", NULL);
        struct assay_error e = {0};
        assay_findings *live = NULL, *file = NULL;
        char *a = NULL, *b = NULL;
        assay_options *o = assay_options_new();
        assay_options_set(o, "flops", "bf16", NULL);
        while (assay_monitor_running(m))
                usleep(10000);
        assert_int_equal(assay_monitor_findings(m, &live, &e), 0);
        assert_int_equal(assay_file_findings(tour(), o, &file, &e), 0);
        assert_int_equal(assay_findings_json(live, &a, &e), 0);
        assert_int_equal(assay_findings_json(file, &b, &e), 0);
        assert_string_equal(a, b);
        assay_free(a);
        assay_free(b);
        assay_findings_free(live);
        assay_findings_free(file);
        assay_options_free(o);
        assay_frame *f = NULL;
        struct assay_limit limit;
        struct assay_flops flops = {0};
        assert_int_equal(assay_monitor_latest(m, &f, &e), 1);
        assert_int_equal(assay_frame_limit(f, 0, &limit), 0);
        assert_true(limit.limiter[0] && limit.rule[0] && limit.text[0] && limit.advice[0]);
        assert_int_equal(assay_frame_limit(f, 9, &limit), ASSAY_E_USAGE);
        assert_string_equal(assay_frame_limit_basis(f, 0), "counters");
        assert_null(assay_frame_limit_basis(f, 9));
        assert_int_equal(assay_frame_flops(f, 0, "bf16", &flops), 1);
        assert_true(flops.lo <= flops.hi && strcmp(flops.type, "bf16") == 0);
        assert_int_equal(assay_frame_flops(f, 0, "bf17", &flops), ASSAY_E_USAGE);
        assay_frame_unref(f);
        assay_monitor_free(m);
}

static void no_place_for_the_answer(void **state UNUSED)
{
        assay_monitor *m = start("interval", "0.1", "levels", "system", NULL);
        struct assay_error e = {0};
        uint64_t cursor = 0;
        assay_frame *f;
        assert_int_equal(assay_monitor_latest(m, NULL, &e), ASSAY_E_USAGE);
        assert_int_equal(assay_monitor_next(m, &cursor, NULL, &e), ASSAY_E_USAGE);
        assert_int_equal(assay_monitor_next(m, NULL, &f, &e), ASSAY_E_USAGE);
        assert_int_equal(assay_monitor_counts(m, NULL, &e), ASSAY_E_USAGE);
        assert_int_equal(assay_monitor_describe(m, NULL, &e), ASSAY_E_USAGE);
        assert_int_equal(assay_monitor_findings(m, NULL, &e), ASSAY_E_USAGE);
        assay_findings *none = NULL;
        assert_int_equal(assay_monitor_findings(m, &none, &e), 0);
        assert_int_equal(assay_findings_count(none), 0); /* there is no GPU */
        assay_findings_free(none);
        assay_monitor_free(m);
}

static int make_folder(void **state UNUSED)
{
        return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state UNUSED)
{
        char command[64];
        snprintf(command, sizeof(command), "rm -r %s", folder);
        return system(command);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(history_and_cursor),
            cmocka_unit_test(host_alone),
            cmocka_unit_test(stop_and_start),
            cmocka_unit_test(findings_of_memory),
            cmocka_unit_test(another_folder),
            cmocka_unit_test(no_place_for_the_answer),
            cmocka_unit_test(eight_readers),
            cmocka_unit_test(children),
            cmocka_unit_test(exec_inherits_nothing),
            cmocka_unit_test(a_driver_that_hangs),
            cmocka_unit_test(a_driver_that_starts_slowly),
            cmocka_unit_test(a_driver_that_never_starts),
            cmocka_unit_test(a_pipe_without_a_writer),
            cmocka_unit_test(a_source_that_never_comes_back),
        };
        return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
