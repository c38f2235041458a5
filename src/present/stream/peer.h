/* What an assay on another host reads; formats/jsonl reads it back. */
#pragma once

#include "base/strbuf.h"
#include "model/frame.h"

/* Who writes. */
void peer_write_hello(const char *version, struct strbuf *out);
/* One GPU with what was measured, and no verdict: one line. */
void peer_write_row(const struct frame *frame, const struct row *row, struct strbuf *out);
/* The rows before it are one sample. */
void peer_write_end(const struct frame *frame, struct strbuf *out);
/* The time that was asked for under that number. */
void peer_write_clock(uint64_t number, int64_t wall_ns, struct strbuf *out);
