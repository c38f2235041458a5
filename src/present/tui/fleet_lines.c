/* The fleet as a table, one line a GPU. */
#include "present/stream/columns.h"
#include "present/tui/fleet.h"
#include "present/tui/widgets.h"
#include "present/tui/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TREND_MAX 60
#define NAME_COLUMNS_MAX 32

struct line_context {
        const struct ui_data *d;
        struct canvas *c;
        const struct row *row;
        int x, y, w;
        bool chosen;
};

struct line_column {
        const char *heading;
        int width;
        uint8_t rank;       /* the higher, the sooner it is left out */
        bool left;          /* text, not a number */
        enum metric metric; /* drawn as a number when there is no draw */
        uint8_t ink;
        void (*draw)(const struct line_context *l);
        enum fleet_sort sort; /* the order that it shows; GPU for none but the first column */
};

static void draw_id(const struct line_context *l)
{
        if (l->chosen)
                canvas_char(l->c, l->x - 1, l->y, (struct style){INK_KEY, 0, ATTR_BOLD}, 0x25b6);
        char name[FRAME_LABEL_MAX];
        frame_label(l->d->frame, l->row->sample.who, name, MIN((size_t)l->w + 1, sizeof(name)));
        canvas_text(l->c, l->x, l->y, l->w, (struct style){INK_TITLE, 0, ATTR_BOLD}, name);
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
                    workload_words(w, (size_t)l->w));
}

static void draw_health(const struct line_context *l)
{
        enum health_state s = l->row->health.state;
        const char *words = row_is_stale(l->row)  ? "STALE"
                            : s == HEALTH_UNKNOWN ? "--"
                                                  : health_name(s);
        /* What is wrong with the GPU comes before how it compares with the others. */
        bool fine = s <= HEALTH_OK && !row_is_stale(l->row);
        bool stalled = fine && row_is_stalled(l->row);
        bool late = stalled || (fine && l->row->late);
        canvas_text(l->c, l->x, l->y, l->w,
                    (struct style){widget_health_ink(late ? HEALTH_WARN : s), 0, ATTR_BOLD},
                    stalled ? "STALL"
                    : late  ? "LATE"
                            : words);
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
        widget_number(l->c, l->x, l->y, half, INK_TEXT, metric_info(a)->unit, l->row->sample.m[a]);
        canvas_char(l->c, l->x + half, l->y, (struct style){.fg = INK_DIM}, '/');
        widget_number(l->c, l->x + half + 1, l->y, half, INK_DIM, metric_info(b)->unit,
                      l->row->sample.m[b]);
}

static void draw_limiter(const struct line_context *l)
{
        enum limiter limiter = (enum limiter)l->row->limit.limiter;
        canvas_text(l->c, l->x, l->y, l->w, (struct style){.fg = words_limiter_ink(limiter)},
                    limiter_brief(limiter));
}

/* What holds the clocks down: seen at a glance where there is anything. */
static void draw_held(const struct line_context *l)
{
        const char *text = !words_is_throttled(l->row) ? "" : l->row->hot ? "heat" : "power";
        canvas_text(l->c, l->x, l->y, l->w, (struct style){INK_HOT, 0, ATTR_BOLD}, text);
}

static void draw_temp(const struct line_context *l)
{
        bool hot = l->row->hot;
        widget_number(l->c, l->x, l->y, l->w, hot ? INK_HOT : INK_TEXT, UNIT_CELSIUS,
                      l->row->sample.m[METRIC_GPU_TEMP]);
}

static void draw_pcie(const struct line_context *l)
{
        draw_two(l, METRIC_PCIE_RX, METRIC_PCIE_TX);
}

/* Nothing is drawn quietly, so that something stands out. */
static void draw_number(const struct line_context *l, const struct line_column *k)
{
        struct value v = l->row->sample.m[k->metric];
        uint8_t ink = value_is_set(v) && fabs(v.v) < 0.005 ? INK_DIM : k->ink;
        widget_number(l->c, l->x, l->y, l->w, ink, metric_info(k->metric)->unit, v);
}

static const struct line_column table[] = {
    {"GPU", 3, 0, true, 0, 0, draw_id, FLEET_SORT_GPU},
    {"Model", 8, 7, true, 0, 0, draw_model, 0},
    {"Real", 5, 0, false, METRIC_REAL_UTIL, INK_TITLE, NULL, FLEET_SORT_REAL},
    {"", 8, 3, true, 0, 0, draw_bar, 0},
    {"Limited by", LIMITER_BRIEF_W, 0, true, 0, 0, draw_limiter, 0},
    {"Clock", 5, 1, true, 0, 0, draw_held, 0},
    {"Class", 20, 4, true, 0, 0, draw_class, 0},
    {"SM", 4, 0, false, METRIC_SM_ACTIVE, INK_COMPUTE, NULL, 0},
    {"PCIe rx/tx", 11, 6, false, 0, 0, draw_pcie, 0},
    {"Util", 5, 2, false, METRIC_GPU_UTIL, INK_TEXT, NULL, FLEET_SORT_UTIL},
    {"Occ", 4, 9, false, METRIC_SM_OCCUPANCY, INK_COMPUTE, NULL, 0},
    {"Tens", 4, 0, false, METRIC_TENSOR_ACTIVE, INK_TENSOR, NULL, 0},
    {"DRAM", 4, 0, false, METRIC_DRAM_ACTIVE, INK_MEMORY, NULL, 0},
    {"Memory", 7, 0, false, METRIC_FB_USED, INK_MEMORY, NULL, FLEET_SORT_MEMORY},
    {"of", 5, 5, false, METRIC_FB_TOTAL, INK_DIM, NULL, 0},
    {"Watt", 5, 1, false, METRIC_POWER, INK_POWER, NULL, FLEET_SORT_POWER},
    {"\u00b0C", 4, 0, false, 0, 0, draw_temp, FLEET_SORT_TEMP},
    {"mem\u00b0", 4, 8, false, METRIC_MEM_TEMP, INK_TEXT, NULL, 0},
    {"NVLink", 6, 9, false, METRIC_NVLINK_TOTAL, INK_LINK, NULL, 0},
    {"MHz", 4, 5, false, METRIC_SM_CLOCK, INK_TEXT, NULL, 0},
    {"MemCtl", 6, 11, false, METRIC_MEM_COPY_UTIL, INK_LINK, NULL, 0},
    {"Joule", 5, 12, false, METRIC_ENERGY, INK_TEXT, NULL, 0},
    {"Rply/s", 6, 13, false, METRIC_PCIE_REPLAY_RATE, INK_WARN, NULL, 0},
    {"Health", 7, 0, true, 0, 0, draw_health, FLEET_SORT_HEALTH},
    {"Trend", 10, 5, true, 0, 0, draw_trend, 0},
};

/* Names do not change from tick to tick. */
static int name_columns(const struct frame *f, int width)
{
        int most = MAX(table[0].width, f->naming.columns);
        return MAX(MIN(most, MIN(width / 3, NAME_COLUMNS_MAX)), table[0].width);
}

static bool models_are_known(const struct frame *f)
{
        return f->n > 0 && f->rows[0].sample.who->text[ENTITY_TEXT_MODEL][0] != '\0';
}

/* Which columns fit, and how wide the trend may grow. Depends on the frame's entities and the
 * width only, never on values. */
static void choose_widths(const struct frame *f, int width, int *widths)
{
        int total = -1;
        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
                bool shown = table[i].draw != draw_model || models_are_known(f);
                widths[i] = shown ? table[i].width : 0;
                if (i == 0)
                        widths[i] = name_columns(f, width);
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

/* The order that a column shows; the first column's is the GPUs' own, which needs no mark. */
static bool is_order(const struct ui *ui, size_t column)
{
        return ui->sort == table[column].sort &&
               (column == 0 ? ui->reversed : table[column].sort > 0);
}

void fleet_draw_headings(const struct ui *ui, const struct ui_data *d, struct canvas *c,
                         struct area a)
{
        int widths[ARRAY_LEN(table)], x = a.x + 1;
        choose_widths(d->frame, a.w - 2, widths);
        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
                char text[32];
                bool order = is_order(ui, i);
                struct style style = {order ? INK_KEY : INK_DIM, 0,
                                      order ? ATTR_UNDERLINE | ATTR_BOLD : ATTR_UNDERLINE};
                if (widths[i] == 0)
                        continue;
                snprintf(text, sizeof(text), "%s%s", table[i].heading,
                         !order                                         ? ""
                         : ui->reversed != (ui->sort == FLEET_SORT_GPU) ? "\u25b2"
                                                                        : "\u25bc");
                if (table[i].left)
                        canvas_text(c, x, a.y, widths[i], style, text);
                else
                        canvas_right(c, x, a.y, widths[i], style, text);
                x += widths[i] + 1;
        }
}

void fleet_draw_line(const struct ui_data *d, struct canvas *c, struct area a,
                     const struct row *row, bool chosen)
{
        int widths[ARRAY_LEN(table)], x = a.x + 1;
        choose_widths(d->frame, a.w - 2, widths);
        if (chosen)
                canvas_paint(c, (struct area){a.x, a.y, a.w - 1, 1}, INK_SELECT);
        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
                const struct line_column *k = &table[i];
                struct line_context l = {d, c, row, x, a.y, widths[i], chosen};
                if (widths[i] == 0)
                        continue;
                if (k->draw)
                        k->draw(&l);
                else
                        draw_number(&l, k);
                x += widths[i] + 1;
        }
}
