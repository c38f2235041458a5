/* A run as curves: each metric of each GPU in a bounded number of points, however long it is. */
#pragma once

#include "model/bucket.h"
#include "model/frame.h"
#include "model/host.h"
#include "model/phase.h"

#define TRACE_POINTS 2048
#define TRACE_GPUS_MAX 256 /* more are counted only */
#define TRACE_CLASSES 6    /* bottlenecks */

/* The metrics worth a curve. */
enum trace_metric {
#define BOTH(id) TRACE_##id,
#define LIVE(id)
#include "model/curves.def"
#undef BOTH
#undef LIVE
        TRACE_COUNT
};

enum metric trace_metric(enum trace_metric t);

/* The figures of the level that are worth one. */
#define TRACE_FIGURES(TRACE)                                                                       \
        TRACE(CPU)                                                                                 \
        TRACE(MEMORY)                                                                              \
        TRACE(READ)                                                                                \
        TRACE(WRITE)

enum trace_figure {
#define TRACE(id) TRACE_LEVEL_##id,
        TRACE_FIGURES(TRACE)
#undef TRACE
            TRACE_LEVEL_COUNT
};

enum figure trace_figure(enum trace_figure t);

struct trace_gpu {
        struct entity who;
        float limits[TRACE_COUNT]; /* the highest seen of what bounds the metric; 0 for none */
        uint16_t classes[TRACE_POINTS][TRACE_CLASSES]; /* ticks of each bottleneck */
        struct bucket points[TRACE_COUNT][TRACE_POINTS];
};

/* A sample counts where the middle of its window is, as for phases. A point is the mean of
 * width_ns; when the run outgrows the points, two become one. */
struct traces {
        int64_t start_ns, width_ns, end_ns;
        bool started;
        struct phase_clock clock;
        size_t n;
        size_t left_out; /* GPUs beyond those that have curves */
        struct trace_gpu **gpus;
        struct bucket level[TRACE_LEVEL_COUNT][TRACE_POINTS];
};

void traces_finish(struct traces *t);
/* 0 or -ENOMEM. */
int traces_add(struct traces *t, const struct frame *f);
/* The mean of a metric over the GPUs at a point; NAN where none has it. */
double traces_mean(const struct traces *t, enum trace_metric m, size_t at);
/* Names the GPUs, after the frames. */
void traces_name_gpus(struct traces *t, const struct naming *naming);
/* After the frames, whose time the curves have. */
void traces_add_level(struct traces *t, const struct host *host, enum level level);
