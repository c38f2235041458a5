/*
 * The files of /proc/PID, from a buffer. Pure and bounded: whatever the bytes are, a function fills
 * its result or returns -EBADMSG and leaves it alone. Formats: proc(5).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROC_COMM_MAX 64

/* /proc/PID/stat. Times are in clock ticks. */
struct proc_stat {
        int32_t pid, ppid, pgrp, session;
        char state;
        char comm[PROC_COMM_MAX];
        uint64_t own;          /* utime + stime */
        uint64_t waited;       /* cutime + cstime: children that were waited for */
        uint64_t minor, major; /* page faults, without and with I/O */
        uint64_t threads;
        uint64_t start; /* since boot */
        uint64_t rss_pages;
};
int procfs_stat(const char *buf, size_t n, struct proc_stat *ret);

/* /proc/PID/schedstat and a task's. -ENOTSUP where the kernel does not count: all is 0. */
struct proc_schedstat {
        uint64_t cpu_ns, queued_ns, times; /* queued: ready to run, while others had the CPUs */
};
int procfs_schedstat(const char *buf, size_t n, struct proc_schedstat *ret);

/* /proc/PID/io. Children that were waited for are in it, as in `waited` above. */
enum proc_io_field {
        PROC_IO_RCHAR,
        PROC_IO_WCHAR,
        PROC_IO_SYSCR,
        PROC_IO_SYSCW,
        PROC_IO_READ,
        PROC_IO_WRITE,
        PROC_IO_COUNT
};
struct proc_io {
        uint64_t v[PROC_IO_COUNT];
};
int procfs_io(const char *buf, size_t n, struct proc_io *ret);

/* /proc/PID/status. */
struct proc_status {
        uint32_t uid, gid; /* real */
        uint32_t cpus;     /* that it may run on; 0 when not reported */
};
int procfs_status(const char *buf, size_t n, struct proc_status *ret);

/* What /proc/PID/status says of who holds it up: a debugger's pid, 0 for none; bytes that are
 * swapped out. False when one is absent. */
bool procfs_halted(const char *buf, size_t n, int32_t *ret_tracer, uint64_t *ret_swap);

/* /proc/PID/limits: the soft limit of the address space. UINT64_MAX when unlimited. */
int procfs_limits(const char *buf, size_t n, uint64_t *ret_address_space);

/* /proc/PID/smaps_rollup, in bytes. */
struct proc_smaps {
        uint64_t pss, uss;
};
int procfs_smaps(const char *buf, size_t n, struct proc_smaps *ret);

/* A variable of /proc/PID/environ, whose entries end in NUL. False when it is absent. */
bool procfs_environ(const char *buf, size_t n, const char *name, char *ret, size_t size);

/* "0-3,8": how many. False when it is not such a list. */
bool procfs_cpu_list(const char *buf, size_t n, uint32_t *ret);
