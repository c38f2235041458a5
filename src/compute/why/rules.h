/* What the parts of compute/why share: what a call is about, and what a process shows of progress.
 */
#pragma once

#include "model/why.h"

/* What a thread that is asleep waits for, by the system call it is in. */
enum wait_kind {
        WAIT_OTHER,
        WAIT_LOCK,   /* a lock of the program */
        WAIT_FLOCK,  /* a lock of a file */
        WAIT_DATA,   /* a socket, a pipe, or any of several */
        WAIT_FILE,   /* a file of a file system */
        WAIT_PEOPLE, /* a terminal */
        WAIT_TIME,
        WAIT_CHILD,
};
enum wait_kind why_wait_kind(const struct stack_snapshot *l, const struct snapshot_thread *t);

/* Whether a thread was asleep in one place all the time; so often at most may it have looked
 * around.
 */
bool why_is_asleep(const struct snapshot_thread *t);
/* Whether the user's own line waits itself, not a library below it. */
bool why_waits_directly(const struct stack_snapshot *l, const struct snapshot_thread *t);
bool why_has_own_code(const struct stack_snapshot *l, const struct snapshot_thread *t);
/* Whether a frame of the stack is a collective's. */
bool why_in_collective(const struct stack_snapshot *l, uint32_t stack);
/* Whether a frame of the stack is a debugger's. */
bool why_in_debugger(const struct stack_snapshot *l, uint32_t stack);
/* Whether a rank, what it started and its GPUs show any progress beside where its threads are. */
bool why_shows_progress(const struct why *w, uint32_t process);
/* The rank that a process works for, itself or a parent's; WHY_NONE when there is none. */
uint32_t why_rank_of(const struct why *w, uint32_t process);

/* Fills what the ranks do and groups them. 0 or -ENOMEM. */
int why_see_ranks(struct why *w);
/* Adds the findings of ranks, GPUs, nodes and of NCCL. 0 or -ENOMEM. */
int why_find_causes(struct why *w);
