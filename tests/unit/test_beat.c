#include "test.h"

#include "base/attr.h"
#include "base/clock.h"
#include "life/beat.h"

#define MS NS_PER_MS

static void keeps_time(void **state UNUSED)
{
        struct beat b;
        beat_start(&b, 1000 * MS, 100 * MS);
        static const struct {
                int64_t at_ms;
                int64_t remaining_ms; /* just before */
                uint64_t number, late, missed;
                const char *why;
        } cases[] = {
            {1000, 0, 0, 0, 0, "the first is due at once"},
            {1100, 0, 1, 0, 0, "in time"},
            {1205, 0, 2, 0, 0, "a little late is in time"},
            {1350, 0, 3, 0, 0, "half an interval is in time"},
            {1451, 0, 4, 1, 0, "more than half an interval is late"},
            {1499, 1, 5, 1, 0, "the next keeps its own time, and is not pushed back"},
            {1860, 0, 8, 2, 2, "more than two and a half intervals: two are skipped, one is late"},
            {1900, 0, 9, 2, 2, "no bunching afterwards"},
            {2801, 0, 18, 2, 10, "a long pause"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                int64_t now = cases[i].at_ms * MS;
                if (beat_remaining(&b, now) != cases[i].remaining_ms * MS)
                        fail_msg("%s: remaining", cases[i].why);
                int64_t due = b.start_ns + (int64_t)b.next * b.interval_ns;
                uint64_t n = beat_take(&b, now);
                if (clock_last_beat(due, b.interval_ns, now) !=
                    b.start_ns + (int64_t)n * b.interval_ns)
                        fail_msg("%s: the last beat", cases[i].why);
                if (n != cases[i].number || b.late != cases[i].late || b.missed != cases[i].missed)
                        fail_msg("%s: number %lu late %lu missed %lu", cases[i].why, n, b.late,
                                 b.missed);
                assert_int_equal(b.asked, b.taken + b.missed);
                assert_int_equal(b.next, n + 1);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(keeps_time),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
