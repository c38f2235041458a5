/* The last stage of the pipeline: everything known at one tick, in one vocabulary, with verdicts.
 */
#pragma once

#include "model/entity.h"
#include "model/metric.h"
#include "model/process.h"
#include "model/value.h"
#include "model/verdict.h"

/* One entity at one instant. */
struct sample {
        const struct entity *who;
        struct value m[METRIC_COUNT];
};

struct row {
        struct sample sample;
        struct verdict verdict;
        struct health health;
};

struct frame {
        uint64_t tick; /* from 0 */
        int64_t wall_ns;
        int64_t mono_ns;
        int64_t window_ns;      /* values are averages over this long; 0 when not known */
        bool stale;             /* the source gave nothing new */
        const char *provenance; /* which source the values come from: "replay", "nvml+gpm", … */
        size_t n;
        struct row *rows;              /* sorted as entity_compare says */
        bool may_name_processes;       /* the source can tell, and was not asked */
        bool knows_processes;          /* the source tells which there are */
        struct process_list processes; /* those on the GPUs shown; empty unless asked for */
};

/* How many GPUs there are: slices of one follow each other, and count once. */
static inline size_t frame_gpus(const struct frame *f)
{
        size_t n = 0;
        for (size_t i = 0; i < f->n; i++)
                n += i == 0 || !entity_same_gpu(f->rows[i - 1].sample.who, f->rows[i].sample.who);
        return n;
}
