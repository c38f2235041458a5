/*
 * Control groups, version 1 and 2: where a process is, where that is mounted, and what the group
 * used. The parsers are pure; cgroup_read and similar variables read files below a root folder.
 */
#pragma once

#include "model/value.h"

#include <stddef.h>
#include <stdint.h>

/* Hierarchies, in the order in which they name a process's group. */
enum cgroup_kind {
        CGROUP_UNIFIED, /* version 2 */
        CGROUP_MEMORY,
        CGROUP_CPUACCT,
        CGROUP_CPU,
        CGROUP_CPUSET,
        CGROUP_PIDS,
        CGROUP_FREEZER,
        CGROUP_SYSTEMD,
        CGROUP_KINDS
};

#define CGROUP_PATH_MAX 512

/* Paths as in /proc/PID/cgroup. "" when the process is in no such hierarchy. */
struct cgroup_paths {
        char path[CGROUP_KINDS][CGROUP_PATH_MAX];
};

/* Where the hierarchies are mounted. root is the part of a path that the mount hides. */
struct cgroup_mounts {
        struct {
                char point[256]; /* "" when not mounted */
                char root[256];
        } at[CGROUP_KINDS];
        bool hidepid; /* /proc hides other users' processes from those who are not root */
};

/* What a group used and may use. Missing where the hierarchy has no such file. */
struct cgroup_counters {
        struct value cpu_s;
        struct value memory, memory_peak, memory_limit;
        struct value read, write; /* bytes of storage; version 2 only */
        struct value quota;       /* CPUs; missing when not limited */
        struct value cpuset;
};

int cgroup_parse_paths(const char *buf, size_t n, struct cgroup_paths *ret);
/* From /proc/self/mountinfo. */
int cgroup_parse_mounts(const char *buf, size_t n, struct cgroup_mounts *ret);
/* "usage_usec 5\n…": the number after a word. */
bool cgroup_parse_key(const char *buf, size_t n, const char *key, uint64_t *ret);
/* "5\n", or "max" as UINT64_MAX. */
bool cgroup_parse_one(const char *buf, size_t n, uint64_t *ret);
/* cpu.max: "max 100000" or "150000 100000". CPUs, or 0 when not limited. */
bool cgroup_parse_cpu_max(const char *buf, size_t n, double *ret);

/* One device of io.stat, in bytes. */
struct cgroup_io {
        uint64_t device; /* major << 32 | minor */
        uint64_t read, write;
};
/* io.stat of version 2. Calls each() for every device. */
void cgroup_parse_io(const char *buf, size_t n, void (*each)(const struct cgroup_io *io, void *arg),
                     void *arg);

/*
 * The container a path belongs to: the last run of 64 hexadecimal digits. False when there is none.
 */
bool cgroup_container(const char *path, char *ret, size_t size);

/* The hierarchy whose path names the group: the first that is not at its root; CGROUP_KINDS for
 * none. */
enum cgroup_kind cgroup_main(const struct cgroup_paths *p);
/* The mounted folder of a group, for files below the root. False when it is not mounted. */
bool cgroup_folder(const struct cgroup_mounts *m, enum cgroup_kind kind, const char *path,
                   char *ret, size_t size);

/* Counters of the group at these paths ("" is passed over). Never fails: values are missing. */
void cgroup_read(int root, const struct cgroup_mounts *m, const struct cgroup_paths *p,
                 struct cgroup_counters *ret);
