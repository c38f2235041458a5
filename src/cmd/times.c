#include "cmd/times.h"

#include "base/clock.h"
#include "base/duration.h"

#include <string.h>
#include <time.h>

bool times_span(const char *text, int64_t *ret_ns)
{
        double seconds;
        if (!duration_parse(text, &seconds))
                return false;
        *ret_ns = clock_from_seconds(seconds);
        return true;
}

int times_moment(const char *option, const char *text, int64_t now_ns, int64_t *ret_ns,
                 struct err *err)
{
        int64_t span;
        struct tm tm = {.tm_isdst = -1};
        /* 2026 alone may be a year. */
        if (duration_has_unit(text) && times_span(text, &span)) {
                *ret_ns = now_ns - span;
                return 0;
        }
        const char *end = strptime(text, "%Y-%m-%d", &tm);
        if (end && *end)
                end = strptime(end + strspn(end, " T"), "%H:%M", &tm);
        if (!end || *end) {
                err_set(err, ERR_USAGE, "%s: '%s' is not a time", option, text);
                return err_hint(err, "write 90min, 12h, 7d, 2026-11-16 or '2026-11-16 08:00'");
        }
        *ret_ns = (int64_t)mktime(&tm) * NS_PER_S;
        return 0;
}
