/* When the programs on a GPU began their work: what comes before it is start-up. */
#pragma once

#include "compute/stretches.h"

#define CUT_SHORTEST_S 1.5 /* half of the longest period of bursts */

/* The buckets of one program's time: from when the one before it gave the GPU back. */
struct program_time {
        size_t from, to;
        size_t touched; /* the first in which it held or used the GPU; SIZE_MAX for none */
        size_t begins;  /* the first after start-up */
};

/* At least one; they follow each other without gaps. */
struct program_times {
        size_t n;
        struct program_time list[STRETCH_BUCKETS];
};

/* The bucket that begins nearest to a time. */
size_t stretch_bucket_at(const struct stretches *s, int64_t mono_ns);
/* Whether kernels ran or a link was used. */
bool works_between(const struct stretch_track *t, size_t from, size_t to);
void programs_find(const struct stretches *s, const struct stretch_track *t,
                   struct program_times *ret);
/* Whether nobody holds the GPU any more at some time from a bucket on. */
bool is_given_back(const struct stretches *s, const struct stretch_track *t, size_t from);
const struct program_time *program_at(const struct program_times *p, size_t bucket);
