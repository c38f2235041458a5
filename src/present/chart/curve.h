/*
 * A curve in bounded memory, however long the run is: time is cut into buckets that keep the least,
 * the most and the mean, so that no peak is lost. When time outgrows them, two become one.
 */
#pragma once

#include "model/bucket.h"
#include "model/value.h"

#include <stddef.h>

#define CURVE_BUCKETS 2048

struct curve {
        struct bucket b[CURVE_BUCKETS];
        uint32_t missing[CURVE_BUCKETS]; /* ticks that came without a value */
        uint64_t n;                      /* values in all */
        double min, max, sum;
};

/* A gap: the curve takes no part in that moment. */
void curve_add(struct curve *c, size_t at, struct value v);
/* Several at once, as when only their least, mean and most are known. */
void curve_add_range(struct curve *c, size_t at, double min, double mean, double max);
/* Two buckets become one. */
void curve_halve(struct curve *c);

/* What is drawn: x from 0 to 1 in the window, values in SI. */
struct dot {
        float x, min, mean, max;
        bool up; /* the pen is lifted before it: values are missing in between */
};

/* The part of the buckets that is shown. Places may lie between buckets. */
struct window {
        double from, to; /* in buckets */
        double gap;      /* no tick for more buckets than this is a gap */
};

/* One dot for each of that many columns that has values. Returns how many; ret has room for all. */
size_t curve_dots(const struct curve *c, const struct window *w, size_t columns, struct dot *ret);
