/* A command that is run untouched: its terminal, signals and exit status are its own. */
#pragma once

#include "base/err.h"
#include "cmd/witness.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>

struct child {
        bool alone; /* only the command itself is waited for, not its descendants */
        pid_t pid;
        bool over;  /* the command itself; descendants may still be there */
        int status; /* as wait gives it */
        struct rusage usage;
        int64_t ended_ns; /* on the monotonic clock */
        sigset_t set;     /* signals that are taken for it */
        struct witness witness;
        struct rlimit old_files; /* as the command finds it */
        sigset_t old_mask;
        struct sigaction old_chld, old_xfsz; /* as the command finds them */
        /* The command has ended, and can still be examined in /proc until this returns; may be
         * NULL. */
        void (*on_end)(void *arg);
        void *on_end_arg;
        void (*on_left)(const struct child *c); /* descendants outlive the command; may be NULL */
};

/* First of all: from here on a limit on the size of files is an error of writing and no death, and
 * a thread that crashes in a driver takes neither the command nor its status along. */
void child_init(struct child *c, bool alone);
/* Whether a command of that name is likely to start: a file that may be run, in PATH or where the
 * name says. */
bool child_can_start(const char *name);
/*
 * Starts it. Call before any thread is started that takes signals: from here on they come through
 * child_wait.
 * -ENOENT when there is no such program, another negative errno when it cannot be run.
 */
int child_start(struct child *c, char *const *argv, struct err *err);
/* Instead of that, or when it failed, and no thread is left: becomes the command. Returns only with
 * an error. */
int child_become(struct child *c, char *const *argv, struct err *err);
/* Waits until it and all its descendants have ended, passing signals on meanwhile. */
void child_wait(struct child *c);
/* The longest that the program may still take when the command has ended. */
#define CHILD_END_NS (2000 * 1000000LL)
/*
 * After child_wait: from here on a signal, or CHILD_END_NS, ends this process with the command's
 * status, whatever it waits for. False when that cannot be promised.
 */
bool child_limit_end(const struct child *c);
/* The exit status to give; a command that died of a signal takes this process with it the same way.
 */
int child_exit(const struct child *c);
