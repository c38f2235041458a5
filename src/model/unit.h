/* The units metrics have. Prefixes and percent signs belong to present/. */
#pragma once

#define GIB 1073741824.0 /* bytes */
#define JOULES_PER_KWH 3.6e6

enum unit {
        UNIT_RATIO, /* 0 to 1 */
        UNIT_SCORE, /* 0 to 100 by definition, not a share of anything */
        UNIT_BYTES,
        UNIT_BYTES_PER_S,
        UNIT_WATTS,
        UNIT_JOULES,
        UNIT_CELSIUS,
        UNIT_HERTZ,
        UNIT_COUNT,  /* a whole number of things */
        UNIT_PER_S,  /* things a second */
        UNIT_NUMBER, /* a plain number: a PCIe generation, an XID */
        UNIT_FLAG,   /* 0 or 1 */
        UNIT_BITS,   /* a set of bits */
        UNIT_SECONDS,
};

/* "ratio", "B", "B/s", "W", … as written in JSON and in `assay metrics`. */
const char *unit_name(enum unit unit);
