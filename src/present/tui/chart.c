#include "present/tui/chart.h"

#include "base/clock.h"
#include "base/list.h"
#include "model/unit.h"
#include "present/format.h"
#include "present/tui/widgets.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void chart_scratch_finish(struct chart_scratch *s)
{
        free(s->dots);
        free(s->ink);
        free(s->points);
        free(s->said);
        *s = (struct chart_scratch){0};
}

static bool chart_prepare(struct chart_scratch *s, size_t cells)
{
        if (!s->points && !(s->points = malloc(CHART_POINTS_MAX * sizeof(*s->points))))
                return false;
        if (cells > s->cap) {
                if (!LIST_RESIZE(s->dots, cells) || !LIST_RESIZE(s->ink, cells))
                        return false;
                s->cap = cells;
        }
        memset(s->dots, 0, cells);
        return true;
}

struct area chart_inside(const struct chart *k)
{
        struct area a = k->area;
        if (k->axes)
                a = (struct area){a.x + CHART_LABEL_WIDTH, a.y, a.w - CHART_LABEL_WIDTH,
                                  a.h - !k->no_times};
        return a;
}

/* Time is cut into dots at fixed boundaries, so a chart moves by whole dots. */
static int64_t dot_ns(const struct chart *k)
{
        return MAX(k->span_ns / MAX(2 * chart_inside(k).w, 1), (int64_t)1);
}

/* How many lengths of a dot lie before dot 0. */
static int64_t first_dot(const struct chart *k)
{
        return k->until_ns / dot_ns(k) - 2 * chart_inside(k).w + 1;
}

int64_t chart_time_at(const struct chart *k, int x)
{
        struct area in = chart_inside(k);
        int64_t d = dot_ns(k);
        return (k->until_ns / d - 2 * (in.x + in.w - 1 - x)) * d;
}

int chart_column_of(const struct chart *k, int64_t wall_ns)
{
        struct area in = chart_inside(k);
        int64_t dot = wall_ns / dot_ns(k) - first_dot(k);
        return dot < 0 ? in.x - 1 : in.x + (int)MIN(dot / 2, (int64_t)in.w);
}

struct range {
        double lo, hi;
};

static double nice_ceiling(double v)
{
        static const double steps[] = {1, 2, 4, 5, 8, 10};
        double unit = pow(10, floor(log10(v)));
        for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
                if (v <= steps[i] * unit * 1.0001)
                        return steps[i] * unit;
        }
        return 10 * unit;
}

static size_t fetch_trend(const struct chart *k, size_t i, const struct trends *trends,
                          struct chart_scratch *s)
{
        return trends->copy(trends->arg, k->series[i].slot, k->series[i].metric,
                            k->until_ns - k->span_ns - dot_ns(k), k->until_ns, s->points,
                            CHART_POINTS_MAX);
}

static struct range find_range(const struct chart *k, const struct trends *trends,
                               struct chart_scratch *s)
{
        if (k->unit == UNIT_RATIO)
                return (struct range){0, 1};
        if (k->unit == UNIT_SCORE)
                return (struct range){0, 100};
        double most = 0;
        for (size_t i = 0; i < k->n; i++) {
                size_t n = fetch_trend(k, i, trends, s);
                for (size_t p = 0; p < n; p++)
                        most = s->points[p].present ? MAX(most, (double)s->points[p].v) : most;
        }
        if (k->unit == UNIT_CELSIUS)
                most = MAX(most, 60);
        return (struct range){0, most > 0 ? nice_ceiling(most) : 1};
}

static void set_dot(struct chart_scratch *s, int w, int h, int64_t x, int64_t y, uint8_t fg)
{
        /* Bits of the dots in a braille cell, by row and column. */
        static const uint8_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
        if (x < 0 || y < 0 || x >= 2 * w || y >= 4 * h)
                return;
        size_t cell = (size_t)(y / 4) * (size_t)w + (size_t)(x / 2);
        s->dots[cell] |= bits[y % 4][x % 2];
        s->ink[cell] = fg;
}

/* From dot to dot, each column of the way filled from the height before to its own. */
static void draw_step(struct chart_scratch *s, int w, int h, const int64_t from[2],
                      const int64_t to[2], uint8_t fg)
{
        int64_t steps = MAX(to[0] - from[0], (int64_t)1), y = from[1];
        for (int64_t i = 0; i <= steps; i++) {
                int64_t x = to[0] == from[0] ? to[0] : from[0] + i;
                int64_t next = i == steps ? to[1] : from[1] + (to[1] - from[1]) * i / steps;
                for (int64_t k = MIN(y, next); k <= MAX(y, next); k++)
                        set_dot(s, w, h, x, k, fg);
                y = next;
        }
}

static void draw_series(const struct chart *k, size_t i, struct range r,
                        const struct trends *trends, struct chart_scratch *s)
{
        struct area in = chart_inside(k);
        size_t n = fetch_trend(k, i, trends, s);
        /* A hole in time is a hole in the line. */
        int64_t gap =
            n > 1 ? 4 * (s->points[n - 1].wall_ns - s->points[0].wall_ns) / (int64_t)n : 0;
        gap = MAX(gap, 2 * dot_ns(k));
        struct clock_slots slots = clock_slots(dot_ns(k));
        int64_t before[2], before_ns = INT64_MIN, first = first_dot(k);
        for (size_t p = 0; p < n; p++) {
                if (!s->points[p].present)
                        continue;
                double part = ((double)s->points[p].v - r.lo) / (r.hi - r.lo);
                part = MIN(MAX(part, 0.0), 1.0);
                int64_t now[2] = {clock_slot(&slots, s->points[p].wall_ns) - first,
                                  (int64_t)((1 - part) * (4 * in.h - 1) + 0.5)};
                bool joined = before_ns != INT64_MIN && s->points[p].wall_ns - before_ns <= gap;
                draw_step(s, in.w, in.h, joined ? before : now, now, k->series[i].fg);
                before[0] = now[0];
                before[1] = now[1];
                before_ns = s->points[p].wall_ns;
        }
}

static void format_tick(char *buf, size_t size, enum unit unit, double v)
{
        static const struct {
                double scale;
                const char *prefix;
        } steps[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}};
        size_t i = 0;
        if (unit == UNIT_RATIO || unit == UNIT_SCORE) {
                format_short(buf, size, unit, value_ok(v));
                return;
        }
        while (i + 1 < ARRAY_LEN(steps) && fabs(v) < steps[i].scale)
                i++;
        const char *suffix = unit == UNIT_WATTS         ? "W"
                             : unit == UNIT_CELSIUS     ? "\u00b0C"
                             : unit == UNIT_HERTZ       ? "Hz"
                             : unit == UNIT_JOULES      ? "J"
                             : unit == UNIT_BYTES_PER_S ? "B/s"
                             : unit == UNIT_BYTES       ? "B"
                                                        : "";
        snprintf(buf, size, "%.3g%s%s%s", v / steps[i].scale, steps[i].prefix[0] ? "" : " ",
                 steps[i].prefix, suffix);
}

static void draw_y_axis(struct canvas *c, const struct chart *k, struct range r)
{
        struct area in = chart_inside(k);
        int parts = in.h >= 17 ? 4 : in.h >= 5 ? 2 : 1;
        for (int i = 0; i <= parts; i++) {
                char text[32];
                int y = in.y + (in.h - 1) * (parts - i) / parts;
                format_tick(text, sizeof(text), k->unit, r.lo + (r.hi - r.lo) * i / parts);
                canvas_right(c, k->area.x, y, CHART_LABEL_WIDTH - 1, (struct style){INK_DIM, 0, 0},
                             text);
                for (int x = in.x; x < in.x + in.w; x += 4)
                        canvas_char(c, x, y, (struct style){INK_FAINT, 0, 0}, 0xb7);
        }
}

static void time_label(char *buf, size_t size, int64_t ns, int64_t step)
{
        time_t t = (time_t)(ns / NS_PER_S);
        struct tm tm;
        if (format_is_date(ns))
                strftime(buf, size, step >= 60 * NS_PER_S ? "%H:%M" : "%H:%M:%S",
                         localtime_r(&t, &tm));
        else if (ns >= 600 * NS_PER_S)
                snprintf(buf, size, "%lld:%02lld", (long long)t / 60, (long long)t % 60);
        else
                snprintf(buf, size, step < NS_PER_S ? "%.1f s" : "%.0f s", clock_to_seconds(ns));
}

static void draw_x_axis(struct canvas *c, const struct chart *k)
{
        static const int64_t steps_ms[] = {
            100,    200,    500,    1000,   2000,    5000,    10000,   20000,    30000,   60000,
            120000, 300000, 600000, 900000, 1800000, 3600000, 7200000, 21600000, 86400000};
        struct area in = chart_inside(k);
        int64_t column = 2 * dot_ns(k), step = 0;
        for (size_t i = 0; i < ARRAY_LEN(steps_ms); i++) {
                step = steps_ms[i] * NS_PER_MS;
                if (step >= 12 * column)
                        break;
        }
        int64_t from = k->until_ns - k->span_ns;
        for (int64_t t = (MAX(from, (int64_t)0) + step - 1) / step * step; t <= k->until_ns;
             t += step) {
                char text[32];
                time_label(text, sizeof(text), t, step);
                int w = text_width(text), x = chart_column_of(k, t);
                if (x < in.x || x + w > in.x + in.w)
                        continue;
                canvas_char(c, x, in.y + in.h, (struct style){INK_FAINT, 0, 0}, 0x2514);
                canvas_text(c, x + 1, in.y + in.h, w, (struct style){INK_DIM, 0, 0}, text);
        }
}

static void draw_cursor(struct canvas *c, const struct chart *k)
{
        struct area in = chart_inside(k);
        int x = k->cursor_ns == CHART_NO_CURSOR ? -1 : chart_column_of(k, k->cursor_ns);
        if (x < in.x || x >= in.x + in.w)
                return;
        for (int y = in.y; y < in.y + in.h; y++) {
                if (canvas_at(c, x, y)->ch[0] == ' ')
                        canvas_char(c, x, y, (struct style){INK_KEY, 0, 0}, 0x250a);
        }
        canvas_paint(c, (struct area){x, in.y, 1, in.h}, INK_SELECT);
}

void chart_draw(struct canvas *c, const struct chart *k, const struct trends *trends,
                struct chart_scratch *s)
{
        struct area in = chart_inside(k);
        if (in.w < 4 || in.h < 2 || !trends->copy || !chart_prepare(s, (size_t)in.w * (size_t)in.h))
                return;
        struct range r = find_range(k, trends, s);
        /* The first series is drawn last, so that its ink is on top. */
        for (size_t i = k->n; i-- > 0;)
                draw_series(k, i, r, trends, s);
        if (k->axes) {
                draw_y_axis(c, k, r);
                if (!k->no_times)
                        draw_x_axis(c, k);
        }
        for (int y = 0; y < in.h; y++) {
                for (int x = 0; x < in.w; x++) {
                        size_t cell = (size_t)y * (size_t)in.w + (size_t)x;
                        struct style style = {.fg = s->ink[cell]};
                        if (s->dots[cell])
                                canvas_char(c, in.x + x, in.y + y, style, 0x2800u + s->dots[cell]);
                }
        }
        draw_cursor(c, k);
}

#define STRIP_NOTHING 0xff
#define STRIP_WORDS_MIN 4

/* The value of each column, STRIP_NOTHING where nobody said anything. */
static void fill_strip(const struct chart *k, const struct strip *strip, const struct said *said,
                       size_t n, uint8_t *columns, int w)
{
        int64_t gap = n > 1 ? 4 * (said[n - 1].wall_ns - said[0].wall_ns) / (int64_t)n : 0;
        gap = MAX(gap, 4 * dot_ns(k));
        int x0 = chart_inside(k).x;
        memset(columns, STRIP_NOTHING, (size_t)w);
        for (size_t i = 0; i < n; i++) {
                if (!said[i].present)
                        continue;
                int x = chart_column_of(k, said[i].wall_ns) - x0;
                /* One that is near reaches to the next. */
                int until = i + 1 < n && said[i + 1].wall_ns - said[i].wall_ns <= gap
                                ? chart_column_of(k, said[i + 1].wall_ns) - x0
                                : x + 1;
                for (int at = MAX(x, 0); at < MAX(until, x + 1) && at < w; at++)
                        columns[at] = strip->value(&said[i]);
        }
}

static void draw_run(struct canvas *c, const struct strip *strip, uint8_t value, int x, int y,
                     int w)
{
        const char *words = strip->words(value, w - 1);
        struct style style = {.fg = strip->ink(value)};
        if (!words)
                return;
        canvas_line(c, x, y, w, style, 0x2500);
        canvas_char(c, x, y, style, 0x2502);
        if (w >= STRIP_WORDS_MIN)
                canvas_text(c, x + 1, y, w - 1, style, words);
}

void chart_strip(struct canvas *c, const struct chart *k, const struct strip *strip, int y,
                 const struct trends *trends, struct chart_scratch *s)
{
        uint8_t columns[CANVAS_WIDTH_MAX];
        struct area in = chart_inside(k);
        int w = MIN(in.w, CANVAS_WIDTH_MAX);
        if (w < 4 || !trends->said)
                return;
        if (!s->said && !(s->said = malloc(CHART_POINTS_MAX * sizeof(*s->said))))
                return;
        size_t n = trends->said(trends->arg, strip->slot, k->until_ns - k->span_ns, k->until_ns,
                                s->said, CHART_POINTS_MAX);
        fill_strip(k, strip, s->said, n, columns, w);
        for (int x = 0, end; x < w; x = end) {
                for (end = x + 1; end < w && columns[end] == columns[x];)
                        end++;
                if (columns[x] != STRIP_NOTHING)
                        draw_run(c, strip, columns[x], in.x + x, y, end - x);
        }
}
