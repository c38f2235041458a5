/* A snapshot of stacks as text, fit for a terminal and for a mail. */
#pragma once

#include "base/strbuf.h"
#include "model/stack_snapshot.h"

/* The line of each main thread of those that lead, and how sure that is; nothing without any. */
void snapshot_write_main(const struct stack_snapshot *l, struct strbuf *out);
/*
 * Where several processes are in the same line that is said once, before the rest. all: also every
 * frame of every thread, and every process of every machine. 0 or -ENOMEM.
 */
int snapshot_write_text(const struct stack_snapshot *l, bool all, struct strbuf *out);
