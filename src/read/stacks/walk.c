#include "read/stacks/walk.h"

/* Frames of the interpreter's own between others: at most one a call from C. */
#define STEPS_MAX (2 * STACK_DEPTH_MAX + 16)

bool walk_stack(struct code_cache *c, struct remote *r, const struct runtime *rt,
                struct stack_table *table, uint64_t innermost, uint32_t *ret)
{
        uint32_t frames[STACK_DEPTH_MAX], stack = STACK_EMPTY;
        size_t n = 0;
        uint64_t at = innermost;
        for (int step = 0; at && n < STACK_DEPTH_MAX && step < STEPS_MAX; step++) {
                struct runtime_frame f;
                if (!runtime_read_frame(r, rt, at, &f))
                        return false;
                if (f.has_code && !code_find_frame(c, r, rt, table, &f, &frames[n++]))
                        return false;
                if (f.previous == at)
                        return false;
                at = f.previous;
        }
        if (at)
                stack = stack_intern_call(table, stack, STACK_FRAME_CUT);
        while (n > 0)
                stack = stack_intern_call(table, stack, frames[--n]);
        *ret = stack;
        return true;
}
