/* What in frames makes a flight recorder write: an XID, or health that becomes critical. Pure. */
#pragma once

#include "model/dump.h"
#include "model/frame.h"

/* GPUs and slices that a recorder keeps, by slot. */
#define FLIGHT_GPUS_MAX 128

/* What was last known of a GPU. What it begins with is not an event. */
struct flight_seen {
        bool known;
        uint32_t findings;
        bool stalled;
        struct value xid_count, xid_last;
};

/* Reasons that a frame brings: at most max; returns how many. seen has FLIGHT_GPUS_MAX places. */
size_t flight_watch(struct flight_seen *seen, const struct frame *f, struct dump_reason *ret,
                    size_t max);
