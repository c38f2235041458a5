/*
 * How long a GPU's program has made no progress although it holds the GPU and worked before: from
 * the GPU's counters and what its host does for it. Says nothing before it is sure; the rules are
 * in docs/HANGS.md. Pure, and allocates nothing.
 */
#pragma once

#include "model/frame.h"
#include "model/host.h"

#define STALL_LEAST_S 15.0 /* shorter pauses are not reported */
#define STALL_RHYTHM_S                                                                             \
        10.0 /* of work in the last minutes, without which there is nothing to stop */

/* What is remembered of a GPU. All zeros to begin with. */
struct stall {
        bool seen;
        int64_t now_ns;
        int64_t progress_ns;     /* when it last made progress */
        double worked_s;         /* in which it moved data, fading over STALL_FADE_S */
        bool had_rhythm;         /* at the last progress */
        float power, sm, memory; /* slow means: what is flat stays near them */
};

/* The seconds since the last progress; 0 while there is some or it lasts only briefly; missing
 * where that cannot be known. host may be NULL. */
struct value stall_add(struct stall *s, const struct sample *sample,
                       const struct host_evidence *host, int64_t mono_ns);
