#include "test.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/duration.h"

#include <math.h>
#include <string.h>

#define REFUSED (-1)

static void parses(void **state UNUSED)
{
        static const struct {
                const char *text;
                double seconds;
                const char *why;
        } cases[] = {
            {"0", 0, "nothing is a time too"},
            {"3600", 3600, "a number alone is seconds"},
            {"1.5", 1.5, "a fraction"},
            {"100ms", 0.1, "milliseconds"},
            {"2s", 2, "seconds"},
            {"15m", 900, "m is minutes, everywhere"},
            {"90min", 5400, "as --poll has them"},
            {"1.5h", 5400, "a fraction of an hour"},
            {"7d", 604800, "days"},
            {"1w", 604800, "weeks"},
            {"1e2s", 100, "an exponent"},
            {"1e300h", 3.6e303, "large, and no overflow"},
            {"1e308w", REFUSED, "overflows"},
            {"1e400", REFUSED, "no number"},
            {"-1s", REFUSED, "before its beginning"},
            {"", REFUSED, "nothing"},
            {"s", REFUSED, "a unit alone"},
            {"1x", REFUSED, "no unit"},
            {"1M", REFUSED, "months are none, and minutes are small"},
            {"1 h", REFUSED, "a blank"},
            {"1h30m", REFUSED, "two of them"},
            {"7dd", REFUSED, "a unit and more"},
            {"nan", REFUSED, "not a number"},
            {"inf", REFUSED, "no end"},
            {"fast", REFUSED, "a word"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                double v = REFUSED;
                bool taken = duration_parse(cases[i].text, &v);
                if (taken != (cases[i].seconds >= 0) ||
                    fabs(v - cases[i].seconds) > fabs(cases[i].seconds) * 1e-12)
                        fail_msg("%s: '%s' gave %.17g", cases[i].why, cases[i].text, v);
                if (taken && clock_from_seconds(v) < 0)
                        fail_msg("%s: '%s' has no nanoseconds", cases[i].why, cases[i].text);
        }
}

static void tells_units(void **state UNUSED)
{
        assert_true(duration_has_unit("7d"));
        assert_true(duration_has_unit("90min"));
        assert_false(duration_has_unit("2026"));
        assert_false(duration_has_unit("5%"));
        assert_false(duration_has_unit(""));
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(parses), cmocka_unit_test(tells_units)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
