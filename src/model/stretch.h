/*
 * A run in stretches: parts of its time in which GPUs do one kind of thing, found without marks,
 * and the findings that follow from them.
 */
#pragma once

#include "model/entity.h"
#include "model/flops.h"
#include "model/limit.h"
#include "model/phase.h"
#include "model/where.h"

#define STRETCH_GPUS_MAX 1024
#define STRETCH_LABEL_MAX 32

/* A set of GPUs, by place in a list. */
struct gpu_set {
        uint64_t bits[STRETCH_GPUS_MAX / 64];
};

struct stretch {
        double begin_s, end_s; /* since the first tick */
        struct gpu_set gpus;
        struct limit limit;         /* ceilings are means of exactly its own time */
        double uneven;              /* standard deviation of the engine over ticks */
        struct flops_rated flops;   /* a GPU, of the type that was declared for its time */
        bool before_work;           /* it ends before the first sustained work */
        char phase[PHASE_NAME_MAX]; /* the innermost phase around it; empty for none */
        size_t where;               /* of the list's wheres, from 1; 0 for unknown */
};

/* One thing worth reporting: a limiter, over all the stretches that have it. */
struct limit_finding {
        enum limiter limiter;
        enum held_by held_by;
        enum basis basis;
        size_t stretch;      /* the longest of its stretches */
        size_t n;            /* of stretches */
        struct ceilings why; /* means over all of them */
        struct gpu_set gpus; /* of all of them */
        bool before_work;    /* part of the start-up */
        bool unbounded;      /* nobody knows how full that is which limits it */
        bool phases_differ;  /* its stretches lie in several phases */
        double seconds;      /* in which any of them was; at most the run's */
        double from_s;       /* the beginning of the first */
        double until_s;      /* the end of the last */
        double gpu_s;        /* GPU-seconds in them */
        double won_s;        /* GPU-seconds that could be won at most */
        double gain;         /* the GPU would do so many times as much; 0 when there is no bound */
        enum framework framework;
        size_t where; /* of the list's wheres, from 1; 0 for unknown */
};

#define FINDINGS_MAX 32

#define STALLS_MAX 8
#define STALL_CAUSE_MAX 512

/* A time in which GPUs' programs made no progress, although they had worked before. */
struct stretch_stall {
        double begin_s, end_s; /* since the first tick */
        struct gpu_set gpus;   /* that were stalled in it */
        bool is_ongoing;       /* up to the end of the recording */
        /* Who differed, or where they waited, in words, and what to do; "" where that is unknown.
         * cause: as 'assay why' names it; NULL likewise. */
        char words[STALL_CAUSE_MAX];
        const char *cause, *advice;
};

/* What limited some GPUs for some time, in one word: what their findings would begin with. */
struct limited {
        bool is_known;
        enum limiter limiter;
        enum held_by held_by; /* what held the clocks meanwhile */
        enum basis basis;     /* what that rests on */
        bool before_work;     /* it is part of the start-up */
        double share;         /* of their time, whatever held the clocks; start-up is apart */
};

struct stretch_gpu {
        char label[STRETCH_LABEL_MAX];
        char source_label[ENTITY_LABEL_MAX]; /* as processes name it */
        double clock_max;                    /* Hz; 0 when not known */
        double power_limit;                  /* W; 0 when not known */
};

/* The arrays are its own: see stretch_list_finish. */
struct stretch_list {
        double seconds; /* of the run */
        size_t n;
        struct stretch *list; /* in order of time */
        size_t n_gpus;
        struct stretch_gpu *gpus;
        size_t left_out;          /* GPUs beyond STRETCH_GPUS_MAX, of which nothing is reported */
        enum framework framework; /* NONE when not known */
        size_t n_findings;
        struct limit_finding findings[FINDINGS_MAX]; /* what matters most first */
        size_t n_stalls;
        struct stretch_stall stalls[STALLS_MAX]; /* in order of time */
        size_t n_wheres;
        struct where *wheres; /* lines of stretches and findings */
};

void stretch_list_finish(struct stretch_list *list);
/* How long the run would take at best without what a finding is about, as its GPUs have it on
 * average: seconds. */
double stretch_list_at_best(const struct stretch_list *list, const struct limit_finding *f);
/* The lines of a stretch or a finding; NULL when they are unknown. */
const struct where *stretch_list_where(const struct stretch_list *list, size_t where);

bool gpu_set_has(const struct gpu_set *s, size_t gpu);
void gpu_set_add(struct gpu_set *s, size_t gpu);
void gpu_set_join(struct gpu_set *to, const struct gpu_set *from);
/* Leaves those that are also in the other. */
void gpu_set_intersect(struct gpu_set *to, const struct gpu_set *other);
bool gpu_set_meets(const struct gpu_set *a, const struct gpu_set *b);
/* The least of them; STRETCH_GPUS_MAX of none. */
size_t gpu_set_first(const struct gpu_set *s);
size_t gpu_set_count(const struct gpu_set *s);

static inline int stretch_gpus(const struct stretch *s)
{
        return (int)gpu_set_count(&s->gpus);
}
