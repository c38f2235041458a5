/*
 * What AMD's ROCm SMI library reports and sysfs does not: traffic on the links between GPUs, and
 * how a GPU is divided, under older drivers. The library is loaded when it is present. It runs on a
 * thread of its own, as a call may wait for another program's lock; only GPUs that are awake and
 * stay so are asked about.
 */
#pragma once

#include "model/value.h"

#include <stddef.h>
#include <stdint.h>

#define ROCM_PARTITION_MAX 16

/* A GPU to ask about. */
struct rocm_gpu {
        char pci[24];    /* "0000:15:00.0" */
        bool links;      /* count what goes out on its links */
        bool partitions; /* find out how it is divided */
};

/* What is known of it; STATE_NONE and "" until the library has answered. */
struct rocm_values {
        struct value sent; /* bytes on all links since counting began */
        int64_t mono_ns;   /* when that was read */
        char compute[ROCM_PARTITION_MAX], memory[ROCM_PARTITION_MAX];
};

struct rocm;

/* Starts the thread. path is the library's, NULL for the usual places. NULL when that fails. */
struct rocm *rocm_open(const char *path, const struct rocm_gpu *gpus, size_t n);
/* Ends it; a thread that is stuck in the library is left behind. NULL is allowed. */
void rocm_close(struct rocm *r);
/* Asks for news of all GPUs; the answer is for a later rocm_get. Never waits. */
void rocm_query(struct rocm *r);
/* What the library said last about the i-th GPU. */
void rocm_get(struct rocm *r, size_t i, struct rocm_values *ret);
