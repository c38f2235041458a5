/* An error that reports the user what failed and what to do about it. */
#pragma once

#include "base/attr.h"

#include <stddef.h>

struct err {
        int code; /* a negative errno or one of enum err_code; 0 when unset */
        char msg[512];
        char hint[512]; /* empty when there is no remedy to offer */
};

/* Codes beyond errno, for callers that choose an exit status by them. */
enum err_code {
        ERR_USAGE = -10001,     /* the user asked for something that does not exist */
        ERR_NO_SOURCE = -10002, /* no source can be used */
        ERR_DATA = -10003,      /* the input cannot be understood */
};

/* Sets code and message, clears the hint, returns the code. A NULL err is allowed. */
int err_set(struct err *err, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Adds what the user can do. Returns the code set before, so it can end a return statement; without
 * an err it does not know which, and says -EIO: callers that need the code pass one. */
int err_hint(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The hint "choose a, b or c" of names, from 0 until name gives NULL. Returns as err_hint does. */
int err_hint_choices(struct err *err, const char *(*name)(size_t i));

/* The hint for a library that is absent: the packages that bring it, and what else helps: a text
 * that continues after a comma, or NULL. Returns as err_hint does. */
int err_hint_install(struct err *err, const char *debian, const char *fedora,
                     const char *otherwise);
