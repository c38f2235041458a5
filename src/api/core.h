/*
 * One run of a monitor: what samples, and the frames it made. It outlives its end, so that what was
 * measured can be read, and is left behind whole when a driver hangs; if it returns, it is freed.
 */
#pragma once

#include "api/api.h"
#include "api/parts.h"
#include "app/limits.h"
#include "app/manifest.h"
#include "engine/engine.h"

#include <pthread.h>

#define CORE_PATH_MAX 4096

struct core {
        atomic_uint users;
        struct assay_options options;  /* a copy: sources borrow its texts */
        struct pipeline *pipeline;     /* NULL without GPUs */
        struct host_view *host;        /* NULL without levels */
        pthread_mutex_t storing;       /* held while the session is written or closed */
        struct session *session;       /* NULL when nothing is recorded */
        struct collecting *collecting; /* NULL without numbers of the user's own */
        struct manifest_limits noted;
        char session_path[CORE_PATH_MAX];
        struct limits *limits;   /* NULL when a session has it all */
        struct hwfiles *hwfiles; /* NULL when none are written */
        int64_t interval_ns;
        char backend[32];
        char notice[512]; /* what is worth knowing: no GPUs, an interval that was raised */

        pthread_mutex_t lock;  /* what follows */
        pthread_cond_t news;   /* a frame, or the end */
        struct engine *engine; /* NULL once it is being ended */
        struct stock *stock;
        struct names *names;                 /* of the newest frame; the sampling thread's */
        struct host_snapshot *host_snapshot; /* the newest */
        struct assay_frame **ring;
        size_t size;
        uint64_t first, last; /* ticks kept: from first + 1 to last */
        bool running;
        bool gpus_over;    /* the GPU source has ended; the host continues */
        bool host_alone;   /* the host's ticks are the frames: there are no GPUs, or not yet */
        char trouble[512]; /* why there are none, when a source was found */
        bool ending;       /* stop was asked for */
        struct err source; /* why it ended; code 0 when it did not fail */
        struct session_counts counts;
        int64_t start_ns, stop_ns; /* wall clock; stop_ns is 0 while it runs */
};

/*
 * Starts sampling. Ticks are numbered from after on. A driver that needs long to start is waited
 * for by the frames. 0, or a negative code with err.
 */
int core_start(const struct assay_options *options, uint64_t after, struct core **ret,
               struct err *err);
/* Ends sampling and completes the recording; returns how the recording ended. */
int core_stop(struct core *c, struct err *err);
struct core *core_ref(struct core *c);
void core_unref(struct core *c); /* NULL is allowed */

/* The number of the newest tick. */
uint64_t core_last(struct core *c);
/* A reference to the newest frame; NULL while there is none. */
struct assay_frame *core_latest(struct core *c);
/* The oldest frame after a tick; NULL when there is none. */
struct assay_frame *core_next(struct core *c, uint64_t after);
/* Whether there is one by the deadline (CLOCK_MONOTONIC), or the run is over before. */
bool core_wait(struct core *c, uint64_t after, int64_t until_ns);
/* Why there will be no more frames; 0 when there may be, or when the run ended as it should. */
int core_failure(struct core *c, struct err *err);
void core_counts(struct core *c, struct session_counts *ret);
/*
 * What limits the GPUs so far: as the recording reports, with its phases, or from memory where
 * there is none. 0, or a negative code with err; free ret->list.
 */
int core_findings(struct core *c, struct stretch_list *ret, struct err *err);
/* Everything so far is in the session's file. 0, or a negative code with err. */
int core_flush(struct core *c, struct err *err);
