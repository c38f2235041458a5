#include "test.h"

#include "base/jsonw.h"

#include <math.h>
#include <string.h>

static void strings(void **state UNUSED)
{
        static const struct {
                const char *text, *want, *why;
        } cases[] = {
            {"plain", "\"plain\"", "letters stand for themselves"},
            {"", "\"\"", "nothing"},
            {"a\"b\\c", "\"a\\\"b\\\\c\"", "quotes and backslashes"},
            {"\x1b[31m\n", "\"\\u001b[31m\\u000a\"", "what would move a terminal"},
            {"h\xc3\xbc", "\"h\xc3\xbc\"", "letters beyond ASCII"},
            {"\xc2\x9b", "\"\\u009b\"", "control characters beyond ASCII"},
            {"\xff!", "\"\\ufffd!\"", "bytes that are no UTF-8"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct strbuf out = {0};
                json_put_string(&out, cases[i].text);
                if (strcmp(strbuf_str(&out), cases[i].want) != 0)
                        fail_msg("%s: %s", cases[i].why, strbuf_str(&out));
                strbuf_finish(&out);
        }
}

static void documents(void **state UNUSED)
{
        struct strbuf out = {0};
        struct jsonw j = {.out = &out};
        jsonw_object(&j, NULL);
        jsonw_array(&j, "empty");
        jsonw_end(&j);
        jsonw_object(&j, "inner");
        jsonw_text_or_null(&j, "none", NULL);
        jsonw_number(&j, "v", 0.1);
        jsonw_number(&j, "nan", NAN);
        jsonw_end(&j);
        jsonw_line(&j);
        jsonw_array(&j, "list");
        for (int i = 0; i < 2; i++) {
                jsonw_line(&j);
                jsonw_whole(&j, NULL, -i);
        }
        jsonw_line(&j);
        jsonw_end(&j);
        jsonw_bool(&j, "last", true);
        jsonw_end(&j);
        assert_string_equal(strbuf_str(&out),
                            "{\"empty\":[],\"inner\":{\"none\":null,\"v\":0.1,\"nan\":null},\n"
                            "\"list\":[\n0,\n-1\n],\"last\":true}");
        strbuf_finish(&out);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(strings),
            cmocka_unit_test(documents),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
