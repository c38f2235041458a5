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
/* The number and the first two arguments of the call; false when it is in none. */
bool task_parse_arguments(const char *buf, size_t n, int64_t *ret_call, uint64_t ret[2]);

/* What the call that a thread is in is about: a text, or the address of a futex. */
struct task_target {
        uint32_t target;
        uint64_t waits_at;
};
void task_read_target(int folder, int32_t pid, int32_t tid, struct stack_table *table,
                      struct task_target *ret);

/* How much a thread has run since it began, and when it last began to, on the scheduler's clock. */
struct task_runs {
        bool has_times, has_last;
        uint64_t cpu_ns, waited_ns, times; /* waited: for a CPU */
        double last_ms;
};
void task_read_runs(int folder, int32_t tid, struct task_runs *ret);
/* The contents of sched and schedstat; pure. The second leaves last alone. */
bool task_parse_last_run(const char *buf, size_t n, double *ret_ms);
bool task_parse_runs(const char *buf, size_t n, struct task_runs *ret);
