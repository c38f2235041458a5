#include "test.h"

#include "base/attr.h"
#include "base/num.h"
#include "base/num_brief.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void parses(void **state UNUSED)
{
        static const struct {
                const char *text;
                size_t taken;
                double value;
                const char *why;
        } cases[] = {
            {"0", 1, 0, "zero"},
            {"-0.000", 6, 0, "dmon writes negative zero"},
            {"345 ", 3, 345, "stops at a blank"},
            {"68.512", 6, 68.512, "three decimals, correctly rounded"},
            {"1e3x", 3, 1000, "exponent"},
            {"1e", 1, 1, "an e without digits is not an exponent"},
            {".5", 2, 0.5, "no digit before the point"},
            {".", 0, 0, "a point alone"},
            {"-", 0, 0, "a sign alone"},
            {"", 0, 0, "nothing"},
            {"nan", 0, 0, "names of numbers are not numbers"},
            {"0x10", 1, 0, "no hexadecimal"},
            {"9007199254740993", 16, 9007199254740992.0, "beyond 53 bits, half to even"},
            {"123456789012345678901234567890", 30, 123456789012345678901234567890.0, "long"},
            {"0.1234567890123456789012345", 27, 0.1234567890123456789012345, "many decimals"},
            {"0.95408556734169085", 19, 0.95408556734169085, "17 decimals"},
            {"18446744073709551617", 20, 18446744073709551616.0, "one more than 64 bits hold"},
            {"1e23", 4, 1e23, "a power of ten that is not exact"},
            {"3e-25", 5, 3e-25, "and one below 1"},
            {"1e400", 5, INFINITY, "too large"},
            {"4.9e-324", 8, 4.9e-324, "the smallest"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                double v = 0;
                size_t n = num_parse(cases[i].text, strlen(cases[i].text), &v);
                if (n != cases[i].taken || (n > 0 && v != cases[i].value))
                        fail_msg("%s: '%s' took %zu gave %.17g", cases[i].why, cases[i].text, n, v);
        }
}

static uint64_t next_random(uint64_t *s)
{
        *s ^= *s << 13;
        *s ^= *s >> 7;
        *s ^= *s << 17;
        return *s;
}

/* A word of up to eight bytes against the C library: a number of digits and at most one point is
 * read, anything else is refused. */
static void check_brief(const char *word, size_t len)
{
        char text[32] = "9.9.9.9."; /* what stands before a word is not looked at */
        memcpy(text + 8, word, len);
        size_t digits = strspn(text + 8, "0123456789");
        bool point = text[8 + digits] == '.';
        size_t more = point ? strspn(text + 8 + digits + 1, "0123456789") : 0;
        bool is_brief = digits + more > 0 && digits + point + more == len;
        double v = -1;
        if (num_brief_value(num_brief_word(text + 8 + len, len), len, &v) != is_brief)
                fail_msg("'%s' is %sread", text + 8, is_brief ? "not " : "");
        if (is_brief && v != strtod(text + 8, NULL))
                fail_msg("'%s' gave %.17g", text + 8, v);
}

static void reads_words(void **state UNUSED)
{
        static const char letters[] = "01234567890123456789.../:-+eEN \t\x80\xae";
        uint64_t seed = 2463534242ULL;
        for (int i = 0; i < 400000; i++) {
                char word[9] = "";
                uint64_t r = next_random(&seed);
                size_t len = 1 + r % 8, kinds = r / 8 % 4 ? 21 : sizeof(letters) - 1;
                for (size_t k = 0; k < len; k++)
                        word[k] = letters[next_random(&seed) % kinds];
                check_brief(word, len);
        }
        assert_true(num_is_brief(1) && num_is_brief(8));
        assert_false(num_is_brief(0) || num_is_brief(9));
}

/* The formatter against printf, on values where rounding is hard: decimal ties and neighbours. */
static void formats_as_printf(void **state UNUSED)
{
        uint64_t seed = 88172645463325252ULL;
        for (int i = 0; i < 400000; i++) {
                uint64_t r = next_random(&seed);
                unsigned decimals = (unsigned)(r % 10);
                double v = (double)(next_random(&seed) % 10000000) / (double)(1 + r % 100000);
                if (i % 3 == 0)
                        v = (double)(next_random(&seed) % 1000000) / 1000.0 * 100.0;
                if (i % 3 == 1)
                        v = ldexp((double)(r >> 11), (int)(r % 80) - 60);
                if (i % 5 == 0) /* percent, near a half too */
                        v = (double)(r % 200000) / 2000.0, decimals = 2;
                if (i % 7 == 0)
                        v = -v;
                char ours[NUM_FORMAT_MAX], theirs[NUM_FORMAT_MAX];
                size_t n = num_format(ours, v, decimals);
                int m = snprintf(theirs, sizeof(theirs), "%.*f", (int)decimals, v);
                if (n != (size_t)m || memcmp(ours, theirs, n) != 0)
                        fail_msg("%.17g with %u decimals: %.*s, printf %s", v, decimals, (int)n,
                                 ours, theirs);
        }
}

static void formats_edges(void **state UNUSED)
{
        static const double values[] = {0.0,
                                        -0.0,
                                        0.5,
                                        1.5,
                                        2.5,
                                        0.125,
                                        0.375,
                                        1e15,
                                        1e22,
                                        1e300,
                                        0.005,
                                        0.015,
                                        99.995,
                                        0x1p52,
                                        99.985,
                                        99.99,
                                        99.994,
                                        100.0,
                                        99999999.0,
                                        99999999.5,
                                        100000000.0,
                                        4294967295.0,
                                        9e15,
                                        1e-300,
                                        5e-324,
                                        123456.0,
                                        0.0005,
                                        1e-9,
                                        4503599627370495.5};
        for (size_t i = 0; i < ARRAY_LEN(values); i++) {
                for (unsigned d = 0; d <= 9; d++) {
                        char ours[NUM_FORMAT_MAX], theirs[NUM_FORMAT_MAX];
                        size_t n = num_format(ours, values[i], d);
                        int m = snprintf(theirs, sizeof(theirs), "%.*f", (int)d, values[i]);
                        assert_int_equal(n, m);
                        assert_memory_equal(ours, theirs, n);
                }
        }
}

static void reads_unsigned(void **state UNUSED)
{
        uint64_t v;
        assert_true(num_parse_u64("18446744073709551615", 20, &v));
        assert_true(v == UINT64_MAX);
        assert_false(num_parse_u64("18446744073709551616", 20, &v));
        assert_false(num_parse_u64("", 0, &v));
        assert_false(num_parse_u64("-1", 2, &v));
        assert_false(num_parse_u64("1 ", 2, &v));
}

/* What stands in MIN and MAX happens once, also where one stands in the other. */
static void extremes(void **state UNUSED)
{
        int n = 0, least = MIN(++n, 5);
        assert_int_equal(least, 1);
        assert_int_equal(n, 1);
        int between = MAX(MIN(n++, 5), MIN(7, 3));
        assert_int_equal(between, 3);
        assert_int_equal(n, 2);
        assert_int_equal(MIN((size_t)9, 4), 4);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(extremes),      cmocka_unit_test(parses),
            cmocka_unit_test(reads_words),   cmocka_unit_test(formats_as_printf),
            cmocka_unit_test(formats_edges), cmocka_unit_test(reads_unsigned),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
