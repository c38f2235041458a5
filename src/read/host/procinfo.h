/*
 * Who is behind a pid: what NVML's and DRM's process lists do not report. Works for other users'
 * processes as far as the system permits; what may not be read is missing, never 0.
 */
#pragma once

#include "model/value.h"

#include <stddef.h>
#include <stdint.h>

#define PROCINFO_NAME_MAX 64
#define PROCINFO_COMMAND_MAX 512
#define PROCINFO_ID_MAX 80

struct procinfo {
        int32_t pid;
        enum state state; /* OK; DENIED when hidden; NONE when it is gone or of another container */
        uint64_t start_ticks; /* since boot: with the pid, the process's identity */
        struct value start_s; /* since the Unix epoch */
        struct value uid, gid;
        struct value cpu_time; /* seconds, its own */
        struct value cpu;      /* cores, since the last look at it; BLANK at the first */
        struct value rss;      /* bytes */
        struct value threads;
        char user[PROCINFO_NAME_MAX], group[PROCINFO_NAME_MAX]; /* "" when not known */
        char comm[PROCINFO_NAME_MAX];
        char
            command[PROCINFO_COMMAND_MAX]; /* with its arguments; comm when they are not reported */
        char job[PROCINFO_NAME_MAX];       /* Slurm job, "" for none */
        char container[PROCINFO_ID_MAX];   /* 64 hexadecimal digits, "" for none */
};

struct procinfo_reader;

/* root of the file system, "" for the real one. 0 or a negative errno. */
int procinfo_open(const char *root, struct procinfo_reader **ret);
void procinfo_close(struct procinfo_reader *r);
/* Fills all of ret. Names, job and container are kept from look to look: they do not change. */
void procinfo_read(struct procinfo_reader *r, int32_t pid, int64_t mono_ns, struct procinfo *ret);
