/*
 * Stacks added up: how long each thread was in each stack, in parts of a recording that the caller
 * numbers, such as stretches, phases or equal pieces.
 */
#pragma once

#include "base/lookup.h"
#include "model/stack_log.h"

#define STACK_SUMS_MAX 4000000

struct stack_sum {
        uint32_t part; /* the caller's */
        uint32_t thread;
        uint32_t stack;
        uint32_t call; /* text: the system call it was in */
        uint8_t state; /* enum stack_state */
        uint64_t n_samples;
        double seconds;
};

/* All zeros to begin with. */
struct stack_sums {
        struct stack_sum *list;
        size_t n, cap;
        struct lookup by_key;
        double left_out_s; /* of stacks beyond STACK_SUMS_MAX */
};

void stack_sums_finish(struct stack_sums *s);
/* 0 or -ENOMEM. */
int stack_sums_add(struct stack_sums *s, uint32_t part, const struct stack_count *c);
/* By process, thread and part; the longest first. Nothing is to be added after it. */
void stack_sums_sort(struct stack_sums *s, const struct stack_log *log);
/* "[waiting in futex]": what a thread does in its stack; empty when it runs code with
 * lines. */
void stack_sum_describe(const struct stack_sum *s, const struct stack_log *log, char *buf,
                        size_t size);
