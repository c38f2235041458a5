/* What the threads of a joined source share: one a part, and any caller that takes what they
 * publish. */
#pragma once

#include "life/worker.h"
#include "read/join/batch_copy.h"
#include "read/join/joined.h"

#include <stdatomic.h>

#define JOINED_PROCESSES_MAX 1024

struct joined_hub;

struct joined_worker {
        struct joined_hub *hub;
        const struct source_ops *ops;
        /* The thread's own; close it and forget it under the lock. */
        struct source *source;
        struct process *scratch;

        /* Under the lock. */
        struct batch_copy copies[2]; /* [front] is the taker's, the other is what came last */
        unsigned front;
        bool fresh;           /* what came last was not taken yet */
        bool late;            /* was waited for without success, and has not published since */
        bool ended;           /* its thread is through */
        int64_t fresh_ns;     /* since when there is something to take */
        int64_t published_ns; /* when the last came; when the worker started before that */
        struct err err;       /* why it ended */
        char provenance[40];
        struct source_trouble trouble;
        struct process *processes; /* NULL before they are asked for */
        size_t n_processes;

        /* Of the one who takes. */
        int64_t aged_ns;      /* the values in front have ages as of then */
        int64_t last_mono_ns; /* of the batch given last */
};

struct joined_hub {
        struct crew crew;
        bool interrupted; /* under the lock */
        atomic_bool want_processes;
        struct source_config config; /* its texts are copies */
        struct source_texts texts;
        size_t n;
        struct joined_worker workers[BATCH_PARTS_MAX];
};

/* NULL when memory is short. Takes the parts' sources when it succeeds. */
struct joined_hub *joined_hub_new(const struct joined_part *parts, size_t n,
                                  const struct source_config *config);
/* Starts the threads. 0 or a negative errno. */
int joined_hub_start(struct joined_hub *hub);
/* Ends them. One that is stuck in a driver is left behind, and frees what is left if it returns. */
void joined_hub_close(struct joined_hub *hub);
