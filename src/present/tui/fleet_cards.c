/* The fleet's summary line and cards. */
#include "base/clock.h"
#include "model/job.h"
#include "present/format.h"
#include "present/stream/columns.h"
#include "present/text/explain.h"
#include "present/tui/fleet.h"
#include "present/tui/widgets.h"
#include "present/tui/words.h"

#include <stdio.h>
#include <string.h>

#define HEALTH_W 15
#define CHART_MIN_H 5
#define HOST_ROW_MOST 6 /* lines of what the host did: more of one column say nothing more */

static const struct style dim = {.fg = INK_DIM};
static const struct style plain = {.fg = INK_TEXT};

/* --- the summary --------------------------------------------------------------------------- */

struct totals {
        size_t n, active, n_real;
        size_t health[HEALTH_CRIT + 1];
        double real;
        struct value power, power_limit, memory, memory_total;
};

/* Both sums are of the same GPUs: a limit that one lacks is not a limit of all. */
static void fleet_cards_add(struct value *sum, struct value *limits, struct value v,
                            struct value limit)
{
        if (!value_is_set(v))
                return;
        *sum = value_ok(sum->v + v.v);
        if (!value_is_set(limit))
                *limits = value_missing(STATE_ERROR);
        else if (limits->state != STATE_ERROR)
                *limits = value_ok(limits->v + limit.v);
}

/* A GPU is active when one of its slices is, and as healthy as the worst of them. */
static void add_group(struct totals *t, const struct frame *f, size_t begin, size_t end)
{
        enum health_state worst = HEALTH_UNKNOWN;
        bool active = false;
        for (size_t i = begin; i < end; i++) {
                worst = MAX(worst, f->rows[i].health.state);
                active |= row_use(&f->rows[i]) == ROW_USE_WORKING;
        }
        t->health[worst]++;
        t->active += active;
}

static struct totals add_up(const struct frame *f)
{
        struct totals t = {.n = frame_gpus(f)};
        for (size_t i = 0, end; i < f->n; i = end) {
                end = frame_group_end(f, i);
                /* Slices of which nobody knows the GPU are no GPUs where there are any. */
                if (f->rows[i].sample.who->index >= 0 || end - i == f->n)
                        add_group(&t, f, i, end);
        }
        for (size_t i = 0; i < f->n; i++) {
                const struct value *m = f->rows[i].sample.m;
                if (frame_counts(f, i, METRIC_REAL_UTIL)) {
                        t.real += m[METRIC_REAL_UTIL].v;
                        t.n_real++;
                }
                if (frame_counts(f, i, METRIC_POWER))
                        fleet_cards_add(&t.power, &t.power_limit, m[METRIC_POWER],
                                        m[METRIC_POWER_LIMIT]);
                if (frame_counts(f, i, METRIC_FB_USED))
                        fleet_cards_add(&t.memory, &t.memory_total, m[METRIC_FB_USED],
                                        m[METRIC_FB_TOTAL]);
        }
        return t;
}

/* One that not all have is left out. */
static struct value limit_of_all(struct value limits)
{
        return value_is_set(limits) ? limits : value_missing(STATE_NONE);
}

static int draw_health_counts(struct canvas *c, int x, int y, int w, const struct totals *t)
{
        int start = x;
        for (int s = HEALTH_CRIT; s >= HEALTH_UNKNOWN; s--) {
                if (t->health[s] == 0)
                        continue;
                x += canvas_textf(c, x, y, w - (x - start),
                                  (struct style){.fg = widget_health_ink((enum health_state)s)},
                                  "%zu %s", t->health[s], health_name((enum health_state)s)) +
                     2;
        }
        return x - start;
}

/* "label a/b", the numbers at fixed places. */
static int draw_pair(struct canvas *c, int x, int y, int label_w, const char *label, enum unit unit,
                     struct value a, struct value b, const char *after)
{
        canvas_text(c, x, y, label_w, dim, label);
        x += label_w;
        widget_number(c, x, y, 5, INK_TEXT, unit, a);
        int w = 5;
        /* Columns that the source never fills would only be noise. */
        if (b.state != STATE_NONE) {
                canvas_char(c, x + w, y, dim, '/');
                widget_number(c, x + w + 1, y, 5, INK_DIM, unit, b);
                w += 6;
        }
        canvas_text(c, x + w, y, 4, dim, after);
        return label_w + w + text_width(after);
}

static void draw_host_part(const struct ui_data *d, struct canvas *c, int x, int y)
{
        canvas_text(c, x, y, 4, dim, "CPU");
        widget_number(c, x + 3, y, 5, INK_TEXT, UNIT_RATIO, host_cpu_busy(d->host));
        draw_pair(c, x + 10, y, 4, "RAM", UNIT_BYTES, d->host->system[SYSTEM_MEM_USED],
                  d->host->system[SYSTEM_MEM_TOTAL], "");
}

/* "4 nodes", and in a warning's ink how many of them do not answer. */
static int draw_node_count(struct canvas *c, int x, int y, const struct frame *f)
{
        size_t well = node_count(f->nodes, f->n_nodes, NODE_OK);
        int n =
            canvas_textf(c, x, y, 14, plain, "%zu node%s", f->n_nodes, f->n_nodes == 1 ? "" : "s");
        if (well < f->n_nodes)
                n += 1 + canvas_textf(c, x + n + 1, y, 14, (struct style){INK_WARN, 0, ATTR_BOLD},
                                      "%zu silent", f->n_nodes - well);
        return n;
}

void fleet_draw_summary(const struct ui *ui, const struct ui_data *d, struct canvas *c,
                        struct area a)
{
        struct totals t = add_up(d->frame);
        struct value real =
            t.n_real ? value_ok(t.real / (double)t.n_real) : value_missing(STATE_NONE);
        int x = a.x + 1;
        if (ui_is_stale(d))
                x += canvas_text(c, x, a.y, 6, (struct style){INK_WARN, 0, ATTR_BOLD}, "STALE") + 2;
        int after_state = x;
        x += canvas_textf(c, x, a.y, 12, plain, "%zu GPU%s", t.n, t.n == 1 ? "" : "s") + 2;
        if (d->frame->n_nodes > 0)
                x += draw_node_count(c, x, a.y, d->frame) + 2;
        x += canvas_textf(c, x, a.y, 12, dim, "%*zu active",
                          t.n > 99  ? 3
                          : t.n > 9 ? 2
                                    : 1,
                          t.active) +
             2;
        canvas_text(c, x, a.y, 5, dim, "Real");
        widget_number(c, x + 5, a.y, 3, INK_TITLE, UNIT_SCORE, real);
        x += 9;
        if (value_is_set(real))
                real.v /= 100;
        if (a.w >= 100) {
                widget_bar(c, x, a.y, 8, INK_REAL, real);
                x += 9;
        }
        x++;
        /* What is worst matters most, so health is kept when the rest does not fit. */
        int room = a.x + a.w - HEALTH_W;
        if (x + 18 < room)
                x += draw_pair(c, x, a.y, 4, "pow", UNIT_WATTS, t.power,
                               limit_of_all(t.power_limit), " W") +
                     2;
        if (x + 17 < room)
                x += draw_pair(c, x, a.y, 4, "mem", UNIT_BYTES, t.memory,
                               limit_of_all(t.memory_total), "B") +
                     2;
        if (d->host && x + 26 < room) {
                draw_host_part(d, c, x, a.y);
                x += 27;
        }
        x += draw_health_counts(c, x, a.y, a.x + a.w - x, &t);
        char order[32];
        snprintf(order, sizeof(order), "by %s%s", fleet_sort_name(ui->sort),
                 ui->reversed ? ", reversed" : "");
        if ((ui->sort != FLEET_SORT_GPU || ui->reversed) && x + text_width(order) < a.x + a.w)
                canvas_right(c, x, a.y, a.x + a.w - x - 1, dim, order);
        if (ui_is_stale(d))
                canvas_tint(c, (struct area){after_state, a.y, a.w - after_state, 1}, INK_DIM);
}

/* --- cards --------------------------------------------------------------------------------- */

/* "OK", "LATE", "LATE clock": the cause where it shows. */
static void health_words(const struct row *row, bool late, char *buf, size_t n)
{
        bool caused = late && row->late != CAUSE_UNKNOWN + 1;
        if (late && row_is_stalled(row)) {
                snprintf(buf, n, "STALL");
                return;
        }
        snprintf(buf, n, "%s%s%s", late ? "LATE" : health_name(row->health.state),
                 caused ? " " : "",
                 caused ? cause_name((enum straggler_cause)(row->late - 1)) : "");
}

static void draw_title(const struct ui_data *d, struct canvas *c, struct area a,
                       const struct row *row, bool chosen)
{
        const struct entity *e = row->sample.who;
        char name[224], model[32], right[64], label[FRAME_LABEL_MAX];
        frame_label(d->frame, e, label, sizeof(label));
        struct style rule = {.fg = INK_FAINT};
        model_short_name(e->text[ENTITY_TEXT_MODEL], model, sizeof(model));
        bool known = e->text[ENTITY_TEXT_MODEL][0] != '\0';
        bool slice = e->text[ENTITY_TEXT_MIG_PROFILE][0] != '\0';
        const char *mark = chosen ? "\u25b6" : " ";
        snprintf(name, sizeof(name), "%s%s %s %s%s%.20s%s", mark, entity_noun(e), label,
                 known ? model : "", known ? " " : "", e->text[ENTITY_TEXT_MIG_PROFILE],
                 slice ? " " : "");
        snprintf(right, sizeof(right), " %s ", row_is_stale(row) ? "STALE" : explain_class(row));
        bool late = (row->late || row_is_stalled(row)) && row->health.state <= HEALTH_OK &&
                    !row_is_stale(row);
        char health[24];
        health_words(row, late, health, sizeof(health));
        int health_w = text_width(health) + 2;
        canvas_line(c, a.x, a.y, a.w - 1, rule, 0x2500);
        if (chosen)
                canvas_paint(c, (struct area){a.x, a.y, a.w - 1, 1}, INK_SELECT);
        int class_w = text_width(right), right_x = a.x + a.w - 2 - health_w;
        int name_w = right_x - class_w - a.x - 1;
        /* Half a model's name helps nobody. */
        if (text_width(name) > name_w)
                snprintf(name, sizeof(name), "%s%s %s ", mark, entity_noun(e), label);
        /* Who it is comes before what it looks like. */
        class_w -= MIN(MAX(text_width(name) - name_w, 0), class_w);
        if (text_width(right) > class_w && !row_is_stale(row)) {
                const char *brief = explain_class_brief(row, (size_t)MAX(class_w - 2, 0));
                right[0] = '\0';
                if (brief[0])
                        snprintf(right, sizeof(right), " %s ", brief);
                class_w = text_width(right);
        }
        int n = canvas_text(c, a.x + 1, a.y, right_x - class_w - a.x - 1,
                            (struct style){INK_TITLE, 0, ATTR_BOLD}, name);
        const char *host = e->text[ENTITY_TEXT_HOST];
        if (!d->frame->naming.with_host && host[0] &&
            a.x + 1 + n + text_width(host) + 2 < right_x - class_w)
                canvas_textf(c, a.x + 1 + n, a.y, 40, dim, "%s ", host);
        canvas_text(c, right_x - class_w, a.y, class_w,
                    (struct style){widget_class_ink(row->verdict.workload), 0, ATTR_BOLD}, right);
        canvas_textf(
            c, right_x, a.y, health_w,
            (struct style){widget_health_ink(late ? HEALTH_WARN : row->health.state), 0, ATTR_BOLD},
            " %s ", health);
}

/* Real Utilization, beside what nvidia-smi shows where no gauge has that. */
static void draw_real(const struct ui_data *d, struct canvas *c, int x, int y, int w,
                      const struct row *row, bool with_util)
{
        struct value real = row->sample.m[METRIC_REAL_UTIL];
        canvas_text(c, x, y, 5, dim, "Real");
        widget_number(c, x + 5, y, 4, INK_TITLE, UNIT_SCORE, real);
        if (with_util) {
                canvas_text(c, x + 10, y, 4, dim, "util");
                widget_number(c, x + 14, y, 5, INK_TEXT, UNIT_RATIO,
                              row->sample.m[METRIC_GPU_UTIL]);
                x += 10;
                w -= 10;
        }
        int bar_w = MAX((w - 11) / 3, 6);
        widget_bar(c, x + 10, y, bar_w, widget_class_ink(row->verdict.workload),
                   widget_ratio(row, METRIC_REAL_UTIL));
        /* The past had other classes: its ink says nothing about them. */
        struct spark spark = {.slot = row->sample.who->slot,
                              .metric = METRIC_REAL_UTIL,
                              .until_ns = d->frame->wall_ns,
                              .bucket_ns = ui_bucket_ns(d),
                              .hi = 100,
                              .fg = INK_DIM};
        int left = w - 12 - bar_w;
        widget_spark(c, x + 12 + bar_w, y, left, &d->trends, &spark);
}

static void draw_limit(struct canvas *c, int x, int y, int w, const struct row *row)
{
        char text[2 * WORDS_MAX];
        words_limit(text, sizeof(text), row, w);
        canvas_text(
            c, x, y, w,
            (struct style){words_limiter_ink((enum limiter)row->limit.limiter), 0, ATTR_BOLD},
            text);
}

struct gauge {
        enum metric metric;
        uint8_t ink;
        const char *label;
};

/* What a gauge shows: a share; of the link, the busier direction. Missing when nobody knows. */
static struct value share_of(const struct row *row, enum metric m)
{
        const struct ceilings *k = &row->limit.ceilings;
        if (m != METRIC_PCIE_RX)
                return widget_ratio(row, m);
        struct value in = ceiling_value(k, CEILING_PCIE_IN);
        struct value out = ceiling_value(k, CEILING_PCIE_OUT);
        return value_is_set(in) && value_is_set(out) && out.v > in.v ? out : in;
}

/* "SM      99% ━━━━━━"; bytes where the link's speed is not known. */
static void draw_gauge(struct canvas *c, int x, int y, int w, const struct row *row,
                       const struct gauge *g)
{
        struct value ratio = share_of(row, g->metric);
        canvas_text(c, x, y, 6, dim, g->label);
        if (g->metric == METRIC_PCIE_RX && !value_is_set(ratio)) {
                widget_number(c, x + 6, y, 5, INK_TEXT, UNIT_BYTES_PER_S, row->sample.m[g->metric]);
                canvas_text(c, x + 12, y, w - 13, dim, "B/s in");
                return;
        }
        widget_number(c, x + 6, y, 5, INK_TEXT, UNIT_RATIO, ratio);
        widget_bar(c, x + 12, y, w - 13, g->ink, ratio);
}

static void draw_gauges(struct canvas *c, struct area a, const struct row *row)
{
        static const struct gauge gauges[] = {
            {METRIC_SM_ACTIVE, INK_COMPUTE, "SM"},    {METRIC_PCIE_RX, INK_LINK, "PCIe"},
            {METRIC_GPU_UTIL, INK_TEXT, "util"},      {METRIC_TENSOR_ACTIVE, INK_TENSOR, "tensor"},
            {METRIC_DRAM_ACTIVE, INK_MEMORY, "DRAM"}, {METRIC_SM_OCCUPANCY, INK_COMPUTE, "occup"},
        };
        int w = a.w / 3;
        for (int i = 0; i < (int)ARRAY_LEN(gauges); i++)
                draw_gauge(c, a.x + i % 3 * w, a.y + i / 3, i % 3 == 2 ? a.w - 2 * w + 1 : w, row,
                           &gauges[i]);
}

static struct style loud_style(bool is, uint8_t ink)
{
        return is ? (struct style){ink, 0, ATTR_BOLD} : plain;
}

/* Three lines of facts in words: what is used of what there is. */
static void draw_facts(struct canvas *c, struct area a, const struct row *row)
{
        const struct value *m = row->sample.m;
        int left = MAX(a.w * 5 / 8, 36), right = a.w - left;
        char text[WORDS_MAX];
        words_clock(text, sizeof(text), row);
        canvas_text(c, a.x, a.y, left - 1, loud_style(words_is_throttled(row), INK_HOT), text);
        words_power(text, sizeof(text), row);
        canvas_text(c, a.x + left, a.y, right, plain, text);
        words_memory(text, sizeof(text), row);
        canvas_text(c, a.x, a.y + 1, left - 1, plain, text);
        words_heat(text, sizeof(text), row);
        canvas_text(c, a.x + left, a.y + 1, right, loud_style(row->hot, INK_HOT), text);
        words_link(text, sizeof(text), "PCIe", m[METRIC_PCIE_RX], m[METRIC_PCIE_TX]);
        canvas_text(c, a.x, a.y + 2, left - 1, dim, text);
        if (m[METRIC_NVLINK_RX].state != STATE_NONE) {
                words_link(text, sizeof(text), "NVLink", m[METRIC_NVLINK_RX], m[METRIC_NVLINK_TX]);
                if (text_width(text) <= right)
                        canvas_text(c, a.x + left, a.y + 2, right, dim, text);
        }
}

/* What a host does for a GPU, a row of the chart each. */
static const struct {
        const char *label, *words;
        enum gpu_ring ring;
        enum evidence now;
        enum unit unit;
        uint8_t ink;
} host_work[] = {
    {"program", "its program %s cores", GPU_RING_CPU_MAIN, EVIDENCE_CPU_MAIN, UNIT_NUMBER,
     INK_COMPUTE},
    {"others", "what it started %s cores", GPU_RING_CPU_CHILDREN, EVIDENCE_CPU_CHILDREN,
     UNIT_NUMBER, INK_COMPUTE},
    {"read", "reads %s B/s", GPU_RING_READ, EVIDENCE_READ, UNIT_BYTES_PER_S, INK_IO},
    {"write", "writes %s B/s", GPU_RING_WRITE, EVIDENCE_WRITE, UNIT_BYTES_PER_S, INK_IO},
};

static int count_host_work(const struct ui *ui, size_t gpu)
{
        int n = 0;
        for (size_t i = 0; i < ARRAY_LEN(host_work); i++)
                n += ring_most(&ui->past.gpus[gpu][host_work[i].ring]) > 0;
        return n;
}

static void host_number(char number[FORMAT_MAX], enum unit unit, struct value v)
{
        format_short(number, FORMAT_MAX, unit, v);
        if (unit == UNIT_NUMBER && value_is_set(v))
                snprintf(number, FORMAT_MAX, "%.1f", v.v);
}

/* The label has how much a full column is, below its name. */
static void draw_host_work(const struct ui *ui, const struct ui_data *d, struct canvas *c,
                           struct area a, size_t gpu, size_t row)
{
        const struct ring *r = &ui->past.gpus[gpu][host_work[row].ring];
        enum unit unit = host_work[row].unit;
        double most = unit == UNIT_NUMBER ? MAX(ring_most(r), 1.0) : ring_most(r);
        char number[FORMAT_MAX];
        canvas_text(c, a.x, a.y, CHART_LABEL_WIDTH, dim, host_work[row].label);
        host_number(number, unit, value_ok(most));
        if (a.h > 1)
                canvas_textf(c, a.x, a.y + 1, CHART_LABEL_WIDTH, (struct style){.fg = INK_FAINT},
                             "%*s", CHART_LABEL_WIDTH - 1, number);
        a.x += CHART_LABEL_WIDTH;
        a.w -= CHART_LABEL_WIDTH;
        ring_draw_span(r, ui->past.host_bucket, ui_span_ns(d) / NS_PER_S, most, c, a,
                       host_work[row].ink);
}

/* What the host did for the GPU: a line of words, then a curve for each thing that it did at all.
 */
static void draw_host_of_gpu(const struct ui *ui, const struct ui_data *d, struct canvas *c,
                             struct area a, size_t gpu)
{
        int n = count_host_work(ui, gpu), done = 0, x = a.x + CHART_LABEL_WIDTH;
        x += canvas_text(c, x, a.y, a.x + a.w - x, dim, "the host:") + 1;
        for (size_t i = 0; i < ARRAY_LEN(host_work); i++) {
                char number[FORMAT_MAX], text[64];
                if (ring_most(&ui->past.gpus[gpu][host_work[i].ring]) <= 0)
                        continue;
                host_number(number, host_work[i].unit, d->host->evidence[gpu].e[host_work[i].now]);
                snprintf(text, sizeof(text), host_work[i].words, number);
                if (x + text_width(text) <= a.x + a.w)
                        x += canvas_text(c, x, a.y, a.x + a.w - x,
                                         (struct style){.fg = host_work[i].ink}, text) +
                             2;
                int y = a.y + 1 + (a.h - 1) * done / n, end = a.y + 1 + (a.h - 1) * (done + 1) / n;
                done++;
                if (end > y)
                        draw_host_work(ui, d, c, (struct area){a.x, y, a.w, end - y}, gpu, i);
        }
}

/* The place of a GPU in the host whose host is what there is to see; HOST_GPUS_MAX for none. */
static size_t starved_gpu(const struct ui_data *d, const struct row *row)
{
        struct recent recent;
        enum limiter_group group = limiter_group((enum limiter)row->limit.limiter);
        bool starved = group == LIMITER_GROUP_HOST || group == LIMITER_GROUP_IDLE ||
                       (words_recent(d, row, &recent) && recent.is_starved);
        size_t gpu = d->host && starved ? host_find_gpu(d->host, row->sample.who->label)
                                        : (size_t)HOST_GPUS_MAX;
        bool known =
            gpu < HOST_GPUS_MAX && value_is_set(d->host->evidence[gpu].e[EVIDENCE_CPU_MAIN]);
        return known ? gpu : (size_t)HOST_GPUS_MAX;
}

static void draw_gpu_chart(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a,
                           const struct row *row)
{
        uint32_t slot = row->sample.who->slot;
        struct chart_series series[] = {
            {slot, METRIC_SM_ACTIVE, INK_COMPUTE},
            {slot, METRIC_DRAM_ACTIVE, INK_MEMORY},
            {slot, METRIC_TENSOR_ACTIVE, INK_TENSOR},
            {slot, METRIC_GPU_UTIL, INK_DIM},
        };
        struct chart chart = {
            .area = {a.x, a.y + 1, a.w, a.h - 1},
            .axes = true,
            .unit = UNIT_RATIO,
            .until_ns = d->frame->wall_ns,
            .span_ns = ui_span_ns(d),
            .cursor_ns = CHART_NO_CURSOR,
            .series = series,
            .n = ARRAY_LEN(series),
        };
        static const char *const names[] = {"SM", "DRAM", "tensor", "util"};
        int x = a.x + CHART_LABEL_WIDTH;
        for (size_t i = 0; i < ARRAY_LEN(series); i++)
                x += canvas_textf(c, x, a.y, a.x + a.w - x, (struct style){.fg = series[i].fg},
                                  "\u2501 %s", names[i]) +
                     2;
        chart_draw(c, &chart, &d->trends, &ui->scratch);
}

void fleet_draw_chart(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a,
                      const struct row *row)
{
        size_t gpu = starved_gpu(d, row);
        int host_h = gpu == HOST_GPUS_MAX     ? 0
                     : a.h >= 2 * CHART_MIN_H ? a.h - MAX(a.h / 3, CHART_MIN_H)
                                              : a.h;
        if (host_h > 0 && host_h < a.h)
                host_h = MIN(host_h, 1 + HOST_ROW_MOST * MAX(count_host_work(ui, gpu), 1));
        if (host_h < a.h)
                draw_gpu_chart(ui, d, c, (struct area){a.x, a.y, a.w, a.h - host_h}, row);
        if (host_h > 0)
                draw_host_of_gpu(ui, d, c, (struct area){a.x, a.y + a.h - host_h, a.w, host_h},
                                 gpu);
}

/* Without axes: SM against what nvidia-smi would say. */
static void draw_small_chart(struct ui *ui, const struct ui_data *d, struct canvas *c,
                             struct area a, const struct row *row)
{
        struct chart_series series[] = {
            {row->sample.who->slot, METRIC_SM_ACTIVE, INK_COMPUTE},
            {row->sample.who->slot, METRIC_GPU_UTIL, INK_DIM},
        };
        struct chart chart = {
            .area = a,
            .unit = UNIT_RATIO,
            .until_ns = d->frame->wall_ns,
            .span_ns = ui_span_ns(d),
            .cursor_ns = CHART_NO_CURSOR,
            .series = series,
            .n = ARRAY_LEN(series),
        };
        chart_draw(c, &chart, &d->trends, &ui->scratch);
}

void fleet_draw_large(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a,
                      const struct row *row, bool chosen)
{
        struct area in = {a.x + 1, a.y + 1, a.w - 3, a.h - 1};
        draw_title(d, c, a, row, chosen);
        draw_real(d, c, in.x, in.y, in.w, row, false);
        draw_limit(c, in.x, in.y + 1, in.w, row);
        draw_gauges(c, (struct area){in.x, in.y + 2, in.w, 2}, row);
        draw_facts(c, (struct area){in.x, in.y + 4, in.w, 3}, row);
        int used = 7;
        if (in.h - used >= CHART_MIN_H)
                fleet_draw_chart(ui, d, c, (struct area){in.x, in.y + used, in.w, in.h - used},
                                 row);
}

void fleet_draw_small(struct ui *ui, const struct ui_data *d, struct canvas *c, struct area a,
                      const struct row *row, bool chosen)
{
        static const struct gauge gauges[] = {{METRIC_SM_ACTIVE, INK_COMPUTE, "SM"},
                                              {METRIC_PCIE_RX, INK_LINK, "PCIe"},
                                              {METRIC_TENSOR_ACTIVE, INK_TENSOR, "tens"},
                                              {METRIC_DRAM_ACTIVE, INK_MEMORY, "DRAM"}};
        const struct value *m = row->sample.m;
        char text[WORDS_MAX];
        int x = a.x + 1, y = a.y + 1, w = a.w - 3;
        draw_title(d, c, a, row, chosen);
        draw_real(d, c, x, y++, w, row, true);
        draw_limit(c, x, y++, w, row);
        for (int i = 0, at = x; i < (int)ARRAY_LEN(gauges); i++) {
                struct value ratio = share_of(row, gauges[i].metric);
                bool bytes = gauges[i].metric == METRIC_PCIE_RX && !value_is_set(ratio);
                at += canvas_text(c, at, y, 4, dim, gauges[i].label);
                widget_number(c, at, y, 5, gauges[i].ink, bytes ? UNIT_BYTES_PER_S : UNIT_RATIO,
                              bytes ? m[METRIC_PCIE_RX] : ratio);
                at += 5 + (w - 34) / 3;
        }
        y++;
        words_memory(text, sizeof(text), row);
        canvas_text(c, x, y, 21, plain, text + sizeof("memory ") - 1);
        widget_number(c, x + 15, y, 4, INK_TEXT, UNIT_WATTS, m[METRIC_POWER]);
        canvas_text(c, x + 20, y, 1, dim, "W");
        words_heat(text, sizeof(text), row);
        canvas_text(c, x + 22, y, w - 22,
                    row->hot                  ? (struct style){INK_HOT, 0, ATTR_BOLD}
                    : words_is_throttled(row) ? (struct style){.fg = INK_WARN}
                                              : plain,
                    w >= 42 ? text : text + sizeof("GPU ") - 1);
        y++;
        int left = a.y + a.h - y - 1;
        if (left >= 3)
                draw_small_chart(ui, d, c, (struct area){x, y, w, left}, row);
}
