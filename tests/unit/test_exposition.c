#include "test.h"

#include "base/attr.h"
#include "formats/exposition/exposition.h"
#include "formats/exposition/text.h"
#include "net/address.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool want(enum dialect dialect UNUSED, const char *field, size_t len)
{
        static const char *const names[] = {"TEMP", "POWER", "Hostname", "hpc_job", "modelName"};
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                if (strlen(names[i]) == len && memcmp(names[i], field, len) == 0)
                        return true;
        }
        return false;
}

static enum exposition_line feed(struct exposition *x, const char *line)
{
        /* A copy of the exact size lets the sanitizer see a read past the end. */
        size_t len = strlen(line);
        char *copy = malloc(len + (len == 0));
        memcpy(copy, line, len);
        enum exposition_line r = exposition_line(x, copy, len);
        free(copy);
        return r;
}

static void reads_lines(void **state UNUSED)
{
        static const struct {
                const char *line;
                enum exposition_line result;
                const char *why;
        } cases[] = {
            {"", EXPOSITION_SKIPPED, "nothing"},
            {" \t ", EXPOSITION_SKIPPED, "blanks"},
            {"#", EXPOSITION_SKIPPED, "a bare comment"},
            {"# EOF", EXPOSITION_SKIPPED, "the end of OpenMetrics"},
            {"# HELP TEMP how { hot \" it is", EXPOSITION_SKIPPED, "help may hold anything"},
            {"# TYPE", EXPOSITION_SKIPPED, "a comment cut short"},
            {"TEMP{gpu=\"0\"} 61", EXPOSITION_SAMPLE, "the plain case"},
            {"TEMP{gpu=\"1\",} 61", EXPOSITION_SAMPLE, "a comma after the last label"},
            {"TEMP{gpu=\"2\"}61", EXPOSITION_SAMPLE, "no blank before the value"},
            {"\tTEMP {\tgpu = \"3\" , a=\"}\" } \t6.1e1 \t", EXPOSITION_SAMPLE, "blanks anywhere"},
            {"TEMP{gpu=\"4\"} -1.5E-2 1700000000123", EXPOSITION_SAMPLE, "a time"},
            {"TEMP{gpu=\"5\"} 1 -3982045", EXPOSITION_SAMPLE, "a time before 1970"},
            {"TEMP{gpu=\"6\"} NaN", EXPOSITION_SAMPLE, "not a number"},
            {"TEMP{gpu=\"7\"} +Inf", EXPOSITION_SAMPLE, "infinity"},
            {"TEMP{gpu=\"8\"} -inf", EXPOSITION_SAMPLE, "words in any case"},
            {"TEMP{gpu=\"9\"} 1 # {t=\"x\"} 0.5", EXPOSITION_SAMPLE, "an exemplar"},
            {"TEMP{gpu=\"10\"} 1 1.5 # {} 2 3.5", EXPOSITION_SAMPLE, "a time and an exemplar"},
            {"TEMP{gpu=\"11\",a=\"\\\\\"} 1", EXPOSITION_SAMPLE, "a backslash before the quote"},
            {"TEMP{gpu=\"12\",a=\"\\\"} 2\"} 1", EXPOSITION_SAMPLE, "an escaped quote"},
            {"TEMP{gpu=\"13\",\"b.c\"=\"d\"} 1", EXPOSITION_SAMPLE, "a label name in quotes"},
            {"TEMP{UUID=\"GPU-x\"} 1", EXPOSITION_SAMPLE, "known by UUID alone"},
            {"TEMP{gpu=\"nvidia0\"} 1", EXPOSITION_SAMPLE, "a name for a number"},
            {"TEMP 1", EXPOSITION_SKIPPED, "no labels"},
            {"TEMP{} 1", EXPOSITION_SKIPPED, "no label at all"},
            {"TEMP{cpu=\"0\"} 1", EXPOSITION_SKIPPED, "not about a GPU"},
            {"TEMP{gpu=\"\"} 1", EXPOSITION_SKIPPED, "an empty label is none"},
            {"up 1", EXPOSITION_SKIPPED, "nobody wants it"},
            {"up{a=\"b\"} 1", EXPOSITION_SKIPPED, "nobody wants it, labels and all"},
            {"TEMPERATURE{gpu=\"0\"} 1", EXPOSITION_SKIPPED, "a longer name is another name"},
            {"{\"quoted.name\",gpu=\"0\"} 1", EXPOSITION_SKIPPED, "a name in quotes"},
            {"TEMP", EXPOSITION_BAD, "no value"},
            {"TEMP ", EXPOSITION_BAD, "no value after a blank"},
            {"TEMP{gpu=\"0\"}", EXPOSITION_BAD, "no value after the labels"},
            {"TEMP{gpu=\"0\"} warm", EXPOSITION_BAD, "a word for a value"},
            {"TEMP{gpu=\"0\"} 0x10", EXPOSITION_BAD, "no hexadecimal"},
            {"TEMP{gpu=\"0\"} 1 soon", EXPOSITION_BAD, "a word for a time"},
            {"TEMP{gpu=\"0\"} 1 NaN", EXPOSITION_BAD, "a time that is none"},
            {"TEMP{gpu=\"0\"} 1 2 3", EXPOSITION_BAD, "one word too many"},
            {"TEMP{gpu=\"0\"} 1 #", EXPOSITION_BAD, "half an exemplar"},
            {"TEMP{gpu=\"0\"} 1 # {a=\"b\"}", EXPOSITION_BAD, "an exemplar without a value"},
            {"TEMP{gpu=\"0\"} 1 # {a=b} 1", EXPOSITION_BAD, "an exemplar with a bad label"},
            {"TEMP{gpu=\"0} 1", EXPOSITION_BAD, "an open quote"},
            {"TEMP{gpu=\"0\" 1", EXPOSITION_BAD, "an open brace"},
            {"TEMP{gpu=0} 1", EXPOSITION_BAD, "no quotes"},
            {"TEMP{gpu} 1", EXPOSITION_BAD, "no value of a label"},
            {"TEMP{=\"0\"} 1", EXPOSITION_BAD, "no name of a label"},
            {"TEMP{,} 1", EXPOSITION_BAD, "a comma and no label"},
            {"TEMP{gpu=\"0\" UUID=\"x\"} 1", EXPOSITION_BAD, "no comma"},
            {"TEMP{gpu=\"0\\", EXPOSITION_BAD, "ends in a backslash"},
            {"<html>", EXPOSITION_BAD, "a web page"},
            {"1TEMP 1", EXPOSITION_BAD, "a name starts with a letter"},
            {"up{a=\"b\"}", EXPOSITION_BAD, "unwanted, and no value"},
            {"up one", EXPOSITION_BAD, "unwanted, and a word for a value"},
            {"up", EXPOSITION_BAD, "unwanted, and nothing else"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct exposition *x;
                assert_int_equal(exposition_open(want, &x), 0);
                for (int again = 0; again < 2; again++) { /* first learnt, then predicted */
                        exposition_begin(x);
                        enum exposition_line r = feed(x, cases[i].line);
                        if (r != cases[i].result)
                                fail_msg("%s: '%s' gave %d", cases[i].why, cases[i].line, r);
                }
                exposition_close(x);
        }
}

static const struct raw *cell(const struct batch *b, size_t row, const char *field)
{
        for (size_t i = 0; i < b->schema->n; i++) {
                if (strcmp(b->schema->names[i], field) == 0)
                        return &b->readings[row].values[i];
        }
        fail_msg("there is no field '%s'", field);
        return NULL;
}

static void reads_values(void **state UNUSED)
{
        static const struct {
                const char *text;
                double value;
                enum state state;
                const char *why;
        } cases[] = {
            {"61", 61, STATE_OK, "a number"},
            {"-0.000", 0, STATE_OK, "negative zero"},
            {"9.9e3", 9900, STATE_OK, "an exponent"},
            {"NaN", 0, STATE_BLANK, "not a number is missing"},
            {"+Inf", 0, STATE_BLANK, "infinity is missing"},
            {"-Inf", 0, STATE_BLANK, "so is the other"},
            {"9223372036854775792", 0, STATE_BLANK, "DCGM's blank"},
            {"9223372036854775794", 0, STATE_UNSUPPORTED, "its neighbour: not supported"},
            {"9223372036854775795", 0, STATE_DENIED, "its neighbour: no permission"},
            {"9.223372036854776e+18", 0, STATE_BLANK, "as other tools write it"},
            {"140737488355328", 0, STATE_BLANK, "the blank of doubles"},
            {"140737488355330", 0, STATE_UNSUPPORTED, "not supported"},
            {"140737488355331", 0, STATE_DENIED, "no permission"},
            {"2147483632", 0, STATE_BLANK, "the blank of 32 bits"},
            {"2147483635", 0, STATE_DENIED, "no permission"},
            {"2147483631", 2147483631.0, STATE_OK, "a number below them"},
            {"2147483636", 2147483636.0, STATE_OK, "a number above them"},
            {"2147483632.5", 2147483632.5, STATE_OK, "a number among them"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct exposition *x;
                struct batch b;
                char line[128];
                assert_int_equal(exposition_open(want, &x), 0);
                snprintf(line, sizeof(line), "TEMP{gpu=\"0\"} %s", cases[i].text);
                assert_int_equal(feed(x, line), EXPOSITION_SAMPLE);
                exposition_give(x, &b);
                const struct raw *raw = cell(&b, 0, "TEMP");
                if (raw->state != cases[i].state ||
                    (raw->state == STATE_OK && raw->num != cases[i].value))
                        fail_msg("%s: '%s' is %g, state %d", cases[i].why, cases[i].text, raw->num,
                                 raw->state);
                exposition_close(x);
        }
}

static void names_entities(void **state UNUSED)
{
        static const struct {
                const char *labels;
                enum entity_kind kind;
                int index, gi;
                const char *uuid, *host, *why;
        } cases[] = {
            {"gpu=\"3\",UUID=\"GPU-x\",Hostname=\"n1\"", ENTITY_GPU, 3, -1, "GPU-x", "n1",
             "dcgm-exporter"},
            {"gpu=\"3\",uuid=\"GPU-x\",hostname=\"n1\"", ENTITY_GPU, 3, -1, "GPU-x", "n1",
             "older spellings"},
            {"gpu=\"0\",UUID=\"GPU-x\",GPU_I_PROFILE=\"1g.10gb\",GPU_I_ID=\"7\"",
             ENTITY_GPU_INSTANCE, 0, 7, "GPU-x", "", "a MIG slice"},
            {"gpu=\"0\",GPU_I_ID=\"\"", ENTITY_GPU, 0, -1, "", "", "an empty instance is none"},
            {"gpu=\"0\",GPU_I_ID=\"0\"", ENTITY_GPU_INSTANCE, 0, 0, "", "", "instance 0"},
            {"UUID=\"GPU-x\"", ENTITY_GPU, -1, -1, "GPU-x", "", "no number"},
            {"gpu=\"card\"", ENTITY_GPU, -1, -1, "card", "", "a name for a number"},
            {"gpu=\"99999999999\",UUID=\"u\"", ENTITY_GPU, -1, -1, "u", "", "no such number"},
            {"gpu=\"1\",Hostname=\"a\\\\b\\\"c\\nd\\xe\"", ENTITY_GPU, 1, -1, "", "a\\b\"c\nd\\xe",
             "escapes; one that is not known stays"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct exposition *x;
                struct batch b;
                char line[256];
                assert_int_equal(exposition_open(want, &x), 0);
                snprintf(line, sizeof(line), "TEMP{%s} 1", cases[i].labels);
                assert_int_equal(feed(x, line), EXPOSITION_SAMPLE);
                exposition_give(x, &b);
                const struct entity_key *k = &b.readings[0].who;
                if (b.n != 1 || k->kind != cases[i].kind || k->index != cases[i].index ||
                    k->gi != cases[i].gi || k->uuid_len != strlen(cases[i].uuid) ||
                    memcmp(k->uuid ? k->uuid : "", cases[i].uuid, k->uuid_len) != 0 ||
                    k->host_len != strlen(cases[i].host) ||
                    memcmp(k->host ? k->host : "", cases[i].host, k->host_len) != 0)
                        fail_msg("%s: index %d gi %d uuid '%.*s' host '%.*s'", cases[i].why,
                                 k->index, k->gi, (int)k->uuid_len, k->uuid, (int)k->host_len,
                                 k->host);
                exposition_close(x);
        }
}

static void begins_rounds(void **state UNUSED)
{
        static const struct {
                const char *lines[6];
                int repeats_at; /* -1: never */
                const char *why;
        } cases[] = {
            {{"TEMP{gpu=\"0\"} 1", "TEMP{gpu=\"1\"} 1", "TEMP{gpu=\"0\"} 1"}, 2, "a series again"},
            {{"TEMP{gpu=\"0\"} 1", "POWER{gpu=\"0\"} 1", "POWER{gpu=\"0\"} 1"}, 2, "any series"},
            {{"TEMP{gpu=\"0\"} 1", "POWER{gpu=\"0\"} 1"}, -1, "another metric"},
            {{"TEMP{gpu=\"0\"} 1", "TEMP{gpu=\"0\",GPU_I_ID=\"1\"} 1"}, -1, "a slice of it"},
            {{"TEMP{gpu=\"0\",pod=\"a\"} 1", "TEMP{gpu=\"0\",pod=\"b\"} 1"},
             -1,
             "one GPU shared by two pods"},
            {{"# TYPE TEMP gauge", "TEMP{gpu=\"0\",pod=\"a\"} 1", "# TYPE TEMP gauge",
              "TEMP{gpu=\"0\",pod=\"b\"} 1"},
             3,
             "announced again, under new labels"},
            {{"TEMP{gpu=\"0\"} 1", "# TYPE TEMP gauge", "TEMP{gpu=\"1\"} 1"},
             -1,
             "announced again, another GPU"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct exposition *x;
                int at = -1;
                assert_int_equal(exposition_open(want, &x), 0);
                for (int k = 0; k < 6 && cases[i].lines[k] && at < 0; k++) {
                        if (feed(x, cases[i].lines[k]) == EXPOSITION_REPEATS)
                                at = k;
                }
                if (at != cases[i].repeats_at)
                        fail_msg("%s: the round ended at line %d", cases[i].why, at);
                exposition_close(x);
        }
}

/* What a round leaves out is missing in it, and labels are those of the round. */
static void keeps_rounds_apart(void **state UNUSED)
{
        struct exposition *x;
        struct batch b;
        assert_int_equal(exposition_open(want, &x), 0);
        assert_int_equal(feed(x, "TEMP{gpu=\"5\"} 6} 2"), EXPOSITION_BAD);
        exposition_give(x, &b);
        assert_int_equal(b.n, 0); /* only a bad line named it */
        feed(x, "TEMP{gpu=\"0\",hpc_job=\"1\"} 10 1700000000000");
        feed(x, "TEMP{gpu=\"1\"} 11");
        feed(x, "POWER{gpu=\"0\",hpc_job=\"1\"} 20");
        exposition_give(x, &b);
        uint64_t digest = exposition_digest(x);
        int64_t wall = 0;
        assert_int_equal(b.n, 2);
        assert_true(exposition_time(x, &wall) && wall == 1700000000000000000);
        assert_int_equal(cell(&b, 1, "POWER")->state, STATE_NONE);

        exposition_begin(x);
        feed(x, "POWER{gpu=\"0\",hpc_job=\"2\"} 30");
        exposition_give(x, &b);
        assert_int_equal(b.n, 1);
        assert_int_equal(cell(&b, 0, "TEMP")->state, STATE_NONE);
        assert_true(cell(&b, 0, "POWER")->num == 30);
        assert_memory_equal(cell(&b, 0, "hpc_job")->text, "2", 1);
        assert_false(exposition_time(x, &wall));
        assert_true(exposition_digest(x) != digest);

        /* Nothing about a GPU: what was given stays. */
        exposition_begin(x);
        feed(x, "TEMP{cpu=\"0\"} 1");
        assert_int_equal(exposition_entities(x), 0);
        exposition_give(x, &b);
        exposition_set_age(x, STATE_STALE, 1500);
        assert_int_equal(b.n, 1);
        assert_true(cell(&b, 0, "POWER")->num == 30);
        assert_int_equal(cell(&b, 0, "POWER")->state, STATE_STALE);
        assert_int_equal(cell(&b, 0, "POWER")->age_ms, 1500);
        assert_int_equal(cell(&b, 0, "hpc_job")->state, STATE_OK);
        assert_int_equal(cell(&b, 0, "TEMP")->state, STATE_NONE);
        exposition_close(x);
}

/* The same scrape has the same digest; another value, label or time another one. */
static void tells_scrapes_apart(void **state UNUSED)
{
        static const struct {
                const char *line;
                bool same;
        } cases[] = {
            {"TEMP{gpu=\"0\",hpc_job=\"1\"} 10", true},
            {"TEMP{gpu=\"0\",hpc_job=\"1\"}   1e1", true},
            {"TEMP{gpu=\"0\",hpc_job=\"1\"} 11", false},
            {"TEMP{gpu=\"0\",hpc_job=\"2\"} 10", false},
            {"POWER{gpu=\"0\",hpc_job=\"1\"} 10", false},
            {"TEMP{gpu=\"0\",hpc_job=\"1\"} 10 1700000000000", false},
        };
        struct exposition *x;
        assert_int_equal(exposition_open(want, &x), 0);
        feed(x, cases[0].line);
        feed(x, "POWER{gpu=\"9\"} 1");
        uint64_t digest = exposition_digest(x);
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                exposition_begin(x);
                feed(x, cases[i].line);
                feed(x, "POWER{gpu=\"9\"} 1");
                if ((exposition_digest(x) == digest) != cases[i].same)
                        fail_msg("'%s' is taken for %s", cases[i].line,
                                 cases[i].same ? "new" : "old");
        }
        exposition_close(x);
}

/* Jobs come and go for weeks: labels of the past are forgotten, entities and values stay right. */
static void forgets_old_labels(void **state UNUSED)
{
        struct exposition *x;
        struct batch b;
        char line[128];
        assert_int_equal(exposition_open(want, &x), 0);
        for (int round = 0; round < 20000; round++) {
                exposition_begin(x);
                for (int gpu = 0; gpu < 8; gpu++) {
                        snprintf(line, sizeof(line), "TEMP{gpu=\"%d\",hpc_job=\"%d\"} %d", gpu,
                                 round, gpu + round);
                        assert_int_equal(feed(x, line), EXPOSITION_SAMPLE);
                }
                exposition_give(x, &b);
                assert_int_equal(b.n, 8);
                assert_true(cell(&b, 7, "TEMP")->num == 7 + round);
        }
        exposition_close(x);
}

static void has_limits(void **state UNUSED)
{
        struct exposition *x;
        struct batch b;
        char line[128];
        size_t full = 0;
        assert_int_equal(exposition_open(NULL, &x), 0);
        for (int i = 0; i < EXPOSITION_ENTITIES_MAX + 10; i++) {
                snprintf(line, sizeof(line), "TEMP{gpu=\"%d\",UUID=\"%d\"} 1", i % 8, i);
                full += feed(x, line) == EXPOSITION_FULL;
        }
        for (int i = 0; i < 600; i++) {
                snprintf(line, sizeof(line), "METRIC_%d{gpu=\"0\",UUID=\"0\",l%d=\"v\"} 1", i, i);
                feed(x, line);
        }
        exposition_give(x, &b);
        assert_int_equal(full, 10);
        assert_int_equal(b.n, EXPOSITION_ENTITIES_MAX);
        assert_int_equal(b.schema->n, EXPOSITION_FIELDS_MAX);
        exposition_close(x);
}

static void recognises(void **state UNUSED)
{
        static const struct {
                const char *text;
                bool is;
                const char *why;
        } cases[] = {
            {"# HELP a b\n", true, "help first"},
            {"# TYPE a gauge\r\na 1\r\n", true, "type first, DOS lines"},
            {"\n  \n# anything\nup{a=\"b\"} 1\n", true, "a comment, then a sample"},
            {"up 1", true, "a sample without labels or end of line"},
            {"# EOF\n", false, "nothing in it"},
            {"", false, "empty"},
            {"# anything\n", false, "comments alone"},
            {"<!DOCTYPE html>\n", false, "a web page"},
            {"up\n", false, "a word"},
            {"0, 12, 3\n", false, "a CSV file"},
            {"{\"a\":1}\n", false, "JSON"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                if (exposition_probe(cases[i].text, strlen(cases[i].text)) != cases[i].is)
                        fail_msg("%s", cases[i].why);
        }
}

static void reads_addresses(void **state UNUSED)
{
        static const struct {
                const char *text, *url, *shown, *origin; /* url NULL: refused */
                bool loopback;
                const char *why;
        } cases[] = {
            {"http://h:9400/metrics", "http://h:9400/metrics", "http://h:9400/metrics",
             "http://h:9400", false, "as it is"},
            {"http://h:9400", "http://h:9400/metrics", "http://h:9400/metrics", "http://h:9400",
             false, "the usual path"},
            {"https://me:p@ss@h/m?token=1#x", "https://me:p@ss@h/m?token=1#x", "https://h/m",
             "https://h", false, "secrets are not shown"},
            {"http://u:p@localhost:1/", "http://u:p@localhost:1/", "http://localhost:1/",
             "http://localhost:1", true, "this machine"},
            {"HTTP://[::1]:9400/m", "HTTP://[::1]:9400/m", "HTTP://[::1]:9400/m",
             "HTTP://[::1]:9400", true, "IPv6"},
            {"/var/lib/x.prom", "/var/lib/x.prom", "/var/lib/x.prom", "/var/lib/x.prom", false,
             "a file"},
            {"ftp://h/x", NULL, NULL, NULL, false, "another scheme"},
            {"file:///etc/passwd", NULL, NULL, NULL, false, "no files by URL"},
            {"http:///metrics", NULL, NULL, NULL, false, "no host"},
            {"http://user@/metrics", NULL, NULL, NULL, false, "a user and no host"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct address a;
                struct err err = {0};
                int r = address_parse(cases[i].text, &a, &err);
                bool good = cases[i].url ? r == 0 && strcmp(a.url, cases[i].url) == 0 &&
                                               strcmp(a.shown, cases[i].shown) == 0 &&
                                               strcmp(a.origin, cases[i].origin) == 0 &&
                                               a.loopback == cases[i].loopback
                                         : r == ERR_USAGE && err.hint[0];
                if (!good)
                        fail_msg("%s: '%s' gave %d", cases[i].why, cases[i].text, r);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(reads_lines),        cmocka_unit_test(reads_values),
            cmocka_unit_test(names_entities),     cmocka_unit_test(begins_rounds),
            cmocka_unit_test(keeps_rounds_apart), cmocka_unit_test(tells_scrapes_apart),
            cmocka_unit_test(forgets_old_labels), cmocka_unit_test(has_limits),
            cmocka_unit_test(recognises),         cmocka_unit_test(reads_addresses),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
