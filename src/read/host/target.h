/* Whom the levels are about, found once: the uid, job and control group behind the options. */
#pragma once

#include "read/host/cgroup.h"
#include "read/host/host.h"
#include "read/host/scanner.h"

struct target {
        struct scan_target scan;
        struct cgroup_mounts mounts;
        struct cgroup_paths paths; /* all groups of the target, for limits */
        struct cgroup_paths group; /* the cgroup level's, where a hierarchy has the same */
        char dir[32];              /* "/proc/self" or "/proc/PID" */
        char name[LEVEL_COUNT][HOST_TEXT_MAX];
        char why[LEVEL_COUNT][HOST_TEXT_MAX]; /* why a level is absent; "" when it is */
};

/* Memory limits and CPU counts of each level. */
struct target_limits {
        struct value memory[LEVEL_COUNT];
        struct value cpus[LEVEL_COUNT];
        struct value affinity, quota;
};

/* 0, or a negative code with err. config's text is not kept. */
int target_find(int root, const struct host_config *config, struct target *ret, struct err *err);
/* job is where the Slurm job's groups are, NULL when not known. host has the machine's totals. */
void target_read_limits(int root, const struct target *t, const struct cgroup_paths *job,
                        const struct host *host, struct target_limits *ret);
