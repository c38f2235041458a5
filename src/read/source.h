/* A source: something that gives batches of readings. One ops struct each, listed in sources.def.
 */
#pragma once

#include "base/err.h"
#include "model/host.h"
#include "model/node.h"
#include "model/process.h"
#include "model/reading.h"

#include <stdatomic.h>

struct source; /* each source defines its own and casts */

/* What a source may need to know. Text is borrowed and outlives the source. */
struct source_config {
        const char *location;   /* a file, a URL, an engine's address; NULL for the default */
        int64_t poll_ns;        /* how often to read; spacing of synthetic times in a capture */
        double speed;           /* of a replay, relative to real time; 0 is as fast as it is read */
        const char *token_file; /* prometheus: file that holds a bearer token; NULL for none */
        const char *dcgmi;      /* dcgm: the program to run; NULL to look it up on the PATH */
        const char *dcgm_host;  /* dcgm: address of the host engine; NULL for its default */
        const unsigned *dcgm_ids; /* dcgm: numbers of the fields somebody uses */
        size_t n_dcgm_ids;
        const char *root;        /* of the file system; "" for the real one */
        struct listing *listing; /* of its processes; NULL: the source's own */
        const char *nvml_lib;    /* nvml: the library to load; NULL for NVIDIA's */
        const char *rocm_lib;    /* drm: AMD's library to load; NULL for the installed one */
        const char *hosts;       /* nodes: a list of hosts, or @FILE; NULL with a job */
        const char *job;         /* nodes: the Slurm job whose nodes to read; NULL for none */
        const char *ssh;         /* nodes: the command that reaches a host; NULL for ssh */
        const char *remote;      /* nodes: the assay to run there; NULL for the one on its PATH */
        const char *backend;     /* nodes: how they should read their GPUs; NULL: as they do */
        const char *version;     /* of this program, to compare with theirs */
        bool show_all;           /* nodes: their GPUs that their environment hides too */
        bool settle; /* nodes, many exporters: the first tick waits until each answered or failed */
        bool ze_composite; /* drm: Level Zero counts Intel's cards, not their tiles */
        bool no_profiling; /* leave the GPUs' profiling counters to others */
        bool wait; /* dcgm, nodes: what is yet to start is waited for, its ticks are empty */
        /* nvml: the first tick comes as soon as the GPUs are known, before there are counters,
         * which need two looks. */
        bool preview;
        bool need_counters; /* open only when there are SM, tensor and DRAM counters */
        /* True for fields somebody uses. NULL: everything. May be called from the source's thread.
         */
        bool (*wanted)(enum dialect dialect, const char *field, size_t len);
        /* Whether how much of a GPU each process uses is wanted too, which NVML answers slowly;
         * borrowed, examined whenever processes are asked for. NULL: it is. */
        const atomic_bool *process_use;
};

#define PROCESSES_UNKNOWN SIZE_MAX

/* Texts of a configuration, for a thread that may outlive their owner. */
struct source_texts {
        char *text[12];
        struct listing *listing;
};
/* Copies them, shares the listing, and lets the configuration borrow the copies. False when memory
 * is short. */
bool source_keep_texts(struct source_config *config, struct source_texts *ret);
void source_free_texts(struct source_texts *texts);

struct source_ops {
        const char *name;
        const char *help;
        /* NVIDIA's counters need 0.1 s between samples, exporters a second; 0 for no floor. */
        int64_t poll_floor_ns;
        bool poll_floor_is_error; /* refuse a shorter poll instead of raising it */
        bool finite;              /* ends by itself: a capture */
        bool local;               /* reads this machine, so its environment chooses the GPUs */

        /* Opens it. 0, or a negative code with err reporting why and what to do. */
        int (*open)(const struct source_config *config, struct source **ret, struct err *err);
        /*
         * The next tick: 1 with a batch (valid until the next call), 0 at the end, or a negative
         * code. Live sources wait for their beat in here. The batch may be stale.
         */
        int (*next)(struct source *source, struct batch *ret, struct err *err);
        /* "dcgmi dmon capture", "nvml+gpm": where the values come from. May be NULL. */
        const char *(*provenance)(const struct source *source);
        /* May be NULL when nothing can go wrong line by line. */
        void (*trouble)(const struct source *source, struct source_trouble *ret);
        /*
         * The processes that hold GPUs as the source knows them: pid, type, GPU, memory and
         * utilization; at most max. From the first call on they are kept up to date. A recording
         * gives all it has of them, or PROCESSES_UNKNOWN. NULL when the source never knows any.
         */
        size_t (*processes)(struct source *source, struct process *ret, size_t max);
        /*
         * The host as a recording has it at the tick that was given last: the newest sample until
         * then, valid until the next call; NULL when there is none. May be NULL.
         */
        const struct host *(*host)(struct source *source);
        /* The name of the host that a recording was made on, "" when it does not say. May be NULL.
         */
        const char *(*recorded_host)(struct source *source);
        /* The machines that it reads, as they were at the tick that was given last: how many, and
         * the list, which is valid until the next call. May be NULL. */
        size_t (*nodes)(const struct source *source, const struct node **ret);
        /* Wakes a waiting next(), which then returns 0. Called from another thread. May be NULL. */
        void (*interrupt)(struct source *source);
        void (*close)(struct source *source); /* NULL is allowed */
};

/* The table. NULL at the end. */
const struct source_ops *source_at(size_t i);
const struct source_ops *source_find(const char *name);
