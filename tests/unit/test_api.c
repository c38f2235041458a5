/* The public interface without a monitor that runs: words, options, errors, the run log. */
#include "test.h"

#include <assay/assay.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))
#define N(a) (sizeof(a) / sizeof((a)[0]))

static void words(void **state UNUSED)
{
        static const struct {
                size_t (*n)(void);
                int (*find)(const char *);
                const char *(*name)(int), *(*unit)(int), *(*help)(int);
                const char *known;
        } tables[] = {
            {assay_metrics, assay_metric_find, assay_metric_name, assay_metric_unit,
             assay_metric_help, "sm_active"},
            {assay_figures, assay_figure_find, assay_figure_name, assay_figure_unit,
             assay_figure_help, "cpu"},
            {assay_system_figures, assay_system_figure_find, assay_system_figure_name,
             assay_system_figure_unit, assay_system_figure_help, "load_1"},
        };
        for (size_t t = 0; t < N(tables); t++) {
                int n = (int)tables[t].n();
                assert_true(n > 10);
                for (int i = 0; i < n; i++) {
                        assert_int_equal(tables[t].find(tables[t].name(i)), i);
                        assert_true(tables[t].unit(i)[0] && tables[t].help(i)[0]);
                }
                assert_true(tables[t].find(tables[t].known) >= 0);
                assert_int_equal(tables[t].find("no such"), -1);
                assert_int_equal(tables[t].find(NULL), -1);
                assert_null(tables[t].name(n));
                assert_null(tables[t].unit(-1));
                assert_null(tables[t].help(n));
        }
        assert_string_equal(assay_state_name(ASSAY_VALUE_STALE), "stale");
        assert_string_equal(assay_state_name(99), "unknown");
        assert_true(strchr(assay_version(), '.') != NULL);
}

static void options(void **state UNUSED)
{
        static const struct {
                const char *name, *value, *hint, *reason;
        } bad[] = {
            {"intervall", "1", "did you mean 'interval'?", "a slip is put right"},
            {"interval", "soon", "help", "a time is a number"},
            {"backend", "cuda", "nvml", "the choices are named"},
            {"help", "", "list", "flags of the program are no options"},
            {"durable", "perhaps", "no", "an option of the library's own"},
            {"history", "-1", "history", "counts are not negative"},
            {"history", "0", "from 1 to 100000", "a ring has a place"},
            {"interval", "0", "from 0.001 s", "time passes between ticks"},
            {"theme", "dark", "list", "options of the screen are none of the library's"},
        };
        static const struct {
                const char *name, *value;
        } good[] = {{"interval", "100ms"}, {"gpus", "0,2"},     {"levels", "process,system"},
                    {"show-all", "yes"},   {"hpc-weights", ""}, {"durable", "no"},
                    {"interval", NULL},    {"durable", NULL},   {"hardware-monitor", "x"},
                    {"phase", "2:8"},      {"tag-cpu", "0.5"}};
        assay_options *o = assay_options_new();
        struct assay_error e;
        for (size_t i = 0; i < N(good); i++)
                assert_int_equal(assay_options_set(o, good[i].name, good[i].value, &e), 0);
        for (size_t i = 0; i < N(bad); i++) {
                memset(&e, 0, sizeof(e));
                if (assay_options_set(o, bad[i].name, bad[i].value, &e) != ASSAY_E_USAGE)
                        fail_msg("%s=%s: %s", bad[i].name, bad[i].value, bad[i].reason);
                assert_int_equal(e.code, ASSAY_E_USAGE);
                assert_non_null(strstr(e.message, bad[i].name));
                if (!strstr(e.hint, bad[i].hint))
                        fail_msg("'%s' has no '%s'", e.hint, bad[i].hint);
        }
        char *huge = calloc(1, 100001);
        memset(huge, 'x', 100000);
        assert_int_equal(assay_options_set(o, "gpus", huge, &e), ASSAY_E_USAGE);
        assert_int_equal(assay_options_set(o, huge, "1", &e), ASSAY_E_USAGE);
        free(huge);
        assert_int_equal(assay_options_set(NULL, "gpus", "0", &e), ASSAY_E_USAGE);
        assert_int_equal(assay_options_set(o, NULL, "0", NULL), ASSAY_E_USAGE);
        assay_options_free(o);
        assay_options_free(NULL);
}

/* Every call on nothing says what is wrong. */
static void no_handles(void **state UNUSED)
{
        struct assay_error e = {0};
        struct assay_counts counts;
        struct assay_verdict verdict;
        assay_frame *f = NULL;
        uint64_t cursor = 0;
        char *text = NULL;
        assert_int_equal(assay_monitor_start(NULL, &e), ASSAY_E_USAGE);
        assert_true(e.message[0] && e.hint[0]);
        assert_int_equal(assay_monitor_stop(NULL, &e), ASSAY_E_USAGE);
        assert_int_equal(assay_monitor_running(NULL), 0);
        assert_int_equal(assay_monitor_latest(NULL, &f, &e), ASSAY_E_USAGE);
        assert_int_equal(assay_monitor_next(NULL, &cursor, &f, &e), ASSAY_E_USAGE);
        assert_int_equal(assay_monitor_wait(NULL, 0, 1, &e), ASSAY_E_USAGE);
        assert_int_equal(assay_monitor_counts(NULL, &counts, &e), ASSAY_E_USAGE);
        assert_int_equal(assay_monitor_describe(NULL, &text, &e), ASSAY_E_USAGE);
        assert_int_equal(assay_monitor_flush(NULL, &e), ASSAY_E_USAGE);
        assert_null(assay_monitor_session(NULL));
        assay_monitor_free(NULL);
        assert_int_equal(assay_frame_json(NULL, &text, &e), ASSAY_E_USAGE);
        assert_int_equal(assay_frame_verdict(NULL, 0, &verdict), ASSAY_E_USAGE);
        assert_int_equal(assay_frame_gpus(NULL), 0);
        assert_int_equal(assay_frame_gpu(NULL, 0, 0).state, ASSAY_VALUE_ABSENT);
        assert_int_equal(assay_frame_level(NULL, 0, 0).state, ASSAY_VALUE_ABSENT);
        assert_int_equal(assay_frame_core(NULL, 0).state, ASSAY_VALUE_ABSENT);
        assert_string_equal(assay_frame_gpu_text(NULL, 0, "label"), "");
        assert_non_null(assay_frame_level_missing(NULL, 0));
        assert_null(assay_frame_ref(NULL));
        assay_frame_unref(NULL);
        assert_int_equal(assay_log_event(NULL, "x", NULL, &e), ASSAY_E_USAGE);
        assert_int_equal(assay_log_open(NULL, "", NULL, &e), ASSAY_E_USAGE);
        assay_log_close(NULL);
        assay_free(NULL);
}

/* One that cannot work keeps its error, and gives it to every call. */
static void a_monitor_that_cannot_work(void **state UNUSED)
{
        static const struct {
                const char *name, *value;
                int code;
                const char *says;
        } cases[] = {
            {"source", "/nonexistent/capture", ASSAY_E_NO_SOURCE, "/nonexistent/capture"},
            {"levels", "galaxy", ASSAY_E_USAGE, "galaxy"},
            {"pid", "999999999", ASSAY_E_USAGE, "999999999"},
            {"output", "/nonexistent/folder/x.assay", -2, "/nonexistent/folder"},
            {"hardware-monitor", "/nonexistent/folder/x", -2, "/nonexistent/folder"},
        };
        for (size_t i = 0; i < N(cases); i++) {
                assay_options *o = assay_options_new();
                struct assay_error e = {0}, again = {0};
                struct assay_counts counts;
                assay_frame *f = NULL;
                uint64_t cursor = 0;
                char *text = NULL;
                assay_options_set(o, cases[i].name, cases[i].value, NULL);
                assay_monitor *m = assay_monitor_new(o);
                assay_options_free(o);
                assert_int_equal(assay_monitor_latest(m, &f, &e), ASSAY_E_STOPPED);
                if (assay_monitor_start(m, &e) != cases[i].code ||
                    !strstr(e.message, cases[i].says))
                        fail_msg("%s=%s: %d %s", cases[i].name, cases[i].value, e.code, e.message);
                assert_int_equal(assay_monitor_latest(m, &f, &again), e.code);
                assert_string_equal(e.message, again.message);
                assert_string_equal(e.hint, again.hint);
                assert_int_equal(assay_monitor_next(m, &cursor, &f, &again), e.code);
                assert_int_equal(assay_monitor_wait(m, 0, 5, &again), e.code);
                assert_int_equal(assay_monitor_counts(m, &counts, &again), e.code);
                assert_int_equal(assay_monitor_describe(m, &text, &again), e.code);
                assert_int_equal(assay_monitor_flush(m, &again), e.code);
                assert_int_equal(assay_monitor_stop(m, &again), e.code);
                assert_string_equal(e.message, again.message);
                assert_int_equal(assay_monitor_start(m, &again), e.code);
                assert_int_equal(assay_monitor_running(m), 0);
                assay_monitor_free(m);
        }
}

/* ---- the run log ---- */

static void read_all(const char *path, char *buf, size_t size)
{
        FILE *f = fopen(path, "r");
        assert_non_null(f);
        size_t n = fread(buf, 1, size - 1, f);
        buf[n] = '\0';
        fclose(f);
}

static void run_log(void **state UNUSED)
{
        char path[] = "/tmp/assay-api-log-XXXXXX", text[4096];
        struct assay_error e = {0};
        assay_log *log = NULL;
        close(mkstemp(path));
        assert_int_equal(assay_log_open(path, "", &log, &e), 0);
        assert_int_equal(assay_log_phase(log, "warmup", 12.3456, "{\"step\":100}", &e), 0);
        assert_int_equal(assay_log_begin(log, "train", NULL, &e), 0);
        assert_int_equal(assay_log_event(log, "start", "{\"lr\": 0.1}", &e), 0);
        assert_int_equal(assay_log_event(log, "note", NULL, &e), 0);
        assert_int_equal(assay_log_metric(log, "loss", 0.25, &e), 0);
        assert_int_equal(assay_log_end(log, "train", "{\"ok\":true}", &e), 0);
        read_all(path, text, sizeof(text));
        static const char *const lines[] = {
            "\"type\":\"phase\",\"name\":\"warmup\",\"seconds\":12.346,\"step\":100}",
            "\"type\":\"begin\",\"name\":\"train\"}",
            "\"event\":\"start\",\"data\":{\"lr\":0.1}}",
            "\"event\":\"note\"}",
            "\"name\":\"loss\",\"value\":0.25}",
            "\"began\":",
        };
        const char *at = text;
        for (size_t i = 0; i < N(lines); i++) {
                at = strstr(at, lines[i]);
                if (!at)
                        fail_msg("no %s in\n%s", lines[i], text);
        }
        assert_int_equal(assay_log_phase(log, "", 1, NULL, &e), ASSAY_E_USAGE);
        assert_int_equal(assay_log_phase(log, NULL, 1, NULL, &e), ASSAY_E_USAGE);
        assert_int_equal(assay_log_phase(log, "x", NAN, NULL, &e), ASSAY_E_USAGE);
        assert_int_equal(assay_log_phase(log, "x", 1, "[1]", &e), ASSAY_E_USAGE);
        assert_non_null(strstr(e.message, "object"));
        assert_int_equal(assay_log_event(log, "x", "{", &e), ASSAY_E_USAGE);
        assert_non_null(strstr(e.message, "not JSON"));
        assert_int_equal(assay_log_metric(log, "x", INFINITY, &e), ASSAY_E_USAGE);
        assert_int_equal(assay_log_phase(log, "a\xff", 1, NULL, &e), ASSAY_E_USAGE);
        assert_non_null(strstr(e.message, "UTF-8"));
        char *huge = calloc(1, 50001);
        memset(huge, 'x', 50000);
        huge[0] = huge[49999] = '"';
        assert_int_equal(assay_log_event(log, "x", huge, &e), ASSAY_E_USAGE);
        assert_non_null(strstr(e.message, "longer than 32768"));
        free(huge);
        /* A child may go on with it: it has nothing open. */
        pid_t child = fork();
        if (child == 0)
                _exit(assay_log_event(log, "in_child", NULL, NULL) == 0 ? 0 : 1);
        int status = -1;
        waitpid(child, &status, 0);
        assert_int_equal(status, 0);
        read_all(path, text, sizeof(text));
        assert_non_null(strstr(text, "in_child"));
        assay_log_close(log);
        unlink(path);
}

/* Entries stay together when the program goes elsewhere. */
static void a_log_and_another_folder(void **state UNUSED)
{
        char here[4096], folder[] = "/tmp/assay-api-log-XXXXXX", text[4096];
        struct assay_error e = {0};
        assay_log *log = NULL;
        assert_non_null(getcwd(here, sizeof(here)));
        assert_true(mkdtemp(folder) && chdir(folder) == 0);
        assert_int_equal(assay_log_open("x.jsonl", "", &log, &e), 0);
        assert_int_equal(chdir("/"), 0);
        assert_int_equal(assay_log_event(log, "moved", NULL, &e), 0);
        assert_int_equal(chdir(folder), 0);
        read_all("x.jsonl", text, sizeof(text));
        assert_non_null(strstr(text, "moved"));
        assay_log_close(log);
        unlink("x.jsonl");
        assert_int_equal(chdir(here), 0);
        rmdir(folder);
}

static void logs_that_cannot_be(void **state UNUSED)
{
        struct assay_error e = {0};
        assay_log *log = NULL;
        assert_int_equal(assay_log_open("/nonexistent/x.jsonl", "", &log, &e), -2);
        assert_non_null(strstr(e.message, "/nonexistent/x.jsonl"));
        assert_int_equal(assay_log_open(NULL, "/etc/passwd", &log, &e), ASSAY_E_DATA);
        assert_null(log);
        /* Outside 'assay run' an instrumented program runs all the same. */
        unsetenv("ASSAY_SESSION");
        assert_int_equal(assay_log_open(NULL, NULL, &log, &e), 0);
        assert_int_equal(assay_log_phase(log, "x", 1, NULL, &e), 0);
        assay_log_close(log);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(words),
            cmocka_unit_test(options),
            cmocka_unit_test(no_handles),
            cmocka_unit_test(a_monitor_that_cannot_work),
            cmocka_unit_test(run_log),
            cmocka_unit_test(a_log_and_another_folder),
            cmocka_unit_test(logs_that_cannot_be),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
