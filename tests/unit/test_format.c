#include "test.h"

#include "base/attr.h"
#include "base/clock.h"
#include "present/format.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static void a_value_by_its_unit(void **state UNUSED)
{
        static const struct {
                enum unit unit;
                double v;
                const char *full, *words, *brief, *fine, *why;
        } rows[] = {
            {UNIT_RATIO, 0.16, "16.0 %", "16 %", "16%", "16.0 %", "a sentence needs no decimal"},
            {UNIT_SCORE, 31.25, "31.2", "31.2", "31", "31.25", "a score is no share"},
            {UNIT_BYTES, 512, "512 B", "512 B", "512", "512 B", "no prefix, no decimal"},
            {UNIT_BYTES, 1536, "1.5 KiB", "1.5 KiB", "1.5k", "1.50 KiB", "powers of 1024: Ki"},
            {UNIT_BYTES, 1011 * 1048576.0, "1011 MiB", "1011 MiB", "1011M", "1011.0 MiB",
             "in full and short alike it is no GiB"},
            {UNIT_BYTES, 1023.6, "1.0 KiB", "1.0 KiB", "1.0k", "1024 B", "never 1024 B"},
            {UNIT_BYTES, 139.81 * 1073741824.0, "140 GiB", "140 GiB", "140G", "139.8 GiB",
             "three digits, four to compare"},
            {UNIT_BYTES_PER_S, 56.7e9, "56.7 GB/s", "56.7 GB/s", "56.7G", "5.67e+10",
             "powers of 1000"},
            {UNIT_BYTES_PER_S, 999.6, "1.0 kB/s", "1.0 kB/s", "1.0k", "999.6", "never 1000 B/s"},
            {UNIT_WATTS, 1250, "1250 W", "1250 W", "1250", "1250.0 W", "never 1.2k"},
            {UNIT_JOULES, 34681, "34.7 kJ", "34.7 kJ", "34.7k", "34681 J", "prefixes"},
            {UNIT_CELSIUS, 61, "61 °C", "61 °C", "61", "61.00", "a degree sign in full"},
            {UNIT_HERTZ, 1980e6, "1980 MHz", "1980 MHz", "1980", "1.98e+09", "always MHz"},
            {UNIT_COUNT, 12345, "12345", "12345", "12.3k", "12345", "counts are short in cells"},
            {UNIT_PER_S, 12.34, "12.34 /s", "12.34 /s", "12.3", "12.34", "a decimal in cells"},
            {UNIT_SECONDS, 123.4, "123.40 s", "123.40 s", "123", "123.4 s", "none from 99.95 on"},
            {UNIT_SECONDS, 0.0283, "0.03 s", "0.03 s", "0.0", "28.30 ms",
             "milliseconds to compare"},
            {UNIT_NUMBER, 5, "5", "5", "5", "5.000", "a plain number"},
            {UNIT_FLAG, 1, "1", "1", "1", "1.000", "a flag"},
            {UNIT_BITS, 36, "0x24", "0x24", "24", "36.00", "bits are hexadecimal"},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char text[FORMAT_MAX];
                const char *const reported[] = {rows[i].full, rows[i].words, rows[i].brief,
                                                rows[i].fine};
                for (enum format_style s = FORMAT_FULL; s <= FORMAT_FINE; s++) {
                        format_value(text, sizeof(text), s, rows[i].unit, value_ok(rows[i].v));
                        if (strcmp(text, reported[s]) != 0)
                                fail_msg("%s: '%s', not '%s'", rows[i].why, text, reported[s]);
                        format_value(text, sizeof(text), s, rows[i].unit,
                                     value_missing(STATE_DENIED));
                        assert_string_equal(text, "--");
                }
        }
}

static void energy(void **state UNUSED)
{
        static const struct {
                double joules;
                const char *text;
        } rows[] = {{0, "0 J"},           {0.05, "0.05 J"},    {505, "505 J"},
                    {999.7, "1.00 kJ"},   {1818, "1.82 kJ"},   {34681, "34.7 kJ"},
                    {99960, "100 kJ"},    {100000, "27.8 Wh"}, {7.92e5, "220 Wh"},
                    {7.85e6, "2.18 kWh"}, {3.6e8, "100 kWh"},  {4.4424e9, "1234 kWh"}};
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char text[FORMAT_MAX];
                assert_string_equal(format_energy(text, rows[i].joules), rows[i].text);
        }
}

static void shares(void **state UNUSED)
{
        char text[FORMAT_MAX];
        assert_string_equal(format_share(text, 0.16), "16 %");
        assert_string_equal(format_share(text, 1), "100 %");
}

static void moments(void **state UNUSED)
{
        char text[FORMAT_MAX];
        format_utc(text, sizeof(text), 1794886948 * NS_PER_S);
        assert_string_equal(text, "2026-11-17 03:42:28 UTC");
        setenv("TZ", "UTC-2", 1);
        tzset();
        format_minute(text, sizeof(text), 1794886948 * NS_PER_S);
        assert_string_equal(text, "2026-11-17 05:42");
        format_second(text, sizeof(text), 1794886948 * NS_PER_S);
        assert_string_equal(text, "2026-11-17 05:42:28");
        assert_true(format_is_date(1794886948 * NS_PER_S));
        /* Three days of a capture without times. */
        assert_false(format_is_date(3 * 86400 * NS_PER_S));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(a_value_by_its_unit),
            cmocka_unit_test(energy),
            cmocka_unit_test(shares),
            cmocka_unit_test(moments),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
