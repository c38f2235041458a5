#include "test.h"

#include "base/attr.h"
#include "formats/notebook/cells.h"

#define CELL(index, source) "{\"cell_index\":" #index ",\"raw_cell\":\"" source "\"}"

/* index -1: no cell runs at that moment. */
static void check(const struct phase *phases, size_t n, const int64_t *index)
{
        struct cells c;
        assert_int_equal(cells_init(&c, phases, n), 0);
        for (int64_t t = 0; t < 5; t++) {
                long cell = cells_at(&c, 10 * t + 5);
                assert_int_equal(cell, index[t]);
        }
        cells_finish(&c);
}

static void moments(void **state UNUSED)
{
        static const struct {
                const char *why;
                struct phase phases[3];
                size_t n;
                int64_t index[5];
        } cases[] = {
            {"no phase at all", {{.name = ""}}, 0, {-1, -1, -1, -1, -1}},
            {"phases without keys are cells by their places",
             {{"a", 0, 20, false, NULL}, {"b", 20, 30, false, "{\"x\":1}"}},
             2,
             {0, 0, 1, -1, -1}},
            {"a phase inside a cell is none",
             {{"cell 4", 0, 40, false, CELL(4, "x")}, {"train", 10, 20, false, NULL}},
             2,
             {4, 4, 4, 4, -1}},
            {"a cell without a number has its place; keys that are no JSON say nothing",
             {{"a", 0, 20, false, "{\"raw_cell\":\"x\"}"},
              {"b", 0, 40, false, "{\"cell_index\""},
              {"c", 20, 40, false, CELL(7, "")}},
             3,
             {0, 0, 7, 7, -1}},
            {"the innermost of two",
             {{"c", 0, 50, false, CELL(1, "x")}, {"c", 20, 30, false, CELL(2, "y")}},
             2,
             {1, 1, 2, 1, 1}},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                check(cases[i].phases, cases[i].n, cases[i].index);
}

static void sources(void **state UNUSED)
{
        static const struct phase phases[] = {
            {"cell 0", 0, 1, false, "{\"cell_index\":0,\"raw_cell\":\"a = 1\\nb\"}"}};
        struct cells c;
        assert_int_equal(cells_init(&c, phases, 1), 0);
        assert_string_equal(c.list[0].raw, "a = 1\nb");
        cells_finish(&c);
        assert_int_equal(cells_init(&c, NULL, 0), 0);
        cells_finish(&c);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(moments), cmocka_unit_test(sources)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
