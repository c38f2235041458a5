/* From samples to meaning: derived values, Real Utilization, the class, health. Pure, no I/O. */
#pragma once

#include "base/err.h"
#include "compute/limiter.h"
#include "compute/live.h"
#include "compute/peaks.h"
#include "compute/serving_limit.h"
#include "compute/stall.h"
#include "model/frame.h"

struct weights {
        double sm, tensor, dram, gr; /* sum 1 */
};

enum weights_preset { WEIGHTS_AI, WEIGHTS_HPC, WEIGHTS_MEM };

struct weights weights_preset(enum weights_preset preset);
/* "SM,TENSOR,DRAM,GR": four numbers of 0 or more, not all 0; made to sum 1. */
int weights_parse(const char *text, struct weights *ret, struct err *err);

struct compute_options {
        struct weights weights;
        bool missing_is_zero; /* count a missing counter as 0, as older tools do */
        bool has_flops;       /* the user says what the work is made of */
        enum flops_type flops;
        bool margins; /* also find the nearest other class; costs some microseconds a row */
};

/* What has to be remembered of an entity from tick to tick. */
/* What a GPU's health depends on beside its newest sample. */
struct health_history {
        bool ecc_rose;
        uint32_t grave_xid, program_xid; /* as in struct health */
};

struct memory_of {
        bool seen;
        int64_t mono_ns;
        struct value replay;
        struct value nvlink_errors;
        struct value ecc_dbe;
        struct health_history health;
        bool looked_up;
        const struct peak *peak; /* NULL when its model is not known */
        struct limit_window window;
        struct live_rank live;
        struct stall stall;
};

/* What the host does for each GPU, as it was seen last. */
struct host_seen {
        size_t n;
        char labels[HOST_GPUS_MAX][ENTITY_LABEL_MAX];
        struct host_evidence evidence[HOST_GPUS_MAX];
        size_t n_servings;
        struct serving servings[SERVINGS_MAX];
};

/* processes may be NULL; they matter for recordings without evidence. */
void host_seen_take(struct host_seen *seen, const struct host *host,
                    const struct process_list *processes);

struct compute {
        struct compute_options options;
        struct memory_of *memory; /* by entity slot */
        size_t n;
        struct host_seen host; /* no GPUs when nothing is known of the host */
        struct serving_window servings[SERVINGS_MAX]; /* by a server's place in the host */
        struct served served[SERVINGS_MAX];           /* what the newest frame points to */
        /* For comparing the GPUs of a frame; room for that many. */
        size_t live_room;
        struct live_rank **live;
        double *live_scratch;
        bool *live_out;
        uint8_t *live_late;
};

void compute_init(struct compute *c, const struct compute_options *options);
void compute_finish(struct compute *c);
/*
 * Fills the derived metrics, verdict and health of a row whose sample is translated. whole is what
 * is known of the GPU that a slice is a part of, and may be NULL: a slice moves no more data than
 * its GPU. 0 or -ENOMEM.
 */
int compute_row(struct compute *c, int64_t mono_ns, const struct sample *whole, struct row *row);
/*
 * Decides what limits each row of a frame, whose rows went through compute_row, with what c->host
 * says.
 */
void compute_limits(struct compute *c, struct frame *frame);
/* Joins the model servers that c->host has with their GPUs, whose limits are decided, and decides
 * what limits each server. */
void compute_servings(struct compute *c, struct frame *frame);
/* Without that: only learns what each GPU draws at rest. */
void compute_learn(struct compute *c, struct frame *frame);

/* The parts, for tests and for other callers. */
struct value real_util(const struct sample *s, const struct compute_options *options);
struct verdict classify(const struct sample *s, const struct compute_options *options);
/* Both at once. */
struct verdict assess(const struct sample *s, const struct sample *whole,
                      const struct compute_options *options, struct value *ret_real_util);
enum clocks clocks_of(const struct sample *s);
/* Of a row whose health and clocks are decided. */
bool is_hot(const struct row *row);
/* Adds to the history what the sample reports. */
struct health health_of(const struct sample *s, struct health_history *history,
                        const struct compute_options *options);
