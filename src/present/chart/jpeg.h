/* A picture as baseline JPEG, for those who are asked for that: lines and letters want PNG. */
#pragma once

#include "base/strbuf.h"

#include <stdint.h>

#define JPEG_SIDE_MAX 65535

/* 0x00RRGGBB a pixel, stride bytes a row; at least one pixel, at most JPEG_SIDE_MAX a side. */
void jpeg_write(const unsigned char *pixels, size_t stride, size_t width, size_t height,
                struct strbuf *out);
