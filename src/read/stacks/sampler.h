/*
 * Samples the stacks of a set of processes on a thread of its own, so nobody waits for it: a
 * snapshot at a process that hangs in the kernel delays other looks alone, and closing leaves the
 * thread behind.
 *
 * Looks come at a random moment of each interval, so a program whose own work repeats at a similar
 * rate is not always met at the same point. What looking costs is measured: when it would exceed
 * the budget, fewer processes are examined each time, in turns, and their samples stand for more
 * time. Sums of stands_for_ns stay right; samples say how many they rest on.
 */
#pragma once

#include "base/err.h"
#include "model/stack.h"

#define SAMPLER_HZ_DEFAULT 20
#define SAMPLER_HZ_MAX 200
#define SAMPLER_BUDGET_DEFAULT 0.005 /* of a core */
#define SAMPLER_QUEUE_MAX                                                                          \
        16384 /* samples that wait to be taken; later ones are counted and lost                    \
               */

struct sampler_config {
        double hz;     /* looks a second; 0: SAMPLER_HZ_DEFAULT */
        double budget; /* of a core; 0: SAMPLER_BUDGET_DEFAULT; 1 or more: as much as it takes */
        bool any_user; /* also other users' processes, as far as the kernel allows */
};

/* A process to sample. Those that matter most come first in turns: holders of GPUs. */
struct sampler_target {
        int32_t pid;
        bool first; /* before the others, each time */
};

struct sampler_stats {
        uint64_t rounds, samples, torn, reads; /* reads: system calls that read memory */
        uint64_t lost;                         /* samples that nobody took in time */
        uint64_t table_lost;                   /* names, frames and stacks the full table refused */
        int64_t cpu_ns;                        /* of the sampling thread */
        int64_t elapsed_ns;                    /* since it began */
        int64_t longest_ns;                    /* of one round, wall time */
};

struct sampler;

/* Starts the thread; it has nothing to do until sampler_watch. 0 or a negative code with err. */
int sampler_open(const struct sampler_config *config, struct sampler **ret, struct err *err);
/* Waits a moment for the thread and leaves it behind when it hangs. The table ends with it: copy
 * what is needed before. NULL is allowed. */
void sampler_close(struct sampler *s);

/*
 * From now on samples these and no others; at most STACK_PROCESSES_MAX, those beyond are left out.
 * Cheap to call again with the same list. What is known of a process that stays is kept.
 */
void sampler_watch(struct sampler *s, const struct sampler_target *list, size_t n);

/* Moves samples that are ready to the caller's list, oldest first; how many. Never waits for a
 * snapshot, never allocates. */
size_t sampler_take(struct sampler *s, struct stack_sample *list, size_t max);
/* Copies what is known of the processes that are watched, or have ended since the last call. */
size_t sampler_describe(struct sampler *s, struct stack_process *list, size_t max);
struct sampler_stats sampler_stats(struct sampler *s);
/* What the ids of samples mean; valid until sampler_close. See model/stack.h for who may read. */
const struct stack_table *sampler_table(const struct sampler *s);
