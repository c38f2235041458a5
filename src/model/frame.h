/* The last stage of the pipeline: everything known at one tick, in one vocabulary, with verdicts.
 */
#pragma once

#include "model/entity.h"
#include "model/flops.h"
#include "model/limit.h"
#include "model/metric.h"
#include "model/naming.h"
#include "model/node.h"
#include "model/process.h"
#include "model/value.h"
#include "model/verdict.h"

/* One entity at one instant. */
struct sample {
        const struct entity *who;
        struct value m[METRIC_COUNT];
};

/* Why the SM clock is where it is. */
enum clocks {
        CLOCKS_UNKNOWN, /* nobody says */
        CLOCKS_FULL,
        CLOCKS_HEAT,
        CLOCKS_POWER,
        CLOCKS_SLOWDOWN,
        CLOCKS_CHOSEN, /* somebody set them lower */
        CLOCKS_IDLE,
};

struct row {
        struct sample sample;
        struct verdict verdict;
        struct health health;
        enum clocks clocks;
        bool hot; /* at its warning temperature, near the one that slows it down, or slowed down */
        struct limit limit;       /* over about the last second */
        struct flops_rates flops; /* as of the newest values */
        uint8_t late; /* it holds the others up: an enum straggler_cause + 1; 0: not so */
};

struct frame {
        uint64_t tick; /* from 0 */
        int64_t wall_ns;
        int64_t mono_ns;
        int64_t window_ns;      /* values are averages over this long; 0 when not known */
        bool stale;             /* the source gave nothing new */
        const char *provenance; /* which source the values come from: "replay", "nvml+gpm", … */
        size_t n;
        struct row *rows;         /* sorted as entity_compare says */
        struct naming naming;     /* of its rows; set by frame_name_rows */
        bool may_name_processes;  /* the source can report, and was not asked */
        bool knows_processes;     /* the source says which there are */
        const struct node *nodes; /* the machines that were asked; NULL where there is one */
        size_t n_nodes;
        const struct served *servings; /* model servers that are read beside the GPUs */
        size_t n_servings;
        struct process_list processes; /* those on the GPUs shown; empty unless asked for */
};

/* Whether nothing of the row was measured at this tick, although it has values: its source is dead
 * or its GPU does not answer. */
bool row_is_stale(const struct row *row);
/* Whether its program has made no progress for so long that people are reported. */
bool row_is_stalled(const struct row *row);
/* Whether anything runs on the GPU: idle, working, or nobody knows. What every count of idle GPUs
 * and of idle time asks. */
enum row_use { ROW_USE_UNKNOWN, ROW_USE_IDLE, ROW_USE_WORKING };
enum row_use row_use(const struct row *row);
/* "unknown", "idle", "working". */
const char *row_use_name(enum row_use use);
/* Whether somebody has the GPU: 1, 0 or missing. owned: a job or a container has it. */
struct value row_held(const struct row *row, bool owned);
/* Decides how its rows are named, once they are all there and sorted. */
void frame_name_rows(struct frame *f);
/* What people call a row: "0"; where there are several hosts "node7:0". */
#define FRAME_LABEL_MAX GPU_NAME_MAX
void frame_label(const struct frame *f, const struct entity *e, char *buf, size_t size);
/* Whether a text names this row: its name, its label, or "host:label". */
bool frame_label_matches(const struct frame *f, const struct entity *e, const char *text);
/* Rows of one GPU follow each other, the GPU first, its slices after it. Where the group that
 * begins at a row ends. A slice of which nobody knows the GPU is a group of its own. */
size_t frame_group_end(const struct frame *f, size_t begin);
/* How many GPUs there are: a GPU and its slices count once. */
size_t frame_gpus(const struct frame *f);
/* Whether a row counts when a metric is added up over all GPUs: not where the GPU or the instance
 * that it is a part of has the value too. */
bool frame_counts(const struct frame *f, size_t at, enum metric metric);
