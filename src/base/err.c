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

int err_hint_choices(struct err *err, const char *(*name)(size_t i))
{
        char names[256] = "";
        for (size_t i = 0, n = 0; name(i) && n < sizeof(names); i++)
                n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s",
                                      i == 0        ? ""
                                      : name(i + 1) ? ", "
                                                    : " or ",
                                      name(i));
        return err_hint(err, "choose %s", names);
}

int err_hint_install(struct err *err, const char *debian, const char *fedora, const char *otherwise)
{
        return err_hint(err, "install %s (Debian, Ubuntu) or %s (Fedora, Rocky)%s%s", debian,
                        fedora, otherwise ? ", " : "", otherwise ? otherwise : "");
}
