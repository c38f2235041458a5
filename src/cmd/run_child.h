/* A command that is run untouched: its terminal, signals and exit status are its own. */
#pragma once

#include "base/err.h"

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
        int signals;      /* a signalfd */
        sigset_t old_mask;
        struct sigaction old_chld, old_xfsz;    /* as the command finds them */
        void (*on_left)(const struct child *c); /* descendants outlive the command; may be NULL */
};

/* First of all: from here on a limit on the size of files is an error of writing and no death. */
void child_init(struct child *c, bool alone);
/*
 * Starts it. Call before any thread is started: from here on signals come through child_wait.
 * -ENOENT when there is no such program, another negative errno when it cannot be run.
 */
int child_start(struct child *c, char *const *argv, struct err *err);
/* Waits until it and all its descendants have ended, passing signals on meanwhile. */
void child_wait(struct child *c);
/* The exit status to give; a command that died of a signal takes this process with it the same way.
 */
int child_exit(const struct child *c);
