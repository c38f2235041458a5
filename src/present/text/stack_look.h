/* A look at stacks as text, fit for a terminal and for a mail. */
#pragma once

#include "base/strbuf.h"
#include "model/stack_look.h"

/*
 * Where several processes are in the same line that is said once, before the rest. all: also every
 * frame of every thread, and every process of every machine. 0 or -ENOMEM.
 */
int look_write_text(const struct stack_look *l, bool all, struct strbuf *out);
