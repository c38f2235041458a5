/*
 * Adds up what frames say of one GPU, tick by tick: activity × time, time in each class, energy.
 * Pure: no clock, no I/O, no allocation. Time that nobody saw is in nothing.
 */
#pragma once

#include "model/frame.h"
#include "model/integral.h"

/* What has to be remembered of a GPU from tick to tick; all 0 at the start. */
struct integrator {
        bool seen;
        int64_t mono_ns;
        double typical_s; /* a tick's length */
        struct value energy, xid_count;
        bool has_energy;
        double confirmed_j, pending_j; /* by the driver's counter; power × time since it moved */
};

/* Whether anything of a row is of its tick; what is derived is of the tick of its inputs. */
bool integrals_fresh(const struct frame *frame, const struct sample *sample);

/*
 * Adds one row of a frame. A stale frame or row adds nothing. owned: a job holds the GPU, whether
 * its memory is in use or not.
 */
void integrals_add(struct integrals *in, struct integrator *it, const struct frame *frame,
                   const struct row *row, bool owned);
/* to - from of two moments of one GPU; peak memory is to's, and holdings are left out. */
void integrals_since(const struct integrals *from, const struct integrals *to,
                     struct integrals *ret);
/* Adds b to a: several GPUs of one owner. The peak is the sum. */
void integrals_sum(struct integrals *a, const struct integrals *b);
