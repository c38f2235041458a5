/* The tables as tables: names unique, help present, every metric has a producer. */
#include "test.h"

#include "app/setup.h"
#include "base/attr.h"
#include "cmd/command.h"
#include "config/config.h"
#include "formats/format.h"
#include "model/entity.h"
#include "model/limit.h"
#include "model/metric.h"
#include "model/throttle.h"
#include "model/verdict.h"
#include "model/where.h"
#include "model/xid.h"
#include "present/stream/columns.h"
#include "read/source.h"
#include "translate/map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void metrics(void **state UNUSED)
{
        for (enum metric a = 0; a < METRIC_COUNT; a++) {
                const struct metric_info *i = metric_info(a);
                assert_true(i->name[0] && i->help[0]);
                assert_int_equal(metric_find(i->name, strlen(i->name)), a);
                assert_true(i->help[strlen(i->help) - 1] != '.');
        }
        assert_int_equal(metric_find("no_such", 7), METRIC_COUNT);
}

/* The level of each field, as DCGM itself has it: 1 the GPU, 4 and 5 a slice. */
static void scopes_are_those_of_dcgm(void **state UNUSED)
{
        static const struct {
                int id;
                enum metric metric;
        } fields[] = {
#define DCGM_TEXT(id, old_name, new_name, column, text)
#define DCGM_NAME(id, old_name, new_name, column)
#define DCGM(id, old_name, new_name, column, metric, conversion) {id, METRIC_##metric},
#include "translate/dcgm.def"
        };
        char path[4096], line[512];
        int id, level, width, cell;
        size_t found = 0;
        snprintf(path, sizeof(path), "%s/dcgm/ALL-FIELDS.tsv", getenv("FIXTURES"));
        FILE *f = fopen(path, "re");
        assert_non_null(f);
        while (fgets(line, sizeof(line), f)) {
                if (sscanf(line, "%d\t%*[^\t]\t%*[^\t]\t%d\t%d\t%*c\t%d", &id, &width, &cell,
                           &level) != 4)
                        continue;
                for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
                        if (fields[i].id != id)
                                continue;
                        bool own = metric_info(fields[i].metric)->scope == METRIC_SCOPE_INSTANCE;
                        if (own != (level >= 4))
                                fail_msg("field %d is of level %d", id, level);
                        found++;
                }
        }
        fclose(f);
        assert_int_equal(found, ARRAY_LEN(fields));
}

static void every_metric_has_a_producer(void **state UNUSED)
{
        /* DIALECT_CANON names them all, so it does not count. */
        for (enum metric m = 0; m < METRIC_COUNT; m++) {
                bool produced = metric_info(m)->kind == METRIC_KIND_DERIVED;
                for (enum dialect d = 0; d < DIALECT_COUNT; d++) {
                        const struct map *map = map_for(d);
                        for (size_t i = 0; d != DIALECT_CANON && i < map->n; i++)
                                produced |= !map->rows[i].text && map->rows[i].to == m;
                }
                if (!produced)
                        fail_msg("no source gives %s", metric_info(m)->name);
        }
}

static void maps_have_unique_names(void **state UNUSED)
{
        for (enum dialect d = 0; d < DIALECT_COUNT; d++) {
                const struct map *map = map_for(d);
                for (size_t i = 0; i < map->n; i++) {
                        for (size_t k = i + 1; k < map->n && map->rows[i].name[0]; k++) {
                                if (strcmp(map->rows[i].name, map->rows[k].name) == 0)
                                        fail_msg("%s stands twice", map->rows[i].name);
                        }
                }
        }
}

static void columns(void **state UNUSED)
{
        const struct column *a, *b;
        for (size_t i = 0; (a = column_at(i)); i++) {
                assert_true(a->name[0] && a->help[0]);
                for (size_t k = i + 1; (b = column_at(k)); k++)
                        assert_string_not_equal(a->name, b->name);
                /* What we write under a name we read under that name. */
                bool is_value = a->kind == COLUMN_PERCENT || a->kind == COLUMN_MIB ||
                                a->kind == COLUMN_GIGA || a->kind == COLUMN_MEGA ||
                                a->kind == COLUMN_RAW || a->kind == COLUMN_TEXT;
                bool derived = a->kind != COLUMN_TEXT && is_value &&
                               (a->what == METRIC_REAL_UTIL || a->what == METRIC_FB_USED_RATIO);
                const struct map *map = map_for(DIALECT_COLUMNS);
                bool read = false;
                for (size_t k = 0; k < map->n; k++)
                        read |=
                            strcmp(map->rows[k].name, a->name) == 0 && map->rows[k].to == a->what;
                if (is_value && !derived && !read)
                        fail_msg("column %s is written and not read", a->name);
        }
}

/* A word in the list that is no command would bind nothing. */
static void commands_are_known(const char *list)
{
        static const char *const others[] = {"-", "library"};
        char copy[256], *rest = copy, *word;
        snprintf(copy, sizeof(copy), "%s", list);
        while ((word = strsep(&rest, " "))) {
                bool known = word[0] == '\0' || command_find(word) != NULL;
                for (size_t i = 0; i < ARRAY_LEN(others); i++)
                        known |= strcmp(word, others[i]) == 0;
                if (!known)
                        fail_msg("'%s' is no command", word);
        }
}

/* What a command shows as its default is a value that it takes. */
static void defaults_are_valid(void **state UNUSED)
{
        for (size_t k = 0; command_at(k); k++) {
                for (enum option a = 0; a < OPT_COUNT_OF; a++) {
                        const char *command = command_at(k)->name;
                        const struct option_info o = option_for(a, command);
                        struct config c = {.command = command};
                        struct err err = {0};
                        if (!option_applies(a, command) || !o.fallback[0])
                                continue;
                        if (config_put(&c, a, o.fallback, &err) < 0)
                                fail_msg("%s --%s: %s", command, o.name, err.msg);
                        config_finish(&c);
                }
        }
}

/* One truth: what help shows is what the program gets. */
static void defaults_differ_by_command(void **state UNUSED)
{
        static const struct {
                const char *command;
                enum option option;
                const char *want, *why;
        } rows[] = {
            {"top", OPT_HISTORY, "1200", "the dashboard keeps twenty minutes"},
            {NULL, OPT_HISTORY, "600", "the library keeps ten"},
            {"top", OPT_SPEED, "1", "a person watches in real time"},
            {"export", OPT_SPEED, "0", "a program reads as fast as it can"},
            {NULL, OPT_SPEED, "1", "a monitor is live"},
            {"export", OPT_FORMAT, "csv", "one name, two lists of choices"},
            {"report", OPT_FORMAT, "text", "the other list"},
            {"plot", OPT_WIDTH, "760", "units"},
            {"once", OPT_WIDTH, "0", "columns, of the terminal"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct config c = {.command = rows[i].command};
                assert_string_equal(config_text(&c, rows[i].option), rows[i].want);
                assert_string_equal(option_for(rows[i].option, rows[i].command).fallback,
                                    rows[i].want);
        }
}

static void commands(void **state UNUSED)
{
        for (size_t i = 0; command_at(i); i++) {
                const struct command *c = command_at(i);
                assert_ptr_equal(command_find(c->name), c);
                assert_true(strlen(c->summary) <= 80 - 13 && c->run);
                for (size_t k = 0; k < EXAMPLES; k++)
                        assert_true(c->examples[k].line && c->examples[k].what);
        }
}

static void options(void **state UNUSED)
{
        for (enum option a = 0; a < OPT_COUNT_OF; a++) {
                const struct option_info *i = option_info(a);
                assert_true(i->name[0] && i->help[0] && i->commands[0]);
                assert_true(i->type == OPTION_FLAG || i->metavar[0]);
                assert_true(i->help[strlen(i->help) - 1] != '.');
                commands_are_known(i->commands);
                for (enum option b = a + 1; b < OPT_COUNT_OF; b++)
                        assert_string_not_equal(i->name, option_info(b)->name);
                const struct alias_info *alias;
                for (size_t k = 0; (alias = alias_at(k)); k++)
                        assert_string_not_equal(i->name, alias->name);
        }
}

/* The text of include/assay/assay.h. */
static char *read_header(void)
{
        char path[4096];
        snprintf(path, sizeof(path), "%s/../../include/assay/assay.h", getenv("FIXTURES"));
        FILE *file = fopen(path, "re");
        assert_non_null(file);
        char *text = calloc(1, 100001);
        assert_true(fread(text, 1, 100000, file) > 0);
        fclose(file);
        return text;
}

static const char *input_word(enum class_input input)
{
        static const char *const words[CLASS_INPUT_COUNT] = {
            [CLASS_INPUT_REAL] = "real",     [CLASS_INPUT_SM] = "sm",
            [CLASS_INPUT_TENSOR] = "tensor", [CLASS_INPUT_DRAM] = "dram",
            [CLASS_INPUT_GR] = "gr",         [CLASS_INPUT_FP64] = "fp64",
            [CLASS_INPUT_COPY] = "copy",     [CLASS_INPUT_PCIE_RX] = "pcie",
            [CLASS_INPUT_PCIE_TX] = "pcie"};
        return words[input];
}

/* A class says in words what its conditions are. */
static void rules_say_what_they_do(void **state UNUSED)
{
        for (enum workload w = WORKLOAD_IDLE; w < WORKLOAD_MIXED; w++) {
                char text[256] = "";
                size_t n = 0;
                for (const struct class_condition *c = workload_conditions(w);
                     c->test != CLASS_TEST_END; c++) {
                        const char *and = n > 0 ? " and " : "";
                        if (c->test == CLASS_TEST_IO)
                                n += (size_t)snprintf(text + n, sizeof(text) - n,
                                                      "%s(copy >= %g or pcie >= %g GB/s)", and,
                                                      workload_io_signs()[0].threshold,
                                                      workload_io_signs()[1].threshold / 1e9);
                        else if (c->test == CLASS_TEST_NOT_IO)
                                n += (size_t)snprintf(text + n, sizeof(text) - n, "%snot io", and);
                        else
                                n += (size_t)snprintf(
                                    text + n, sizeof(text) - n, "%s%s %s %g", and,
                                    input_word(c->input),
                                    c->test == CLASS_TEST_BELOW ? "<" : ">=", c->threshold);
                }
                assert_string_equal(workload_rule(w), text);
        }
        assert_true(workload_io_signs()[1].threshold == workload_io_signs()[2].threshold);
}

static void throttle_reasons(void **state UNUSED)
{
        static const struct {
                uint64_t bits;
                const char *words;
        } cases[] = {
            {0, "none"},
            {0x1, "idle"},
            {0x4, "power limit"},
            {0x84, "power limit, power brake from outside"},
            {0x60, "heat (software), heat (hardware)"},
            {0x8, "hardware slowdown"},
            {0x112, "clocks set by an application, sync boost with other GPUs, clocks set for the "
                    "display"},
            {0x8000, "0x8000"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct strbuf out = {0};
                throttle_put(&out, cases[i].bits);
                assert_string_equal(strbuf_str(&out), cases[i].words);
                strbuf_finish(&out);
        }
        assert_int_equal(THROTTLE_BY_CHOICE, 0x112);
        assert_int_equal(THROTTLE_BY_POWER, 0x84);
        assert_int_equal(THROTTLE_BY_HEAT, 0x60);
        assert_int_equal(THROTTLE_BY_HEAT_OR_HARDWARE, 0x68);
}

static bool is_bottleneck(const char *word)
{
        for (enum workload w = 0; w < WORKLOAD_COUNT; w++) {
                if (strcmp(bottleneck_name(workload_bottleneck(w)), word) == 0)
                        return true;
        }
        return false;
}

static bool is_rule(const char *word)
{
        for (enum workload w = 0; w < WORKLOAD_COUNT; w++) {
                if (strcmp(workload_rule(w), word) == 0)
                        return true;
        }
        return false;
}

static bool is_health(const char *word)
{
        for (enum health_state h = HEALTH_UNKNOWN; h <= HEALTH_CRIT; h++) {
                if (strcmp(health_name(h), word) == 0)
                        return true;
        }
        return false;
}

static bool is_state(const char *word)
{
        for (enum state s = 0; s < STATE_COUNT; s++) {
                if (strcmp(state_name(s), word) == 0)
                        return true;
        }
        return false;
}

static bool is_gpu_text(const char *word)
{
        for (enum entity_text t = 0; t < ENTITY_TEXT_COUNT; t++) {
                if (strcmp(entity_text_name(t), word) == 0)
                        return true;
        }
        return strcmp(word, "label") == 0 || word[0] == '\0';
}

static bool is_version(const char *word)
{
        return strcmp(word, program_version) == 0;
}

static bool is_workload(const char *word)
{
        return strcmp(word, workload_status(WORKLOAD_UNKNOWN)) == 0;
}

static bool is_limiter(const char *word)
{
        return limiter_find(word) != LIMITER_COUNT;
}

static bool is_basis(const char *word)
{
        return strcmp(word, basis_name(BASIS_COUNTERS)) == 0 ||
               strcmp(word, basis_name(BASIS_DRIVER)) == 0;
}

static bool is_held_by(const char *word)
{
        for (enum held_by h = HELD_BY_POWER; h <= HELD_BY_LOCKED; h++) {
                if (strcmp(held_by_name(h), word) == 0)
                        return true;
        }
        return false;
}

static bool is_evidence(const char *word)
{
        for (enum ceiling i = 0; i < CEILING_COUNT; i++) {
                if (strcmp(ceiling_info(i)->name, word) == 0)
                        return true;
        }
        return false;
}

/* A type of --flops. */
static bool is_flops(const char *word)
{
        return option_has_choice(OPT_FLOPS, NULL, word);
}

/* Examples of what has no table. */
static bool is_example(const char *word)
{
        return strlen(word) < 20;
}

/* Names that tests/python/test_header.py gives to the library. */
static bool is_asked(const char *word)
{
        return word[0] != '\0';
}

/* Of a rule whose time is told by line. */
static bool is_whose_time(const char *word)
{
        const struct where_rule *rules[WHERE_RULES_MAX];
        bool is = false;
        for (enum limiter l = 0; l < LIMITER_COUNT; l++) {
                for (size_t i = where_rules(l, rules); i-- > 0;)
                        is = is || strcmp(rules[i]->name, word) == 0 ||
                             strcmp(rules[i]->words, word) == 0;
        }
        return is;
}

/* The strings in quotes of a comment: that which holds the words, or follows them on the line. */
static const struct promise {
        const char *where;
        bool (*is_given)(const char *word);
        int least; /* strings there are */
} promises[] = {
    {": of the library that is loaded", is_version, 1},
    {"/* One word: ", is_state, STATE_COUNT},
    {"Names and values as the program's flags", is_asked, 6},
    {"A monitor that does not run yet", is_asked, 1},
    {"const char *type; ", is_flops, 1},
    {"struct assay_finding {\n        const char *limiter; ", is_limiter, 2},
    {"const char *held_by; /* \"", is_held_by, 3},
    {"const char *gpus;    /* ", is_example, 2},
    {"const char *gpus;         /* ", is_example, 2},
    {"const char *what;        /* whose time", is_whose_time, 3},
    {"const char *words;       /* ", is_whose_time, 1},
    {"const char *text;        /* ", is_example, 1},
    {"A mean of exactly its own time", is_evidence, 5},
    {"Which source: ", is_example, 4},
    {"/* \"label\", ", is_gpu_text, 4},
    {"const char *workload;", is_workload, 1},
    {"const char *bottleneck;", is_bottleneck, 6},
    {"const char *rule_text;", is_rule, 1},
    {"const char *health; ", is_health, 5},
    {"const char *health_why; ", is_example, 1},
    {"struct assay_limit {\n        const char *limiter; ", is_limiter, 3},
    {"*held_by;       /* \"", is_held_by, 3},
    {"What that limiter rests on: ", is_basis, 2},
    {"What a stretch's limiter, and a finding, rest on: ", is_basis, 2},
    {"/* \"1234 (python)\"", is_example, 4},
    {"Entries go to a file of JSON lines", is_example, 1},
    {"Columns of a recorded run.", is_asked, 10},
};

/* The comment that a place is in, or the next one. */
static const char *comment_at(const char *text, const char *place, const char **ret_end)
{
        const char *begin = place;
        while (begin > text && strncmp(begin, "/*", 2) != 0 && strncmp(begin, "*/", 2) != 0)
                begin--;
        if (strncmp(begin, "/*", 2) != 0)
                begin = strstr(place, "/*");
        assert_non_null(begin);
        *ret_end = strstr(begin, "*/");
        assert_non_null(*ret_end);
        return begin;
}

/* Takes the next string in quotes; NULL when there is none before the end. */
static char *next_quoted(char *s, const char *end, char *word, size_t size)
{
        s = strchr(s, '"');
        if (!s || s >= end)
                return NULL;
        size_t len = strcspn(s + 1, "\"");
        snprintf(word, size, "%.*s", (int)len, s + 1);
        s[0] = s[len + 1] = '\'';
        return s + len + 2;
}

/* Each string that stands in quotes in a comment is one that the code gives; none is left over. */
static void the_header_keeps_its_promises(void **state UNUSED)
{
        char *text = read_header(), word[80];
        const char *end;
        for (size_t i = 0; i < ARRAY_LEN(promises); i++) {
                const struct promise *p = &promises[i];
                char *place = strstr(text, p->where);
                if (!place)
                        fail_msg("the header does not say '%s'", p->where);
                char *s = text + (comment_at(text, place, &end) - text);
                int n = 0;
                for (; (s = next_quoted(s, end, word, sizeof(word))); n++) {
                        if (!p->is_given(word))
                                fail_msg("%s: nothing gives '%s'", p->where, word);
                }
                if (n < p->least)
                        fail_msg("%s: %d strings", p->where, n);
        }
        for (const char *c = text; (c = strstr(c, "/*")); c = end) {
                char *left = text + (comment_at(text, c, &end) - text);
                if (next_quoted(left, end, word, sizeof(word)))
                        fail_msg("no test looks at '%s'", word);
        }
        free(text);
}

/* Numbers, and lists without quotes. */
static void the_header_counts_right(void **state UNUSED)
{
        char *text = read_header(), types[200], history[80];
        size_t n = 0;
        for (const char *c = option_info(OPT_FLOPS)->metavar; *c && n + 3 < sizeof(types); c++) {
                if (*c == '|')
                        types[n++] = ',';
                types[n++] = *c == '|' ? ' ' : *c;
        }
        types[n] = '\0';
        snprintf(history, sizeof(history), "history (ticks kept in memory, %s)",
                 option_for(OPT_HISTORY, NULL).fallback);
        const char *const said[] = {history, types, "/* one of twelve classes, or ",
                                    "/* 1 to 12; the one that could not be decided"};
        for (size_t i = 0; i < ARRAY_LEN(said); i++) {
                if (!strstr(text, said[i]))
                        fail_msg("the header does not say '%s'", said[i]);
        }
        assert_int_equal(WORKLOAD_COUNT - 1, 12);
        free(text);
}

static void sources_and_formats(void **state UNUSED)
{
        for (size_t i = 0; source_at(i); i++) {
                assert_ptr_equal(source_find(source_at(i)->name), source_at(i));
                assert_true(source_at(i)->open && source_at(i)->next && source_at(i)->close);
                assert_true(source_at(i)->help[0]);
                /* Every source can be asked for by name. */
                assert_non_null(strstr(option_info(OPT_BACKEND)->metavar, source_at(i)->name));
        }
        for (size_t i = 0; format_at(i); i++)
                assert_true(format_at(i)->name[0] && format_at(i)->probe && format_at(i)->round);
}

static void xids_are_in_order(void **state UNUSED)
{
        uint32_t before = 0;
        for (size_t i = 0; xid_info_at(i); i++) {
                const struct xid_info *xid = xid_info_at(i);
                assert_true(xid->number > before);
                before = xid->number;
                assert_true(strlen(xid->text) > 10 && strlen(xid->text) + 10 < HEALTH_WORDS_MAX);
                assert_true(strlen(xid->remedy) > 10);
                /* What a program causes by itself is no sign of a faulty GPU. */
                assert_false(xid->fault == XID_FAULT_PROGRAM && xid->effect == XID_EFFECT_GRAVE);
                assert_ptr_equal(xid_info(xid->number), xid);
        }
        assert_null(xid_info(0));
        assert_null(xid_info(999));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(xids_are_in_order),
            cmocka_unit_test(rules_say_what_they_do),
            cmocka_unit_test(throttle_reasons),
            cmocka_unit_test(metrics),
            cmocka_unit_test(scopes_are_those_of_dcgm),
            cmocka_unit_test(every_metric_has_a_producer),
            cmocka_unit_test(maps_have_unique_names),
            cmocka_unit_test(columns),
            cmocka_unit_test(options),
            cmocka_unit_test(defaults_are_valid),
            cmocka_unit_test(defaults_differ_by_command),
            cmocka_unit_test(commands),
            cmocka_unit_test(the_header_keeps_its_promises),
            cmocka_unit_test(the_header_counts_right),
            cmocka_unit_test(sources_and_formats),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
