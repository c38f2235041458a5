/* Plot: the past as lines, one below the other, with the verdicts of the time. Several metrics of
 * one GPU, or one metric of all. */
#include "base/clock.h"
#include "present/format.h"
#include "present/tui/ui.h"
#include "present/tui/widgets.h"
#include "present/tui/words.h"

#include <stdio.h>
#include <string.h>

#define PANELS_MAX 64
#define PANEL_H_MIN 2
#define LABEL_W 16
#define STRIPS_MIN_H 16
_Static_assert(PANELS_MAX >= UI_SERIES_MAX, "a panel for every series");
#define SPAN_MIN (2 * NS_PER_S)
#define SPAN_MAX (24 * 3600 * NS_PER_S)

static const struct {
        const char *name;
        enum metric metrics[6];
        size_t n;
} sets[] = {
    {"activity",
     {METRIC_SM_ACTIVE, METRIC_GPU_UTIL, METRIC_TENSOR_ACTIVE, METRIC_DRAM_ACTIVE, METRIC_PCIE_RX,
      METRIC_POWER},
     6},
    {"utilization", {METRIC_REAL_UTIL, METRIC_SM_ACTIVE, METRIC_GPU_UTIL, METRIC_GR_ACTIVE}, 4},
    {"pipes",
     {METRIC_TENSOR_ACTIVE, METRIC_FP64_ACTIVE, METRIC_FP32_ACTIVE, METRIC_FP16_ACTIVE,
      METRIC_INT_ACTIVE},
     5},
    {"tensor",
     {METRIC_TENSOR_ACTIVE, METRIC_TENSOR_HMMA_ACTIVE, METRIC_TENSOR_IMMA_ACTIVE,
      METRIC_TENSOR_DFMA_ACTIVE},
     4},
    {"memory", {METRIC_DRAM_ACTIVE, METRIC_FB_USED_RATIO, METRIC_MEM_COPY_UTIL, METRIC_FB_USED}, 4},
    {"links", {METRIC_PCIE_RX, METRIC_PCIE_TX, METRIC_NVLINK_RX, METRIC_NVLINK_TX}, 4},
    {"power and heat", {METRIC_POWER, METRIC_GPU_TEMP, METRIC_MEM_TEMP, METRIC_SM_CLOCK}, 4},
};

void plot_use_set(struct ui *ui, unsigned i)
{
        ui->plot.set = i % (unsigned)ARRAY_LEN(sets);
        ui->plot.n = sets[ui->plot.set].n;
        memcpy(ui->plot.metrics, sets[ui->plot.set].metrics, sizeof(sets[0].metrics));
}

static uint8_t series_ink(size_t i)
{
        return (uint8_t)(INK_S1 + i % 8);
}

/* A curve of its own: a metric of the chosen GPU, or of one of all. */
struct panel {
        struct chart_series series;
        const struct row *row;
};

static size_t make_panels(const struct ui *ui, const struct ui_data *d, const struct row *row,
                          struct panel *ret)
{
        size_t n = 0;
        if (!ui->plot.all) {
                for (; n < ui->plot.n; n++)
                        ret[n] = (struct panel){
                            {row->sample.who->slot, ui->plot.metrics[n], series_ink(n)}, row};
                return n;
        }
        /* From the chosen GPU on, so that up and down lead to those that do not fit. */
        for (size_t i = 0; i < ui->n_order && n < PANELS_MAX; i++) {
                size_t place = (ui->cursor + i) % ui->n_order;
                row = &d->frame->rows[ui->order[place]];
                ret[n++] = (struct panel){
                    {row->sample.who->slot, ui->plot.metrics[0], series_ink(place)}, row};
        }
        return n;
}

static int64_t plot_span_ns(const struct ui *ui, const struct ui_data *d)
{
        return ui->plot.span_ns ? ui->plot.span_ns : ui_span_ns(d);
}

/* The value at the cursor, or now. */
static struct value value_at(const struct ui *ui, const struct ui_data *d,
                             const struct chart_series *s, int64_t until_ns)
{
        struct point p[256];
        int64_t at = ui->plot.cursor_ns != CHART_NO_CURSOR ? ui->plot.cursor_ns : until_ns;
        int64_t reach = MAX(2 * d->interval_ns, plot_span_ns(ui, d) / 100);
        size_t n = d->trends.copy(d->trends.arg, s->slot, s->metric, at - reach,
                                  at + d->interval_ns, p, ARRAY_LEN(p));
        while (n > 0 && p[n - 1].wall_ns > at + d->interval_ns / 2)
                n--;
        return n > 0 && p[n - 1].present ? value_ok((double)p[n - 1].v) : value_missing(STATE_NONE);
}

/* What a value is of: "of 700 W". */
static bool limit_of(const struct row *row, enum metric m, char *buf, size_t size)
{
        char text[FORMAT_MAX];
        enum metric limit = m == METRIC_POWER      ? METRIC_POWER_LIMIT
                            : m == METRIC_SM_CLOCK ? METRIC_SM_CLOCK_MAX
                            : m == METRIC_FB_USED  ? METRIC_FB_TOTAL
                                                   : METRIC_COUNT;
        if (limit == METRIC_COUNT || !value_is_set(row->sample.m[limit]))
                return false;
        format_with_unit(text, sizeof(text), metric_info(limit)->unit, row->sample.m[limit]);
        snprintf(buf, size, "of %s", text);
        return true;
}

/* Where the line ends: whose it is, and its value with the unit. */
static void draw_label(const struct ui *ui, const struct ui_data *d, struct canvas *c,
                       struct area a, const struct panel *p, int64_t until_ns)
{
        char value[FORMAT_MAX], limit[FORMAT_MAX + 4];
        struct style name = {p->series.fg, 0, ATTR_BOLD};
        struct value v = value_at(ui, d, &p->series, until_ns);
        format_with_unit(value, sizeof(value), metric_info(p->series.metric)->unit, v);
        char label[FRAME_LABEL_MAX];
        frame_label(d->frame, p->row->sample.who, label, sizeof(label));
        if (ui->plot.all)
                canvas_textf(c, a.x, a.y, a.w, name, "GPU %s", label);
        else
                canvas_text(c, a.x, a.y, a.w, name, metric_info(p->series.metric)->name);
        if (a.h > 1)
                canvas_text(c, a.x, a.y + 1, a.w, widget_value_style(v, INK_TITLE), value);
        if (a.h > 2 && limit_of(p->row, p->series.metric, limit, sizeof(limit)))
                canvas_text(c, a.x, a.y + 2, a.w, (struct style){.fg = INK_DIM}, limit);
}

/* --- what was said of it ------------------------------------------------------------------- */

static uint8_t shown_limiter(const struct said *s)
{
        return s->limiter;
}

static uint8_t shown_class(const struct said *s)
{
        return s->workload;
}

static const char *limiter_text(uint8_t v, int columns UNUSED)
{
        return limiter_brief((enum limiter)v);
}

static uint8_t limiter_color(uint8_t v)
{
        return words_limiter_ink((enum limiter)v);
}

static const char *class_text(uint8_t v, int columns)
{
        return workload_words((enum workload)v, (size_t)MAX(columns, 0));
}

static uint8_t class_color(uint8_t v)
{
        return widget_class_ink((enum workload)v);
}

/* Limiter and class over the same time; the lines they took. */
static int draw_strips(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a,
                       const struct row *row, const struct chart *chart)
{
        uint32_t slot = row->sample.who->slot;
        const struct strip strips[] = {{slot, shown_limiter, limiter_text, limiter_color},
                                       {slot, shown_class, class_text, class_color}};
        static const char *const names[] = {"limited by", "class"};
        int n = a.h >= STRIPS_MIN_H ? 2 : 1;
        if (ui->plot.all)
                return 0;
        for (int i = 0; i < n; i++) {
                chart_strip(c, chart, &strips[i], a.y + i, &d->trends, &ui->scratch);
                canvas_text(c, a.x + a.w - LABEL_W, a.y + i, LABEL_W, (struct style){.fg = INK_DIM},
                            names[i]);
        }
        return n;
}

static void draw_heading(const struct ui *ui, const struct ui_data *d, struct canvas *c,
                         struct area a, const struct row *row, int64_t until_ns)
{
        char span[32], when[32];
        int x = a.x + 1;
        widget_age(span, sizeof(span), plot_span_ns(ui, d));
        widget_time(when, sizeof(when),
                    ui->plot.cursor_ns != CHART_NO_CURSOR ? ui->plot.cursor_ns : until_ns);
        const char *set = ui->plot.set < ARRAY_LEN(sets) ? sets[ui->plot.set].name : "chosen";
        char label[FRAME_LABEL_MAX];
        frame_label(d->frame, row->sample.who, label, sizeof(label));
        if (ui->plot.all)
                x += canvas_textf(c, x, a.y, a.w, (struct style){INK_TITLE, 0, ATTR_BOLD},
                                  "all GPUs \u00b7 %s", metric_info(ui->plot.metrics[0])->name);
        else
                x += canvas_textf(c, x, a.y, a.w, (struct style){INK_TITLE, 0, ATTR_BOLD},
                                  "GPU %s \u00b7 %s", label, set);
        x += canvas_textf(c, x, a.y, a.x + a.w - x, (struct style){.fg = INK_DIM}, "   last %s%s",
                          span, ui->plot.back_ns > 0 ? ", back in time" : "");
        char right[96];
        snprintf(right, sizeof(right), "%s %s",
                 ui->plot.cursor_ns != CHART_NO_CURSOR ? "cursor at" : "values at", when);
        canvas_right(c, x + 1, a.y, a.x + a.w - x - 2, (struct style){.fg = INK_DIM}, right);
}

/* Above the curve of one GPU of all, what limited that GPU; the lines it took. */
static int draw_own_strip(struct ui *ui, const struct ui_data *d, struct canvas *c,
                          const struct chart *chart, const struct panel *p)
{
        const struct strip strip = {p->series.slot, shown_limiter, limiter_text, limiter_color};
        chart_strip(c, chart, &strip, chart->area.y, &d->trends, &ui->scratch);
        return 1;
}

static void draw_panels(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a,
                        const struct panel *panels, int n, struct chart chart)
{
        int shown = MAX(MIN(n, (a.h - 1) / PANEL_H_MIN), 1);
        int left = a.h - 1; /* the last line is for times */
        bool strips = ui->plot.all && left / shown > PANEL_H_MIN;
        for (int i = 0; i < shown; i++) {
                bool last = i + 1 == shown;
                int h = left / (shown - i);
                chart.area = (struct area){a.x, a.y, a.w - LABEL_W - 1, h + last};
                chart.no_times = !last;
                chart.unit = metric_info(panels[i].series.metric)->unit;
                chart.series = &panels[i].series;
                chart.n = 1;
                int taken = strips ? draw_own_strip(ui, d, c, &chart, &panels[i]) : 0;
                chart.area.y += taken;
                chart.area.h -= taken;
                chart_draw(c, &chart, &d->trends, &ui->scratch);
                struct area label = {a.x + a.w - LABEL_W, a.y, LABEL_W, h};
                draw_label(ui, d, c, label, &panels[i], chart.until_ns);
                if (ui_is_stale(d))
                        canvas_tint(c, label, INK_DIM);
                a.y += h;
                left -= h;
        }
        if (shown < n)
                canvas_textf(c, a.x + a.w - LABEL_W, a.y, LABEL_W, (struct style){.fg = INK_KEY},
                             ui->plot.all ? "%d more \u2191\u2193" : "%d more, taller", n - shown);
        ui->plot.drawn = chart;
        ui->plot.drawn.series = NULL;
        ui->plot.drawn.n = 0;
}

static void draw_plot_view(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a)
{
        struct panel panels[PANELS_MAX];
        const struct row *row = ui_chosen(ui, d);
        if (!row || !d->trends.copy) {
                canvas_text(c, a.x + 2, a.y + a.h / 3, a.w - 4, (struct style){.fg = INK_TITLE},
                            row ? "no history is kept" : "no GPU is chosen");
                return;
        }
        int64_t until = d->frame->wall_ns - ui->plot.back_ns;
        int n = (int)make_panels(ui, d, row, panels);
        draw_heading(ui, d, c, a, row, until);
        a = (struct area){a.x, a.y + 1, a.w - 1, a.h - 1};
        struct chart chart = {
            .area = {a.x, a.y, a.w - LABEL_W - 1, a.h},
            .axes = true,
            .until_ns = until,
            .span_ns = plot_span_ns(ui, d),
            .cursor_ns = ui->plot.cursor_ns,
        };
        int used = draw_strips(ui, d, c, a, row, &chart);
        a.y += used;
        a.h -= used;
        draw_panels(ui, d, c, a, panels, n, chart);
}

static void zoom_plot(struct ui *ui, const struct ui_data *d, bool in)
{
        static const int steps[] = {2,   5,    10,   20,   30,   60,    120,  300,
                                    600, 1200, 1800, 3600, 7200, 21600, 86400};
        int64_t now = plot_span_ns(ui, d), next = now;
        for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
                int64_t step = steps[i] * NS_PER_S;
                if (!in && step > now) {
                        next = step;
                        break;
                }
                if (in && step < now)
                        next = step;
        }
        ui->plot.span_ns = MIN(MAX(next, SPAN_MIN), SPAN_MAX);
}

static void pan_plot(struct ui *ui, const struct ui_data *d, int64_t by)
{
        int64_t most = d->frame ? d->frame->wall_ns : 0;
        ui->plot.back_ns = MIN(MAX(ui->plot.back_ns + by, (int64_t)0), most);
}

static void move_cursor(struct ui *ui, const struct ui_data *d, int by)
{
        struct area in = chart_inside(&ui->plot.drawn);
        if (!d->frame || in.w <= 0)
                return;
        int x = ui->plot.cursor_ns == CHART_NO_CURSOR
                    ? in.x + in.w - 1
                    : chart_column_of(&ui->plot.drawn, ui->plot.cursor_ns);
        x += by;
        /* Beyond an edge the window moves along. */
        if (x < in.x)
                pan_plot(ui, d, plot_span_ns(ui, d) / 4);
        else if (x >= in.x + in.w)
                pan_plot(ui, d, -plot_span_ns(ui, d) / 4);
        ui->plot.cursor_ns = chart_time_at(&ui->plot.drawn, MIN(MAX(x, in.x), in.x + in.w - 1));
}

static void change_series(struct ui *ui, enum action action)
{
        if (action == ACTION_ABSENT) {
                ui->plot.all = !ui->plot.all;
                return;
        }
        if (!ui->plot.all) {
                plot_use_set(ui, ui->plot.set < ARRAY_LEN(sets) ? ui->plot.set + 1 : 0);
                return;
        }
        /* With all GPUs there is one metric: the next of all that there are. */
        ui->plot.metrics[0] = (enum metric)((ui->plot.metrics[0] + 1) % METRIC_COUNT);
        ui->plot.n = 1;
        ui->plot.set = UINT32_MAX;
}

static bool plot_act(struct ui *ui, const struct ui_data *d, enum action action)
{
        if (action == ACTION_LEFT || action == ACTION_RIGHT)
                move_cursor(ui, d, action == ACTION_RIGHT ? 1 : -1);
        else if (action == ACTION_UP || action == ACTION_DOWN)
                ui_choose(ui, d,
                          action == ACTION_DOWN ? ui->cursor + 1 : ui->cursor - (ui->cursor > 0));
        else if (action == ACTION_PAGE_UP || action == ACTION_PAGE_DOWN)
                pan_plot(ui, d, (action == ACTION_PAGE_UP ? 1 : -1) * plot_span_ns(ui, d) / 2);
        else if (action == ACTION_HOME)
                pan_plot(ui, d, SPAN_MAX);
        else if (action == ACTION_END)
                ui->plot.back_ns = 0;
        else if (action == ACTION_ZOOM_IN || action == ACTION_ZOOM_OUT)
                zoom_plot(ui, d, action == ACTION_ZOOM_IN);
        else if (action == ACTION_METRICS || action == ACTION_ABSENT)
                change_series(ui, action);
        else if (action == ACTION_BACK && ui->plot.cursor_ns != CHART_NO_CURSOR)
                ui->plot.cursor_ns = CHART_NO_CURSOR;
        else
                return false;
        if (action == ACTION_END)
                ui->plot.cursor_ns = CHART_NO_CURSOR;
        return true;
}

static void plot_mouse(struct ui *ui, const struct ui_data *d, const struct key_event *e)
{
        struct area in = chart_inside(&ui->plot.drawn);
        if (e->button == MOUSE_WHEEL_UP || e->button == MOUSE_WHEEL_DOWN)
                zoom_plot(ui, d, e->button == MOUSE_WHEEL_UP);
        else if (e->button == MOUSE_LEFT && e->x >= in.x && e->x < in.x + in.w)
                ui->plot.cursor_ns = chart_time_at(&ui->plot.drawn, e->x);
}

const struct view_ops view_plot = {
    .name = "plot",
    .title = "Plot",
    .hints = "\u2190\u2192 cursor  zZ zoom  PgUp pan  m metrics  a all GPUs",
    .draw = draw_plot_view,
    .act = plot_act,
    .mouse = plot_mouse,
};
