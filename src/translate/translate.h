/* From a source's names and units to the one vocabulary. One map a dialect, no I/O. */
#pragma once

#include "model/frame.h"
#include "model/reading.h"

/* How a source's number becomes SI. */
enum conversion {
        CONVERT_RATIO,            /* 0 to 1 */
        CONVERT_PERCENT,          /* 0 to 100 */
        CONVERT_RATIO_OR_PERCENT, /* either: one value above 1 says that all are percent */
        CONVERT_ENGINE_RATIO,     /* 0 to 1 of one of several engines: the busiest counts */
        CONVERT_SCORE,            /* 0 to 100, stays so */
        CONVERT_BYTES,
        CONVERT_MIB,
        CONVERT_BYTES_PER_S,
        CONVERT_MB_PER_S, /* decimal */
        CONVERT_MIB_PER_S,
        CONVERT_DCGM_MB_PER_S, /* 1000 KiB/s */
        CONVERT_GB_PER_S,      /* decimal */
        CONVERT_KB_PER_S,      /* decimal */
        CONVERT_WATTS,
        CONVERT_MILLIWATTS,
        CONVERT_MICROWATTS,
        CONVERT_JOULES,
        CONVERT_MILLIJOULES,
        CONVERT_MICROJOULES,
        CONVERT_JOULES_16, /* 2^-16 J */
        CONVERT_CELSIUS,
        CONVERT_MILLICELSIUS,
        CONVERT_HERTZ,
        CONVERT_MHZ,
        CONVERT_COUNT,
        CONVERT_PER_S,
        CONVERT_NUMBER,
        CONVERT_FLAG,
        CONVERT_BITS,
        CONVERT_SECONDS,
        CONVERT_NANOSECONDS,
        CONVERT_DRM_THROTTLE, /* the drm source's groups of reasons */
        CONVERSION_COUNT
};

/* How a text is taken. */
enum text_kind {
        TEXT_PLAIN,
        TEXT_NAME_OR_PROFILE, /* a GPU's model; on the row of a slice its MIG profile */
};

/* Where a field of a schema goes that is a text. */
struct text_target {
        uint16_t field;
        uint8_t to;   /* enum entity_text */
        uint8_t kind; /* enum text_kind */
};

/* One that is a metric, with what its numbers mean and must be: value = number × times ÷ over. */
struct metric_target {
        uint16_t field;
        uint8_t to; /* enum metric */
        uint8_t conversion;
        bool may_be_negative;
        double times, over;
        double least, most; /* in the metric's unit: what is outside makes no sense */
        double floor, ceil; /* what is between is brought to these */
        uint64_t plain;     /* num_bits() of the most that is taken as it is, from 0 on */
};

/* A schema's fields matched with the vocabulary, once for many readings. */
struct binding {
        enum dialect dialect;
        uint32_t revision;
        bool bound;
        bool as_older_tools; /* set before binding: no number is out of bounds, and DCGM's MB/s are
                                decimal */
        /* A bit an origin: its fields of either unit have shown that they are percent. */
        uint64_t percent[READING_ORIGINS_MAX / 64];
        size_t n_either; /* how many there are */
        size_t n_metrics, n_texts;
        struct metric_target metrics[SCHEMA_FIELDS_MAX];
        struct text_target texts[SCHEMA_FIELDS_MAX];
};

/* Fields nobody knows are left out. Does nothing when the schema is the one bound already. */
void translate_bind(struct binding *b, const struct schema *schema);

/* Looks at the fields that one version gives as a ratio and another in percent: one value above 1
 * reports, for all of them and for good. Does nothing where there are none. */
void translate_detect_units(struct binding *b, const struct batch *batch);

/* Whether a field of that name means anything to us. */
bool translate_wants(enum dialect dialect, const char *field, size_t len);

/* The same, except for what comes from profiling counters. */
bool translate_wants_unprofiled(enum dialect dialect, const char *field, size_t len);
/* Takes such values out of a sample: captures and other hosts may have them all the same. */
void translate_drop_profiling(enum dialect dialect, struct sample *s);

/* The numbers of the DCGM fields that are metrics, in the order of dcgm.def. */
const unsigned *translate_dcgm_ids(size_t *ret_n);

/* Fills every metric of ret; fields the schema lacks are STATE_NONE. ret->who is left alone. */
void translate_reading(const struct binding *b, const struct reading *reading, struct sample *ret);

/* Copies what the reading says about the entity itself. */
void translate_identity(const struct binding *b, const struct reading *reading, struct entity *ret);
