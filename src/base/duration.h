/* Lengths of time as people write them. */
#pragma once

#include <stdbool.h>

/*
 * "1.5", "100ms", "2s", "15m" or "15min", "12h", "7d", "2w": seconds, 0 or more and finite; a
 * number alone is seconds. False, and nothing written, when it is not one of these.
 */
bool duration_parse(const char *s, double *ret_seconds);
/* Whether a unit stands at the end: a number alone may also be a year, or a share. */
bool duration_has_unit(const char *s);
