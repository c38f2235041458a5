/* Frames of a thread of CPython, from the innermost out, made into a stack. */
#pragma once

#include "read/stacks/code.h"

/*
 * The stack of a thread whose innermost frame is at an address; STACK_EMPTY for 0. Beyond
 * STACK_DEPTH_MAX frames the callers are left out, and a frame says so. False when it is torn: the
 * program moved on while it was read.
 */
bool walk_stack(struct code_cache *c, struct remote *r, const struct runtime *rt,
                struct stack_table *table, uint64_t innermost, uint32_t *ret);
