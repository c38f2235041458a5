/* What stands below the table of GPUs: clocks and temperatures, and who uses the GPUs. */
#pragma once

#include "base/strbuf.h"
#include "model/frame.h"

/* One line a GPU; nothing when no GPU has a clock or a temperature. */
void details_write_clocks(const struct frame *frame, struct strbuf *out);
/* One line a process and GPU; nothing when the source cannot report. */
void details_write_processes(const struct frame *frame, unsigned width, struct strbuf *out);
