/*
 * How a session keeps numbers small: up to BLOCK_TICKS values of one series of one entity become
 * one base and one blob of offsets from it, each as many bits wide as the largest needs. Where few
 * values come again and again, the blob has each once, and after them, at a whole byte, which one
 * every tick has. A plain SQL view can undo this, because every offset stands at a place that can
 * be computed.
 */
#pragma once

#include "model/value.h"

#include <stddef.h>

#define BLOCK_SHIFT 7
#define BLOCK_TICKS (1 << BLOCK_SHIFT)
#define BLOCK_WIDTH_MAX 7
/* The top codes of a width say why a value is missing: all ones less the state. Only where some
 * are. */
#define BLOCK_STATES 8
/* Wider offsets are BLOCK_WIDTH_MAX bytes: with seven bits before them no wider ones are within
 * those. */
#define BLOCK_BITS_MAX 48
/* Larger magnitudes would not survive a double. */
#define BLOCK_LIMIT ((int64_t)1 << 53)

/* A scaled whole number, or a state for a missing one. */
typedef int64_t cell;
#define CELL_MISSING(state) (INT64_MIN + (int64_t)(state))

static inline bool cell_is_set(cell c)
{
        return c >= -BLOCK_LIMIT;
}

/* Only for a cell that is absent. */
static inline enum state cell_state(cell c)
{
        return (enum state)(c - INT64_MIN);
}

/* Rounds to the nearest step; saturates at BLOCK_LIMIT. */
cell cell_from(struct value v, double step, double scale);
/* The other way. An old value is not kept again, and comes back as one that was not given. */
struct value cell_value(cell c, double step, double scale);

struct coded {
        bool empty;         /* no source gives this series: nothing to store */
        bool has_base;      /* false: every value is missing for the reason in state */
        bool has_states;    /* the top codes are states */
        uint8_t state;      /* enum state */
        uint8_t bits;       /* of an offset; 0 when all are the base */
        uint8_t index_bits; /* of the place of each tick's offset; 0 when they stand in order */
        uint8_t distinct;   /* offsets, where there are places */
        uint16_t index_at;  /* bits before the first place */
        int64_t base;
        size_t len; /* of the blob */
};

/* Codes n cells, at most BLOCK_TICKS, into blob, which has room for BLOCK_TICKS × WIDTH_MAX. */
struct coded block_encode(const cell *cells, size_t n, uint8_t *blob);

/*
 * What the column width encodes about bits, states and places: up to BLOCK_WIDTH_MAX it is a number
 * of bytes, as it was until 0.2.0, with states; from 8 on it has them all. False for what no block
 * has.
 */
int64_t block_form(const struct coded *coded);
bool block_take_form(int64_t form, struct coded *ret);

/* The cell at a place. A place beyond the blob, which a broken file can ask for, is missing. After
 * the blob there is room for BLOCK_PAD bytes more, whatever they are. */
#define BLOCK_PAD 8
cell block_decode(const struct coded *coded, const uint8_t *blob, size_t place);
