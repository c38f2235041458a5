#include "api/api.h"

#include <stdio.h>

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

struct assay_value api_value(struct value v)
{
        return (struct assay_value){
            .v = value_there(v) ? v.v : 0, .age_ms = v.age_ms, .state = v.state};
}

void assay_free(void *text)
{
        free(text);
}
