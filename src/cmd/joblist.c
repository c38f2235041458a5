#include "cmd/joblist.h"

#include "base/clock.h"
#include "base/num.h"

#include <string.h>
#include <time.h>

int joblist_path(const struct config *config, char ret[SERVE_PATH_MAX], struct err *err)
{
        char dir[SERVE_PATH_MAX];
        serve_state_dir(config, dir);
        if (!dir[0]) {
                err_set(err, ERR_USAGE, "there is no state folder");
                return err_hint(err, "give the one of 'assay serve': --state DIR");
        }
        if (snprintf(ret, SERVE_PATH_MAX, "%s/%s", dir, RECORDS_FILE) >= SERVE_PATH_MAX)
                return err_set(err, ERR_USAGE, "the state folder's name is too long");
        return 0;
}

/* A number and a unit. */
static bool read_span(const char *text, int64_t *ret)
{
        static const struct {
                char unit;
                double seconds;
        } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};
        double v;
        size_t n = num_parse(text, strlen(text), &v);
        for (size_t i = 0; n > 0 && v >= 0 && i < ARRAY_LEN(units); i++) {
                if (text[n] == units[i].unit && text[n + 1] == '\0') {
                        *ret = clock_from_seconds(v * units[i].seconds);
                        return true;
                }
        }
        return false;
}

int joblist_since(const char *text, int64_t now_ns, int64_t *ret, struct err *err)
{
        int64_t span;
        struct tm tm = {.tm_isdst = -1};
        if (read_span(text, &span)) {
                *ret = now_ns - span;
                return 0;
        }
        const char *end = strptime(text, "%Y-%m-%d", &tm);
        if (end && *end)
                end = strptime(end + strspn(end, " T"), "%H:%M", &tm);
        if (!end || *end) {
                err_set(err, ERR_USAGE, "--since: '%s' is not a time", text);
                return err_hint(err, "write 7d, 12h, 2026-11-16 or '2026-11-16 08:00'");
        }
        *ret = (int64_t)mktime(&tm) * NS_PER_S;
        return 0;
}

void joblist_name(const struct owner *o, char *ret, size_t size)
{
        switch (o->kind) {
        case OWNER_SLURM:
                snprintf(ret, size, "slurm %s", o->job);
                return;
        case OWNER_KUBERNETES:
                snprintf(ret, size, "%s/%s%s%s", o->namespace, o->pod, o->container[0] ? "/" : "",
                         o->container);
                return;
        case OWNER_PROCESS:
        case OWNER_KIND_COUNT:
                snprintf(ret, size, "processes");
                return;
        }
}
