/* A look at stacks as JSON: docs/JSON.md has the members. */
#pragma once

#include "base/strbuf.h"
#include "model/stack_look.h"

/* One object, with a newline. 0 or -ENOMEM. */
int look_write_json(const struct stack_look *l, const char *version, struct strbuf *out);
