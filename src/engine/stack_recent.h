/*
 * The last half minute of stacks in bounded memory. One thread adds and puts together, another
 * takes the newest; neither waits for the other longer than a swap takes. Nothing is allocated once
 * it has been as large as it gets.
 */
#pragma once

#include "model/stack_live.h"

struct stack_recent;

/* 0 or -ENOMEM. */
int stack_recent_open(struct stack_recent **ret);
void stack_recent_close(struct stack_recent *r);
void stack_recent_add(struct stack_recent *r, const struct stack_sample *samples, size_t n);
/* Puts together what is known now. The table must outlive what is taken. */
void stack_recent_publish(struct stack_recent *r, const struct stack_table *table,
                          const struct stack_process *processes, size_t n, int64_t now_ns);
/* Valid until the next call; NULL while there is none. */
const struct stack_live *stack_recent_take(struct stack_recent *r);
