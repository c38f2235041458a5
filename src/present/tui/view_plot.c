/* Plot: the past as lines. Several metrics of one GPU, or one metric of all. */
#include "base/clock.h"
#include "present/format.h"
#include "present/tui/ui.h"
#include "present/tui/widgets.h"

#include <stdio.h>
#include <string.h>

#define CHARTS_MAX 4
#define CHART_H_MIN 5
#define VALUE_W 6
#define SPAN_MIN (2 * NS_PER_S)
#define SPAN_MAX (24 * 3600 * NS_PER_S)

static const struct {
        const char *name;
        enum metric metrics[6];
        size_t n;
} sets[] = {
    {"activity",
     {METRIC_GPU_UTIL, METRIC_SM_ACTIVE, METRIC_TENSOR_ACTIVE, METRIC_DRAM_ACTIVE, METRIC_PCIE_RX,
      METRIC_POWER},
     6},
    {"utilization", {METRIC_REAL_UTIL, METRIC_GPU_UTIL, METRIC_GR_ACTIVE, METRIC_SM_ACTIVE}, 4},
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

/* Metrics that share an axis share a chart. */
static enum unit axis_of(enum metric m)
{
        return metric_info(m)->unit == UNIT_SCORE ? UNIT_RATIO : metric_info(m)->unit;
}

struct panel {
        enum unit unit;
        struct chart_series series[UI_SERIES_MAX];
        size_t n;
};

static struct panel *panel_for(struct panel *panels, size_t *n, enum unit unit)
{
        for (size_t i = 0; i < *n; i++) {
                if (panels[i].unit == unit)
                        return &panels[i];
        }
        if (*n == CHARTS_MAX)
                return NULL;
        panels[*n] = (struct panel){.unit = unit};
        return &panels[(*n)++];
}

static size_t make_panels(const struct ui *ui, const struct ui_data *d, const struct row *row,
                          struct panel *ret)
{
        size_t n = 0;
        if (ui->plot.all) {
                ret[0] = (struct panel){.unit = metric_info(ui->plot.metrics[0])->unit};
                for (size_t i = 0; i < ui->n_order && ret[0].n < UI_SERIES_MAX; i++)
                        ret[0].series[ret[0].n++] =
                            (struct chart_series){d->frame->rows[ui->order[i]].sample.who->slot,
                                                  ui->plot.metrics[0], series_ink(i)};
                return 1;
        }
        for (size_t i = 0; i < ui->plot.n; i++) {
                enum metric m = ui->plot.metrics[i];
                struct panel *p = panel_for(ret, &n, axis_of(m));
                if (p)
                        p->series[p->n++] =
                            (struct chart_series){row->sample.who->slot, m, series_ink(i)};
        }
        return n;
}

/* The value at the cursor, or now. */
static struct value value_at(const struct ui *ui, const struct ui_data *d,
                             const struct chart_series *s, int64_t until_ns)
{
        struct point p[256];
        int64_t at = ui->plot.cursor_ns != CHART_NO_CURSOR ? ui->plot.cursor_ns : until_ns;
        int64_t reach = MAX(2 * d->interval_ns, ui->plot.span_ns / 100);
        size_t n = d->trends.copy(d->trends.arg, s->slot, s->metric, at - reach,
                                  at + d->interval_ns, p, ARRAY_LEN(p));
        while (n > 0 && p[n - 1].wall_ns > at + d->interval_ns / 2)
                n--;
        return n > 0 && p[n - 1].there ? value_ok((double)p[n - 1].v) : value_missing(STATE_NONE);
}

static void draw_legend(const struct ui *ui, const struct ui_data *d, struct canvas *c,
                        struct area a, const struct panel *p, int64_t until_ns)
{
        int x = a.x + CHART_LABEL_WIDTH;
        for (size_t i = 0; i < p->n; i++) {
                char text[FORMAT_MAX], name[64];
                const struct chart_series *s = &p->series[i];
                widget_format(text, sizeof(text), s->metric, value_at(ui, d, s, until_ns));
                if (ui->plot.all)
                        snprintf(name, sizeof(name), "%s",
                                 d->frame->rows[ui->order[i]].sample.who->label);
                else
                        snprintf(name, sizeof(name), "%s", metric_info(s->metric)->name);
                int w = text_width(name) + 2 + VALUE_W;
                if (x + w > a.x + a.w)
                        return;
                canvas_textf(c, x, a.y, w, (struct style){s->fg, 0, ATTR_BOLD}, "\u2501 %s", name);
                canvas_right(c, x + w - VALUE_W, a.y, VALUE_W, (struct style){.fg = INK_TEXT},
                             text);
                x += w + 1;
        }
}

static void draw_heading(const struct ui *ui, struct canvas *c, struct area a,
                         const struct row *row, int64_t until_ns)
{
        char span[32], when[32];
        int x = a.x + 1;
        widget_age(span, sizeof(span), ui->plot.span_ns);
        widget_time(when, sizeof(when),
                    ui->plot.cursor_ns != CHART_NO_CURSOR ? ui->plot.cursor_ns : until_ns);
        const char *set = ui->plot.set < ARRAY_LEN(sets) ? sets[ui->plot.set].name : "chosen";
        if (ui->plot.all)
                x += canvas_textf(c, x, a.y, a.w, (struct style){INK_TITLE, 0, ATTR_BOLD},
                                  "all GPUs \u00b7 %s", metric_info(ui->plot.metrics[0])->name);
        else
                x += canvas_textf(c, x, a.y, a.w, (struct style){INK_TITLE, 0, ATTR_BOLD},
                                  "GPU %s \u00b7 %s", row->sample.who->label, set);
        x += canvas_textf(c, x, a.y, a.x + a.w - x, (struct style){.fg = INK_DIM}, "   last %s%s",
                          span, ui->plot.back_ns > 0 ? ", back in time" : "");
        char right[96];
        snprintf(right, sizeof(right), "%s %s",
                 ui->plot.cursor_ns != CHART_NO_CURSOR ? "cursor at" : "values at", when);
        canvas_right(c, x + 1, a.y, a.x + a.w - x - 2, (struct style){.fg = INK_DIM}, right);
}

static void draw(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a)
{
        struct panel panels[CHARTS_MAX];
        const struct row *row = ui_chosen(ui, d);
        if (!row || !d->trends.copy) {
                canvas_text(c, a.x + 2, a.y + a.h / 3, a.w - 4, (struct style){.fg = INK_TITLE},
                            row ? "no history is kept" : "no GPU is chosen");
                return;
        }
        int64_t until = d->frame->wall_ns - ui->plot.back_ns;
        size_t n = make_panels(ui, d, row, panels);
        draw_heading(ui, c, a, row, until);
        a = (struct area){a.x, a.y + 1, a.w - 1, a.h - 1};
        /* What does not fit is left out from the end; the first chart gets half of the room. */
        while (n > 1 && a.h / (int)(n + 1) < CHART_H_MIN)
                n--;
        for (size_t i = 0; i < n; i++) {
                int h = i == 0 ? a.h - (int)(n - 1) * (a.h / (int)(n + 1)) : a.h / (int)(n + 1);
                draw_legend(ui, d, c, a, &panels[i], until);
                ui->plot.drawn = (struct chart){
                    .area = {a.x, a.y + 1, a.w, h - 1},
                    .axes = true,
                    .no_times = i + 1 < n,
                    .unit = panels[i].unit,
                    .until_ns = until,
                    .span_ns = ui->plot.span_ns,
                    .cursor_ns = ui->plot.cursor_ns,
                    .series = panels[i].series,
                    .n = panels[i].n,
                };
                chart_draw(c, &ui->plot.drawn, &d->trends, &ui->scratch);
                ui->plot.drawn.series = NULL;
                ui->plot.drawn.n = 0;
                a.y += h;
        }
}

static void zoom(struct ui *ui, bool in)
{
        static const int steps[] = {2,   5,    10,   20,   30,   60,    120,  300,
                                    600, 1200, 1800, 3600, 7200, 21600, 86400};
        int64_t now = ui->plot.span_ns, next = now;
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

static void pan(struct ui *ui, const struct ui_data *d, int64_t by)
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
                pan(ui, d, ui->plot.span_ns / 4);
        else if (x >= in.x + in.w)
                pan(ui, d, -ui->plot.span_ns / 4);
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

static bool act(struct ui *ui, const struct ui_data *d, enum action action)
{
        if (action == ACTION_LEFT || action == ACTION_RIGHT)
                move_cursor(ui, d, action == ACTION_RIGHT ? 1 : -1);
        else if (action == ACTION_UP || action == ACTION_DOWN)
                ui_choose(ui, d,
                          action == ACTION_DOWN ? ui->cursor + 1 : ui->cursor - (ui->cursor > 0));
        else if (action == ACTION_PAGE_UP || action == ACTION_PAGE_DOWN)
                pan(ui, d, (action == ACTION_PAGE_UP ? 1 : -1) * ui->plot.span_ns / 2);
        else if (action == ACTION_HOME)
                pan(ui, d, SPAN_MAX);
        else if (action == ACTION_END)
                ui->plot.back_ns = 0;
        else if (action == ACTION_ZOOM_IN || action == ACTION_ZOOM_OUT)
                zoom(ui, action == ACTION_ZOOM_IN);
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

static void mouse(struct ui *ui, const struct ui_data *d UNUSED, const struct key_event *e)
{
        struct area in = chart_inside(&ui->plot.drawn);
        if (e->button == MOUSE_WHEEL_UP || e->button == MOUSE_WHEEL_DOWN)
                zoom(ui, e->button == MOUSE_WHEEL_UP);
        else if (e->button == MOUSE_LEFT && e->x >= in.x && e->x < in.x + in.w)
                ui->plot.cursor_ns = chart_time_at(&ui->plot.drawn, e->x);
}

const struct view_ops view_plot = {
    .name = "plot",
    .title = "Plot",
    .hints = "\u2190\u2192 cursor  zZ zoom  PgUp pan  m metrics  a all GPUs",
    .draw = draw,
    .act = act,
    .mouse = mouse,
};
