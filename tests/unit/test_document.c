/* One document in every format, and what its parts promise. */
#include "base/attr.h"
#include "present/document/document.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME, HOURS, SHARE, TAGS, MEANS_A, MEANS_B, EMPTY, ONLY_PEOPLE, CURVE };

static const struct doc_column columns[] = {
    {.key = "name", .title = "NAME"},
    {.key = "held_seconds", .title = "HELD h", .kind = DOC_GPU_HOURS},
    {.key = "share", .title = "%", .kind = DOC_RATIO},
    {.key = "tags", .title = "TAGS", .kind = DOC_LIST},
    {.key = "a", .kind = DOC_NUMBER, .flags = DOC_MACHINE_ONLY, .group = "means"},
    {.key = "b", .flags = DOC_MACHINE_ONLY | DOC_OPTIONAL, .group = "means"},
    {.key = "empty", .title = "EMPTY", .flags = DOC_MINOR},
    {.key = "", .title = "W", .kind = DOC_NUMBER, .flags = DOC_PEOPLE, .unit = UNIT_WATTS},
    {.key = "", .title = "over time", .kind = DOC_CURVE, .flags = DOC_PEOPLE},
};

static const struct doc_column texts[] = {{.key = "text"}, {.key = "try"}};
static const struct doc_column facts[] = {{.key = "schema", .kind = DOC_COUNT},
                                          {.key = "fine", .kind = DOC_FLAG}};

static void make(struct document *d)
{
        static const float curve[] = {0, 0.5, 1, NAN};
        *d = (struct document){.what = "a test"};
        document_set_title(d, "2 things");
        struct doc_cell *row =
            doc_add_row(d, document_add(d, DOC_FACTS, "facts", "", facts, ARRAY_LEN(facts)));
        row[0].v = value_ok(3);
        row[1].v = value_ok(1);
        row = doc_add_row(d, document_add(d, DOC_FINDINGS, "findings", "findings", texts, 2));
        doc_cell_text(&row[0], "a <b> is late");
        doc_cell_text(&row[1], "mend *it*");
        struct doc_part *p =
            document_add(d, DOC_ROWS, "things", "things", columns, ARRAY_LEN(columns));
        for (int i = 0; i < 3; i++) {
                static const char *const names[] = {"ann", "b\x1b|ob", "=c"};
                row = doc_add_row(d, p);
                doc_cell_text(&row[NAME], names[i]);
                row[HOURS].v = i < 2 ? value_ok(36.0 * (i + 1)) : value_missing(STATE_NONE);
                row[SHARE].v = value_ok(0.25 * i);
        }
        row = p->cells;
        doc_cell_item(&row[TAGS], "x");
        doc_cell_item(&row[TAGS], "y\nz");
        row[MEANS_A].v = value_ok(1.5);
        row[ONLY_PEOPLE].v = value_ok(631);
        doc_cell_text(&row[ONLY_PEOPLE], "631>");
        row[CURVE].curve = malloc(sizeof(curve));
        memcpy(row[CURVE].curve, curve, sizeof(curve));
        row[CURVE].n = ARRAY_LEN(curve);
        doc_sort(p, HOURS, 2);
        p->rest = "--all shows them";
        document_note(d, DOC_SCREEN, "more: --all");
        document_note(d, 0, "odd");
}

static const struct {
        const char *format, *expected;
} written[] = {
    {"text", "2 things\n"
             "\n"
             "findings\n"
             "  1 a <b> is late\n"
             "    try: mend *it*\n"
             "\n"
             "things\n"
             "NAME   HELD h     %  TAGS       W  over time\n"
             "b?|ob   0.020  25.0            --\n"
             "ann     0.010   0.0  x, y?z  631>  "
             "          ▅▅▅▅▅▅▅▅▅▅██████████··········\n"
             "… and 1 more; --all shows them\n"
             "\n"
             "more: --all\n"
             "\n"
             "odd\n"},
    {"json", "{\"schema\":3,\"fine\":true,\n\"findings\":[\n{\"text\":\"a <b> is late\","
             "\"try\":\"mend *it*\"}],\n\"things\":[\n"
             "{\"name\":\"b?|ob\",\"held_seconds\":72,\"share\":0.25,\"tags\":[],"
             "\"means\":{\"a\":null},\"empty\":null},\n"
             "{\"name\":\"ann\",\"held_seconds\":36,\"share\":0,\"tags\":[\"x\",\"y?z\"],"
             "\"means\":{\"a\":1.5},\"empty\":null}],\"notes\":[\"odd\"]}\n"},
    {"csv", "name,held_seconds,share,tags,means_a,means_b,empty\n"
            "b?|ob,72,0.25,,,,\nann,36,0,\"x, y?z\",1.5,,\n"},
    {"markdown", "## 2 things\n\n### findings\n\n1. a \\<b\\> is late  \n   try: mend \\*it\\*\n"
                 "\n### things\n\n| NAME | HELD h | % | TAGS | W |\n"
                 "| --- | ---: | ---: | --- | ---: |\n"
                 "| b?\\|ob | 0.020 | 25.0 |  | -- |\n| ann | 0.010 | 0.0 | x, y?z | 631\\> |\n"
                 "\n- odd\n"},
};

static void each_format(void **state UNUSED)
{
        for (size_t i = 0; i < ARRAY_LEN(written); i++) {
                struct document d;
                struct strbuf out = {0};
                make(&d);
                assert_int_equal(document_write(&d, written[i].format, NULL, &out, NULL), 0);
                assert_string_equal(strbuf_str(&out), written[i].expected);
                strbuf_finish(&out);
                document_finish(&d);
        }
}

static void a_page(void **state UNUSED)
{
        struct document d;
        struct strbuf out = {0};
        make(&d);
        assert_int_equal(document_write(&d, "html", NULL, &out, NULL), 0);
        const char *page = strbuf_str(&out);
        assert_non_null(strstr(page, "<li>a &lt;b&gt; is late<p><b>Try:</b> mend *it*</p></li>"));
        assert_non_null(strstr(page, "<td class=\"number\" data-v=36>0.010"));
        assert_non_null(strstr(page, "<svg class=strip"));
        assert_null(strstr(page, "EMPTY"));
        assert_null(strstr(page, "<p class=note>more"));
        strbuf_finish(&out);
        document_finish(&d);
}

static void narrow(void **state UNUSED)
{
        static const size_t widths[] = {20, 30, 40, 120};
        for (size_t i = 0; i < ARRAY_LEN(widths); i++) {
                const struct doc_view view = {.columns = widths[i]};
                struct document d;
                struct strbuf out = {0};
                make(&d);
                assert_int_equal(document_write(&d, "text", &view, &out, NULL), 0);
                const char *line = strstr(strbuf_str(&out), "NAME");
                assert_non_null(line);
                assert_true(strcspn(line, "\n") <= MAX(widths[i], 35));
                assert_non_null(strstr(line, "0.020  25.0"));
                strbuf_finish(&out);
                document_finish(&d);
        }
}

/* Words stand on the left, numbers on the right, each with its unit in a sentence. */
static void kinds(void **state UNUSED)
{
        static const struct {
                enum doc_kind kind;
                bool is_words;
                const char *unit;
        } cases[] = {
            {DOC_TEXT, true, ""},    {DOC_LIST, true, ""},
            {DOC_NUMBERS, true, ""}, {DOC_NUMBER, false, ""},
            {DOC_COUNT, false, ""},  {DOC_RATIO, false, " %"},
            {DOC_LENGTH, false, ""}, {DOC_GPU_HOURS, false, " GPU-hours"},
            {DOC_TIME, true, ""},    {DOC_ENERGY, false, " kWh"},
            {DOC_FLAG, false, ""},   {DOC_CURVE, true, ""},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                const struct doc_column column = {.key = "x", .kind = cases[i].kind};
                assert_int_equal(doc_is_words(&column), cases[i].is_words);
                assert_string_equal(doc_unit_after(&column), cases[i].unit);
        }
}

static void an_unknown_format(void **state UNUSED)
{
        struct document d = {.what = "a test"};
        struct strbuf out = {0};
        struct err err = {0};
        assert_int_equal(document_write(&d, "pdf", NULL, &out, &err), ERR_USAGE);
        assert_string_equal(err.msg, "a test cannot be written as pdf");
        assert_string_equal(err.hint, "choose text, json, csv, markdown or html");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(each_format),
            cmocka_unit_test(a_page),
            cmocka_unit_test(narrow),
            cmocka_unit_test(kinds),
            cmocka_unit_test(an_unknown_format),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
