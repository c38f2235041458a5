/* A snapshot of stacks as JSON: docs/JSON.md has the members. */
#pragma once

#include "base/strbuf.h"
#include "model/stack_snapshot.h"

/* One object, with a newline. 0 or -ENOMEM. */
int snapshot_write_json(const struct stack_snapshot *l, const char *version, struct strbuf *out);
