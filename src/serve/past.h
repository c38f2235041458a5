/*
 * The last hour at a second and the last day at a minute, of the metrics that the page draws.
 * Memory is bounded: it is taken when a GPU is first seen, and nothing after that. Time is the
 * monotonic clock's, so that a wall clock that jumps leaves no hole. Safe from several threads.
 */
#pragma once

#include "model/frame.h"

#define PAST_GPUS_MAX 64
#define PAST_FINE 3600   /* seconds */
#define PAST_COARSE 1440 /* minutes */

/* PAST(metric): what is kept. */
#define PAST_METRICS(PAST)                                                                         \
        PAST(REAL_UTIL)                                                                            \
        PAST(GPU_UTIL)                                                                             \
        PAST(SM_ACTIVE)                                                                            \
        PAST(SM_OCCUPANCY)                                                                         \
        PAST(TENSOR_ACTIVE)                                                                        \
        PAST(DRAM_ACTIVE)                                                                          \
        PAST(FP64_ACTIVE)                                                                          \
        PAST(FP32_ACTIVE)                                                                          \
        PAST(FP16_ACTIVE)                                                                          \
        PAST(FB_USED)                                                                              \
        PAST(POWER)                                                                                \
        PAST(GPU_TEMP)                                                                             \
        PAST(MEM_TEMP)                                                                             \
        PAST(SM_CLOCK)                                                                             \
        PAST(PCIE_RX)                                                                              \
        PAST(PCIE_TX)                                                                              \
        PAST(NVLINK_TOTAL)

enum past_metric {
#define PAST(metric) PAST_##metric,
        PAST_METRICS(PAST)
#undef PAST
            PAST_COUNT
};

struct past;

struct past_bucket {
        bool there;
        float mean, least, most;
};

struct past *past_open(void);
void past_close(struct past *p);
/* A GPU is known by its key, which stays the same when the source is opened anew. */
void past_add(struct past *p, const char *key, const struct row *row, int64_t mono_ns);
/* The canonical metric of a column. */
enum metric past_metric(enum past_metric m);
/*
 * The newest n buckets of one metric, oldest first, ending with the one of mono_ns: seconds, or
 * minutes when coarse. False when the GPU is not known.
 */
bool past_read(struct past *p, const char *key, enum past_metric m, bool coarse, int64_t mono_ns,
               struct past_bucket *ret, size_t n);
/* The same of what limited the GPU for most of each bucket: enum limiter + 1, or 0 where nothing is
 * known. */
bool past_read_limiters(struct past *p, const char *key, bool coarse, int64_t mono_ns, uint8_t *ret,
                        size_t n);
