/* One dcgmi as a child process, whose output arrives through pipes that never block. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct dcgm_child {
        pid_t pid;  /* 0 when there is none */
        int out_fd; /* its standard output; -1 when closed */
        int err_fd; /* its standard error; -1 when closed */
        bool ended; /* it was waited for */
        int status; /* as the shell has it: the exit status, or 128 + the signal */
};

#define DCGM_CHILD_NONE                                                                            \
        (struct dcgm_child)                                                                        \
        {                                                                                          \
                .out_fd = -1, .err_fd = -1                                                         \
        }

/*
 * Finds the program: name itself when it holds a slash, else on the PATH, else in the folder that
 * DCGM's packages use. False when there is none that can be run.
 */
bool dcgm_child_find(const char *name, const char *path, char *buf, size_t size);

/*
 * Starts argv[0] with /dev/null as standard input, in a process group of its own, with no signal
 * blocked or ignored and without CUDA_VISIBLE_DEVICES. The kernel kills it when the thread that
 * started it ends, however that happens. 0 or a negative errno, that of exec included.
 */
int dcgm_child_start(struct dcgm_child *c, const char *const argv[]);

/* Whether it has ended; fills status then. Does not wait. */
bool dcgm_child_reap(struct dcgm_child *c);
/* Waits a fifth of a second for one that has closed its output, then ends it. Its status. */
int dcgm_child_finish(struct dcgm_child *c);
/* Ends it, kindly and then not, within a fifth of a second, and closes the pipes. */
void dcgm_child_stop(struct dcgm_child *c);
