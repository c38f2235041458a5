/* Line charts in braille dots: two columns and four rows of dots a cell. */
#pragma once

#include "model/trend.h"
#include "present/tui/canvas.h"

#include <stdint.h>

struct chart_series {
        uint32_t slot;
        enum metric metric;
        uint8_t fg;
};

/* Dots of one chart, kept from frame to frame so that drawing allocates nothing. */
struct chart_scratch {
        uint8_t *dots, *ink;
        size_t cap;
        struct point *points;
        struct said *said;
};

#define CHART_POINTS_MAX 8192
#define CHART_LABEL_WIDTH 7
#define CHART_NO_CURSOR INT64_MIN

struct chart {
        struct area area; /* with the axes */
        bool axes;
        bool no_times; /* another chart below shows them */
        enum unit unit;
        int64_t until_ns, span_ns;
        int64_t cursor_ns; /* CHART_NO_CURSOR for none */
        const struct chart_series *series;
        size_t n;
};

void chart_scratch_finish(struct chart_scratch *s);
/* Draws nothing when the area is too small or memory is short. */
void chart_draw(struct canvas *c, const struct chart *chart, const struct trends *trends,
                struct chart_scratch *scratch);
/*
 * What was said of an entity, in the columns of a chart, as words in runs: "tensor cores ──". What
 * of each says which: the words and the ink of a value, NULL for one that is left blank.
 */
struct strip {
        uint32_t slot;
        uint8_t (*value)(const struct said *s);
        const char *(*words)(uint8_t value, int columns); /* that fit; NULL: draw nothing */
        uint8_t (*ink)(uint8_t value);
};
void chart_strip(struct canvas *c, const struct chart *chart, const struct strip *strip, int y,
                 const struct trends *trends, struct chart_scratch *scratch);
/* The part of the area that holds dots. */
struct area chart_inside(const struct chart *chart);
/* Time at a column of the canvas, and back; the middle of the cell. */
int64_t chart_time_at(const struct chart *chart, int x);
int chart_column_of(const struct chart *chart, int64_t wall_ns);
