/*
 * What is served: the newest of every GPU with its counters, its owners and the host. Threads of
 * the engine put it in; the HTTP thread asks for a moment, which is kept on disk before it is
 * shown, and waits for nobody who hangs. The seam to the engine is in live.c alone.
 */
#pragma once

#include "base/err.h"
#include "compute/integrals.h"
#include "engine/engine.h"
#include "model/host.h"
#include "model/machine.h"
#include "model/owner.h"
#include "read/collect/line.h"
#include "serve/past.h"
#include "serve/state.h"

#define LIVE_GPUS_MAX 4096

struct live_config {
        struct pipeline_config source; /* opened again when it fails */
        struct host_config host;
        int64_t interval_ns;
        const char *state_dir;       /* NULL: counters start at 0 */
        struct past *past;           /* borrowed; NULL for none */
        struct flight *flight;       /* likewise; it is held while the engine needs it */
        struct collect_list collect; /* numbers of the user's own; taken over, also on failure */
        /* What is wrong with one of them; on a thread of its own. */
        void (*on_collect_trouble)(void *arg, const char *name, const char *why);
        /* There is something new: on a thread of our own, must not wait. Says whether somebody
         * wants more of them soon. May be NULL. */
        bool (*on_news)(void *arg);
        void *news_arg;
};

/* One GPU or slice: who it is, its newest row, its counters. */
struct live_gpu {
        struct entity who;
        struct row row; /* row.sample.who is &who */
        struct integrals in;
        bool up;       /* its values are of now */
        bool in_frame; /* the newest frame had it */
        bool owned;    /* a job or a container has it */
        struct xid_events xids;
};

struct live_status {
        bool serves_models; /* a model server is read as well */
        char source[64];
        bool up; /* a frame came in the last three intervals, or a recording is being played */
        bool capture;
        bool ended;     /* the recording is at its end */
        struct err err; /* why there is no source; code 0 when there is one */
        uint64_t on_time, late, missed;
        size_t left_out; /* GPUs of the newest frame beyond LIVE_GPUS_MAX */
        int unkept;      /* errno: the counters cannot be written; 0 when they can */
        bool keeps_flight;
        struct dump_status dump; /* of the flight recorder */
};

/* A moment. Pointers are valid until the next live_take by the same reader. */
struct live_moment {
        uint64_t number;    /* grows with every publication */
        struct frame frame; /* without rows: times, provenance, stale */
        const struct live_gpu *gpus;
        size_t n;
        struct naming naming; /* of the GPUs */
        const struct owner *owners;
        size_t n_owners, n_reported; /* those that hold one; with those that let go a while ago */
        struct process_list processes;
        const struct host *host; /* NULL while there is none */
        struct machine_use machine;
        struct live_status status;
        struct collected collected[COLLECTED_MAX]; /* those that are of now */
        size_t n_collected;
};

struct live;

/* Starts the threads. A counters' file that cannot be used is reported in notice and not used. */
int live_open(const struct live_config *config, struct live **ret, char *notice, size_t size,
              struct err *err);
/* Keeps the counters and ends; a driver that hangs is left behind. */
void live_close(struct live *l);
/* The moment of now, for one reader: the HTTP thread. The last one while a disk hangs. */
void live_take(struct live *l, struct live_moment *ret);
/* For another reader: a copy of the newest moment, without host and processes. The buffers are the
 * caller's, reused from call to call. False when memory is short. */
struct live_copy {
        struct live_moment moment;
        struct served served[SERVINGS_MAX];
        struct live_gpu *gpus;
        struct owner *owners;
        size_t cap, owner_cap;
};
bool live_copy(struct live *l, struct live_copy *ret);
void live_free_copy(struct live_copy *c);
/* Somebody examines how much of a GPU each process uses: for a while it is asked for. */
void live_want_process_use(struct live *l);
/* The number that live_take would give. */
uint64_t live_number(struct live *l);
/* How the source is now. */
void live_status(struct live *l, struct live_status *ret);
/* Reads the GPUs that often from now on. */
void live_set_interval(struct live *l, int64_t ns);
/* What a GPU or slice is known by, whatever number the source gives it. */
void live_key(const struct entity *e, char ret[STATE_KEY_MAX]);

/* As engine_listing. */
struct listing *live_listing(const struct live *l);

/* For the keeper of owners: a copy of processes and counters. */
struct live_books {
        struct frame frame;
        struct live_gpu *gpus; /* owned by the caller, reused from call to call */
        size_t n, cap;
        struct naming naming; /* of the GPUs */
        struct process *processes;
        size_t n_processes, process_cap;
        bool knows_processes;
        bool is_local; /* pids and jobs are this machine's, not a recording's or another exporter's
                        */
        bool recorded; /* time is that of the frames */
        bool ended;    /* and there will be no more of them */
};
/* Waits up to a time for news; false when nothing is new. */
bool live_read_books(struct live *l, struct live_books *books, int64_t wait_ns);
/* Lets the reader of books end: it waits no more, now and later. */
void live_release_reader(struct live *l);
void live_free_books(struct live_books *books);
/* Who holds what from now on: the first n; reported are those with the ones that let go. Copied. */
void live_set_owners(struct live *l, const struct owner *owners, size_t n, size_t reported);
/* Adds to the slot of an owner on its GPU; one without a slot adds nothing. */
void live_add_holding(struct live *l, const struct owner *o, const struct holding *more);
