/* Focus: one GPU in depth, and why it is called what it is called. */
#include "base/clock.h"
#include "present/format.h"
#include "present/stream/columns.h"
#include "present/text/explain.h"
#include "present/text/where.h"
#include "present/tui/fleet.h"
#include "present/tui/ui.h"
#include "present/tui/widgets.h"
#include "present/tui/words.h"

#include <stdio.h>
#include <string.h>

#define COLUMN_MIN 56
#define CHART_MIN_H 7
#define NAME_W 24
#define VALUE_W 11
#define ITEMS_MAX (METRIC_COUNT + METRIC_GROUP_COUNT + 80)
#define PROCESSES_MAX 64
#define LEAD_W 8
#define CEILING_W 26
#define CLASS_MIN_H 26
#define CLASS_MAX_USED 4
#define FLOPS_SHOWN 1e9  /* less is noise of an idle GPU */
#define CEILING_NEAR 0.6 /* as docs/LIMITS.md has it */

/* A line of the list: a heading, a metric, a process or a remark. */
struct item {
        enum { ITEM_BLANK, ITEM_HEADING, ITEM_METRIC, ITEM_PROCESS, ITEM_REMARK } kind;
        const char *text;
        enum metric metric;
        const struct process *process;
};

struct items {
        struct item list[ITEMS_MAX];
        int n;
        char remark[64];
};

static void add_item(struct items *items, struct item item)
{
        if (items->n < ITEMS_MAX)
                items->list[items->n++] = item;
}

static void put_group(struct items *items, const struct row *row, enum metric_group g, bool absent,
                      int *left_out)
{
        bool heading = false;
        for (enum metric m = 0; m < METRIC_COUNT; m++) {
                if (metric_info(m)->group != g)
                        continue;
                if (row->sample.m[m].state == STATE_NONE && !absent) {
                        ++*left_out;
                        continue;
                }
                if (!heading && items->n > 0)
                        add_item(items, (struct item){.kind = ITEM_BLANK});
                if (!heading)
                        add_item(items,
                                 (struct item){.kind = ITEM_HEADING, .text = metric_group_name(g)});
                heading = true;
                add_item(items, (struct item){.kind = ITEM_METRIC, .metric = m});
        }
}

static void put_processes(struct items *items, const struct ui_data *d, const struct row *row)
{
        int n = 0;
        add_item(items, (struct item){.kind = ITEM_BLANK});
        add_item(items, (struct item){.kind = ITEM_HEADING, .text = "processes"});
        for (size_t i = 0; d->processes && i < d->processes->n && n < PROCESSES_MAX; i++) {
                const struct process *p = &d->processes->list[i];
                if (p->child || p->slot != row->sample.who->slot)
                        continue;
                add_item(items, (struct item){.kind = ITEM_PROCESS, .process = p});
                n++;
        }
        if (!d->processes)
                add_item(items, (struct item){.kind = ITEM_REMARK, .text = ui_why_no_processes(d)});
        else if (n == 0)
                add_item(items, (struct item){.kind = ITEM_REMARK, .text = "none"});
}

static void make_items(const struct ui *ui, const struct ui_data *d, const struct row *row,
                       struct items *ret)
{
        int left_out = 0;
        ret->n = 0;
        for (enum metric_group g = 0; g < METRIC_GROUP_COUNT; g++)
                put_group(ret, row, g, ui->focus.absent, &left_out);
        put_processes(ret, d, row);
        if (left_out > 0) {
                snprintf(ret->remark, sizeof(ret->remark),
                         "%d more this source lacks; a lists them", left_out);
                add_item(ret, (struct item){.kind = ITEM_BLANK});
                add_item(ret, (struct item){.kind = ITEM_REMARK, .text = ret->remark});
        }
}

static void draw_age(struct canvas *c, int x, int y, int w, struct value v)
{
        char age[16];
        widget_age(age, sizeof(age), v.age_ms * NS_PER_MS);
        canvas_textf(c, x, y, w, (struct style){.fg = INK_WARN}, "%s old", age);
}

/* Where the bar would be, a missing value says why and an old one how old. */
static void draw_metric(const struct ui *ui, const struct ui_data *d, struct canvas *c, int x,
                        int y, int w, const struct row *row, enum metric m)
{
        struct value v = row->sample.m[m];
        uint8_t ink = widget_metric_ink(m) == INK_DIM ? INK_TEXT : widget_metric_ink(m);
        char text[FORMAT_MAX], name[64];
        words_metric(name, sizeof(name), m, NAME_W - 1);
        canvas_text(c, x, y, NAME_W, (struct style){.fg = INK_DIM},
                    ui->focus.raw ? metric_info(m)->name : name);
        format_with_unit(text, sizeof(text), metric_info(m)->unit, v);
        canvas_right(c, x + NAME_W, y, VALUE_W, widget_value_style(v, INK_TEXT), text);
        x += NAME_W + VALUE_W + 1;
        w -= NAME_W + VALUE_W + 1;
        struct value ratio = widget_ratio(row, m);
        int bar = MIN(w / 2, 16);
        if (!value_is_set(v))
                canvas_text(c, x, y, bar, (struct style){.fg = INK_FAINT},
                            state_name((enum state)v.state));
        else if (v.age_ms > 0)
                draw_age(c, x, y, bar, v);
        else if (ratio.state != STATE_NONE && bar >= 4)
                widget_bar(c, x, y, bar, ink, ratio);
        struct spark spark = {
            row->sample.who->slot, m, d->frame->wall_ns, ui_bucket_ns(d), 0, 0, ink};
        if (metric_info(m)->unit == UNIT_RATIO)
                spark.hi = 1;
        if (metric_info(m)->unit == UNIT_SCORE)
                spark.hi = 100;
        if (metric_info(m)->kind != METRIC_KIND_COUNTER)
                widget_spark(c, x + bar + 1, y, w - bar - 1, &d->trends, &spark);
}

static void draw_process(struct canvas *c, int x, int y, int w, const struct process *p)
{
        canvas_textf(c, x, y, 8, (struct style){.fg = INK_TEXT}, "%7d", p->pid);
        canvas_text(c, x + 8, y, 9, (struct style){.fg = INK_DIM}, p->user);
        widget_number(c, x + 17, y, 6, INK_MEMORY, UNIT_BYTES, p->gpu_memory);
        canvas_text(c, x + 24, y, 5, (struct style){.fg = INK_DIM}, "NVML");
        widget_number(c, x + 28, y, 5, INK_COMPUTE, UNIT_RATIO, p->sm_util);
        canvas_text(c, x + 34, y, w - 34, (struct style){.fg = INK_TEXT}, p->command);
}

static void draw_heading(struct canvas *c, int x, int y, int w, const char *text)
{
        int n = canvas_text(c, x, y, w, (struct style){INK_TITLE, 0, ATTR_BOLD}, text);
        canvas_line(c, x + n + 1, y, w - n - 1, (struct style){.fg = INK_FAINT}, 0x2500);
}

static void draw_item(const struct ui *ui, const struct ui_data *d, struct canvas *c, int x, int y,
                      int w, const struct row *row, const struct item *item)
{
        switch (item->kind) {
        case ITEM_BLANK:
                return;
        case ITEM_HEADING:
                draw_heading(c, x, y, w, item->text);
                return;
        case ITEM_METRIC:
                draw_metric(ui, d, c, x, y, w, row, item->metric);
                return;
        case ITEM_PROCESS:
                draw_process(c, x, y, w, item->process);
                return;
        case ITEM_REMARK:
                canvas_text(c, x, y, w, (struct style){.fg = INK_DIM}, item->text);
                return;
        }
}

/* Who it is: "GPU 0  H200  GPU-…  0000:1b:00.0  driver 580". */
static void draw_identity(const struct ui_data *d, struct canvas *c, struct area a,
                          const struct row *row)
{
        static const enum entity_text facts[] = {ENTITY_TEXT_MODEL, ENTITY_TEXT_MIG_PROFILE,
                                                 ENTITY_TEXT_HOST,  ENTITY_TEXT_PCI,
                                                 ENTITY_TEXT_JOB,   ENTITY_TEXT_UUID};
        const struct entity *e = row->sample.who;
        enum health_state health = row->health.state;
        char name[FRAME_LABEL_MAX];
        int x = a.x + 1;
        frame_label(d->frame, e, name, sizeof(name));
        x += canvas_textf(c, x, a.y, a.w - 2, (struct style){INK_TITLE, 0, ATTR_BOLD}, "%s %s",
                          entity_noun(e), name) +
             2;
        if (ui_is_stale(d))
                x += canvas_text(c, x, a.y, 6, (struct style){INK_WARN, 0, ATTR_BOLD}, "STALE") + 2;
        x += canvas_text(c, x, a.y, 24,
                         (struct style){widget_class_ink(row->verdict.workload), 0, ATTR_BOLD},
                         explain_class(row)) +
             2;
        x += canvas_text(c, x, a.y, 8, (struct style){widget_health_ink(health), 0, ATTR_BOLD},
                         health_name(health)) +
             2;
        for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
                int w = text_width(e->text[facts[i]]);
                if (w > 0 && x + w < a.x + a.w)
                        x += canvas_text(c, x, a.y, w, (struct style){.fg = INK_DIM},
                                         e->text[facts[i]]) +
                             2;
        }
}

/* A word and its sentence, wrapped; returns the lines taken. */
static int draw_sentence(struct canvas *c, struct area a, const char *lead, struct style style,
                         const char *text)
{
        if (a.h <= 0 || !*text)
                return 0;
        canvas_text(c, a.x + 1, a.y, LEAD_W, (struct style){.fg = INK_DIM}, lead);
        struct area in = {a.x + 1 + LEAD_W, a.y, a.w - 2 - LEAD_W, a.h};
        return MIN(widget_wrap(c, in, style, text), a.h);
}

static struct area area_below(struct area a, int used)
{
        return (struct area){a.x, a.y + used, a.w, a.h - used};
}

/* What the GPU's programs compute with, as far as anybody knows. */
static enum framework framework_of(const struct ui_data *d, const struct row *row)
{
        for (size_t i = 0; d->processes && i < d->processes->n; i++) {
                const struct process *p = &d->processes->list[i];
                if (p->framework != FRAMEWORK_NONE && p->slot == row->sample.who->slot)
                        return (enum framework)p->framework;
        }
        return FRAMEWORK_NONE;
}

/* What is wrong, now and in the last half minute. */
static int draw_health(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a,
                       const struct row *row)
{
        struct recent recent;
        char text[2 * WORDS_MAX] = "";
        int used = 0;
        strbuf_clear(&ui->text);
        explain_health(row, &ui->text);
        used += draw_sentence(c, a, "health", (struct style){widget_row_ink(row), 0, ATTR_BOLD},
                              strbuf_str(&ui->text));
        if (words_recent(d, row, &recent))
                words_trouble(text, sizeof(text), &recent);
        return used +
               draw_sentence(c, area_below(a, used), "recent", (struct style){.fg = INK_HOT}, text);
}

/* The lines behind the limiter, with their shares, and how many looks that rests on. */
static int draw_where(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a)
{
        uint64_t n_samples = 0;
        if (!d->where || d->where->n == 0 || !d->stacks)
                return 0;
        strbuf_clear(&ui->text);
        where_put(&ui->text, d->where);
        for (size_t i = 0; i < d->where->n; i++)
                n_samples += d->where->parts[i].n_samples;
        strbuf_putf(&ui->text, "; %llu looks in %.0f s", (unsigned long long)n_samples,
                    clock_to_seconds(d->stacks->span_ns));
        return draw_sentence(c, a, "where", (struct style){INK_TITLE, 0, 0}, strbuf_str(&ui->text));
}

/* The limiter, by which rule, and what to try. */
static int draw_limit(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a,
                      const struct row *row)
{
        enum limiter limiter = (enum limiter)row->limit.limiter;
        struct style loud = {words_limiter_ink(limiter), 0, ATTR_BOLD}, dim = {.fg = INK_DIM};
        int used = 0;
        strbuf_clear(&ui->text);
        if (ui->focus.raw) {
                explain_limit(row, &ui->text);
        } else {
                explain_limiter(row, &ui->text);
                words_evidence(&ui->text, row);
                for (size_t i = 0; i < ui->text.len; i++) /* names of what is missing */
                        ui->text.s[i] = ui->text.s[i] == '_' ? ' ' : ui->text.s[i];
        }
        used += draw_sentence(c, a, "limit", loud, strbuf_str(&ui->text));
        if (limiter == LIMITER_UNKNOWN)
                return used;
        used += draw_where(ui, d, c, area_below(a, used));
        if (ui->focus.raw)
                used += draw_sentence(c, area_below(a, used), "rule", dim,
                                      limiter_rule(limiter, (enum basis)row->limit.basis));
        return used + draw_sentence(
                          c, area_below(a, used), "try", (struct style){.fg = INK_TEXT},
                          where_advice(d->where) && !limit_lacks_cpus(&row->limit.ceilings)
                              ? where_advice(d->where)
                              : limiter_try(limiter, &row->limit.ceilings, framework_of(d, row)));
}

/* "1515 of 1980 MHz, power limit; 71 % of the tensor peak (pipe 92 %, clock 77 %)". */
static int draw_clock(struct canvas *c, struct area a, const struct row *row)
{
        char text[2 * WORDS_MAX], part[3][FORMAT_MAX];
        const struct ceilings *k = &row->limit.ceilings;
        struct value tensor = ceiling_value(k, CEILING_TENSOR),
                     clock = ceiling_value(k, CEILING_CLOCK);
        words_clock(text, sizeof(text), row);
        size_t n = strlen(text);
        if (value_is_set(tensor) && value_is_set(clock) && tensor.v > 0.005)
                snprintf(text + n, sizeof(text) - n, "; %s of the tensor peak (pipe %s, clock %s)",
                         format_share(part[0], tensor.v * clock.v), format_share(part[1], tensor.v),
                         format_share(part[2], clock.v));
        bool held = words_is_throttled(row);
        return draw_sentence(c, a, "clock",
                             held ? (struct style){INK_HOT, 0, ATTR_BOLD}
                                  : (struct style){.fg = INK_TEXT},
                             text + sizeof("clock ") - 1);
}

static bool same_rate(const struct flops_rates *r, enum flops_type a, enum flops_type b)
{
        struct flops x = flops_rate(r, a), y = flops_rate(r, b);
        return x.known && y.known && x.hi == y.hi;
}

/* Whether a type is reported: the one that was named; else the first of those that have its rate.
 */
static bool is_worth_reporting(const struct flops_rates *r, enum flops_type type)
{
        if (flops_rate(r, type).hi < FLOPS_SHOWN || (r->has_asked && type != r->asked))
                return false;
        for (enum flops_type t = 0; !r->has_asked && t < type; t++) {
                if (same_rate(r, t, type))
                        return false;
        }
        return true;
}

/* "fp16/bf16 613 to 687": all types that have the rate of this one. */
static void put_rate(struct strbuf *out, const struct flops_rates *r, enum flops_type type)
{
        struct flops f = flops_rate(r, type);
        int decimals = f.hi >= 1e14 ? 0 : f.hi >= 1e13 ? 1 : 2;
        strbuf_puts(out, flops_name(type));
        for (enum flops_type t = type + 1; !r->has_asked && t < FLOPS_COUNT; t++) {
                if (same_rate(r, t, type))
                        strbuf_putf(out, "/%s", flops_name(t));
        }
        strbuf_putf(out, " %.*f to %.*f", decimals, f.lo / 1e12, decimals, f.hi / 1e12);
}

/* FLOP/s of the type that was named; else of each, if all work was of it. */
static int draw_flops(struct ui *ui, struct canvas *c, struct area a, const struct row *row)
{
        const struct flops_rates *r = &row->flops;
        const char *gap = "";
        strbuf_clear(&ui->text);
        for (enum flops_type t = 0; t < FLOPS_COUNT; t++) {
                if (!is_worth_reporting(r, t))
                        continue;
                strbuf_puts(&ui->text, gap);
                put_rate(&ui->text, r, t);
                gap = " or ";
        }
        if (!gap[0])
                return 0;
        return draw_sentence(c, a, "TFLOP/s", (struct style){.fg = INK_DIM}, strbuf_str(&ui->text));
}

static int draw_reasons(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a,
                        const struct row *row)
{
        int used = draw_health(ui, d, c, a, row);
        used += draw_limit(ui, d, c, area_below(a, used), row);
        used += draw_clock(c, area_below(a, used), row);
        if (row->flops.has_asked || 2 * a.h >= CLASS_MIN_H)
                used += draw_flops(ui, c, area_below(a, used), row);
        /* The title has the class; why it is that one is a rule. */
        if (!ui->focus.raw && row->verdict.workload != WORKLOAD_UNKNOWN)
                return used;
        strbuf_clear(&ui->text);
        explain_verdict(row, &ui->text);
        return used + draw_sentence(c, area_below(a, used), "class", (struct style){.fg = INK_DIM},
                                    strbuf_str(&ui->text));
}

static uint8_t ceiling_ink(enum ceiling k)
{
        if (k == CEILING_DRAM)
                return INK_MEMORY;
        if (k == CEILING_TENSOR)
                return INK_TENSOR;
        if (k >= CEILING_PCIE_IN && k <= CEILING_NVLINK_OUT)
                return INK_LINK;
        return k == CEILING_POWER || k == CEILING_CLOCK ? INK_POWER : INK_COMPUTE;
}

/* How near the hardware is to what it can do; the one that the limiter is about stands out. They
 * are means of a second, as the limiter is decided by; what follows is the newest sample's. */
static int draw_ceilings(const struct ui *ui, struct canvas *c, struct area a,
                         const struct row *row)
{
        int columns = MAX(a.w / CEILING_W, 1), w = a.w / columns, n = 0;
        for (enum ceiling k = 0; k < CEILING_COUNT; k++) {
                struct value v = ceiling_value(&row->limit.ceilings, k);
                if (ceiling_info(k)->kind != CEILING_DEVICE || !value_is_set(v))
                        continue;
                int x = a.x + 1 + n % columns * w, y = a.y + 1 + n / columns;
                bool near = v.v >= CEILING_NEAR;
                if (y >= a.y + a.h)
                        return a.h;
                if (n == 0)
                        draw_heading(c, a.x + 1, a.y, a.w - 3, "of the maximum, last second");
                char name[64];
                words_name(name, sizeof(name), ceiling_info(k)->name, 10);
                canvas_text(c, x, y, 11, (struct style){near ? INK_TITLE : INK_DIM, 0, 0},
                            ui->focus.raw ? ceiling_info(k)->name : name);
                widget_number(c, x + 11, y, 5, near ? INK_TITLE : INK_TEXT, UNIT_RATIO, v);
                widget_bar(c, x + 17, y, w - 19, ceiling_ink(k), v);
                n++;
        }
        return n > 0 ? 1 + (n + columns - 1) / columns : 0;
}

/* How long the group at i is, up to its blank line. */
static int group_length(const struct items *items, int i)
{
        int n = 0;
        while (i + n < items->n && items->list[i + n].kind != ITEM_BLANK)
                n++;
        return n;
}

/* Lays groups out whole in columns of height h; ret gets column and line. The columns taken. */
static int lay_out(const struct items *items, int h, int (*ret)[2])
{
        int column = 0, y = 0;
        for (int i = 0; i < items->n; i++) {
                bool starts = i == 0 || items->list[i - 1].kind == ITEM_BLANK;
                if (y > 0 && ((starts && y + group_length(items, i) > h) || y >= h)) {
                        column++;
                        y = 0;
                }
                ret[i][0] = column;
                ret[i][1] = y;
                y += y > 0 || items->list[i].kind != ITEM_BLANK;
        }
        return column + 1;
}

/* The lowest columns that hold everything; false when it does not fit and must be scrolled. */
static bool fit_columns(const struct items *items, int columns, int h, int (*ret)[2])
{
        for (int low = (items->n + columns - 1) / columns; low <= h; low++) {
                if (lay_out(items, low, ret) <= columns)
                        return true;
        }
        return false;
}

static void draw_marks(const struct ui *ui, struct canvas *c, struct area a, int room, int n)
{
        if (ui->focus.scroll + room < n)
                canvas_right(c, a.x, a.y + a.h - 1, a.w - 1, (struct style){.fg = INK_KEY},
                             "\u25bc");
        if (ui->focus.scroll > 0)
                canvas_right(c, a.x, a.y, a.w - 1, (struct style){.fg = INK_KEY}, "\u25b2");
}

static void draw_list(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a,
                      const struct row *row)
{
        struct items items;
        int places[ITEMS_MAX][2];
        if (a.h < 1)
                return;
        make_items(ui, d, row, &items);
        int columns = MAX(a.w / COLUMN_MIN, 1), w = a.w / columns, room = columns * a.h;
        bool whole = fit_columns(&items, columns, a.h, places);
        int used = 0;
        for (int i = 0; whole && i < items.n; i++)
                used = MAX(used, places[i][1] + 2);
        ui->focus.scroll = whole ? 0 : MAX(MIN(ui->focus.scroll, items.n - room), 0);
        for (int i = 0; i < items.n; i++) {
                int at = i - ui->focus.scroll;
                int column = whole ? places[i][0] : at / a.h, y = whole ? places[i][1] : at % a.h;
                if (at >= 0 && column < columns)
                        draw_item(ui, d, c, a.x + column * w + 1, a.y + y, w - 3, row,
                                  &items.list[i]);
        }
        if (!whole)
                draw_marks(ui, c, a, room, items.n);
        else if (a.h - used >= CHART_MIN_H)
                fleet_draw_chart(ui, d, c, (struct area){a.x + 1, a.y + used, a.w - 2, a.h - used},
                                 row);
}

static void focus_draw(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a)
{
        const struct row *row = ui_chosen(ui, d);
        if (!row) {
                canvas_text(c, a.x + 2, a.y + a.h / 3, a.w - 4, (struct style){.fg = INK_TITLE},
                            "no GPU is chosen");
                return;
        }
        draw_identity(d, c, a, row);
        /* Half of the room is for what it means, an eighth for ceilings, the rest for the values.
         */
        int used =
            1 + draw_reasons(ui, d, c, (struct area){a.x, a.y + 1, a.w, MAX(a.h / 2, 2)}, row);
        used += draw_ceilings(ui, c, (struct area){a.x, a.y + used, a.w, MAX(a.h / 4, 2) + 1}, row);
        used += a.h > 40;
        draw_list(ui, d, c, (struct area){a.x, a.y + used, a.w, a.h - used}, row);
        if (ui_is_stale(d))
                canvas_tint(c, a, INK_DIM);
}

static bool focus_act(struct ui *ui, const struct ui_data *d, enum action action)
{
        int page = MAX(ui->body.h - 4, 1);
        if (action == ACTION_UP || action == ACTION_DOWN)
                ui->focus.scroll += action == ACTION_DOWN ? 1 : -1;
        else if (action == ACTION_PAGE_UP || action == ACTION_PAGE_DOWN)
                ui->focus.scroll += action == ACTION_PAGE_DOWN ? page : -page;
        else if (action == ACTION_HOME || action == ACTION_END)
                ui->focus.scroll = action == ACTION_END ? ITEMS_MAX : 0;
        else if (action == ACTION_LEFT || action == ACTION_RIGHT)
                ui_choose(ui, d,
                          action == ACTION_RIGHT ? ui->cursor + 1 : ui->cursor - (ui->cursor > 0));
        else if (action == ACTION_ABSENT)
                ui->focus.absent = !ui->focus.absent;
        else if (action == ACTION_RAW)
                ui->focus.raw = !ui->focus.raw;
        else if (action == ACTION_ENTER)
                ui_show(ui, VIEW_PLOT);
        else
                return false;
        ui->focus.scroll = MAX(ui->focus.scroll, 0);
        return true;
}

static void focus_mouse(struct ui *ui, const struct ui_data *d, const struct key_event *e)
{
        if (e->button == MOUSE_WHEEL_UP || e->button == MOUSE_WHEEL_DOWN)
                focus_act(ui, d, e->button == MOUSE_WHEEL_UP ? ACTION_UP : ACTION_DOWN);
}

const struct view_ops view_focus = {
    .name = "focus",
    .title = "Focus",
    .hints = "\u2190\u2192 GPU  \u2191\u2193 scroll  Enter plot  a absent  v rules",
    .draw = focus_draw,
    .act = focus_act,
    .mouse = focus_mouse,
};
