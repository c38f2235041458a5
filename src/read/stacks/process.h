/*
 * One process whose stacks are read. It is found, described, and examined again and again; it may
 * start another program, end, or be unreadable, and each snapshot says what it is then.
 *
 * Time is shared out so that shares are right whatever is examined how often. Every look at a
 * process stands for a span of its time. A thread that is examined gets all of its time since its
 * last snapshot. One that is examined only because it holds the GIL right now gets this span alone:
 * the spans in which it did not are represented by its next snapshot of the other kind.
 */
#pragma once

#include "model/stack.h"
#include "read/host/procinfo.h"
#include "read/stacks/code.h"

#define PROCESS_THREADS_MAX 4096 /* of one process */

#define TASKS_MAX 1024 /* of one process whose numbers differ inside and outside */

/* A thread's number here, and in its own PID namespace. */
struct task_number {
        int32_t tid, inner;
};

/* What examines all processes share; one thread uses it. */
struct process_reader {
        struct remote remote;
        struct stack_table *table; /* borrowed */
        struct procinfo_reader *info;
        struct runtime_thread *threads; /* PROCESS_THREADS_MAX, of the process being examined */
        struct task_number tasks[TASKS_MAX]; /* of that process, when knows_tasks */
        size_t n_tasks;
        bool knows_tasks;
        int proc;      /* descriptor of /proc */
        bool any_user; /* also processes of other users */
};

/* 0 or a negative errno. */
int process_reader_open(struct stack_table *table, bool any_user, struct process_reader **ret);
void process_reader_close(struct process_reader *r);

struct process;

/* Which threads a snapshot reads. */
enum sample_kind {
        SAMPLE_MAIN,  /* the first thread, busy ones, and who holds the GIL */
        SAMPLE_TURNS, /* also the others, in turns when there are many: about once a second */
        SAMPLE_ALL,   /* every thread, of native code too: for people */
};

struct sample_plan {
        enum sample_kind kind;
        int64_t now_ns;        /* monotonic */
        int64_t stands_for_ns; /* of the process's time */
};

/* 0 or -ENOMEM; a pid that does not exist is a process that is STACK_GONE. */
int process_open(struct process_reader *r, int32_t pid, struct process **ret);
void process_close(struct process *p);
/* Looks at it and gives samples, at most max; how many. */
size_t process_read_stacks(struct process *p, struct process_reader *r,
                           const struct sample_plan *sample_plan, struct stack_sample *list,
                           size_t max);
/* What is known of it; valid until the next snapshot. */
const struct stack_process *process_describe(const struct process *p);
