/*
 * Where one stretch ends and the next begins. Buckets are merged from below: neighbours that do
 * not differ by more than their own spread are one; what is shorter than half the longest period
 * of bursts joins the neighbour that it differs from least. While too many are left, the shortest
 * length grows: so a rhythm of any period becomes one stretch. Everything is a function of the
 * buckets, so the same ticks give the same cuts.
 */
#pragma once

#include "compute/stretches.h"

#define CUT_SHARE 0.01 /* of the run: nothing shorter */

/* What buckets are compared by. */
enum {
        F_ENGINE,
        F_SM,
        F_TENSOR,
        F_PIPE,
        F_DRAM,
        F_LINK,
        F_CODEC,
        F_THREAD,
        F_CHILDREN,
        F_IO,
        F_STORAGE,
        F_HELD,
        F_COUNT
};

struct seg {
        size_t from, to; /* buckets */
        double w;        /* seconds */
        double sum[F_COUNT], square[F_COUNT];
        double mean[F_COUNT], variance[F_COUNT];
        bool hard; /* a boundary before it that nothing crosses */
};

struct merging {
        size_t n;
        struct seg *segs[STRETCH_BUCKETS]; /* those that are left, in order, of all */
        struct seg all[STRETCH_BUCKETS];
        double cost[STRETCH_BUCKETS];  /* of joining a segment with the next */
        double price[STRETCH_BUCKETS]; /* the same where it is wanted, else infinite */
        bool same[STRETCH_BUCKETS];
};

/* A mean of a bucket, 0 where nothing is known. */
double stretch_bucket_mean(const struct stretch_bucket *b, enum ceiling at);
/* The busiest direction of the busiest link. */
double bucket_link(const struct stretch_bucket *b);

/* A segment a bucket in which anything was sampled. */
void merging_fill(struct merging *m, const struct stretches *s, const struct stretch_track *t);
/* A boundary before a bucket that nothing crosses. */
void merging_cut_at(struct merging *m, size_t bucket);
/* Joins the segments of a run of that many seconds until few are left. */
void merging_run(struct merging *m, double seconds);
/* Joins a segment with the next. */
void merging_join(struct merging *m, size_t i);
