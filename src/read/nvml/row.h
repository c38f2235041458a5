/* One entity that NVML gives, with the values read last. */
#pragma once

#include "model/reading.h"
#include "read/nvml/lib.h"

enum nvml_lane {
#define NVML_LANE(id, cadence_ms) NVML_LANE_##id,
#include "model/nvml.def"
        NVML_LANE_COUNT
};

enum nvml_text {
#define NVML_TEXT(id, name, text) NVML_TEXT_##id,
#include "model/nvml.def"
        NVML_TEXT_COUNT
};

enum nvml_field {
#define NVML_FIELD(id, name, lane, metric, conversion) NVML_FIELD_##id,
#include "model/nvml.def"
        NVML_FIELD_COUNT
};

struct nvml_value {
        double v;
        uint8_t state; /* enum state */
};

struct nvml_row {
        enum entity_kind kind;
        int32_t index, gi, ci; /* gi and ci are -1 where they do not apply */
        char text[NVML_TEXT_COUNT][ENTITY_TEXT_MAX];
        struct nvml_value value[NVML_FIELD_COUNT];
        int64_t read_ns[NVML_LANE_COUNT]; /* when the lane was read; 0 for never */
};

/* A field's name in the schema, and its lane. */
const char *nvml_field_name(enum nvml_field field);
enum nvml_lane nvml_field_lane(enum nvml_field field);
int64_t nvml_lane_cadence_ns(enum nvml_lane lane);

/* Texts first, then numbers. */
void nvml_schema(struct schema *ret);
/* Every value of the lane gets that state. */
void nvml_row_blank(struct nvml_row *row, enum nvml_lane lane, enum state state);
