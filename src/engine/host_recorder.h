/*
 * Reads the host on a thread and a beat of its own and puts it into a session, so that a driver
 * that hangs does not stop it, nor it the frames.
 */
#pragma once

#include "engine/host.h"
#include "life/beat.h"
#include "session/session.h"

struct host_recorder_config {
        struct host_view *view;  /* the caller's; must outlive the recorder */
        struct session *session; /* NULL: ticks are only told */
        int64_t interval_ns;
        bool ends_with_target; /* on_over is called when the target and all it started have ended */
        /* Both are called on the thread; may be NULL. */
        void (*on_host)(void *arg, const struct host *host);
        void *on_host_arg;
        void (*on_over)(void *arg);
        void *on_over_arg;
};

struct host_recorder;

int host_recorder_start(const struct host_recorder_config *config, struct host_recorder **ret,
                        struct err *err);
/* The newest of the GPUs, for the levels. Safe from another thread. */
void host_recorder_see(struct host_recorder *h, const struct frame *frame);
/* Asks it to read once more and to end; does not wait. */
void host_recorder_stop(struct host_recorder *h);
/* Waits for the end, but not beyond a moment on the monotonic clock. False when it has not ended.
 */
bool host_recorder_wait(struct host_recorder *h, int64_t until_ns);

struct host_recorder_result {
        struct beat beat;  /* ticks asked for, and what became of them */
        struct err store;  /* the first failure to keep one; code 0 when there was none */
        struct err source; /* why reading ended early */
};

/* After the end only. */
void host_recorder_result(const struct host_recorder *h, struct host_recorder_result *ret);
void host_recorder_close(struct host_recorder *h);
