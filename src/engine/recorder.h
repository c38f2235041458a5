/*
 * Records frames and the host into a session on threads of its own: one samples the GPUs, one the
 * host, one writes. The watched program shares nothing with them.
 */
#pragma once

#include "base/clock.h"
#include "engine/host.h"
#include "engine/pipeline.h"
#include "session/session.h"

/* The kernel counts CPU time in hundredths of a second: shorter ticks of the host would tell noise.
 */
#define RECORDER_HOST_MIN_NS (NS_PER_S / 10)

struct recorder_config {
        struct session *session;   /* NULL: nothing is kept, only told */
        struct pipeline *pipeline; /* NULL: no GPU source; ticks are kept nevertheless */
        int64_t interval_ns;
        int64_t duration_ns; /* stop after so long; 0 never */
        /* Frames are of now, whatever a capture says: what is marked meanwhile is of now too. */
        bool restamp;
        bool until_stopped; /* keep ticking after the source has ended */
        /* Read at the same interval, but not oftener than ten times a second, or at its own. NULL:
         * no host. */
        struct host_view *host;
        int64_t host_interval_ns; /* 0 for the same */
        bool ends_with_target;    /* the recorder ends when the host's target process has */
        /* Sees every frame, on the sampling thread. May be NULL. */
        void (*on_frame)(void *arg, const struct frame *frame);
        /* Sees every tick of the host, on the host's thread. May be NULL. */
        void (*on_host)(void *arg, const struct host *host);
        /* The GPU source has ended; code 0 when nothing failed. On the sampling thread. May be
         * NULL. */
        void (*on_source_end)(void *arg, const struct err *source);
        /* A source that hung (see recorder_result) has returned after all, and nothing is used any
         * more. On the sampling thread. May be NULL. */
        void (*on_return)(void *arg);
        void *arg;
};

struct recorder;

/* Starts. What the configuration names stays the caller's and must outlive the recorder. */
int recorder_start(const struct recorder_config *config, struct recorder **ret, struct err *err);
/* Becomes readable when the recorder has ended by itself. */
int recorder_done_fd(const struct recorder *r);
/* Ticks so far. */
void recorder_counts(struct recorder *r, struct session_counts *ret);
/* Asks it to end; does not wait. */
void recorder_stop(struct recorder *r);

struct recorder_result {
        struct session_counts counts;
        struct err source;    /* why the source ended early; code 0 when it did not */
        struct err store;     /* the first failure to write; code 0 when there was none */
        bool store_works;     /* the last write went well */
        int64_t stop_wall_ns; /* when it ended; by a capture's own clock when it has one */
        uint64_t host_asked, host_taken, host_late, host_missed; /* the same of the host's ticks */
        struct err host; /* why reading the host ended early; code 0 when it did not */
        /* A source never came back: leave session, pipeline and host alone. */
        bool hung;
};

/* Waits for all threads, and frees. A source that hangs is waited for only a little. */
void recorder_finish(struct recorder *r, struct recorder_result *ret);
