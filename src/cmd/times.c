#include "cmd/times.h"

#include "base/clock.h"
#include "base/num.h"

#include <string.h>
#include <time.h>

bool times_span(const char *text, int64_t *ret_ns)
{
        static const struct {
                char unit;
                double seconds;
        } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};
        double v;
        size_t n = num_parse(text, strlen(text), &v);
        for (size_t i = 0; n > 0 && v >= 0 && i < ARRAY_LEN(units); i++) {
                if (text[n] == units[i].unit && text[n + 1] == '\0') {
                        *ret_ns = clock_from_seconds(v * units[i].seconds);
                        return true;
                }
        }
        return false;
}

int times_moment(const char *option, const char *text, int64_t now_ns, int64_t *ret_ns,
                 struct err *err)
{
        int64_t span;
        struct tm tm = {.tm_isdst = -1};
        if (times_span(text, &span)) {
                *ret_ns = now_ns - span;
                return 0;
        }
        const char *end = strptime(text, "%Y-%m-%d", &tm);
        if (end && *end)
                end = strptime(end + strspn(end, " T"), "%H:%M", &tm);
        if (!end || *end) {
                err_set(err, ERR_USAGE, "%s: '%s' is not a time", option, text);
                return err_hint(err, "write 7d, 12h, 2026-11-16 or '2026-11-16 08:00'");
        }
        *ret_ns = (int64_t)mktime(&tm) * NS_PER_S;
        return 0;
}
