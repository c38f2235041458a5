/* Spans and moments as people write them. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* "90s", "15m", "90min", "12h", "7d", "2w"; a number alone is seconds. */
bool times_span(const char *text, int64_t *ret_ns);
/*
 * A moment on the wall clock: a span before now with its unit, "2026-11-16" or "2026-11-16 08:00".
 * 0 or ERR_USAGE with the option's name in err.
 */
int times_moment(const char *option, const char *text, int64_t now_ns, int64_t *ret_ns,
                 struct err *err);
