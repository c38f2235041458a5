/* Rows cut into words, 64 characters at a time, against one character at a time. */
#include "test.h"

#include "base/attr.h"
#include "formats/dmon/dmon.h"
#include "formats/rows.h"

#include <stdio.h>
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

#define COLUMNS 25

/* A word that a capture may hold: most are short numbers, some are anything. */
static size_t random_word(uint64_t *seed, char word[32])
{
        static const char *const others[] = {"N/A",
                                             "n/a",
                                             "-",
                                             "N/B",
                                             "xN/A",
                                             "12345678901234567890",
                                             "-0.000",
                                             "1e3",
                                             ".5",
                                             "5.",
                                             ".",
                                             "1.2.3",
                                             "140737488355328",
                                             "3:4",
                                             "+7",
                                             "nan",
                                             "inf",
                                             "/",
                                             "<<<NULL>>>",
                                             "<<<NOT_PERM>>>",
                                             "...",
                                             "80G",
                                             "0x1",
                                             "a.b",
                                             "9e",
                                             "99999999",
                                             "123456789",
                                             "0.12345678",
                                             "1.23456"};
        *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
        uint64_t r = *seed >> 33;
        switch (r % 4) {
        case 0:
                return (size_t)snprintf(word, 32, "%s", others[r / 4 % ARRAY_LEN(others)]);
        case 1:
                return (size_t)snprintf(word, 32, "%.3f", (double)(r / 4 % 100000) / 1000);
        default:
                return (size_t)snprintf(word, 32, "%u", (unsigned)(r / 4 % 1000000));
        }
}

/* Cells of a row that was read by words are what each word gives alone. */
static void cells_of_words(void **state UNUSED)
{
        struct batcher rows, alone;
        struct dmon dmon = {0};
        uint64_t seed = 12;
        batcher_init(&rows, DIALECT_DMON);
        batcher_init(&alone, DIALECT_DMON);
        struct line header = {.s = "#Entity a b c d e f g h i j k l m n o p q r s t u v w x y"};
        header.len = strlen(header.s);
        assert_int_equal(dmon_take(&dmon, &rows, &header), DMON_HEADER);
        for (int round = 0; round < 20000; round++) {
                char text[1024], words[COLUMNS][32];
                size_t len = (size_t)snprintf(text, sizeof(text), "GPU 0");
                for (size_t i = 0; i < COLUMNS; i++) {
                        random_word(&seed, words[i]);
                        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
                                                seed >> 62 ? " " : " \t", words[i]);
                }
                /* A copy of just this size, so that a sanitizer sees what reads past it. */
                char *s = malloc(len);
                memcpy(s, text, len);
                batcher_clear(&rows);
                batcher_clear(&alone);
                dmon.words = true;
                assert_int_equal(dmon_take(&dmon, &rows, &(struct line){.s = s, .len = len}),
                                 DMON_ROW);
                for (size_t i = 0; i < COLUMNS; i++) {
                        const struct raw *is = &rows.cells[i];
                        struct raw want;
                        batcher_cell(&alone, words[i], strlen(words[i]), &want);
                        if (is->state != want.state || is->num != want.num || is->len != want.len ||
                            memcmp(is->text ? is->text : "", want.text ? want.text : "",
                                   want.len) != 0)
                                fail_msg("'%s' in '%.*s'", words[i], (int)len, s);
                }
                free(s);
        }
        dmon_finish(&dmon);
        batcher_finish(&rows);
        batcher_finish(&alone);
}

/* Whatever the order of the GPUs, one that is there is found, and no other. */
static void rows_are_found(void **state UNUSED)
{
        static const int32_t orders[][5] = {{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {7, -1, 9, 3, 8}};
        struct batcher b;
        batcher_init(&b, DIALECT_DMON);
        batcher_add_field(&b, "a", 1);
        for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
                batcher_clear(&b);
                for (size_t k = 0; k < 5; k++) {
                        struct entity_key key = {.kind = ENTITY_GPU, .index = orders[i][k]};
                        struct entity_key slice = {.kind = ENTITY_GPU_INSTANCE, .index = key.index};
                        assert_null(batcher_find(&b, &key));
                        assert_non_null(batcher_add(&b, &key));
                        assert_null(batcher_find(&b, &slice));
                        for (size_t m = 0; m <= k; m++) {
                                key.index = orders[i][m];
                                assert_ptr_equal(batcher_find(&b, &key), b.cells + m * b.width);
                        }
                }
        }
        batcher_finish(&b);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(words_between_blanks), cmocka_unit_test(words_across_blocks),
            cmocka_unit_test(random_rows),          cmocka_unit_test(too_many_words),
            cmocka_unit_test(cells_of_words),       cmocka_unit_test(rows_are_found),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
