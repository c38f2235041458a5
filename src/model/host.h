/*
 * The job around the GPU: the same figures at five levels, and what is known of the machine.
 * read/host fills counters and gauges; compute/levels fills what follows from them.
 */
#pragma once

#include "model/metric.h"
#include "model/serving.h"
#include "model/value.h"

#include <stddef.h>

enum level {
        LEVEL_PROCESS, /* the target and all its descendants */
        LEVEL_USER,    /* all with the target's real uid */
        LEVEL_SLURM,   /* all of one Slurm job */
        LEVEL_CGROUP,  /* all of the target's cgroup */
        LEVEL_SYSTEM,
        LEVEL_COUNT
};

#define LEVEL_BIT(level) (1u << (level))
#define LEVELS_ALL ((1u << LEVEL_COUNT) - 1)

enum figure {
#define FIGURE(id, name, kind, unit, of, help) FIGURE_##id,
#include "model/host.def"
#undef FIGURE
        FIGURE_COUNT,
        FIGURE_NONE = FIGURE_COUNT
};

enum system_figure {
#define SYSTEM(id, name, kind, unit, of, help) SYSTEM_##id,
#include "model/host.def"
#undef SYSTEM
        SYSTEM_COUNT,
        SYSTEM_NONE = SYSTEM_COUNT
};

#define HOST_PRESSURE_MUCH 0.1 /* of the time some task waited: worth checking */

enum evidence {
#define EVIDENCE(id, name, kind, unit, of, help) EVIDENCE_##id,
#include "model/host.def"
#undef EVIDENCE
        EVIDENCE_COUNT,
        EVIDENCE_NONE = EVIDENCE_COUNT
};

enum level_gpu_figure {
#define LEVEL_GPU(id, name, kind, unit, of, help) LEVEL_GPU_##id,
#include "model/host.def"
#undef LEVEL_GPU
        LEVEL_GPU_COUNT,
        LEVEL_GPU_NONE = LEVEL_GPU_COUNT
};

enum core_figure {
#define CORE(id, name, kind, unit, of, help) CORE_##id,
#include "model/host.def"
#undef CORE
        CORE_COUNT,
        CORE_NONE = CORE_COUNT
};

enum framework {
#define FRAMEWORK(id, name, mapped) FRAMEWORK_##id,
#include "model/host.def"
#undef FRAMEWORK
        FRAMEWORK_COUNT
};

#define HOST_CORES_MAX 1024
#define HOST_GPUS_MAX 32
#define HOST_TEXT_MAX 160

/* One GPU as the processes of a level use it. What the driver does not report is missing. */
struct level_gpu {
        struct value util;          /* ratio */
        struct value mem_copy_util; /* memory controller, ratio */
        struct value memory;        /* bytes */
};

struct level_state {
        bool asked; /* the user wants it */
        bool present;
        char why[HOST_TEXT_MAX];  /* when not present: the reason */
        char name[HOST_TEXT_MAX]; /* "1234 (python)", "alice", "77", "/user.slice", host name */
        struct value f[FIGURE_COUNT];
        struct level_gpu gpus[HOST_GPUS_MAX]; /* the first n_gpus of the host */
};

struct host_core {
        double busy_s, total_s; /* counters; total_s is 0 for a core that is absent */
        struct value util;      /* ratio over the tick */
};

/* What the host does for one GPU. A value that cannot be known is missing, with the reason. */
struct host_evidence {
        struct value e[EVIDENCE_COUNT];
};

#define HOST_BUSIEST_MAX 16
#define HOST_COMMAND_MAX 64

/* A process of the levels over the last tick; not recorded. */
struct host_process {
        int32_t pid;
        char command[HOST_COMMAND_MAX];
        struct value cpu;  /* cores */
        double memory;     /* bytes, RSS */
        struct value disk; /* bytes a second, read and written */
        uint64_t threads;
};

struct host {
        uint64_t tick;
        int64_t wall_ns, mono_ns;
        int64_t interval_ns;                 /* rates are over this long; 0 at the first tick */
        uint64_t asked, taken, late, missed; /* ticks so far, this one included */
        struct level_state levels[LEVEL_COUNT];
        struct value system[SYSTEM_COUNT];
        size_t n_cores;
        struct host_core cores[HOST_CORES_MAX];
        size_t n_gpus;
        char gpus[HOST_GPUS_MAX][32];                 /* labels */
        struct host_evidence evidence[HOST_GPUS_MAX]; /* of each of them */
        size_t n_servings;
        struct serving servings[SERVINGS_MAX]; /* a server keeps its place */
        size_t n_busiest;
        struct host_process busiest[HOST_BUSIEST_MAX]; /* most CPU time first, then memory */
};

/* Whether it is the host of a moment: samples are some seconds apart at most, and an older one is
 * of a host that nobody watched any more. */
bool host_is_of(const struct host *h, int64_t wall_ns);
/* Rows of host.def, by their scope; METRIC_SCOPE_LEVEL and those after it. Those of a scope follow
 * each other. */
size_t host_rows(enum metric_scope scope);
const struct metric_info *host_row(enum metric_scope scope, size_t row);
const struct metric_info *figure_info(enum figure figure);
const struct metric_info *system_figure_info(enum system_figure figure);
const struct metric_info *evidence_info(enum evidence evidence);
/* "torch", "jax", …; "none" for a program that uses none of those that are known. */
const char *framework_name(enum framework framework);
/* FRAMEWORK_NONE for NULL and for a name that is not known. */
enum framework framework_find(const char *name);
/* Parts of paths that its programs have mapped, between blanks; "" for none. */
const char *framework_mapped(enum framework framework);
/*
 * The place of a GPU in gpus, by its label; of a slice ("0/7"), that of its GPU where the slice
 * has no place of its own. HOST_GPUS_MAX when there is none.
 */
size_t host_find_gpu(const struct host *h, const char *label);
/*
 * The share of all CPU time in which this machine's CPUs worked for it. Time that the hypervisor
 * gave to others is not busy with our work and is shown apart (SYSTEM_STEAL); waiting for I/O is
 * idling. Missing when a share it needs is.
 */
struct value host_cpu_busy(const struct host *h);
/* "process", "user", "slurm", "cgroup", "system". */
const char *level_name(enum level level);
/* "process,system" or "all". False when a word is not a level. */
bool levels_parse(const char *text, unsigned *ret);
