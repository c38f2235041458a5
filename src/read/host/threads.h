/*
 * The threads of one process: which is busiest. /proc is asked for each of them, so they are
 * examined less often than ticks come, through descriptors that stay open; when there are many, the
 * main thread and the busiest of the last time each time, and the others in turn.
 */
#pragma once

#include "model/value.h"

#include <stddef.h>
#include <stdint.h>

#define THREADS_EVERY_NS 500000000LL
#define THREADS_MAX 8192 /* of one process; those beyond are not examined */

/* Descriptors that may stay open, shared by all who use them. */
struct fd_budget {
        size_t left;
};

struct thread_state {
        int32_t tid;
        int fd; /* -1 when not open */
        char state;
        uint64_t cpu;        /* clock ticks */
        int64_t read_ns;     /* 0 before the first look */
        struct value busy;   /* of one core, between the last two looks */
        uint64_t queued_ns;  /* total time that it waited for a CPU, as of queue_ns */
        int64_t queue_ns;    /* 0: not known */
        struct value queued; /* share of the time between the last two looks */
};

struct threads {
        int folder; /* /proc/PID/task; -1 before the first look */
        struct thread_state *list;
        size_t n, cap;
        size_t turn;       /* where those come next that are examined in turn */
        uint64_t reported; /* how many there were when they were listed */
        int64_t listed_ns; /* 0: never */
        int64_t read_ns;
        struct value busiest; /* ratio of one core, as of read_ns */
        struct value first;   /* the main thread's, likewise */
        struct value queued;  /* the largest of a thread, likewise */
        enum state no_queues; /* why the kernel does not count that; STATE_OK while it may */
        uint32_t blocked;     /* in uninterruptible sleep, the main thread left out */
};

void threads_init(struct threads *t);
void threads_finish(struct threads *t, struct fd_budget *fds);

struct threads_ask {
        int proc; /* descriptor of /proc */
        int32_t pid;
        uint64_t n;  /* threads, as its stat reports */
        size_t most; /* to examine now */
        double clock_ticks;
        int64_t now_ns;
};

/* Looks at the threads when THREADS_EVERY_NS have passed. Allocates only for more than ever. */
void threads_read(struct threads *t, const struct threads_ask *ask, struct fd_budget *fds);
