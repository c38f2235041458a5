/* Writes a capture as dcgmi dmon prints it. */
#pragma once

#include "base/strbuf.h"
#include "model/frame.h"

/* Header lines, as dcgmi dmon prints them. */
void dmon_write_header(struct strbuf *out);
/* One round. */
void dmon_write_frame(const struct frame *f, struct strbuf *out);
