/* The stacks of a recorded run, at any time of it, as stack_recent gives those of now. */
#pragma once

#include "model/stack_live.h"

struct stack_play;

/* NULL when the file is not a session, or has no stacks. */
struct stack_play *stack_play_open(const char *path);
/* What was done until that time of the run, on the clock of its frames, forward or back; valid
 * until the next call. NULL when nothing is known of it. */
const struct stack_live *stack_play_at(struct stack_play *p, int64_t mono_ns);
void stack_play_close(struct stack_play *p);
