/* One row of a dialect's map: a name of the source and where it goes. */
#pragma once

#include "translate/translate.h"

struct map_row {
        const char *name;
        bool text; /* to is an enum entity_text */
        uint8_t to;
        uint8_t conversion;
};

struct map {
        const struct map_row *rows;
        size_t n;
        bool unprofiled; /* none of them is a profiling counter, whatever it becomes */
};

#define MAP_METRIC(name, metric, conversion)                                                       \
        {                                                                                          \
                name, false, METRIC_##metric, CONVERT_##conversion                                 \
        }
#define MAP_TEXT(name, text)                                                                       \
        {                                                                                          \
                name, true, ENTITY_TEXT_##text, TEXT_PLAIN                                         \
        }
#define MAP_NAME(name)                                                                             \
        {                                                                                          \
                name, true, ENTITY_TEXT_MODEL, TEXT_NAME_OR_PROFILE                                \
        }

/* The map of a dialect; rows with an empty name are never matched. */
const struct map *map_for(enum dialect dialect);
