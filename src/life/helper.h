/* Another program as a child process, whose output arrives through pipes that never block. */
#pragma once

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct helper {
        pid_t pid;  /* 0 when there is none */
        int in_fd;  /* its standard input; -1 when closed, or when it has none */
        int out_fd; /* its standard output; -1 when closed */
        int err_fd; /* its standard error; -1 when closed */
        bool ended; /* it was waited for */
        int status; /* as in a shell: the exit status, or 128 + the signal */
};

#define HELPER_NONE                                                                                \
        (struct helper)                                                                            \
        {                                                                                          \
                .in_fd = -1, .out_fd = -1, .err_fd = -1                                            \
        }

struct helper_options {
        bool talks;       /* its standard input is a pipe; else /dev/null */
        bool is_quiet;    /* its standard error is /dev/null; else a pipe */
        int death_signal; /* what the kernel sends when the thread ends; 0 is SIGKILL */
        /* Whether NAME=VALUE is kept from it. NULL: it sees the whole environment. */
        bool (*hides)(const char *variable);
};

/*
 * Finds the program: name itself when it holds a slash, else in the folders of path, else where
 * packages put it. Folders that are not named from the root are passed over: what lies in the
 * current folder is not run. False when there is none that can be run.
 */
bool helper_find(const char *name, const char *path, char *buf, size_t size);
/* The caller's PATH; the system's folders where there is none, or where the program has more rights
 * than its caller. */
const char *helper_path(void);

/*
 * Starts argv[0] in a process group of its own, with no signal blocked or ignored. The kernel
 * signals it when the thread that started it ends, however that happens. 0 or a negative errno,
 * that of exec included.
 */
int helper_start(struct helper *c, const char *const argv[], const struct helper_options *how);

/*
 * Writes to its standard input, without waiting; false unless all of it went. The signal of a pipe
 * that nobody reads any more does not reach the program, which may have kept it deadly.
 */
bool helper_write(struct helper *c, const char *s, size_t n);

struct helper_limits {
        int64_t patience_ns; /* until the end of its output */
        size_t most;         /* bytes of its standard output */
        int wake;            /* gives up when this can be read; -1 for none */
};
#define HELPER_SAID_MAX 65536
/*
 * Reads what it writes until it closes both its outputs. Of standard error the first
 * HELPER_SAID_MAX bytes are kept. 0, -ETIMEDOUT, -EFBIG, -ECANCELED or another negative errno; stop
 * it afterwards either way.
 */
int helper_collect(struct helper *c, const struct helper_limits *limits, struct strbuf *out,
                   struct strbuf *said);

/* Whether it has ended; fills status then. Does not wait. */
bool helper_reap(struct helper *c);
/* Whether it has ended, without waiting for it: its number stays its own. */
bool helper_has_ended(const struct helper *c);
/* Waits a fifth of a second for one that has closed its output, then ends it. Its status. */
int helper_finish(struct helper *c);
/* Closes its input and sends SIGTERM to its group; does not wait. */
void helper_terminate(struct helper *c);
/* Kills its group; does not wait. */
void helper_kill(struct helper *c);
/* Waits so long for one that was asked to end, kills it else, and closes the pipes. */
void helper_stop_after(struct helper *c, int64_t patience_ns);
/* Ends it, kindly and then not, within a fifth of a second, and closes the pipes. */
void helper_stop(struct helper *c);
