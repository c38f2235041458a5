#include "read/nvml/row.h"

#include "base/attr.h"
#include "base/clock.h"

#include <stdio.h>

static const int64_t cadences[] = {
#define NVML_LANE(id, cadence_ms) cadence_ms *NS_PER_MS,
#include "model/nvml.def"
};

static const char *const texts[] = {
#define NVML_TEXT(id, name, text) name,
#include "model/nvml.def"
};

static const struct {
        const char *name;
        enum nvml_lane lane;
} fields[] = {
#define NVML_FIELD(id, name, lane, metric, conversion) {name, NVML_LANE_##lane},
#include "model/nvml.def"
};

const char *nvml_field_name(enum nvml_field field)
{
        return fields[field].name;
}

enum nvml_lane nvml_field_lane(enum nvml_field field)
{
        return fields[field].lane;
}

int64_t nvml_lane_cadence_ns(enum nvml_lane lane)
{
        return cadences[lane];
}

void nvml_schema(struct schema *ret)
{
        ret->dialect = DIALECT_NVML;
        ret->revision = 1;
        ret->n = 0;
        for (size_t i = 0; i < NVML_TEXT_COUNT; i++)
                snprintf(ret->names[ret->n++], FIELD_NAME_MAX, "%s", texts[i]);
        for (size_t i = 0; i < NVML_FIELD_COUNT; i++)
                snprintf(ret->names[ret->n++], FIELD_NAME_MAX, "%s", fields[i].name);
}

void nvml_row_blank(struct nvml_row *row, enum nvml_lane lane, enum state state)
{
        for (size_t i = 0; i < NVML_FIELD_COUNT; i++) {
                if (fields[i].lane == lane)
                        row->value[i] = (struct nvml_value){.state = (uint8_t)state};
        }
}
