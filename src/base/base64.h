/* Base64 of RFC 4648, with the standard alphabet and padding. */
#pragma once

#include "base/strbuf.h"

#include <stddef.h>

/* Bytes that n characters hold at most. */
#define BASE64_BYTES(n) ((n) / 4 * 3 + 3)

void base64_put(struct strbuf *out, const char *data, size_t n);
/*
 * Reads the whole text; padding may be absent. False when it is not a base64 or does not fit; ret
 * may then have been written to.
 */
bool base64_read(const char *s, size_t n, char *ret, size_t size, size_t *ret_n);
