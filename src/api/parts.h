/*
 * What a frame of the interface is made of. Parts never change once others can see them, are
 * counted by their users, and go back to a stock when nobody uses them: a monitor that has warmed
 * up allocates nothing.
 */
#pragma once

#include "model/frame.h"
#include "model/host.h"

#include <stdatomic.h>
#include <sys/types.h>

struct stock;

/* Who the GPUs are. Shared by all frames from one change to the next. */
struct names {
        atomic_uint users;
        size_t n;
        struct entity list[];
};

struct host_snapshot_level {
        bool asked, present;
        char why[HOST_TEXT_MAX], name[HOST_TEXT_MAX];
        struct value f[FIGURE_COUNT];
};

/* First member of each part: its reference count, and the stock it returns to. */
struct part {
        atomic_uint users;
        struct stock *stock;
        struct part *next; /* in the stock */
};

/* A struct host without its unused places: one of a thousand cores is 60 KB larger. */
struct host_snapshot {
        struct part part;
        uint64_t tick, asked, taken, late, missed;
        int64_t wall_ns, mono_ns, interval_ns;
        struct host_snapshot_level levels[LEVEL_COUNT];
        struct value system[SYSTEM_COUNT];
        size_t n_cores, cap_cores;
        struct value *cores;
        size_t n_gpus;
        char (*labels)[32];     /* n_gpus, room for HOST_GPUS_MAX; NULL until there is one */
        struct level_gpu *gpus; /* LEVEL_COUNT × HOST_GPUS_MAX, likewise */
};

/* Texts of verdicts, made when somebody asks. */
struct words {
        char *evidence, *why, *limit;
};

struct assay_frame {
        struct part part;
        uint64_t tick;
        int64_t wall_ns, mono_ns, window_ns;
        bool stale;
        char provenance[128];
        struct names *names;                 /* NULL without GPUs */
        struct host_snapshot *host_snapshot; /* NULL without levels */
        size_t n, cap;
        struct row *rows;              /* who points into names */
        _Atomic(struct words *) words; /* n of them; NULL until asked for */
};

/* NULL when memory is short. */
struct stock *stock_new(void);
/* The stock goes when the last part has come back. */
void stock_close(struct stock *s);

/* Each NULL when memory is short. names: those of the frame before, replaced when they changed. */
struct assay_frame *frame_make(struct stock *s, const struct frame *f, struct names **names,
                               struct host_snapshot *host_snapshot);
struct host_snapshot *host_snapshot_make(struct stock *s, const struct host *h);

void names_unref(struct names *n);                                /* NULL is allowed */
struct host_snapshot *host_snapshot_ref(struct host_snapshot *a); /* likewise */
void host_snapshot_unref(struct host_snapshot *a);                /* likewise */

/* Of n GPUs. NULL is allowed. */
void words_free(struct words *w, size_t n);

/* The frame as the layers know it; borrows. */
void frame_view(const struct assay_frame *f, struct frame *ret);
/* The host as the layers know it. NULL when there is none, or memory is short; free it. */
struct host *host_snapshot_host(const struct host_snapshot *a);
