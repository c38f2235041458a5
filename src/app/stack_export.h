/* The stacks of a session for other tools. */
#pragma once

#include "base/err.h"
#include "base/strbuf.h"

#include <stdint.h>

/* What of a session: all zeros are all of it. */
struct stack_choice {
        double at_s;      /* from this long after its start on */
        uint64_t seconds; /* how many of those that it has; 0: all */
        int32_t pid;      /* of this process and what it started; 0: of all */
};

/* format: folded or speedscope. What was left out is added to notices. 0 or a negative code. */
int stack_export(const char *path, const struct stack_choice *choice, const char *format,
                 struct strbuf *out, struct strbuf *notices, struct err *err);
