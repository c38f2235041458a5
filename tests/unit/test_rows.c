/* Rows cut into words, 64 characters at a time, against one character at a time. */
#include "test.h"

#include "base/attr.h"
#include "formats/rows.h"

#include <stdlib.h>
#include <string.h>

static bool is_blank(char c)
{
        return c == ' ' || c == '\t';
}

static void check(const char *text, size_t len)
{
        static struct words words;
        /* A copy of just this size, so that a sanitizer sees what reads past it. */
        char *s = malloc(len + 1);
        memcpy(s, text, len);
        s[len] = 'x';
        rows_split_blanks(&(struct line){.s = s, .len = len}, &words);
        size_t n = 0;
        for (size_t i = 0; i < len && n < ARRAY_LEN(words.w); n++) {
                while (i < len && is_blank(s[i]))
                        i++;
                size_t start = i;
                while (i < len && !is_blank(s[i]))
                        i++;
                if (i == start)
                        break;
                assert_true(n < words.n);
                assert_ptr_equal(words.w[n].s, s + start);
                assert_int_equal(words.w[n].len, i - start);
        }
        assert_int_equal(words.n, n);
        free(s);
}

static void words_between_blanks(void **state UNUSED)
{
        static const char *const cases[] = {
            "", " ", "a", " a", "a ", "\ta\t b", "GPU 0   12.5 N/A", "no blank at all",
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                check(cases[i], strlen(cases[i]));
}

/* Words that begin, end and go on across the edges of 64 characters. */
static void words_across_blocks(void **state UNUSED)
{
        char text[200];
        for (size_t len = 60; len < 140; len++) {
                for (size_t blank = 0; blank < len; blank++) {
                        memset(text, 'w', sizeof(text));
                        text[blank] = ' ';
                        check(text, len);
                        memset(text, '\t', sizeof(text));
                        text[blank] = 'w';
                        check(text, len);
                }
        }
}

static void random_rows(void **state UNUSED)
{
        char text[600];
        srand(7);
        for (int i = 0; i < 20000; i++) {
                size_t len = (size_t)rand() % sizeof(text);
                int often = 2 + rand() % 12;
                for (size_t k = 0; k < len; k++)
                        text[k] = rand() % often == 0 ? (rand() % 4 ? ' ' : '\t') : 'w';
                check(text, len);
        }
}

/* More words than there is room for: the first are kept. */
static void too_many_words(void **state UNUSED)
{
        static char text[2 * (SCHEMA_FIELDS_MAX + 40)];
        for (size_t i = 0; i < sizeof(text); i++)
                text[i] = i % 2 ? ' ' : 'w';
        check(text, sizeof(text));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(words_between_blanks),
            cmocka_unit_test(words_across_blocks),
            cmocka_unit_test(random_rows),
            cmocka_unit_test(too_many_words),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
