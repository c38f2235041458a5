/*
 * A run in stretches: parts of its time in which GPUs do one kind of thing, found without marks,
 * and the findings that follow from them.
 */
#pragma once

#include "model/flops.h"
#include "model/limit.h"
#include "model/phase.h"

#define STRETCH_GPUS_MAX 64
#define STRETCH_LABEL_MAX 32

struct stretch {
        double begin_s, end_s;      /* since the first tick */
        uint64_t gpus;              /* bits: places in the list's labels */
        struct limit limit;         /* ceilings are means of exactly its own time */
        double uneven;              /* standard deviation of the engine over ticks */
        struct flops_told flops;    /* a GPU, of the type that was declared for its time */
        bool before_work;           /* it ends before the first sustained work */
        char phase[PHASE_NAME_MAX]; /* the innermost phase around it; empty for none */
};

/* One thing worth telling: a limiter, over all the stretches that have it. */
struct limit_finding {
        enum limiter limiter;
        enum held_by held_by;
        size_t stretch;   /* the longest of its stretches */
        size_t n;         /* of stretches */
        bool before_work; /* part of the start-up */
        double seconds;   /* of all of them */
        double gpu_s;     /* GPU-seconds in them */
        double won_s;     /* GPU-seconds that could be won at most */
        double gain;      /* the GPU would do so many times as much; 0 when there is no bound */
        enum framework framework;
};

#define FINDINGS_MAX 32

struct stretch_list {
        double seconds; /* of the run */
        size_t n;
        struct stretch *list; /* in order of time */
        size_t n_gpus;
        char labels[STRETCH_GPUS_MAX][STRETCH_LABEL_MAX];
        double clock_max[STRETCH_GPUS_MAX];   /* Hz; 0 when not known */
        double power_limit[STRETCH_GPUS_MAX]; /* W; 0 when not known */
        enum framework framework;             /* NONE when not known */
        size_t n_findings;
        struct limit_finding findings[FINDINGS_MAX]; /* what matters most first */
};

static inline int stretch_gpus(const struct stretch *s)
{
        return __builtin_popcountll(s->gpus);
}
