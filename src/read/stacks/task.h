/* What the kernel shows of a thread: its name, whether it runs, and what it waits in. */
#pragma once

#include "model/stack.h"

#define TASK_NAME_MAX 64

struct task_wait {
        enum stack_state state;
        uint32_t call, channel; /* texts, as in struct stack_sample */
};

/*
 * Of a thread of the process whose folder in /proc is open. Missing files leave things unknown:
 * containers and hardened kernels hide some. False when the thread has gone.
 */
bool task_read_wait(int folder, int32_t tid, struct stack_table *table, struct task_wait *ret);
/* Its name; STACK_TEXT_NONE when it has none, or has gone. */
uint32_t task_read_name(int folder, int32_t tid, struct stack_table *table);
/* Its number in the innermost PID namespace that it is in. 0 when that is not known. */
int32_t task_read_inner(int folder, int32_t tid);

/* The files' contents; pure. "running", or the number of a call, -1 for none, and addresses. */
bool task_parse_call(const char *buf, size_t n, bool *ret_runs, int64_t *ret_call);
/* The last number of the line "NSpid:" of a status file; 0 when there is none. */
int32_t task_parse_inner(const char *buf, size_t n);
