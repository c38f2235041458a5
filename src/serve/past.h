/*
 * The last hour at a second and the last day at a minute, of the metrics that the page draws.
 * Memory is bounded: it is taken when a GPU is first seen, and nothing after that. Time is the
 * monotonic clock's, so that a wall clock that jumps leaves no hole. Safe from several threads.
 */
#pragma once

#include "model/bucket.h"
#include "model/frame.h"

#define PAST_GPUS_MAX 64
#define PAST_FINE 3600   /* seconds */
#define PAST_COARSE 1440 /* minutes */

enum past_metric {
#define BOTH(id) PAST_##id,
#define LIVE(id) PAST_##id,
#include "model/curves.def"
#undef BOTH
#undef LIVE
        PAST_COUNT
};

struct past;

struct past *past_open(void);
void past_close(struct past *p);
/* A GPU is known by its key, which stays the same when the source is reopened. */
void past_add(struct past *p, const char *key, const struct row *row, int64_t mono_ns);
/* The canonical metric of a column. */
enum metric past_metric(enum past_metric m);
/*
 * The newest n buckets of one metric, oldest first, ending with the one of mono_ns: seconds, or
 * minutes when coarse. A bucket counts as one value, its mean. False when the GPU is not known.
 */
bool past_read(struct past *p, const char *key, enum past_metric m, bool coarse, int64_t mono_ns,
               struct bucket *ret, size_t n);
/* The same of what limited the GPU for most of each bucket: enum limiter + 1, or 0 where nothing is
 * known. */
bool past_read_limiters(struct past *p, const char *key, bool coarse, int64_t mono_ns, uint8_t *ret,
                        size_t n);
