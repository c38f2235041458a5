#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int err_set(struct err *err, int code, const char *fmt, ...)
{
        if (!err)
                return code;
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
        va_end(ap);
        err->code = code;
        err->hint[0] = '\0';
        return code;
}

int err_hint(struct err *err, const char *fmt, ...)
{
        if (!err)
                return -EIO;
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
        va_end(ap);
        return err->code;
}

int err_hint_install(struct err *err, const char *debian, const char *fedora, const char *otherwise)
{
        return err_hint(err, "install %s (Debian, Ubuntu) or %s (Fedora, Rocky)%s%s", debian,
                        fedora, otherwise ? ", " : "", otherwise ? otherwise : "");
}
