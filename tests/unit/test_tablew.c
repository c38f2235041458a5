#include "test.h"

#include "base/tablew.h"
#include "base/text.h"

#include <string.h>

/* Columns of the screen, not bytes: what stands below one another begins at the same place. */
static void rows(void **state UNUSED)
{
        static const struct tablew_column columns[] = {
            {"Name", -6, 0}, {"Value", 7, 1}, {"Rest", 0, 2}};
        struct strbuf out = {0};
        struct tablew t = {.out = &out, .columns = columns};
        tablew_head(&t, 3);
        tablew_cell(&t, "J\xc3\xbcrgen");
        tablew_cellf(&t,
                     "%d \xc2\xb0"
                     "C",
                     45);
        tablew_cell(&t, "x");
        tablew_end(&t);
        tablew_cell(&t, "\xe6\x9d\xb1\xe4\xba\xac\xe5\xb8\x82\xe6\xb8\xaf"); /* two columns each */
        tablew_cell(&t, "123456789");                                        /* never cut */
        tablew_cell(&t, "");
        tablew_end(&t);
        tablew_cell(&t, "\x1b[2J");
        tablew_cell(&t, "--");
        tablew_end(&t);
        assert_string_equal(strbuf_str(&out), "Name     Value  Rest\n"
                                              "J\xc3\xbcrgen   45 \xc2\xb0"
                                              "C  x\n"
                                              "\xe6\x9d\xb1\xe4\xba\xac\xe5\xb8\x82 123456789\n"
                                              "?[2J        --\n");
        strbuf_finish(&out);
        assert_int_equal(text_columns("\xe6\x9d\xb1 \xc2\xb0"
                                      "C"),
                         5);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(rows)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
