/*
 * The threads around NVML: one a GPU, so that a call which never returns stops the values of that
 * GPU only, and one that starts the library, watches for events and new GPUs. They publish what
 * they read; the source picks it up. Nobody ever waits for them without a limit: what is stuck in
 * the driver is left behind and frees everything itself if it ever comes back.
 */
#pragma once

#include "life/worker.h"
#include "read/nvml/events.h"

struct nvml_hub;

/* A GPU: its thread's own half, and what it published, under the hub's lock. */
struct nvml_slot {
        struct nvml_hub *hub;
        struct nvml_device device; /* touched by the GPU's thread only */
        struct nvml_xids xids;

        bool attached; /* the first attempt is over */
        bool hidden;   /* this user may not have it */
        bool has_gpm;
        nvml_device handle; /* for events; changes when the GPU comes back */
        uint64_t seq;       /* number of the next beat: all before it are published */
        int64_t at_ns, wall_ns, window_ns;
        size_t n;
        struct nvml_row row[NVML_ROWS_MAX];
        size_t n_processes;
        uint64_t processes_seq;       /* of the beat that the list of processes is of; 0 for none */
        struct nvml_process *process; /* NULL until somebody asks */

        uint64_t shown; /* seq that the reader saw last */
        bool late;      /* did not answer in time; nobody waits for it until it does */
};

struct nvml_hub {
        struct crew crew;     /* its messages are for the reader */
        pthread_cond_t sleep; /* for the threads: a stop ends their sleep */
        int workers;          /* threads of GPUs */
        bool park;  /* the workers should give back what they hold, because NVML restarts */
        int parked; /* and so many have */
        bool interrupted;
        bool preview; /* beat 0 is a look without counters, as early as can be */
        bool watch_processes;
        bool watch_process_use;
        char lib_path[256];
        struct nvml_env env;
        bool started; /* NVML was started, or was not: see err */
        struct err err;
        int64_t start_ns; /* the first beat with counters */
        uint64_t awaited; /* the beat the reader waits for */
        size_t n;
        struct nvml_slot *slot[NVML_GPUS_MAX];
};

/* Starts the threads and waits until there are GPUs, or for some seconds. 0 or a code with err. */
int nvml_hub_open(struct nvml_hub *hub, struct err *err);
/* Makes an empty hub, or NULL. */
struct nvml_hub *nvml_hub_new(void);
/* Stops the threads, waiting a moment for those that answer. */
void nvml_hub_close(struct nvml_hub *hub);
/* With the lock held: whether every GPU that is not late has published the beat. */
bool nvml_hub_complete(const struct nvml_hub *hub, uint64_t beat);
static inline bool nvml_hub_is_preview(const struct nvml_hub *hub, uint64_t beat)
{
        return hub->preview && beat == 0;
}
/* When a beat is due, and which was the last that was due by then. */
int64_t nvml_hub_beat_ns(const struct nvml_hub *hub, uint64_t beat);
uint64_t nvml_hub_beat_at(const struct nvml_hub *hub, int64_t now_ns);
