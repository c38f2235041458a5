/*
 * Cuts a run into stretches, in bounded memory however long it is and however many GPUs there are.
 * Ticks are folded into buckets, at most STRETCH_BUCKETS a GPU and STRETCH_BUCKETS_ALL in all; when
 * time outgrows them there are more, and when there are that many two become one.
 */
#pragma once

#include "compute/limiter.h"
#include "compute/peaks.h"
#include "compute/power_floor.h"
#include "compute/stall.h"
#include "model/frame.h"
#include "model/stretch.h"

#define STRETCH_BUCKETS 1024
#define STRETCH_BUCKETS_ALL 65536
#define STRETCH_HOST_FIRST CEILING_HOLDERS
#define STRETCH_HOST_COUNT (CEILING_COUNT - STRETCH_HOST_FIRST)

/* Cycles in which a pipe of each SM worked, at least and at most, and the time that is known of. */
struct pipe_sum {
        float lo, hi, seconds;
};

/* Sums of value × time. */
struct stretch_bucket {
        float seconds;
        float sum[CEILING_COUNT], weight[CEILING_COUNT];
        float gap[STRETCH_HOST_COUNT], gap_weight[STRETCH_HOST_COUNT]; /* while no kernel ran */
        float square;                                                  /* of the engine */
        float active; /* time of ticks in which anything ran */
        struct pipe_sum pipes[FLOPS_PIPE_COUNT];
};

/* One GPU. */
struct stretch_track {
        uint32_t slot;
        char label[STRETCH_LABEL_MAX];
        char host[ENTITY_TEXT_MAX], id[ENTITY_TEXT_MAX];
        const struct peak *peak;
        bool seen;
        int64_t mono_ns;
        double typical_s; /* a tick's length */
        double clock_max, power_limit;
        double at_rest; /* W that were kept of it; 0 when none are */
        double link;    /* the fastest that it was, bytes a second */
        struct first_use use;
        struct floor_learner floor;
        bool counted; /* profiling counters were read */
        struct stall stall;
        struct host_evidence evidence;
        bool has_evidence;
        struct stretch_bucket *buckets; /* n_buckets of stretches */
};

/* All zeros to begin with. */
struct stretches {
        int64_t first_ns, first_wall_ns, last_ns;
        bool begun;
        int64_t width_ns; /* of a bucket */
        size_t open;      /* the bucket that was added to last */
        int64_t open_ns;  /* where it begins */
        size_t n_buckets; /* of each GPU; a power of 2 */
        size_t most;      /* that there may be of each */
        enum framework framework;
        bool has_flops; /* FLOP/s of a type are asked for */
        enum flops_type flops;
        struct naming naming;       /* as a cut names the GPUs */
        const uint8_t *phase_flops; /* enum flops_type of each phase; borrowed, NULL for none */
        size_t n_stalls;
        struct stretch_stall stalls[STALLS_MAX];
        size_t n, left_out;
        struct stretch_track *tracks; /* STRETCH_GPUS_MAX at most */
};

/* Adds a frame. 0 or -ENOMEM. */
int stretches_add(struct stretches *s, const struct frame *frame);
/* What the host does for the GPUs, from the next frame on. */
void stretches_see_host(struct stretches *s, const struct host *host,
                        const struct process_list *processes);
/* How the GPUs that were added are named. */
void stretches_name_gpus(const struct stretches *s, struct naming *ret);
/*
 * Cuts what was added so far; the phases of the run may be NULL. Judges the stretches and ranks the
 * findings. 0 or -ENOMEM; stretch_list_finish frees it.
 */
int stretches_cut(const struct stretches *s, const struct phase *phases, size_t n_phases,
                  struct stretch_list *ret);
void stretches_finish(struct stretches *s);

/* Fills the findings of a list whose stretches are decided. */
void findings_rank(struct stretch_list *list);
/*
 * What limited some GPUs, in a phase or, with NULL, in the run, that lasted so long: the limiter of
 * the finding that would come first if there were nothing else. So a row of a table says what the
 * findings of the same time say.
 */
void findings_limit(const struct stretch_list *list, const char *phase, const struct gpu_set *gpus,
                    double seconds, struct limited *ret);
