/* Recorded runs through the public interface: while they grow, and when they are over. */
#include "test.h"

#include <assay/assay.h>

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))
#define N(a) (sizeof(a) / sizeof((a)[0]))

static char folder[] = "/tmp/assay-api-XXXXXX";
static char session[64];

static const char *inside(const char *name)
{
        static char paths[4][128];
        static unsigned turn;
        char *path = paths[turn++ % N(paths)];
        snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
        return path;
}

static int column(const assay_table *t, const char *name)
{
        for (size_t i = 0; i < assay_table_columns(t); i++) {
                if (strcmp(assay_table_name(t, i), name) == 0)
                        return (int)i;
        }
        fail_msg("no column %s", name);
        return -1;
}

static assay_table *table(const char *path, const char *what, const char *name, const char *value)
{
        assay_options *o = assay_options_new();
        struct assay_error e = {0};
        assay_table *t = NULL;
        if (name)
                assert_int_equal(assay_options_set(o, name, value, &e), 0);
        if (assay_table_open(path, what, o, &t, &e) < 0)
                fail_msg("%s of %s: %s (%s)", what, path, e.message, e.hint);
        assay_options_free(o);
        return t;
}

/* What it holds can be read from the same process while it is recorded. */
static void read_while_it_grows(assay_monitor *m)
{
        struct assay_error e = {0};
        assert_int_equal(assay_monitor_flush(m, &e), 0);
        assay_table *t = table(session, "phases", NULL, NULL);
        assert_int_equal(assay_table_rows(t), 2);
        size_t name = (size_t)column(t, "name"), data = (size_t)column(t, "data");
        assert_string_equal(assay_table_text(t, name, 0), "cell 0");
        assert_non_null(strstr(assay_table_text(t, data, 0), "raw_cell"));
        assert_null(assay_table_text(t, data, 1));
        assert_null(assay_table_text(t, name, 2));
        assert_null(assay_table_numbers(t, name));
        assert_int_equal(assay_table_numbers(t, (size_t)column(t, "open"))[1], 1);
        assay_table_free(t);
        t = table(session, "process", NULL, NULL);
        assert_true(assay_table_rows(t) >= 3);
        assay_table_free(t);
        char *text = NULL;
        assert_int_equal(assay_file_report(session, "text", NULL, &text, &e), 0);
        assay_free(text);
        assay_findings *f = NULL;
        struct assay_stretch s;
        assert_int_equal(assay_monitor_findings(m, &f, &e), 0);
        assert_int_equal(assay_findings_stretch(f, 0, &s), 0);
        assert_string_equal(s.phase, "cell 0"); /* of the recording, whose marks count */
        assay_findings_free(f);
        assert_int_equal(assay_monitor_running(m), 1);
}

/* What a finding rests on: a session with profiling counters, a log of nvidia-smi without. */
static void bases(void **state UNUSED)
{
        static const struct {
                const char *file, *basis;
        } cases[] = {{"", "counters"}, {"/../tests/fixtures/nvidia-smi/smi-dmon-mu.txt", "driver"}};
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                char path[4096];
                struct assay_error e = {0};
                assay_findings *f = NULL;
                const char *tour = getenv("TOUR");
                int n = (int)(strrchr(tour, '/') - tour);
                snprintf(path, sizeof(path), "%.*s%s", n, tour, cases[i].file);
                if (!cases[i].file[0])
                        snprintf(path, sizeof(path), "%s", tour);
                assert_int_equal(assay_file_findings(path, NULL, &f, &e), 0);
                assert_string_equal(assay_findings_basis(f, 0), cases[i].basis);
                assert_string_equal(assay_findings_stretch_basis(f, 0), cases[i].basis);
                assert_null(assay_findings_basis(f, 1000));
                assert_null(assay_findings_stretch_basis(f, 1000));
                assay_findings_free(f);
        }
}

static void record(void **state UNUSED)
{
        assay_options *o = assay_options_new();
        struct assay_error e = {0};
        assay_log *log = NULL;
        uint64_t cursor = 0;
        assay_options_set(o, "source", getenv("TOUR"), NULL);
        assay_options_set(o, "levels", "process,system", NULL);
        assay_options_set(o, "speed", "4", NULL);
        assay_options_set(o, "interval", "0.1", NULL);
        assay_options_set(o, "output", session, NULL);
        assay_options_set(o, "durable", "no", NULL);
        assay_options_set(o, "hardware-monitor", inside("hw"), NULL);
        assay_monitor *m = assay_monitor_new(o);
        assay_options_free(o);
        if (assay_monitor_start(m, &e) < 0)
                fail_msg("%s", e.message);
        assert_int_equal(assay_log_open(NULL, session, &log, &e), 0);
        assert_int_equal(
            assay_log_begin(log, "cell 0", "{\"cell_index\":7,\"raw_cell\":\"a\\nb\"}", &e), 0);
        while (cursor < 20)
                assert_int_equal(assay_monitor_wait(m, cursor++, 10, &e), 1);
        usleep(300000);
        assert_int_equal(assay_log_end(log, "cell 0", NULL, &e), 0);
        assert_int_equal(assay_log_begin(log, "inner", NULL, &e), 0);
        assert_int_equal(assay_log_event(log, "saved", "{\"n\":1}", &e), 0);
        assert_int_equal(assay_log_metric(log, "loss", 0.5, &e), 0);
        read_while_it_grows(m);
        assert_int_equal(assay_monitor_stop(m, &e), 0);
        /* A mark after the end goes into the file itself. */
        assert_int_equal(assay_log_event(log, "after", NULL, &e), 0);
        assay_log_close(log);
        assay_monitor_free(m);
}

/*
 * Others open and close the file meanwhile, in this process and elsewhere. A lock of the recorder
 * that got lost on the way would let the other process remove its journal, and ticks with it.
 */
static void nobody_takes_the_locks(void **state UNUSED)
{
        assay_options *o = assay_options_new();
        struct assay_error e = {0};
        struct assay_counts counts;
        char path[96], command[200];
        snprintf(path, sizeof(path), "%s", inside("locks.assay"));
        snprintf(command, sizeof(command),
                 "sqlite3 %s 'select count(*) from ticks' >/dev/null 2>&1", path);
        assay_options_set(o, "interval", "0.1", NULL);
        assay_options_set(o, "levels", "system", NULL);
        assay_options_set(o, "output", path, NULL);
        assay_monitor *m = assay_monitor_new(o);
        assay_options_free(o);
        if (assay_monitor_start(m, &e) < 0)
                fail_msg("%s", e.message);
        for (int i = 0; i < 8; i++) {
                assay_log *log = NULL;
                assert_int_equal(assay_log_open(NULL, path, &log, &e), 0);
                assay_log_close(log);
                assay_table_free(table(path, "notebook:system", NULL, NULL));
                if (system(command) != 0)
                        print_message("no sqlite3 here\n");
                usleep(150000);
        }
        assert_int_equal(assay_monitor_stop(m, &e), 0);
        assert_int_equal(assay_monitor_counts(m, &counts, &e), 0);
        assay_monitor_free(m);
        char *text = NULL, taken[64];
        assert_int_equal(assay_file_report(path, "json", NULL, &text, &e), 0);
        snprintf(taken, sizeof(taken), "\"run\":{\"seconds\":");
        assert_non_null(strstr(text, taken));
        snprintf(taken, sizeof(taken), "\"ticks\":%d", (int)counts.taken);
        if (!strstr(text, taken))
                fail_msg("not %s in %.900s", taken, text);
        assay_free(text);
}

static void tables(void **state UNUSED)
{
        assay_table *t = table(session, "notebook:system", NULL, NULL);
        static const char *const names[] = {
            "time",         "memory",       "io_read_count", "io_write_count", "io_read",
            "io_write",     "cpu_util_avg", "cpu_util_min",  "cpu_util_max",   "cpu_util_0",
            "gpu_util_avg", "gpu_band_max", "gpu_mem_min",   "gpu_util_0",     "gpu_band_0",
            "gpu_mem_0",    "cell_index"};
        for (size_t i = 0; i < N(names); i++)
                assert_non_null(assay_table_numbers(t, (size_t)column(t, names[i])));
        size_t rows = assay_table_rows(t), in_cell = 0;
        assert_true(rows > 3);
        const double *time = assay_table_numbers(t, (size_t)column(t, "time"));
        const double *memory = assay_table_numbers(t, (size_t)column(t, "memory"));
        const double *cell = assay_table_numbers(t, (size_t)column(t, "cell_index"));
        for (size_t i = 0; i < rows; i++) {
                assert_true(i == 0 || time[i] > time[i - 1]);
                assert_true(memory[i] > 0.05 && memory[i] < 10000); /* GiB */
                assert_true(isnan(cell[i]) || cell[i] == 7);
                in_cell += !isnan(cell[i]);
        }
        assert_true(in_cell > 0 && in_cell < rows + 1);
        assay_table_free(t);
        assay_table *part = table(session, "notebook:system", "phase", "cell 0");
        assert_int_equal(assay_table_rows(part), in_cell);
        assay_table_free(part);
        t = table(session, "gpus", NULL, NULL);
        assert_true(assay_table_rows(t) >= 20);
        assert_string_equal(assay_table_text(t, (size_t)column(t, "gpu"), 0), "0");
        const double *power = assay_table_numbers(t, (size_t)column(t, "power"));
        assert_true(power[0] > 50 && power[0] < 800);
        assert_true(assay_table_text(t, (size_t)column(t, "class"), 0)[0]);
        assay_table_free(t);
        part = table(session, "gpus", "last", "0.1");
        assert_true(assay_table_rows(part) >= 1 && assay_table_rows(part) < 20);
        assay_table_free(part);
        t = table(session, "system", NULL, NULL);
        static const char *const si[] = {"time",      "elapsed", "memory",     "cpu",
                                         "mem_total", "cores.0", "gpus.0.util"};
        for (size_t i = 0; i < N(si); i++) {
                if (column(t, si[i]) < 0)
                        fail_msg("no column %s", si[i]);
        }
        assert_true(assay_table_numbers(t, (size_t)column(t, "time"))[0] > 1e9);
        assert_true(assay_table_numbers(t, (size_t)column(t, "mem_total"))[0] > 1e8);
        assay_table_free(t);
        t = table(session, "events", NULL, NULL);
        assert_int_equal(assay_table_rows(t), 2);
        assert_string_equal(assay_table_text(t, (size_t)column(t, "event"), 1), "after");
        assay_table_free(t);
        t = table(session, "user_metrics", NULL, NULL);
        assert_true(assay_table_numbers(t, (size_t)column(t, "value"))[0] == 0.5);
        assay_table_free(t);
        t = table(getenv("TOUR"), "notebook:system", NULL, NULL); /* a capture: GPUs only */
        assert_true(assay_table_rows(t) > 1000);
        assert_true(isnan(assay_table_numbers(t, (size_t)column(t, "memory"))[5]));
        assay_table_free(t);
        assay_table_free(NULL);
}

static void tables_that_are_not_there(void **state UNUSED)
{
        static const struct {
                const char *path, *what;
                int code;
                const char *hint;
        } cases[] = {
            {session, "galaxy", ASSAY_E_USAGE, "process"},
            {session, "slurm", ASSAY_E_USAGE, "process system"},
            {"/nonexistent", "gpus", -ENOENT, ""},
            {"/nonexistent", "system", -ENOENT, ""},
            {"/nonexistent", "phases", -ENOENT, ""},
            {"/etc/passwd", "gpus", ASSAY_E_DATA, "wrote"},
            {"/etc/passwd", "events", ASSAY_E_DATA, "wrote"},
            {NULL, "gpus", ASSAY_E_USAGE, "name"},
        };
        for (size_t i = 0; i < N(cases); i++) {
                struct assay_error e = {0};
                assay_table *t = NULL;
                int r = assay_table_open(cases[i].path, cases[i].what, NULL, &t, &e);
                if (r != cases[i].code || !strstr(e.hint, cases[i].hint) || !e.message[0])
                        fail_msg("%s: %d %s (%s)", cases[i].what, r, e.message, e.hint);
                assert_null(t);
        }
        assert_int_equal(assay_table_rows(NULL), 0);
        assert_null(assay_table_name(NULL, 0));
        assert_null(assay_table_numbers(NULL, 0));
}

static void reports(void **state UNUSED)
{
        static const struct {
                const char *format, *has;
        } cases[] = {{"text", "finding"},
                     {"json", "\"phases\""},
                     {"html", "<svg"},
                     {"resource-summary", "\"cpu_usr_mean_pct\""},
                     {NULL, "finding"}};
        struct assay_error e = {0};
        char *text = NULL;
        for (size_t i = 0; i < N(cases); i++) {
                if (assay_file_report(session, cases[i].format, NULL, &text, &e) < 0)
                        fail_msg("%s", e.message);
                if (!strstr(text, cases[i].has))
                        fail_msg("no %s in %.500s", cases[i].has, text);
                assay_free(text);
        }
        assert_int_equal(assay_file_report(session, "poem", NULL, &text, &e), ASSAY_E_USAGE);
        assert_int_equal(assay_file_report("/nonexistent", "text", NULL, &text, &e), -ENOENT);
        assert_int_equal(assay_file_describe(session, &text, &e), 0);
        assert_non_null(strstr(text, "\"levels\":[\"process\",\"system\"]"));
        assert_non_null(strstr(text, "\"gpu_name\":\"NVIDIA H200\""));
        assert_non_null(strstr(text, "test_api_file"));
        assay_free(text);
        /* The three files that were written beside the session say the same as it does. */
        assert_int_equal(assay_resource_summary(inside("hw/hw_metrics.csv"),
                                                inside("hw/cpu_metrics.csv"),
                                                inside("hw/hw_dmon.csv"), &text, &e),
                         0);
        static const char *const keys[] = {"peak_vram_mb", "gpu_util_mean_pct", "mem_util_max_pct",
                                           "power_watts_mean", "cpu_idle_mean_pct"};
        for (size_t i = 0; i < N(keys); i++)
                assert_non_null(strstr(text, keys[i]));
        assay_free(text);
        assert_int_equal(
            assay_resource_summary(NULL, inside("hw/cpu_metrics.csv"), NULL, &text, &e), 0);
        assert_non_null(strstr(text, "\"peak_vram_mb\": null"));
        assert_non_null(strstr(text, "cpu_usr_mean_pct"));
        assay_free(text);
        assert_int_equal(assay_resource_summary("/etc/passwd", NULL, NULL, &text, &e), 0);
        assert_non_null(strstr(text, "\"peak_vram_mb\": null"));
        assay_free(text);
        assert_int_equal(assay_file_report("", "text", NULL, &text, &e), -ENOENT);
        assert_int_equal(assay_resource_summary(NULL, NULL, NULL, &text, &e), 0);
        assert_non_null(strstr(text, "\"cpu_idle_mean_pct\": null\n}\n"));
        assert_null(strstr(text, "mem_util"));
        assay_free(text);
}

/* Texts, numbers and JSON say the same. */
static void check_findings(const assay_findings *f)
{
        struct assay_finding first = {0};
        struct assay_stretch s = {0};
        struct assay_error e = {0};
        char *json = NULL, want[96];
        assert_true(assay_findings_count(f) > 0 && assay_findings_stretches(f) > 0);
        assert_int_equal(assay_findings_get(f, 0, &first), 0);
        assert_int_equal(assay_findings_stretch(f, first.stretch, &s), 0);
        assert_string_equal(first.limiter, s.limiter);
        assert_true(first.stretches >= 1 && first.seconds >= s.end_s - s.begin_s - 1e-9);
        assert_true(strncmp(first.text, "GPU ", 4) == 0 && first.advice[0] && s.rule[0]);
        assert_string_equal(first.gpus, "0");
        assert_int_equal(s.duty.state, ASSAY_VALUE_OK);
        struct assay_value engine = assay_findings_evidence(f, first.stretch, "engine");
        assert_true(engine.state == ASSAY_VALUE_OK && engine.v == s.duty.v);
        assert_int_equal(assay_findings_json(f, &json, &e), 0);
        snprintf(want, sizeof(want), "{\"limiter\":\"%s\"", first.limiter);
        assert_non_null(strstr(json, want));
        assert_non_null(strstr(json, "\"stretches\":["));
        assay_free(json);
}

static void findings(void **state UNUSED)
{
        assay_options *o = assay_options_new();
        assay_findings *f = NULL;
        struct assay_error e = {0};
        struct assay_finding none;
        struct assay_stretch s = {0};
        assert_int_equal(assay_file_findings(getenv("TOUR"), NULL, &f, &e), 0);
        check_findings(f);
        assert_int_equal(assay_findings_get(f, 1000, &none), ASSAY_E_USAGE);
        assert_int_equal(assay_findings_stretch(f, 1000, &s), ASSAY_E_USAGE);
        assert_int_equal(assay_findings_evidence(f, 0, "speed").state, ASSAY_VALUE_ABSENT);
        for (size_t i = 0; i < assay_findings_stretches(f); i++) {
                assert_int_equal(assay_findings_stretch(f, i, &s), 0);
                assert_null(s.flops.type); /* nobody has declared one */
        }
        assay_findings_free(f);
        assert_int_equal(assay_options_set(o, "flops", "bf16", &e), 0);
        assert_int_equal(assay_file_findings(getenv("TOUR"), o, &f, &e), 0);
        assert_int_equal(assay_findings_stretch(f, 0, &s), 0);
        assert_string_equal(s.flops.type, "bf16");
        assert_true(s.flops.lo <= s.flops.hi && s.flops.hi <= 1.12 * s.flops.lo);
        assay_findings_free(f);
        assay_options_free(o);
        assert_int_equal(assay_file_findings("/nonexistent", NULL, &f, &e), -ENOENT);
        assert_int_equal(assay_file_findings(NULL, NULL, &f, &e), ASSAY_E_USAGE);
        assert_int_equal(assay_findings_count(NULL), 0);
        assert_int_equal(assay_findings_json(NULL, NULL, &e), ASSAY_E_USAGE);
        assay_findings_free(NULL);
}

static bool starts_with(const char *path, const char *text)
{
        char head[16] = "";
        FILE *f = fopen(path, "r");
        size_t n = f ? fread(head, 1, sizeof(head) - 1, f) : 0;
        if (f)
                fclose(f);
        return n > 0 && strncmp(head, text, strlen(text)) == 0;
}

static void plots_and_conversions(void **state UNUSED)
{
        struct assay_error e = {0};
        const char *out = inside("run.svg");
        if (assay_file_plot(session, out, NULL, &e) < 0)
                fail_msg("%s", e.message);
        assert_true(starts_with(out, "<?xml") || starts_with(out, "<svg"));
        assert_int_equal(assay_file_plot(session, out, NULL, &e), 0); /* again: a live plot */
        assert_int_equal(assay_file_plot(session, inside("run.gif"), NULL, &e), ASSAY_E_USAGE);
        assert_int_equal(assay_file_plot(session, "/nonexistent/run.svg", NULL, &e), -2);
        assert_int_equal(assay_file_convert(session, inside("run.csv"), NULL, &e), 0);
        assert_true(starts_with(inside("run.csv"), "timestamp"));
        assert_int_equal(assay_file_convert(session, inside("run.csv"), NULL, &e), -17);
        assay_options *o = assay_options_new();
        assay_options_set(o, "to", "notebook", NULL);
        assert_int_equal(assay_file_convert(session, inside("book"), o, &e), 0);
        assay_options_free(o);
        /* The text of the cell comes through, and its number. */
        assay_table *t = table(inside("book"), "phases", NULL, NULL);
        assert_int_equal(assay_table_rows(t), 1);
        const char *data = assay_table_text(t, (size_t)column(t, "data"), 0);
        assert_non_null(strstr(data, "\"raw_cell\":\"a\\nb\""));
        assert_non_null(strstr(data, "\"cell_index\":7"));
        assay_table_free(t);
        assert_int_equal(assay_file_convert(session, inside("what"), NULL, &e), ASSAY_E_USAGE);
        assert_int_equal(assay_file_convert(session, "/nonexistent/x.zip", NULL, &e), -ENOENT);
        assert_true(strstr(e.message, "No such file") && e.hint[0]);
        assert_int_equal(assay_file_convert(session, NULL, NULL, &e), ASSAY_E_USAGE);
}

static int make_folder(void **state UNUSED)
{
        if (!mkdtemp(folder))
                return -1;
        snprintf(session, sizeof(session), "%s/run.assay", folder);
        return 0;
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
            cmocka_unit_test(record),   cmocka_unit_test(nobody_takes_the_locks),
            cmocka_unit_test(tables),   cmocka_unit_test(tables_that_are_not_there),
            cmocka_unit_test(reports),  cmocka_unit_test(bases),
            cmocka_unit_test(findings), cmocka_unit_test(plots_and_conversions),
        };
        return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
