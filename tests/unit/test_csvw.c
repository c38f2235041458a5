#include "test.h"

#include "base/csvw.h"

#include <math.h>
#include <string.h>

static void names(void **state UNUSED)
{
        static const struct {
                const char *text, *want, *why;
        } cases[] = {
            {"plain", "plain", "letters stand for themselves"},
            {"", "", "nothing"},
            {"a,b", "\"a,b\"", "a comma"},
            {"a\"b", "\"a\"\"b\"", "quotes are doubled"},
            {"=1+1", "'=1+1", "a spreadsheet would compute it"},
            {"@a,b", "\"'@a,b\"", "a formula that needs quotes too"},
            {"-", "'-", "a lone sign"},
            {"a=b", "a=b", "no formula"},
            {"\x1b[31m", "?[31m", "what would move a terminal"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct strbuf out = {0};
                struct csvw c = {.out = &out};
                csvw_name(&c, cases[i].text);
                if (strcmp(strbuf_str(&out), cases[i].want) != 0)
                        fail_msg("%s: %s", cases[i].why, strbuf_str(&out));
                strbuf_finish(&out);
        }
        assert_true(csvw_is_guarded("'=1", 3));
        assert_false(csvw_is_guarded("'a", 2));
}

static void rows(void **state UNUSED)
{
        struct strbuf out = {0};
        struct csvw c = {.out = &out, .end = "\r\n"};
        csvw_text(&c, "=ours");
        csvw_fixed(&c, 0.125, 2);
        csvw_fixed(&c, NAN, 2);
        csvw_short(&c, 1234567.0, 3);
        csvw_number(&c, 0.1);
        csvw_number(&c, INFINITY);
        csvw_count(&c, UINT64_MAX);
        csvw_end(&c);
        csvw_begin(&c);
        csvw_text(&c, "two\nlines");
        csvw_end(&c);
        assert_string_equal(strbuf_str(&out), "=ours,0.12,,1.23e+06,0.1,,18446744073709551615\r\n"
                                              ",\"two\nlines\"\r\n");
        strbuf_finish(&out);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(names),
            cmocka_unit_test(rows),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
