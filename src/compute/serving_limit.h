/*
 * What limits a model server: the engine's figures beside what its GPUs and its host do, over the
 * last seconds. Pure, no I/O. docs/SERVING.md has the rules in words.
 */
#pragma once

#include "compute/peaks.h"
#include "model/frame.h"

/* The thresholds of all rules. */
#define SERVING_CACHE_FULL 0.9     /* of the memory for keys and values */
#define SERVING_QUEUE 1.0          /* requests that wait, on the mean */
#define SERVING_PREEMPTIONS 0.05   /* a second: one in twenty seconds */
#define SERVING_IDLE 0.5           /* requests under way, on the mean: hardly ever one */
#define SERVING_GPU_FULL 0.8       /* of the time something ran: the GPU has hardly a rest */
#define SERVING_GPU_RESTS 0.2      /* likewise: it hardly works */
#define SERVING_KNOWN 0.6          /* weight of what is known of about five seconds */
#define SERVING_CORE 0.85          /* of a core: a thread that hardly rests */
#define SERVING_MOSTLY 0.5         /* of the time */
#define SERVING_SMALL_BATCH 16     /* requests: an eighth or less of what fills the tensor cores */
#define SERVING_AT_CAP 0.95        /* of the requests that the engine takes at a time */
#define SERVING_LOADING 200e6      /* bytes a second from storage or network */
#define SERVING_REMOTE 0.8         /* received, of what is read: it is read over the network */
#define SERVING_OLD_NS 10000000000 /* an answer that old says nothing of now */
#define SERVING_SPARE 0.7          /* of what is left when one GPU is given back */

/* A mean in which what is older than some seconds hardly counts. */
struct decayed {
        double sum, weight;
};

/* What the GPUs and the host of a server do. */
enum serving_input {
        SERVING_IN_BUSY,
        SERVING_IN_SM,
        SERVING_IN_TENSOR,
        SERVING_IN_DRAM,
        SERVING_IN_POWER,
        SERVING_IN_READ,
        SERVING_IN_RECEIVED,
        SERVING_IN_DRIVER, /* share of verdicts without profiling counters */
        SERVING_IN_COUNT
};

/* What is remembered of a server from tick to tick. */
struct serving_window {
        char url[SERVING_TEXT_MAX]; /* whose it is */
        int64_t mono_ns;
        bool has_served; /* it has generated tokens, or worked on prompts */
        struct decayed engine[SERVING_COUNT];
        struct decayed input[SERVING_IN_COUNT];
        struct decayed limiter[LIMITER_COUNT]; /* share of the time, by its GPUs */
        double gpus;
        double flops, memory; /* peaks of its GPUs, each; 0: unknown */
};

/* What a server's GPUs do at one moment. */
struct serving_moment {
        int64_t mono_ns;
        double gpus;
        struct value input[SERVING_IN_COUNT];
        double limiter[LIMITER_COUNT]; /* share of the GPUs */
        double flops, memory;
};

/* Adds a moment. s is what the engine said last. */
void serving_window_add(struct serving_window *w, const struct serving *s,
                        const struct serving_moment *now);
/* Decides: fills all of ret but s. */
void serving_window_decide(const struct serving_window *w, const struct serving *s,
                           struct served *ret);
