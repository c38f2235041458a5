/*
 * The past of what nobody else keeps: the host's figures and each process's. A ring has a place for
 * every bucket of time; a hole in time is a hole in the ring.
 */
#pragma once

#include "model/host.h"
#include "model/process.h"
#include "present/tui/canvas.h"

#include <stdint.h>

#define RING_LEN 256
#define PAST_PROCESSES_MAX 256

struct ring {
        int64_t last; /* bucket of the newest value; 0 while there is none */
        float v[RING_LEN];
};

enum host_ring {
        HOST_RING_CPU,
        HOST_RING_MEMORY,
        HOST_RING_READ,
        HOST_RING_WRITE,
        HOST_RING_RX,
        HOST_RING_TX,
        HOST_RING_PSI_CPU,
        HOST_RING_PSI_MEMORY,
        HOST_RING_PSI_IO,
        HOST_RING_COUNT
};

/* What the host did for one GPU. */
enum gpu_ring {
        GPU_RING_CPU_MAIN,
        GPU_RING_CPU_CHILDREN,
        GPU_RING_READ,
        GPU_RING_WRITE,
        GPU_RING_COUNT
};

struct process_past {
        int32_t pid;
        int64_t start_ns;
        int64_t seen; /* bucket; 0: free */
        struct ring cpu, util;
};

struct past {
        struct ring host[HOST_RING_COUNT];
        struct ring gpus[HOST_GPUS_MAX][GPU_RING_COUNT]; /* by the GPU's place in the host */
        int64_t host_ns;                                 /* of the newest sample */
        int64_t host_bucket;                             /* of the newest sample */
        struct process_past *processes; /* PAST_PROCESSES_MAX; NULL until there are any */
        int64_t bucket;                 /* of the newest processes */
};

void past_finish(struct past *p);
/* One bucket is a second. NULL, and what was seen already, changes nothing. */
void past_see_host(struct past *p, const struct host *host);
/* bucket_ns is the width of a bucket. Those that are gone longest make room. 0 or -ENOMEM. */
int past_see_processes(struct past *p, const struct process_list *list, int64_t wall_ns,
                       int64_t bucket_ns);
/* NULL when nothing is known of it. */
const struct process_past *past_of_process(const struct past *p, const struct process *process);

void ring_put(struct ring *r, int64_t bucket, struct value v);
/* The largest value there is; 0 for none. */
double ring_most(const struct ring *r);
/* The last area.w buckets as columns of blocks, area.h lines high; hi is a full column. */
void ring_draw(const struct ring *r, int64_t until, double hi, struct canvas *c, struct area area,
               uint8_t fg);
/* Likewise the last that many buckets in the width of the area: the largest of those that share a
 * column. */
void ring_draw_span(const struct ring *r, int64_t until, int64_t buckets, double hi,
                    struct canvas *c, struct area area, uint8_t fg);
