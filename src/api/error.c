#include "api/api.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

_Static_assert((int)ASSAY_E_USAGE == (int)ERR_USAGE, "codes are the same inside and outside");
_Static_assert((int)ASSAY_E_NO_SOURCE == (int)ERR_NO_SOURCE, "and this one");
_Static_assert((int)ASSAY_E_DATA == (int)ERR_DATA, "and this one");

int api_fail(struct assay_error *to, int code, const char *msg, const char *hint)
{
        if (!to)
                return code;
        to->code = code;
        snprintf(to->message, sizeof(to->message), "%s", msg);
        snprintf(to->hint, sizeof(to->hint), "%s", hint);
        return code;
}

int api_error(struct assay_error *to, const struct err *from)
{
        return api_fail(to, from->code, from->msg, from->hint);
}

int api_file_error(const char *path, const struct err *from, struct assay_error *to)
{
        int code = from->code;
        if (code == ERR_NO_SOURCE)
                code = path && access(path, R_OK) < 0 ? -errno : ERR_DATA;
        return api_fail(to, code, from->msg, from->hint);
}

struct assay_value api_value(struct value v)
{
        return (struct assay_value){.v = value_or(v, 0), .age_ms = v.age_ms, .state = v.state};
}

void assay_free(void *text)
{
        free(text);
}
