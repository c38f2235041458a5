#include "present/tui/widgets.h"

#include "base/clock.h"
#include "present/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SPARK_POINTS_MAX 4096
#define SPARK_WIDTH_MAX 256

struct style widget_value_style(struct value v, uint8_t fg)
{
        if (v.state == STATE_OK)
                return (struct style){.fg = fg};
        return (struct style){.fg = value_is_set(v) ? INK_DIM : INK_FAINT};
}

void widget_bar(struct canvas *c, int x, int y, int w, uint8_t fg, struct value ratio)
{
        struct style full = widget_value_style(ratio, fg), track = {.fg = INK_FAINT};
        double v = value_is_set(ratio) ? MIN(MAX(ratio.v, 0.0), 1.0) : 0;
        int halves = (int)lround(v * 2 * w);
        /* What is not known is not a bar of 0. */
        uint32_t rest = value_is_set(ratio) ? 0x2500 : 0xb7;
        /* A little is not nothing. */
        if (v > 0.004 && halves == 0)
                halves = 1;
        for (int i = 0; i < w; i++) {
                if (halves >= 2 * i + 2)
                        canvas_char(c, x + i, y, full, 0x2501);
                else if (halves == 2 * i + 1)
                        canvas_char(c, x + i, y, full, 0x2578);
                else
                        canvas_char(c, x + i, y, track, rest);
        }
}

void widget_number(struct canvas *c, int x, int y, int w, uint8_t fg, enum unit unit,
                   struct value v)
{
        char text[FORMAT_MAX];
        format_short(text, sizeof(text), unit, v);
        canvas_right(c, x, y, w, widget_value_style(v, fg), text);
}

/* Means of the points that fall into each column; a column without a point is absent. */
struct columns_of {
        double sum[SPARK_WIDTH_MAX];
        int n[SPARK_WIDTH_MAX];
        double most, least;
        bool any;
};

static void gather_columns(const struct trends *trends, const struct spark *s, int w,
                           struct columns_of *ret)
{
        struct point points[SPARK_POINTS_MAX];
        int64_t last = s->until_ns / s->bucket_ns;
        int64_t first = last - w + 1;
        size_t n = trends->copy(trends->arg, s->slot, s->metric, first * s->bucket_ns, s->until_ns,
                                points, ARRAY_LEN(points));
        struct clock_slots slots = clock_slots(s->bucket_ns);
        double most = -INFINITY, least = INFINITY;
        memset(ret->n, 0, (size_t)w * sizeof(ret->n[0]));
        memset(ret->sum, 0, (size_t)w * sizeof(ret->sum[0]));
        for (size_t i = 0; i < n; i++) {
                int64_t k = clock_slot(&slots, points[i].wall_ns) - first;
                if (!points[i].present || k < 0 || k >= w)
                        continue;
                double v = (double)points[i].v;
                ret->sum[k] += v;
                ret->n[k]++;
                most = MAX(most, v);
                least = MIN(least, v);
        }
        ret->any = least <= most;
        ret->most = most;
        ret->least = least;
}

void widget_spark(struct canvas *c, int x, int y, int w, const struct trends *trends,
                  const struct spark *s)
{
        struct columns_of columns;
        w = MIN(w, SPARK_WIDTH_MAX);
        if (!trends->copy || s->bucket_ns <= 0 || w <= 0)
                return;
        gather_columns(trends, s, w, &columns);
        double lo = s->lo, hi = s->hi;
        bool flat = hi <= lo && (!columns.any || columns.most <= columns.least);
        if (hi <= lo) {
                lo = columns.any ? MIN(columns.least, 0.0) : 0;
                hi = columns.any ? columns.most : 1;
        }
        for (int i = 0; i < w; i++) {
                if (columns.n[i] == 0)
                        continue;
                double v = columns.sum[i] / columns.n[i];
                /* What never changes is no news, but it is not nothing either. */
                double part = flat ? (v != 0 ? 0.5 : 0) : hi > lo ? (v - lo) / (hi - lo) : 0;
                /* Never the whole cell, so that trends on neighbouring lines stay apart. */
                int level = (int)lround(MIN(MAX(part, 0.0), 1.0) * 6);
                struct style style = {.fg = level == 0 ? INK_FAINT : s->fg};
                canvas_char(c, x + i, y, style, 0x2581u + (uint32_t)level);
        }
}

static struct value part_of(struct value v, struct value whole)
{
        if (!value_is_set(v) || !value_is_set(whole) || whole.v <= 0)
                return value_missing(STATE_NONE);
        v.v /= whole.v;
        return v;
}

struct value widget_ratio(const struct row *row, enum metric metric)
{
        const struct value *m = row->sample.m;
        struct value v = m[metric];
        enum unit unit = metric_info(metric)->unit;
        if (unit == UNIT_RATIO)
                return v;
        if (unit == UNIT_SCORE)
                return part_of(v, value_ok(100));
        if (unit == UNIT_BYTES && metric != METRIC_FB_TOTAL && metric != METRIC_BAR1_USED)
                return part_of(v, m[METRIC_FB_TOTAL]);
        if (metric == METRIC_POWER)
                return part_of(v, m[METRIC_POWER_LIMIT]);
        if (metric == METRIC_SM_CLOCK)
                return part_of(v, m[METRIC_SM_CLOCK_MAX]);
        if (metric == METRIC_MEM_CLOCK)
                return part_of(v, m[METRIC_MEM_CLOCK_MAX]);
        if (metric == METRIC_GPU_TEMP || metric == METRIC_MEM_TEMP)
                return part_of(v, value_is_set(m[METRIC_TEMP_SLOWDOWN]) ? m[METRIC_TEMP_SLOWDOWN]
                                                                        : value_ok(100));
        return value_missing(STATE_NONE);
}

uint8_t widget_metric_ink(enum metric metric)
{
        if (metric == METRIC_REAL_UTIL)
                return INK_REAL;
        switch (metric_info(metric)->group) {
        case METRIC_GROUP_UTILIZATION:
                return metric == METRIC_MEM_COPY_UTIL ? INK_LINK : INK_DIM;
        case METRIC_GROUP_SM:
                return INK_COMPUTE;
        case METRIC_GROUP_PIPES:
        case METRIC_GROUP_TENSOR:
                return INK_TENSOR;
        case METRIC_GROUP_MEMORY:
                return INK_MEMORY;
        case METRIC_GROUP_LINK:
                return INK_LINK;
        case METRIC_GROUP_POWER:
                return INK_POWER;
        case METRIC_GROUP_ERRORS:
                return INK_CRIT;
        case METRIC_GROUP_COUNT:
                break;
        }
        return INK_TEXT;
}

uint8_t widget_class_ink(enum workload workload)
{
        switch (workload_bottleneck(workload)) {
        case BOTTLENECK_UNKNOWN:
        case BOTTLENECK_IDLE:
                return INK_DIM;
        case BOTTLENECK_COMPUTE:
                return INK_COMPUTE;
        case BOTTLENECK_MEMORY:
                return INK_MEMORY;
        case BOTTLENECK_IO:
                return INK_IO;
        case BOTTLENECK_MIXED:
                return INK_MIXED;
        }
        return INK_TEXT;
}

uint8_t widget_health_ink(enum health_state state)
{
        switch (state) {
        case HEALTH_UNKNOWN:
                return INK_DIM;
        case HEALTH_OK:
                return INK_GOOD;
        case HEALTH_HOT:
                return INK_HOT;
        case HEALTH_WARN:
                return INK_WARN;
        case HEALTH_CRIT:
                return INK_CRIT;
        }
        return INK_TEXT;
}

uint8_t widget_row_ink(const struct row *row)
{
        bool late = (row->late || row_is_stalled(row)) && row->health.state < HEALTH_WARN;
        return widget_health_ink(late ? HEALTH_WARN : row->health.state);
}

void widget_scroll_marks(struct canvas *c, struct area a, int scroll, int n)
{
        if (scroll + a.h < n)
                canvas_char(c, a.x + a.w - 1, a.y + a.h - 1, (struct style){.fg = INK_KEY}, 0x25bc);
        if (scroll > 0)
                canvas_char(c, a.x + a.w - 1, a.y, (struct style){.fg = INK_KEY}, 0x25b2);
}

int widget_wrap(struct canvas *c, struct area area, struct style style, const char *text)
{
        int line = 0, column = 0;
        while (*text) {
                char word[160];
                size_t len = strcspn(text, " ");
                snprintf(word, sizeof(word), "%.*s", (int)MIN(len, sizeof(word) - 1), text);
                int w = text_width(word);
                if (column > 0 && column + 1 + w > area.w) {
                        line++;
                        column = 0;
                } else if (column > 0) {
                        column++;
                }
                if (line < area.h)
                        canvas_text(c, area.x + column, area.y + line, area.w - column, style,
                                    word);
                column += w;
                text += len + strspn(text + len, " ");
        }
        return line + (column > 0);
}

void widget_age(char *buf, size_t size, int64_t ns)
{
        double s = clock_to_seconds(ns);
        if (s < 9.95)
                snprintf(buf, size, "%.1f s", s);
        else if (s < 99.5)
                snprintf(buf, size, "%.0f s", s);
        else if (s < 5970)
                snprintf(buf, size, "%.0f min", s / 60);
        else
                snprintf(buf, size, "%.0f h", s / 3600);
}

void widget_time(char *buf, size_t size, int64_t wall_ns)
{
        time_t t = (time_t)(wall_ns / NS_PER_S);
        struct tm tm;
        if (!format_is_date(wall_ns))
                snprintf(buf, size, "%.1f s", clock_to_seconds(wall_ns));
        else
                strftime(buf, size, "%H:%M:%S", localtime_r(&t, &tm));
}
