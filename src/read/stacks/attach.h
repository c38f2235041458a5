/* Finds what a process runs, and says in words why it cannot be read. */
#pragma once

#include "model/stack.h"
#include "read/stacks/runtime.h"

struct attach_result {
        enum stack_access access; /* READABLE, PENDING, NO_RUNTIME, UNSUPPORTED, DENIED, GONE */
        char why[STACK_WHY_MAX];  /* "" when readable */
};

/* folder: of /proc/PID, open. Fills rt when it is readable. */
void attach_find(struct remote *r, int folder, int32_t pid, struct runtime *rt,
                 struct attach_result *ret);
