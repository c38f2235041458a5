/*
 * What a source read, in the source's own names and units: the first stage of the pipeline.
 * A schema names the fields; a reading holds one entity's values for them; a batch is one tick.
 */
#pragma once

#include "model/entity.h"
#include "model/value.h"

/* Whose vocabulary the field names are in. translate/ has one map for each. */
enum dialect {
        DIALECT_DMON,      /* columns of dcgmi dmon */
        DIALECT_DCGM,      /* DCGM field names and labels, as dcgm-exporter gives them */
        DIALECT_SMI_DMON,  /* columns of nvidia-smi dmon */
        DIALECT_SMI_QUERY, /* fields of nvidia-smi --query-gpu */
        DIALECT_COLUMNS,   /* our CSV columns */
        DIALECT_CANON,     /* our own metric names, SI units: JSON lines */
        DIALECT_NVML,      /* our names for NVML's and GPM's values */
        DIALECT_DRM,       /* files of sysfs and fdinfo, and fields of AMD's firmware table */
        DIALECT_COUNT
};

#define FIELD_NAME_MAX 64
#define SCHEMA_FIELDS_MAX 512

struct schema {
        enum dialect dialect;
        uint32_t revision; /* differs whenever the fields do */
        size_t n;
        char names[SCHEMA_FIELDS_MAX][FIELD_NAME_MAX];
};

/* One cell: a number, or text when text is not NULL, or missing with the reason in state. */
struct raw {
        double num;
        const char *text; /* borrowed, valid as long as the batch */
        uint32_t age_ms;
        uint16_t len;
        uint8_t state; /* enum state */
};

struct reading {
        struct entity_key who;
        const struct raw *values; /* schema->n of them */
        uint16_t origin;          /* which program of several it comes from; 0 where there is one */
};

struct batch {
        const struct schema *schema;
        int64_t wall_ns;   /* when it was measured; synthetic in a capture without times */
        int64_t mono_ns;   /* likewise, on a clock that never jumps: rates come from this one */
        int64_t window_ns; /* values are averages over this long; 0 when not known */
        bool stale;        /* no news: the values are those of an earlier batch */
        const struct reading *readings;
        size_t n;
        /* What another source read in the same tick, in its own words; NULL for no more. */
        const struct batch *more;
};

#define BATCH_PARTS_MAX 4
#define READING_ORIGINS_MAX 4096

/* What could not be read. Counted, reported once at the end. */
struct source_trouble {
        uint64_t rows;       /* read well */
        uint64_t skipped;    /* lines that could not be understood */
        uint64_t cut;        /* rows that end in the middle */
        uint64_t too_long;   /* lines longer than any source writes */
        uint64_t first_line; /* where the first trouble was; 0 when not in a file */
        bool no_counters;    /* it opened, without SM, tensor and DRAM counters */
        bool waiting;        /* there was nothing yet, and it is tried again */
        char notice[320];    /* one more thing worth reporting; empty for none */
};
