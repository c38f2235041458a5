/*
 * Who holds the others up, while it happens: over the last half minute, from the GPUs' own
 * counters. Only where the GPUs plainly work on the same thing; nothing is allocated.
 */
#pragma once

#include "model/frame.h"

/* What is remembered of a GPU: means over about LIVE_S. All zeros to begin with. */
struct live_rank {
        bool seen;
        int64_t first_ns, now_ns;
        float engine, work, clock, memory; /* work: pipes and device memory, added up */
        float held; /* time in which heat, hardware or somebody held its clock */
        bool has_work;
        int64_t late_ns; /* apart since then; 0: not */
};

#define LIVE_S 20.0
#define LIVE_LEAST 4 /* GPUs, to distinguish one from the others */

void live_rank_add(struct live_rank *l, const struct sample *s, int64_t mono_ns);
/* So many doubles does live_find_late need for n GPUs. */
#define LIVE_SCRATCH(n) (5 * ((n) + 1))
/* late[i]: an enum straggler_cause + 1, or 0. ranks[i] may be NULL: not compared. */
void live_find_late(struct live_rank *const *ranks, size_t n, double *scratch, bool *out,
                    uint8_t *late);
