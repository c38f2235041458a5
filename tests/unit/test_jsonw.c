#include "test.h"

#include "base/jsonw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

static void spread_documents(void **state UNUSED)
{
        struct strbuf out = {0};
        struct jsonw j = {.out = &out, .spread = true};
        jsonw_object(&j, NULL);
        jsonw_fixed(&j, "v", 1, 1);
        jsonw_array(&j, "empty");
        jsonw_end(&j);
        jsonw_object(&j, "inner");
        jsonw_null(&j, "none");
        jsonw_end(&j);
        jsonw_end(&j);
        assert_string_equal(strbuf_str(&out), "{\n  \"v\": 1.0,\n  \"empty\": [],\n"
                                              "  \"inner\": {\n    \"none\": null\n  }\n}");
        strbuf_finish(&out);
}

/* What printf writes: the fewest digits that read back as the number, and %.6g. */
static void same_as_printf(double v)
{
        struct strbuf out = {0};
        struct jsonw j = {.out = &out};
        char want[64];
        for (int digits = 15; digits <= 17; digits++) {
                snprintf(want, sizeof(want), "%.*g", digits, v);
                if (strtod(want, NULL) == v)
                        break;
        }
        json_put_number(&out, v);
        assert_string_equal(strbuf_str(&out), want);
        strbuf_finish(&out);
        for (int digits = 5; digits <= 7; digits++) {
                out = (struct strbuf){0};
                j = (struct jsonw){.out = &out};
                jsonw_short(&j, NULL, v, digits);
                snprintf(want, sizeof(want), "%.*g", digits, v);
                assert_string_equal(strbuf_str(&out), want);
                strbuf_finish(&out);
        }
}

static void numbers(void **state UNUSED)
{
        static const double odd[] = {0.1,        0.0001,     0.00009999, 0.99999949, 0.9999995,
                                     9999.99949, 9999.9995,  0.5,        1.5,        0.000123455,
                                     123.4565,   1234.56789, 666.1,      0.0569,     5.69 / 100,
                                     1e-7,       2.5e-5,     1e300,      1e9 + 0.5,  0.00100000049};
        uint64_t random = 1;
        for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
                same_as_printf(odd[i]);
                same_as_printf(-odd[i]);
        }
        for (int i = 0; i < 20000; i++) {
                random = random * 6364136223846793005ULL + 1442695040888963407ULL;
                double v = (double)(random >> 40) / (double)(i % 3 ? 10000 : 7919);
                same_as_printf(v + 0.0001);
                same_as_printf((double)(float)(v / 1e6) + 1e-9);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(strings),
            cmocka_unit_test(documents),
            cmocka_unit_test(spread_documents),
            cmocka_unit_test(numbers),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
