#include "read/dcgm/failure.h"

#include <stdio.h>
#include <string.h>

static const struct {
        const char *text;
        const char *message;
        const char *hint;
        int code;
        bool refused;
} rows[DCGM_FAILURE_COUNT] = {
    [DCGM_FINE] = {"", "", "", 0, false},
#define DCGM_FAILURE(id, code, text, refused, message, hint)                                       \
        [DCGM_##id] = {text, message, hint, code, refused},
#include "read/dcgm/failures.def"
#undef DCGM_FAILURE
};

#define ADMIN_HINT                                                                                 \
        "ask an administrator to put 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' "      \
        "into /etc/modprobe.d and reload the driver, or to run the host engine as root"

static enum dcgm_failure by_code(int code)
{
        for (enum dcgm_failure f = DCGM_FINE + 1; f < DCGM_FAILURE_COUNT; f++) {
                if (code != 0 && rows[f].code == code)
                        return f;
        }
        return DCGM_FINE;
}

/* The number after "Result: " or "Return "; 0 when there is none. */
static int code_after(const char *said, size_t len, const char *mark)
{
        size_t n = strlen(mark);
        const char *at = memmem(said, len, mark, n);
        const char *end = said + len;
        int code = 0;
        if (!at || at + n >= end || at[n] != '-')
                return 0;
        for (at += n + 1; at < end && *at >= '0' && *at <= '9' && code < 1000; at++)
                code = code * 10 + (*at - '0');
        return -code;
}

enum dcgm_failure dcgm_failure_of(const char *said, size_t len, int status)
{
        static const char *const marks[] = {"Result: ", "Return "};
        enum dcgm_failure f = DCGM_FINE;
        for (size_t i = 0; i < ARRAY_LEN(marks) && f == DCGM_FINE; i++)
                f = by_code(code_after(said, len, marks[i]));
        for (enum dcgm_failure k = DCGM_FINE + 1; k < DCGM_FAILURE_COUNT && f == DCGM_FINE; k++) {
                const char *text = rows[k].text;
                if (text[0] && memmem(said, len, text, strlen(text)))
                        f = k;
        }
        /* Below 128 + 64 a status may be a signal's, and 255 and 254 have several causes. */
        if (f == DCGM_FINE && status > 192 && status < 254)
                f = by_code(status - 256);
        return f == DCGM_FINE ? DCGM_ENDED : f;
}

bool dcgm_failure_is_refusal(enum dcgm_failure f)
{
        return rows[f].refused;
}

bool dcgm_failure_may_pass(enum dcgm_failure f)
{
        return f == DCGM_UNREACHABLE || f == DCGM_NO_ANSWER || f == DCGM_NO_GPU ||
               f == DCGM_PAUSED || f == DCGM_DETACHED || f == DCGM_DRIVER_TIMEOUT ||
               f == DCGM_ENDED;
}

const char *dcgm_failure_message(enum dcgm_failure f)
{
        return rows[f].message;
}

const char *dcgm_failure_hint(enum dcgm_failure f)
{
        return rows[f].hint;
}

int dcgm_failure_report(enum dcgm_failure f, const char *detail, const char *root, struct err *err)
{
        bool counters = f == DCGM_NOT_PERMITTED || f == DCGM_NEEDS_ROOT;
        err_set(err, ERR_NO_SOURCE, "%s%s%s", rows[f].message, detail[0] ? ": " : "", detail);
        if (counters && dcgm_admin_only(root))
                return err_hint(err, "%s", ADMIN_HINT);
        return err_hint(err, "%s", rows[f].hint);
}

bool dcgm_admin_only(const char *root)
{
        char path[4096], line[256];
        int value = 0;
        snprintf(path, sizeof(path), "%s/proc/driver/nvidia/params", root);
        FILE *f = fopen(path, "re");
        while (f && fgets(line, sizeof(line), f)) {
                if (sscanf(line, "RmProfilingAdminOnly: %d", &value) == 1)
                        break;
        }
        if (f)
                fclose(f);
        return value == 1;
}
