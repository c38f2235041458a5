/* The engine's insides, shared by its parts: engine.c starts and ends, sampler.c is the GPUs'
 * thread, player.c winds captures, shown.c hands frames over. */
#pragma once

#include "engine/engine.h"
#include "engine/history.h"
#include "engine/host_beat.h"
#include "engine/host_play.h"
#include "engine/node_notes.h"
#include "engine/shown.h"
#include "engine/stack_play.h"
#include "life/worker.h"

struct engine {
        struct crew crew; /* one worker samples, one writes; its messages are wishes and ends */
        struct engine_config config;
        struct pipeline_config source; /* what is opened; ops is NULL where a pipeline was given */
        struct source_texts texts;     /* what source borrows */
        struct listing *listing; /* of processes, which the host renews; NULL without a host */
        struct host_beat *host;  /* NULL for none */
        struct host_play *play;  /* NULL for none */
        struct stack_play *stack_play; /* NULL for none */
        struct host *newest;           /* what engine_host gives of the beat; the caller's */
        struct history *history;       /* NULL for none */
        int fd;
        int64_t started_ns;

        /* Wishes, under the lock. */
        bool pause, reopen, wish_seek, list_processes;
        int steps;
        int64_t seek_ns;

        /* What has become of it, under the lock. */
        struct engine_status status;
        struct engine_result result;
        struct pipeline *pipeline; /* changed by the sampler alone */
        int64_t published_mono_ns, asked_mono_ns;
        bool sampled, written; /* the workers have ended */
        bool abandoned;        /* the sampler hangs, and may return */
        struct shown shown;    /* except for what is being filled */

        /* The sampler's own; the times are changed under the lock. */
        bool begun;      /* a frame came since the source was opened */
        int64_t last_ns; /* when the last tick came */
        bool provenance_kept, flight_reported;
        struct node_notes nodes;
        struct host *recorded; /* the host of a recording as it was reported last; NULL for none */
        int64_t recorded_ns;   /* when that was recorded */
        int64_t first_wall_ns, last_wall_ns;
        int64_t anchor_wall_ns, anchor_mono_ns;
};

/* --- engine.c -------------------------------------------------------------------------------- */

/* Makes the engine's descriptor readable. */
void engine_wake_waiters(struct engine *e);
/* Lock held: wakes the sampler, also out of its source when that is to be left. */
void engine_wake(struct engine *e);
/* Keeps the first failure of the session. */
void engine_note_store(struct engine *e, const struct err *err);
/* Waits until a moment on the monotonic clock, or until it is time to stop. */
void engine_wait_until(struct engine *e, int64_t mono_ns);

/* --- sampler.c ------------------------------------------------------------------------------- */

/* The GPUs' thread. */
void engine_sample(void *arg);
/* One frame of the source: 1, 0 at its end, or a negative code. */
int engine_request_frame(struct engine *e, const struct frame **ret, struct err *err);
/* A frame has come: it is counted, remembered, kept and reported. 0 or a negative code with err. */
int engine_take_in(struct engine *e, const struct frame *frame, struct err *err);
/* Hands a frame over to the consumer of the newest. As above. */
int engine_publish(struct engine *e, const struct frame *frame, struct err *err);
int engine_open_source(struct engine *e, struct err *err);
void engine_close_source(struct engine *e);

/* --- player.c -------------------------------------------------------------------------------- */

/* Reads to the wished time without waiting; from the beginning when it is behind. As
 * engine_request_frame. */
int engine_wind(struct engine *e, struct err *err);
/* One frame of a capture: read, wait for its moment, show. As engine_request_frame. */
int engine_play(struct engine *e, struct err *err);
/* At the end of a capture: until somebody winds it back. */
void engine_wait_at_end(struct engine *e);
