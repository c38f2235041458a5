/*
 * Who can write a dump: every program of this user that keeps a flight recorder has a file in the
 * runs' folder, ".run-PID", locked while it lives. It says who it is, and what became of its last
 * dump.
 */
#pragma once

#include "model/dump.h"

#include <limits.h>
#include <signal.h>
#include <stddef.h>

/* Asks a program that has such a file for a dump; kills any other. */
#define DUMP_SIGNAL SIGUSR1
#define DUMP_PROGRAM_MAX 32

struct dump_run;

/* Enters this program. folder is one that dump_folder_open takes. 0, or a negative code with err.
 */
int dump_run_open(const char *folder, const char *program, const char *dumps, struct dump_run **ret,
                  struct err *err);
/* Writes what is new. It may wait for a disk. NULL is allowed, here and below. */
void dump_run_update(struct dump_run *run, const struct dump_status *status);
/* Takes the file away again. */
void dump_run_close(struct dump_run *run);

struct dump_run_info {
        int64_t pid;
        int64_t start_ticks; /* since boot: with the pid, the process's identity */
        char program[DUMP_PROGRAM_MAX];
        char folder[PATH_MAX];    /* of its dumps */
        int64_t answered_ns;      /* monotonic: requests before that are answered; 0 for none */
        char file[DUMP_FILE_MAX]; /* of the answer; "" when it failed */
        char error[DUMP_TEXT_MAX];
};

/* Those that live, of this user; files of dead ones are removed. The caller frees the list. */
int dump_runs_list(const char *folder, struct dump_run_info **ret, size_t *ret_n, struct err *err);
/* One of them. False when it has ended. */
bool dump_runs_find(const char *folder, int32_t pid, struct dump_run_info *ret);
/* Asks it for a dump: only the process that wrote the file, whatever its pid means by now. */
int dump_run_request(const struct dump_run_info *run, struct err *err);
