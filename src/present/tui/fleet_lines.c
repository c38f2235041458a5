/* The fleet as a table, one line a GPU. */
#include "present/stream/columns.h"
#include "present/tui/fleet.h"
#include "present/tui/widgets.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TREND_MAX 60
#define LABEL_COLUMNS_MAX 9 /* "GPU-CI 10" */

struct line_context {
        const struct ui_data *d;
        struct canvas *c;
        const struct row *row;
        int x, y, w;
};

struct line_column {
        const char *heading;
        int width;
        uint8_t rank;       /* the higher, the sooner it is left out */
        bool left;          /* text, not a number */
        enum metric metric; /* drawn as a number when there is no draw */
        uint8_t ink;
        void (*draw)(const struct line_context *l);
};

static void draw_id(const struct line_context *l)
{
        canvas_text(l->c, l->x, l->y, l->w, (struct style){INK_TITLE, 0, ATTR_BOLD},
                    l->row->sample.who->label);
}

static void draw_host(const struct line_context *l)
{
        canvas_text(l->c, l->x, l->y, l->w, (struct style){.fg = INK_DIM},
                    l->row->sample.who->text[ENTITY_TEXT_HOST]);
}

static void draw_model(const struct line_context *l)
{
        char model[32];
        model_short_name(l->row->sample.who->text[ENTITY_TEXT_MODEL], model, sizeof(model));
        canvas_text(l->c, l->x, l->y, l->w, (struct style){.fg = INK_DIM}, model);
}

static void draw_class(const struct line_context *l)
{
        enum workload w = l->row->verdict.workload;
        canvas_text(l->c, l->x, l->y, l->w, (struct style){.fg = widget_class_ink(w)},
                    workload_status(w));
}

static void draw_health(const struct line_context *l)
{
        enum health_state s = l->row->health.state;
        canvas_text(l->c, l->x, l->y, l->w, (struct style){widget_health_ink(s), 0, ATTR_BOLD},
                    s == HEALTH_UNKNOWN ? "--" : health_name(s));
}

static void draw_bar(const struct line_context *l)
{
        widget_bar(l->c, l->x, l->y, l->w, widget_class_ink(l->row->verdict.workload),
                   widget_ratio(l->row, METRIC_REAL_UTIL));
}

static void draw_trend(const struct line_context *l)
{
        struct spark spark = {l->row->sample.who->slot,
                              METRIC_REAL_UTIL,
                              l->d->frame->wall_ns,
                              ui_bucket_ns(l->d),
                              0,
                              100,
                              INK_DIM};
        widget_spark(l->c, l->x, l->y, l->w, &l->d->trends, &spark);
}

static void draw_two(const struct line_context *l, enum metric a, enum metric b)
{
        int half = (l->w - 1) / 2;
        widget_number(l->c, l->x, l->y, half, INK_TEXT, a, l->row->sample.m[a]);
        canvas_char(l->c, l->x + half, l->y, (struct style){.fg = INK_DIM}, '/');
        widget_number(l->c, l->x + half + 1, l->y, half, INK_DIM, b, l->row->sample.m[b]);
}

static void draw_memory(const struct line_context *l)
{
        draw_two(l, METRIC_FB_USED, METRIC_FB_TOTAL);
}

static void draw_temps(const struct line_context *l)
{
        draw_two(l, METRIC_GPU_TEMP, METRIC_MEM_TEMP);
}

static void draw_pcie(const struct line_context *l)
{
        draw_two(l, METRIC_PCIE_RX, METRIC_PCIE_TX);
}

/* Nothing is drawn quietly, so that something stands out. */
static void draw_number(const struct line_context *l, const struct line_column *k)
{
        struct value v = l->row->sample.m[k->metric];
        uint8_t ink = value_there(v) && fabs(v.v) < 0.005 ? INK_DIM : k->ink;
        widget_number(l->c, l->x, l->y, l->w, ink, k->metric, v);
}

static const struct line_column table[] = {
    {"GPU", 5, 0, true, 0, 0, draw_id},
    {"Host", 12, 12, true, 0, 0, draw_host},
    {"Model", 8, 7, true, 0, 0, draw_model},
    {"Real", 4, 0, false, METRIC_REAL_UTIL, INK_TITLE, NULL},
    {"", 8, 2, true, 0, 0, draw_bar},
    {"Class", 20, 0, true, 0, 0, draw_class},
    {"Util", 4, 0, false, METRIC_GPU_UTIL, INK_TEXT, NULL},
    {"SM", 4, 0, false, METRIC_SM_ACTIVE, INK_COMPUTE, NULL},
    {"Occ", 4, 8, false, METRIC_SM_OCCUPANCY, INK_COMPUTE, NULL},
    {"Tens", 4, 0, false, METRIC_TENSOR_ACTIVE, INK_TENSOR, NULL},
    {"DRAM", 4, 0, false, METRIC_DRAM_ACTIVE, INK_MEMORY, NULL},
    {"Copy", 4, 6, false, METRIC_MEM_COPY_UTIL, INK_LINK, NULL},
    {"Memory", 11, 3, false, 0, 0, draw_memory},
    {"Watt", 4, 1, false, METRIC_POWER, INK_POWER, NULL},
    {"\u00b0C", 7, 4, false, 0, 0, draw_temps},
    {"PCIe rx/tx", 11, 5, false, 0, 0, draw_pcie},
    {"NVLink", 6, 9, false, METRIC_NVLINK_TOTAL, INK_LINK, NULL},
    {"MHz", 4, 10, false, METRIC_SM_CLOCK, INK_TEXT, NULL},
    {"Joule", 5, 11, false, METRIC_ENERGY, INK_TEXT, NULL},
    {"Rply/s", 6, 13, false, METRIC_PCIE_REPLAY_RATE, INK_WARN, NULL},
    {"Health", 6, 0, true, 0, 0, draw_health},
    {"Trend", 10, 4, true, 0, 0, draw_trend},
};

/* Names do not change from tick to tick. */
static int label_columns(const struct frame *f)
{
        size_t most = (size_t)table[0].width;
        for (size_t i = 0; i < f->n; i++)
                most = MAX(most, strlen(f->rows[i].sample.who->label));
        return (int)MIN(most, (size_t)LABEL_COLUMNS_MAX);
}

static bool several_hosts(const struct frame *f)
{
        return f->n > 1 && strcmp(f->rows[0].sample.who->text[ENTITY_TEXT_HOST],
                                  f->rows[f->n - 1].sample.who->text[ENTITY_TEXT_HOST]) != 0;
}

static bool knows_models(const struct frame *f)
{
        return f->n > 0 && f->rows[0].sample.who->text[ENTITY_TEXT_MODEL][0] != '\0';
}

/* Which columns fit, and how wide the trend may grow. Depends on the frame's entities and the
 * width only, never on values. */
static void choose(const struct frame *f, int width, int *widths)
{
        int total = -1;
        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
                bool shown = (table[i].draw != draw_host || several_hosts(f)) &&
                             (table[i].draw != draw_model || knows_models(f));
                widths[i] = shown ? table[i].width : 0;
                if (i == 0)
                        widths[i] = label_columns(f);
                total += shown ? widths[i] + 1 : 0;
        }
        for (int rank = 15; rank > 0; rank--) {
                for (size_t i = ARRAY_LEN(table); i-- > 0 && total > width;) {
                        if (table[i].rank == rank && widths[i] > 0) {
                                total -= widths[i] + 1;
                                widths[i] = 0;
                        }
                }
        }
        int last = (int)ARRAY_LEN(table) - 1;
        if (widths[last] > 0 && width > total)
                widths[last] = MIN(widths[last] + width - total, TREND_MAX);
}

void fleet_draw_headings(const struct ui_data *d, struct canvas *c, struct area a)
{
        int widths[ARRAY_LEN(table)], x = a.x + 1;
        struct style style = {INK_DIM, 0, ATTR_UNDERLINE};
        choose(d->frame, a.w - 2, widths);
        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
                if (widths[i] == 0)
                        continue;
                if (table[i].left)
                        canvas_text(c, x, a.y, widths[i], style, table[i].heading);
                else
                        canvas_right(c, x, a.y, widths[i], style, table[i].heading);
                x += widths[i] + 1;
        }
}

void fleet_draw_line(const struct ui_data *d, struct canvas *c, struct area a,
                     const struct row *row, bool chosen)
{
        int widths[ARRAY_LEN(table)], x = a.x + 1;
        choose(d->frame, a.w - 2, widths);
        if (chosen)
                canvas_paint(c, (struct area){a.x, a.y, a.w - 1, 1}, INK_SELECT);
        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
                const struct line_column *k = &table[i];
                struct line_context l = {d, c, row, x, a.y, widths[i]};
                if (widths[i] == 0)
                        continue;
                if (k->draw)
                        k->draw(&l);
                else
                        draw_number(&l, k);
                x += widths[i] + 1;
        }
}
