/*
 * How a session keeps numbers small: up to BLOCK_TICKS values of one series of one entity become
 * one base and one blob of offsets from it, each as wide as the largest needs. A plain SQL view can
 * undo this, because every offset stands at a place that can be computed.
 */
#pragma once

#include "model/value.h"

#include <stddef.h>

#define BLOCK_SHIFT 7
#define BLOCK_TICKS (1 << BLOCK_SHIFT)
#define BLOCK_WIDTH_MAX 7
/* The top codes of a width tell why a value is missing: all ones less the state. */
#define BLOCK_STATES 8
/* Larger magnitudes would not survive a double. */
#define BLOCK_LIMIT ((int64_t)1 << 53)

/* A scaled whole number, or a state for a missing one. */
typedef int64_t cell;
#define CELL_MISSING(state) (INT64_MIN + (int64_t)(state))

static inline bool cell_there(cell c)
{
        return c >= -BLOCK_LIMIT;
}

/* Only for a cell that is not there. */
static inline enum state cell_state(cell c)
{
        return (enum state)(c - INT64_MIN);
}

/* Rounds to the nearest step; saturates at BLOCK_LIMIT. */
cell cell_from(struct value v, double step, double scale);
/* The other way. An old value is not kept again, and comes back as one that was not given. */
struct value cell_value(cell c, double step, double scale);

struct coded {
        bool empty;    /* no source gives this series: nothing to store */
        bool has_base; /* false: every value is missing for the reason in state */
        uint8_t state; /* enum state */
        uint8_t width; /* bytes a value; 0 when all are the base */
        int64_t base;
        size_t len; /* of the blob: width × values */
};

/* Codes n cells, at most BLOCK_TICKS, into blob, which has room for BLOCK_TICKS × WIDTH_MAX. */
struct coded block_encode(const cell *cells, size_t n, uint8_t *blob);

/* The cell at a place. A place beyond the blob, which a broken file can ask for, is missing. */
cell block_decode(const struct coded *coded, const uint8_t *blob, size_t place);
