/* The columns of CSV output: which there are, which are asked for. The rows are in columns.def. */
#pragma once

#include "base/csvw.h"
#include "base/err.h"
#include "model/frame.h"

enum column_set { COLUMN_SET_DEFAULT, COLUMN_SET_ALL, COLUMN_SET_FULL };

enum column_kind {
        COLUMN_TIME,
        COLUMN_ID,
        COLUMN_MODEL,
        COLUMN_STATUS,
        COLUMN_HEALTH,
        COLUMN_PROVENANCE,
        COLUMN_LIMITER,
        COLUMN_HELD_BY,
        COLUMN_BASIS,
        COLUMN_CEILING, /* an enum ceiling, as it is */
        COLUMN_TEXT,
        COLUMN_PERCENT, /* a ratio × 100 */
        COLUMN_MIB,
        COLUMN_GIGA, /* ÷ 1e9 */
        COLUMN_MEGA, /* ÷ 1e6 */
        COLUMN_RAW,
        COLUMN_NONE,
        COLUMN_KIND_COUNT
};

struct column {
        const char *name;
        enum column_set set;
        enum column_kind kind;
        uint8_t what; /* enum metric, entity_text or ceiling, as kind says */
        uint8_t decimals;
        const char *help;
};

#define COLUMNS_MAX 128

/* The table. NULL at the end. */
const struct column *column_at(size_t i);

/* Whether it is the name of a set: "default", "all" or "full". */
bool columns_is_preset(const char *spec);
/* The name of a set or a list of names. How many, or a negative code with err. */
int columns_choose(const char *spec, const struct column *ret[COLUMNS_MAX], struct err *err);

/* Appends one field, which is empty for a missing value. */
void column_write(const struct column *column, const struct frame *frame, const struct row *row,
                  struct csvw *c);

/* Whether the column holds a metric. */
static inline bool column_is_number(const struct column *column)
{
        return column->kind >= COLUMN_PERCENT && column->kind <= COLUMN_RAW;
}

/* From a metric's unit to a kind's: × times ÷ over, of which one is 1, and brought between the two
 * others. */
struct column_scale {
        double times, over, least, most;
};
extern const struct column_scale column_scales[COLUMN_KIND_COUNT];

/* The metric in the column's unit; false when it is missing. Only for columns that hold one. */
static inline bool column_value(const struct column *column, const struct row *row, double *ret)
{
        const struct value *value = &row->sample.m[column->what];
        if (!value_is_set(*value))
                return false;
        const struct column_scale *scale = &column_scales[column->kind];
        double v = scale->over != 1 ? value->v / scale->over : value->v * scale->times;
        v = v > scale->least ? v : scale->least;
        *ret = v < scale->most ? v : scale->most;
        return true;
}

/* "NVIDIA H100 80GB HBM3" → "H100", "NVIDIA RTX 6000 Ada" → "RTX6000"; "GPU" when not known. */
size_t model_short_name(const char *model, char *buf, size_t size);
