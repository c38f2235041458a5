/*
 * What the threads of some processes did lately, for who shows it as it happens: how long each was
 * in each stack, and the newest look at it. All of it is valid until the next one is asked for.
 */
#pragma once

#include "model/stack_log.h"

#define STACK_LIVE_NS (30 * STACK_WINDOW_NS)

struct stack_live {
        struct stack_log log;
        struct stack_window window;        /* of the last half minute, or since the start */
        const struct stack_sample *newest; /* by thread */
        int64_t mono_ns;                   /* when it was put together */
        int64_t span_ns;                   /* how long the window is */
};

/* NULL when nothing is known of it. */
const struct stack_process *stack_live_process(const struct stack_live *live, int32_t pid);
/* The thread that says what a process is doing: the one that holds the interpreter's lock, else one
 * that runs, else the first. NULL when none was examined in the last seconds. */
const struct stack_sample *stack_live_thread(const struct stack_live *live, int32_t pid);
/* The newest examines its threads, in that order; how many. */
size_t stack_live_threads(const struct stack_live *live, int32_t pid,
                          const struct stack_sample **ret, size_t max);
