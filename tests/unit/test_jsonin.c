#include "test.h"

#include "base/jsonin.h"
#include "base/strbuf.h"

#include <string.h>

/* A list of so many of one kind. */
static void put_list(struct strbuf *out, const char *one, size_t n)
{
        strbuf_clear(out);
        strbuf_puts(out, "[");
        for (size_t i = 0; i < n; i++)
                strbuf_puts(out, one);
        strbuf_puts(out, "0]");
}

static void what_would_take_too_much_is_not_read(void **state UNUSED)
{
        static const struct {
                const char *one;
                size_t n;
                bool is_read;
                const char *why;
        } cases[] = {
            {"{},", 100000, true, "some objects"},
            {"{},", 2000000, false, "objects of two letters take a hundred times as much"},
            {"[],", 2000000, false, "lists as well"},
            {"0,", 4000000, false, "and members"},
            {"\"{[,\\\"[{\",", 1000000, true, "brackets in texts weigh what letters do"},
        };
        struct strbuf text = {0};
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                json_error_t why = {0};
                put_list(&text, cases[i].one, cases[i].n);
                json_t *o = jsonin_load(text.s, text.len, 0, &why);
                if ((o != NULL) != cases[i].is_read)
                        fail_msg("%s: %s", cases[i].why, why.text);
                if (o)
                        assert_int_equal(json_array_size(o), cases[i].n + 1);
                else
                        assert_string_equal(why.text, "too many values");
                json_decref(o);
                o = jsonin_text(strbuf_str(&text), 0, NULL);
                assert_true((o != NULL) == cases[i].is_read);
                json_decref(o);
        }
        strbuf_finish(&text);
}

static void a_list_of_a_fleet_may_have_more(void **state UNUSED)
{
        struct strbuf text = {0};
        put_list(&text, "[],", 1000000);
        json_t *o = jsonin_load_list(text.s, text.len, 0, NULL);
        assert_non_null(o);
        json_decref(o);
        put_list(&text, "[],", 6000000);
        assert_null(jsonin_load_list(text.s, text.len, 0, NULL));
        strbuf_finish(&text);
}

static void what_is_no_json_is_said_as_before(void **state UNUSED)
{
        json_error_t why = {0};
        assert_null(jsonin_text("[\"\\", 0, &why));
        assert_true(why.text[0] != '\0' && strcmp(why.text, "too many values") != 0);
        assert_null(jsonin_text("", 0, NULL));
        json_t *o = jsonin_text("1.5", JSON_DECODE_ANY, NULL);
        assert_true(json_is_real(o));
        json_decref(o);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(what_would_take_too_much_is_not_read),
            cmocka_unit_test(a_list_of_a_fleet_may_have_more),
            cmocka_unit_test(what_is_no_json_is_said_as_before),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
