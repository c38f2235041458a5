/* Phases as bands: nested ones in lanes, none drawn narrower than can be seen. */
#pragma once

#include "model/phase.h"

#include <stddef.h>

#define BANDS_MAX 4096
#define BAND_LANES 4
#define BAND_TINTS 6

struct band {
        float from, to;   /* from 0 to 1 in the window */
        uint8_t lane;     /* 0 is the outermost */
        uint8_t tint;     /* phases of one name have the same one */
        bool many;        /* several that are too narrow to distinguish */
        const char *name; /* the phase's; NULL for many with different ones */
};

/*
 * Packs the phases, sorted by their beginning, into lanes: each in the first lane that is free,
 * none when all BAND_LANES are taken or there are BANDS_MAX bands. A band narrower than least is
 * merged with its neighbour when that is narrow too. Returns the number of bands; names are
 * borrowed from the phases.
 */
size_t bands_pack(const struct phase *phases, size_t n, int64_t from_ns, int64_t to_ns,
                  double least, struct band ret[BANDS_MAX]);
