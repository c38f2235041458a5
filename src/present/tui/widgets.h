/* Small pieces that views are made of: bars, sparklines, numbers of fixed width. */
#pragma once

#include "model/frame.h"
#include "model/trend.h"
#include "present/tui/canvas.h"

/* The ink of a value: dimmed when old, faint when missing. */
struct style widget_value_style(struct value v, uint8_t fg);

/* A thin bar of w columns for a ratio; only its track when missing. */
void widget_bar(struct canvas *c, int x, int y, int w, uint8_t fg, struct value ratio);

/* A number right-aligned in w columns, in the fewest letters: "56.7G", "1980M", "41", "87%". */
void widget_number(struct canvas *c, int x, int y, int w, uint8_t fg, enum unit unit,
                   struct value v);

/*
 * The last w columns of time, bucket_ns each, on fixed boundaries: it moves only when a column is
 * complete. lo and hi are the values of an empty and a full column; hi <= lo scales by the data.
 */
struct spark {
        uint32_t slot;
        enum metric metric;
        int64_t until_ns, bucket_ns;
        double lo, hi;
        uint8_t fg;
};
void widget_spark(struct canvas *c, int x, int y, int w, const struct trends *trends,
                  const struct spark *spark);

/* What a metric is measured against: 1 for a ratio, the limit for power, … Missing when nothing. */
struct value widget_ratio(const struct row *row, enum metric metric);
/* A metric's own ink, the same in every view. */
uint8_t widget_metric_ink(enum metric metric);
uint8_t widget_class_ink(enum workload workload);
uint8_t widget_health_ink(enum health_state state);
/* The same of a row; one that holds the others up is no better than a warning. */
uint8_t widget_row_ink(const struct row *row);

/* At the right edge of a list of n lines that shows those from scroll on: that there are more. */
void widget_scroll_marks(struct canvas *c, struct area area, int scroll, int n);

/* Writes text over several lines of the area, broken at blanks. Returns the lines it takes, which
 * may be more than the area has. */
int widget_wrap(struct canvas *c, struct area area, struct style style, const char *text);

/* "3.2 s", "4 min", "2 h": an age in at most 6 columns. */
void widget_age(char *buf, size_t size, int64_t ns);
/* The time of day, or seconds since the start for a capture without times: "38.2 s". */
void widget_time(char *buf, size_t size, int64_t wall_ns);
