/* What the host view draws from: plain figures, each of which may be missing. */
#pragma once

#include "model/value.h"

#include <stddef.h>

#define HOST_CORES_MAX 1024
#define HOST_LEVELS_MAX 8

/* One scope: the target process, its user, its Slurm job, its cgroup, the system. */
struct host_level {
        const char *name;
        struct value cpu;          /* cores in use */
        struct value cpu_ratio;    /* of the level's CPUs */
        struct value memory;       /* bytes */
        struct value memory_limit; /* bytes */
        struct value read, write;  /* bytes/s */
        struct value processes, threads;
};

struct host_panel {
        const char *hostname;
        size_t n_cores;
        struct value core[HOST_CORES_MAX]; /* busy ratio */
        struct value cpu;                  /* busy ratio of all */
        struct value load1, load5, load15;
        struct value memory_used, memory_total, swap_used, swap_total; /* bytes */
        struct value psi_cpu, psi_memory, psi_io;                      /* ratio of stalled time */
        struct value disk_read, disk_write, net_rx, net_tx;            /* bytes/s */
        size_t n_levels;
        struct host_level level[HOST_LEVELS_MAX];
};
