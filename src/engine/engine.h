/*
 * The engine: GPUs and the host, each sampled at a beat and on a thread of its own, with the past
 * of the GPUs and an optional session. Dashboard, recorder, `export --host`, server and library are
 * its users. None of them waits for a source: they are called at every tick, or take the newest
 * frame there is and see how old it is. A capture can be paused, stepped and wound.
 */
#pragma once

#include "base/clock.h"
#include "engine/flight.h"
#include "engine/host.h"
#include "engine/pipeline.h"
#include "model/stack_live.h"
#include "model/trend.h"
#include "session/session.h"

/* The kernel counts CPU time in hundredths of a second: shorter ticks of the host would report
 * noise. */
#define ENGINE_HOST_MIN_NS (NS_PER_S / 10)

struct engine_config {
        /* The GPUs: a pipeline that is open, the caller's, which must outlive the engine; or what
         * the engine opens, on its thread, of which texts are copied. Neither: ticks without GPUs
         * keep the time line whole. */
        struct pipeline *pipeline;
        const struct pipeline_config *source;
        bool insists;        /* source is opened again whatever failed */
        bool plays;          /* a capture of source goes by speed, and can be wound */
        double speed;        /* 0 is as fast as it is read */
        int64_t start_ns;    /* begin that long after the capture's beginning */
        int64_t interval_ns; /* between ticks; that of source when 0 */
        int64_t duration_ns; /* stop after so long; 0 never */
        bool restamp;        /* frames are of now, whatever a capture says */
        bool until_stopped;  /* keep ticking after the pipeline has ended */
        /* Frames say who uses the GPUs, which costs something, only after engine_list_processes. */
        bool processes_on_wish;
        size_t history; /* samples of the GPUs that are kept; 0 for none */
        bool keep;      /* engine_take is used */

        /* The host: a view that is open, the caller's, which must outlive the engine; or what the
         * engine opens, of which texts are copied. Neither: as the recording that is played has it,
         * which goes to the session and to on_host too. */
        struct host_view *host;
        const struct host_config *host_source;
        int64_t host_interval_ns; /* 0: the interval, but not more often than ENGINE_HOST_MIN_NS */
        bool ends_with_target;    /* the engine ends when the host's target process has */

        struct session *session; /* NULL: nothing is recorded */
        double stacks_hz; /* looks a second at stacks, for the session and engine_stacks; 0: none */
        /* Fed with all that a session would get; NULL for none. It may be closed before what hung
         * has returned. */
        struct flight *flight;

        /* Each may be NULL. on_frame and on_source_end are called on the GPUs' thread, on_host on
         * the host's; that of a recording on the GPUs' thread, before the frame that it is of. */
        void (*on_frame)(void *arg, const struct frame *frame);
        void (*on_host)(void *arg, const struct host *host);
        /* The pipeline has ended; code 0 when nothing failed. */
        void (*on_source_end)(void *arg, const struct err *source);
        /* What hung (see engine_result) has returned after all, and nothing is used any more. */
        void (*on_return)(void *arg);
        void *arg;
};

struct engine;

/* Starts. Errors of a source that the engine opens come by engine_status. */
int engine_start(const struct engine_config *config, struct engine **ret, struct err *err);
/* Readable when the engine has ended by itself; with keep, also when there is something new, until
 * engine_take. */
int engine_fd(const struct engine *e);
/* Ticks so far. */
void engine_counts(struct engine *e, struct session_counts *ret);
/* Asks it to end; does not wait. */
void engine_stop(struct engine *e);

struct engine_result {
        struct session_counts counts;
        struct err source;    /* why the pipeline ended early; code 0 when it did not */
        struct err store;     /* the first failure to write; code 0 when there was none */
        bool store_works;     /* the last write went well */
        int64_t stop_wall_ns; /* when it ended; by a capture's own clock when it has one */
        uint64_t host_asked, host_taken, host_late, host_missed; /* the same of the host's ticks */
        struct err host; /* why reading the host ended early; code 0 when it did not */
        /* A source never came back: leave session, pipeline and host alone. */
        bool hung;
};

/* Borrowed: the processes of this machine, renewed with the host; NULL without a host. */
struct listing *engine_listing(const struct engine *e);
/* Stops, waits for all threads, and frees. A source that hangs is waited for only a little. */
void engine_finish(struct engine *e, struct engine_result *ret);
/* Stops and returns at once; threads that hang are left behind with what they hold. For an engine
 * that uses nothing of the caller's: neither pipeline, host, session nor calls. NULL is allowed. */
void engine_close(struct engine *e);

enum engine_state {
        ENGINE_STARTING, /* no frame yet */
        ENGINE_RUNNING,
        ENGINE_PAUSED,
        ENGINE_ENDED,  /* the capture is at its end; winding back continues */
        ENGINE_FAILED, /* err says why; a live source is tried again by and by */
};

struct engine_status {
        enum engine_state state;
        uint64_t ticks;      /* frames published */
        int64_t age_ns;      /* since the newest was, or since the start */
        int64_t busy_ns;     /* how long the source has been asked; 0 when it is not */
        int64_t interval_ns; /* between frames: the poll, or the capture's own spacing */
        double speed;
        bool replay;         /* a capture */
        bool winds;          /* a capture that can be read again from its beginning */
        int64_t position_ns; /* of the newest frame, from the beginning */
        int64_t duration_ns; /* 0 until the end was seen */
        struct source_trouble trouble;
        struct err err; /* code 0 unless it failed */
};

void engine_status(struct engine *e, struct engine_status *ret);
/* The newest frame, valid until the next call; NULL while there is none. */
const struct frame *engine_take(struct engine *e);
/* The host at the time of a frame, newest or played; valid until the next call. NULL when nothing
 * is known of it, as for a frame that is NULL in a recording. */
const struct host *engine_host(struct engine *e, const struct frame *frame);
/* What the programs on the GPUs did lately, by their stacks: now, or at the time of a frame that is
 * played; valid until the next call. NULL when nothing is known. */
const struct stack_live *engine_stacks(struct engine *e, const struct frame *frame);
/* The next sample of a recording's host on the way to a frame, oldest first: of all that a seek
 * passes over. Valid until the next call. NULL when there are no more, and of a live source. */
const struct host *engine_next_host(struct engine *e, const struct frame *frame);
/* Whether this machine's host is read. */
bool engine_has_host(const struct engine *e);
/* Borrowed: the processes of this machine, listed with its host; NULL where that is not read. */
struct listing *engine_listing(const struct engine *e);
/* The past, as views see it; it lives as long as the engine. */
struct trends engine_trends(struct engine *e);

/* A paused live source is still read, so that its history has no hole; frames are held back. */
void engine_pause(struct engine *e, bool pause);
/* Pauses, and moves by one sample: 1 or -1. Only captures go back. */
void engine_step(struct engine *e, int by);
/* To the first frame at or after a time from the beginning. False when the source cannot. */
bool engine_seek(struct engine *e, int64_t position_ns);
void engine_set_speed(struct engine *e, double speed);
/* Frames say who uses the GPUs from now on, or do not. */
void engine_list_processes(struct engine *e, bool list);
/* Opens a live source again with another interval, which its floor may raise. */
void engine_set_interval(struct engine *e, int64_t ns);
/* Reads other levels of a host that the engine opened. */
void engine_set_levels(struct engine *e, unsigned levels);
