/*
 * The host on a worker and a beat of its own, so that a driver that hangs does not stop it, nor it
 * the frames. Each tick is reported, kept for any caller that takes the newest, and put into a
 * session.
 */
#pragma once

#include "engine/flight.h"
#include "engine/host.h"
#include "engine/stack_recent.h"
#include "life/beat.h"
#include "life/worker.h"
#include "session/session.h"

struct host_beat_config {
        /* What to read: a view that is open, the caller's, which must outlive the worker; or NULL,
         * and the worker opens one by these, of which texts are copied. */
        struct host_view *view;
        struct host_config host;
        struct flight *flight;   /* NULL: none */
        struct session *session; /* NULL: ticks are only reported */
        double stacks_hz;        /* looks a second at stacks, for session and keep; 0 for none */
        int64_t interval_ns;
        bool keep;             /* host_beat_take is used */
        bool ends_with_target; /* on_over is called when the target and all it started have ended */
        /* Called on the worker; may be NULL. */
        void (*on_host)(void *arg, const struct host *host);
        void *on_host_arg;
        void (*on_over)(void *arg);
        void *on_over_arg;
        struct crew *user; /* argument of the calls: it outlives the worker. May be NULL. */
};

struct host_beat;

int host_beat_start(const struct host_beat_config *config, struct host_beat **ret, struct err *err);
/* Passes the newest frame of the GPUs to the host's levels. Safe from another thread. */
void host_beat_see(struct host_beat *h, const struct frame *frame);
/* Reads other levels from now on, where the view is the worker's; the first rates come with the
 * second tick. */
void host_beat_set_levels(struct host_beat *h, unsigned levels);
/* Copies the newest tick. False while there is none. */
bool host_beat_take(struct host_beat *h, struct host *ret);
/* The newest picture of the stacks, with keep; valid until the next call. NULL while there is none.
 */
const struct stack_live *host_beat_stacks(struct host_beat *h);
/* Asks it to read once more and to end; does not wait. */
void host_beat_stop(struct host_beat *h);

struct host_beat_result {
        struct beat beat;  /* ticks asked for, and what became of them */
        struct err store;  /* the first failure to keep one; code 0 when there was none */
        struct err source; /* why reading ended early */
};

/* Waits so long for the end. False when it has not come; then the result stays untouched. */
bool host_beat_wait(struct host_beat *h, int64_t patience_ns, struct host_beat_result *ret);
/* Stops, and returns at once; a worker that still reads frees what there is. NULL is allowed. */
void host_beat_close(struct host_beat *h);
