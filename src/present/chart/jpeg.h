/* A picture as JPEG, for those who are asked for that: lines and letters want PNG. */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"

/*
 * 0x00RRGGBB a pixel, stride bytes a row. 0, or a negative code: libjpeg is needed, and loaded
 * then. What was added to out is to be thrown away on failure.
 */
int jpeg_write(const unsigned char *pixels, size_t stride, size_t width, size_t height,
               struct strbuf *out, struct err *err);
