/* What live.c keeps; live_books.c is the keeper's door to it. */
#pragma once

#include "serve/live.h"
#include "serve/state.h"

#include <pthread.h>
#include <stdatomic.h>

/* One GPU or slice for as long as the program runs, whatever slot the source gives it. */
struct meter {
        char key[STATE_KEY_MAX];
        struct live_gpu gpu;
        struct integrator it;
        int64_t fresh_ns; /* monotonic: when its values were last of the moment */
        int64_t seen_ns;  /* when a frame had it */
};

/* A moment that somebody may examine without a lock. */
struct slot {
        struct live_moment moment;
        struct live_gpu *gpus;
        struct process *processes;
        struct owner *owners;
        struct host *host;
        size_t cap, process_cap, owner_cap;
        struct served served[SERVINGS_MAX];
        char provenance[64];
};

enum { BACK, READY, FRONT, SLOTS };

struct live {
        struct live_config config;
        struct engine *engine;
        atomic_bool process_use;     /* the source examines it */
        _Atomic int64_t interval_ns; /* between samples of the GPUs */
        pthread_t publisher;
        bool publishing; /* the thread was started */
        pthread_mutex_t lock;
        pthread_cond_t news; /* frames, for the keeper of books */
        pthread_cond_t turn; /* the publisher's */
        pthread_cond_t done; /* for threads that wait for the publisher */
        bool stop, released;
        struct collector *collector; /* NULL without --collect */
        struct collected collected[COLLECTED_MAX];
        size_t n_collected;
        struct state_file *state; /* the publisher's; NULL for none */
        enum state_result kept;   /* the publisher's: how its last write ended */

        /* Under the lock. */
        struct meter *meters;
        size_t n, cap;
        struct frame frame;
        struct served served[SERVINGS_MAX];
        char provenance[64];
        struct process *processes;
        size_t n_processes, process_cap;
        bool knows_processes;
        struct owner owners[OWNERS_MAX];
        size_t n_owners, n_reported;
        struct host *host;
        bool has_host;
        struct machine_use machine; /* without powers: those are the host's */
        bool stands; /* a recording of one moment, such as a saved scrape: it does not pass */
        struct live_status status;
        int64_t framed_ns; /* monotonic: when the newest frame came */
        uint64_t frames, published, booked;
        bool held_more;       /* owners' counters have grown since a moment was made */
        bool asked;           /* somebody wants a moment, or it is time for one */
        bool stuck;           /* the publisher has not come back from a disk */
        bool watched;         /* streams are open */
        bool books_wait;      /* the keeper waits for news */
        int64_t use_asked_ns; /* monotonic: for what each process uses; 0 for never */
        uint64_t rounds;      /* of the publisher */
        int64_t published_ns; /* monotonic: the last of them */

        /* READY and FRONT change hands under the lock; BACK is the publisher's. */
        struct slot slots[SLOTS];
        bool fresh;
        uint64_t number;
};

/* Lock held. Every GPU that is reported at now, into a list that has room for all; how many. */
size_t live_copy_gpus(struct live *l, struct live_gpu *to, int64_t now);
/* How such a list is named. */
void live_name_gpus(const struct live_gpu *gpus, size_t n, struct naming *ret);
