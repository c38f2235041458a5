/*
 * Stacks over time: what the threads of a run were doing, in windows of a second. The ids are those
 * of one stack_table (stack.h).
 */
#pragma once

#include "model/stack.h"

#define STACK_WINDOW_NS 1000000000LL

/* A thread that was examined; its place in the list is its id. */
struct stack_thread {
        uint32_t process; /* its place among the processes */
        int32_t tid;
        uint32_t name; /* text */
        bool is_main;  /* the process's first thread */
};

/* One stack of one thread in a window, and how long it stands for. */
struct stack_count {
        uint32_t thread;
        uint32_t stack;
        uint32_t call; /* text: the system call it was in */
        uint32_t n_samples;
        uint8_t state; /* enum stack_state */
        bool holds_gil;
        double seconds;
};

/* What the windows' ids mean. */
struct stack_log {
        const struct stack_table *table;
        const struct stack_thread *threads;
        size_t n_threads;
        const struct stack_process *processes;
        size_t n_processes;
};

struct stack_window {
        int64_t mono_ns; /* its beginning, on the clock of the session's frames */
        size_t n;
        const struct stack_count *counts;
};
