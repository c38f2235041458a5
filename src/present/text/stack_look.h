/* A look at stacks as text, fit for a terminal and for a mail. */
#pragma once

#include "base/strbuf.h"
#include "model/stack_look.h"

/* The line of each main thread of those that lead, and how sure that is; nothing without any. */
void look_write_main(const struct stack_look *l, struct strbuf *out);
/*
 * Where several processes are in the same line that is said once, before the rest. all: also every
 * frame of every thread, and every process of every machine. 0 or -ENOMEM.
 */
int look_write_text(const struct stack_look *l, bool all, struct strbuf *out);
