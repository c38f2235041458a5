/* The last N samples of every metric of every entity. Memory is taken when a metric is first seen,
 * nothing after that. Safe to read from one thread while another adds. */
#pragma once

#include "model/frame.h"
#include "model/trend.h"

#define HISTORY_SAMPLES_MAX 1000000
#define HISTORY_FEW_GPUS 64 /* beyond that many their past is shorter, within this much memory */
#define HISTORY_BYTES_MAX (24 * 1024 * 1024)
#define HISTORY_SAMPLES_LEAST 60

struct history;

/* NULL when memory is short. samples is cut to the maximum. */
struct history *history_open(size_t samples);
void history_close(struct history *h);
/*
 * Adds a frame. One that is not later than the newest takes the place of all that are not earlier:
 * a replay went back. 0 or -ENOMEM.
 */
int history_push(struct history *h, const struct frame *frame);
/* As the copy of struct trends. */
size_t history_copy(struct history *h, uint32_t slot, enum metric metric, int64_t from,
                    int64_t until, struct point *ret, size_t max);
/* The time of the newest sample before wall_ns; false when there is none. */
bool history_before(struct history *h, int64_t wall_ns, int64_t *ret);
/* h as views see it. */
struct trends history_trends(struct history *h);
