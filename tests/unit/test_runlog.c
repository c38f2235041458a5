/* The run log's lines, as the documents promise them. */
#include "test.h"

#include "base/clock.h"
#include "session/runlog.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static void lines(void **state UNUSED)
{
        static const struct {
                const char *reason;
                struct mark m;
                int64_t began_ns;
                const char *line;
        } cases[] = {
            {"a phase with a key",
             {.wall_ns = 1767323045678000000,
              .type = MARK_PHASE,
              .name = "warmup",
              .has_seconds = true,
              .seconds = 12.3449,
              .data = (char *)(uintptr_t) "{\"step\":100}"},
             0,
             "{\"ts\":\"2026-01-02T03:04:05.678+00:00\",\"type\":\"phase\",\"name\":\"warmup\","
             "\"seconds\":12.345,\"step\":100}\n"},
            {"an event with data",
             {.wall_ns = 1767323046000000000,
              .type = MARK_EVENT,
              .name = "start",
              .data = (char *)(uintptr_t) "{\"lr\":0.1}"},
             0,
             "{\"ts\":\"2026-01-02T03:04:06.000+00:00\",\"type\":\"event\",\"event\":\"start\","
             "\"data\":{\"lr\":0.1}}\n"},
            {"an event without",
             {.wall_ns = 1767323046000999999, .type = MARK_EVENT, .name = "a\"b"},
             0,
             "{\"ts\":\"2026-01-02T03:04:06.000+00:00\",\"type\":\"event\",\"event\":\"a\\\"b\"}"
             "\n"},
            {"a number",
             {.wall_ns = 1767323046000000000, .type = MARK_METRIC, .name = "loss", .value = 0.25},
             0,
             "{\"ts\":\"2026-01-02T03:04:06.000+00:00\",\"type\":\"metric\",\"name\":\"loss\","
             "\"value\":0.25}\n"},
            {"the end of a phase",
             {.wall_ns = 1767323047500000000, .type = MARK_END, .name = "x"},
             1767323046000000000,
             "{\"ts\":\"2026-01-02T03:04:07.500+00:00\",\"type\":\"phase\",\"name\":\"x\","
             "\"seconds\":1.5,\"began\":\"2026-01-02T03:04:06.000+00:00\"}\n"},
            {"an end without a beginning",
             {.wall_ns = 1767323047500000000, .type = MARK_END, .name = "x"},
             0,
             "{\"ts\":\"2026-01-02T03:04:07.500+00:00\",\"type\":\"phase\",\"name\":\"x\"}\n"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct strbuf out = {0};
                assert_int_equal(runlog_line(&cases[i].m, cases[i].began_ns, &out), 0);
                if (strcmp(strbuf_str(&out), cases[i].line) != 0)
                        fail_msg("%s: %s", cases[i].reason, strbuf_str(&out));
                strbuf_finish(&out);
        }
}

static void keys(void **state UNUSED)
{
        static const struct {
                const char *reason, *words[3];
                size_t n;
                const char *json; /* NULL: refused */
        } cases[] = {
            {"a number", {"step=100"}, 1, "{\"step\":100}"},
            {"not quite a number", {"v=1.2.3"}, 1, "{\"v\":\"1.2.3\"}"},
            {"text with a blank and an equals sign", {"a=b c=d"}, 1, "{\"a\":\"b c=d\"}"},
            {"true and null", {"a=true", "b=null"}, 2, "{\"a\":true,\"b\":null}"},
            {"an object stays text", {"a={}"}, 1, "{\"a\":\"{}\"}"},
            {"empty", {"a="}, 1, "{\"a\":\"\"}"},
            {"no equals sign", {"word"}, 1, NULL},
            {"no key", {"=1"}, 1, NULL},
            {"a key of our own", {"seconds=1"}, 1, NULL},
            {"no text at all", {"a=\xff"}, 1, NULL},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                char *s = NULL;
                struct err err = {0};
                int r = runlog_keys(cases[i].words, cases[i].n, &s, &err);
                if ((r == 0) != (cases[i].json != NULL) || (s && strcmp(s, cases[i].json) != 0))
                        fail_msg("%s: %s", cases[i].reason, s ? s : err.msg);
                if (r < 0)
                        assert_true(err.hint[0] != '\0');
                free(s);
        }
}

static void append(const char *path, enum mark_type type, const char *name, int64_t ms)
{
        struct mark m = {.type = type, .wall_ns = (1767323046000 + ms) * NS_PER_MS};
        struct err err = {0};
        snprintf(m.name, sizeof(m.name), "%s", name);
        assert_int_equal(runlog_append(path, &m, &err), 0);
}

static void nested_phases_find_their_beginning(void **state UNUSED)
{
        char path[] = "/tmp/assay-log-XXXXXX", text[2000] = "";
        int fd = mkstemp(path);
        append(path, MARK_BEGIN, "a", 0);
        append(path, MARK_BEGIN, "b", 100);
        append(path, MARK_BEGIN, "a", 200);
        append(path, MARK_END, "a", 300);
        append(path, MARK_END, "b", 400);
        append(path, MARK_END, "a", 500);
        assert_true(read(fd, text, sizeof(text) - 1) > 0);
        const char *wanted[] = {"\"a\",\"seconds\":0.1,", "\"b\",\"seconds\":0.3,",
                                "\"a\",\"seconds\":0.5,"};
        const char *at = text;
        for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
                at = strstr(at, wanted[i]);
                assert_non_null(at);
        }
        close(fd);
        unlink(path);
}

/* A training of hours: its beginning is megabytes back, and a step costs the same as at first. */
static void a_long_log(void **state UNUSED)
{
        char path[] = "/tmp/assay-log-XXXXXX", text[400] = "";
        static const char metric[] = "{\"type\":\"metric\",\"name\":\"train\",\"value\":1}\n";
        int fd = mkstemp(path);
        append(path, MARK_BEGIN, "train", 0);
        FILE *f = fopen(path, "a");
        for (size_t i = 0; i < 6000000 / sizeof(metric); i++)
                assert_true(fputs(metric, f) >= 0);
        fclose(f);
        int64_t before = clock_mono_ns();
        for (int i = 0; i < 200; i++) {
                append(path, MARK_BEGIN, "step", 10 * i);
                append(path, MARK_END, "step", 10 * i + 5);
        }
        assert_true(clock_mono_ns() - before < 2 * NS_PER_S);
        append(path, MARK_END, "train", 5000);
        assert_true(lseek(fd, -300, SEEK_END) > 0 && read(fd, text, sizeof(text) - 1) > 0);
        assert_non_null(strstr(text, "\"step\",\"seconds\":0.005,"));
        assert_non_null(strstr(text, "\"train\",\"seconds\":5.0,"));
        close(fd);
        unlink(path);
}

static void odd_ends(void **state UNUSED)
{
        char path[] = "/tmp/assay-log-XXXXXX", text[1000] = "";
        struct mark m = {.type = MARK_PHASE, .name = "a\xff"};
        struct err err = {0};
        int fd = mkstemp(path);
        append(path, MARK_BEGIN, "a", 1000);
        append(path, MARK_END, "a", 0); /* the clock was set back */
        append(path, MARK_END, "a", 10);
        assert_int_equal(runlog_append(path, &m, &err), ERR_USAGE);
        assert_non_null(strstr(err.msg, "UTF-8"));
        assert_true(read(fd, text, sizeof(text) - 1) > 0);
        assert_non_null(strstr(text, "\"a\",\"seconds\":0.0,\"began\""));
        assert_non_null(strstr(text, "\"type\":\"phase\",\"name\":\"a\"}\n"));
        close(fd);
        unlink(path);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(lines),
            cmocka_unit_test(keys),
            cmocka_unit_test(nested_phases_find_their_beginning),
            cmocka_unit_test(a_long_log),
            cmocka_unit_test(odd_ends),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
