#include "present/text/table.h"

#include "base/clock.h"
#include "base/tablew.h"
#include "base/text.h"
#include "present/format.h"
#include "present/stream/columns.h"
#include "present/text/details.h"
#include "present/text/explain.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define CELL_MAX 40

/* One column: a heading, a width that never changes, and how to fill a cell. */
struct cell_def {
        const char *heading;
        int width;    /* negative: left-aligned */
        uint8_t rank; /* the higher, the sooner it is left out */
        /* NULL: the name of the GPU, whose column is as wide as the names. */
        void (*fill)(char *buf, size_t size, const struct row *row);
};

static void fill_model(char *buf, size_t size, const struct row *row)
{
        model_short_name(row->sample.who->text[ENTITY_TEXT_MODEL], buf, size);
}

static void fill_class(char *buf, size_t size, const struct row *row)
{
        snprintf(buf, size, "%s", explain_class(row));
}

static void fill_health(char *buf, size_t size, const struct row *row)
{
        snprintf(buf, size, "%s", health_name(row->health.state));
}

#define FILL_ONE(name, id)                                                                         \
        static void fill_##name(char *buf, size_t size, const struct row *row)                     \
        {                                                                                          \
                format_short(buf, size, metric_info(METRIC_##id)->unit,                            \
                             row->sample.m[METRIC_##id]);                                          \
        }
FILL_ONE(real, REAL_UTIL)
FILL_ONE(util, GPU_UTIL)
FILL_ONE(sm, SM_ACTIVE)
FILL_ONE(tensor, TENSOR_ACTIVE)
FILL_ONE(dram, DRAM_ACTIVE)
FILL_ONE(memctl, MEM_COPY_UTIL)
FILL_ONE(occupancy, SM_OCCUPANCY)
FILL_ONE(nvlink, NVLINK_TOTAL)

/* Two of one unit. */
static void fill_pair(char *buf, size_t size, const struct row *row, enum metric a, enum metric b)
{
        char x[FORMAT_MAX], y[FORMAT_MAX];
        const struct value *m = row->sample.m;
        format_short(x, sizeof(x), metric_info(a)->unit, m[a]);
        format_short(y, sizeof(y), metric_info(b)->unit, m[b]);
        if (value_is_set(m[a]) || value_is_set(m[b]))
                snprintf(buf, size, "%s/%s", x, y);
        else
                snprintf(buf, size, "--");
}

static bool shares_memory(const struct row *row)
{
        return value_is_set(row->sample.m[METRIC_SHARED_TOTAL]);
}

static void fill_memory(char *buf, size_t size, const struct row *row)
{
        char pair[32];
        bool shared = shares_memory(row);
        fill_pair(pair, sizeof(pair), row, shared ? METRIC_SHARED_USED : METRIC_FB_USED,
                  shared ? METRIC_SHARED_TOTAL : METRIC_FB_TOTAL);
        snprintf(buf, size, "%s%s", pair, shared ? "*" : "");
}

static void fill_power(char *buf, size_t size, const struct row *row)
{
        if (value_is_set(row->sample.m[METRIC_POWER_LIMIT]))
                fill_pair(buf, size, row, METRIC_POWER, METRIC_POWER_LIMIT);
        else
                format_short(buf, size, UNIT_WATTS, row->sample.m[METRIC_POWER]);
}

static void fill_temp(char *buf, size_t size, const struct row *row)
{
        fill_pair(buf, size, row, METRIC_GPU_TEMP, METRIC_MEM_TEMP);
}

static void fill_pcie(char *buf, size_t size, const struct row *row)
{
        fill_pair(buf, size, row, METRIC_PCIE_RX, METRIC_PCIE_TX);
}

static const struct cell_def cells[] = {
    {"GPU", -6, 0, NULL},           {"Model", -8, 4, fill_model},     {"Real", 4, 0, fill_real},
    {"Class", -20, 0, fill_class},  {"Util", 4, 0, fill_util},        {"SM", 4, 0, fill_sm},
    {"Tensor", 6, 1, fill_tensor},  {"DRAM", 4, 1, fill_dram},        {"Occ", 4, 7, fill_occupancy},
    {"MemCtl", 6, 7, fill_memctl},  {"Memory", 13, 2, fill_memory},   {"Power W", 9, 3, fill_power},
    {"Temp C", 7, 5, fill_temp},    {"PCIe rx/tx", 13, 5, fill_pcie}, {"NVLink", 6, 8, fill_nvlink},
    {"Health", -7, 0, fill_health},
};

#define NAME_COLUMNS_MAX 36

/* The first column is as wide as the longest name, within reason. */
static int name_columns(const struct frame *f)
{
        size_t most = MAX((size_t)abs(cells[0].width), (size_t)f->naming.columns);
        return (int)MIN(most, (size_t)NAME_COLUMNS_MAX);
}

static size_t total_width(const int *widths)
{
        size_t total = 0;
        for (size_t i = 0; i < ARRAY_LEN(cells); i++)
                total += widths[i] ? (size_t)abs(widths[i]) + 1 : 0;
        return total - 1;
}

/* Leaves out what matters least until the rest fits. Width 0 is left out. */
static void choose_cells(const struct frame *f, unsigned width, int *widths)
{
        for (size_t i = 0; i < ARRAY_LEN(cells); i++)
                widths[i] = cells[i].width;
        widths[0] = -name_columns(f);
        for (unsigned rank = 9; rank > 0 && total_width(widths) > width; rank--) {
                for (size_t i = ARRAY_LEN(cells); i-- > 0 && total_width(widths) > width;) {
                        if (cells[i].rank == rank)
                                widths[i] = 0;
                }
        }
}

/* The first that a GPU names. */
static const char *driver_of(const struct frame *f)
{
        for (size_t i = 0; i < f->n; i++) {
                if (f->rows[i].sample.who->text[ENTITY_TEXT_DRIVER][0])
                        return f->rows[i].sample.who->text[ENTITY_TEXT_DRIVER];
        }
        return "";
}

static void write_heading(const struct frame *f, const struct table_options *o, struct strbuf *out)
{
        time_t t = (time_t)(f->wall_ns / NS_PER_S);
        size_t n = frame_gpus(f);
        struct tm tm;
        char when[40];
        /* A capture without times counts from 0: that is not a date. */
        if (!format_is_date(f->wall_ns))
                snprintf(when, sizeof(when), "at %.1f s (assumed)", clock_to_seconds(f->wall_ns));
        else
                strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S %Z", localtime_r(&t, &tm));
        const char *driver = driver_of(f);
        strbuf_putf(out, "assay %s  %s  %s  %zu GPU%s%s", o->version, f->provenance, when, n,
                    n == 1 ? "" : "s", f->stale ? "  STALE" : "");
        if (o->host && o->host[0])
                strbuf_putf(out, "  host %.127s", o->host);
        if (driver[0])
                strbuf_putf(out, "  driver %s", driver);
        strbuf_puts(out, "\n\n");
}

static void write_grid(const struct frame *f, const struct table_options *o, struct strbuf *out)
{
        int widths[ARRAY_LEN(cells)];
        struct tablew_column columns[ARRAY_LEN(cells)];
        const struct cell_def *shown[ARRAY_LEN(cells)];
        size_t n = 0;
        choose_cells(f, o->width, widths);
        for (size_t i = 0; i < ARRAY_LEN(cells); i++) {
                if (widths[i] == 0)
                        continue;
                columns[n] = (struct tablew_column){cells[i].heading, widths[i], n > 0};
                shown[n++] = &cells[i];
        }
        struct tablew t = {.out = out, .columns = columns};
        tablew_head(&t, n);
        for (size_t r = 0; r < f->n; r++) {
                for (size_t i = 0; i < n; i++) {
                        char text[CELL_MAX];
                        if (shown[i]->fill)
                                shown[i]->fill(text, sizeof(text), &f->rows[r]);
                        else
                                frame_label(f, f->rows[r].sample.who, text,
                                            (size_t)abs(widths[0]) + 1);
                        tablew_cell(&t, text);
                }
                tablew_end(&t);
        }
        for (size_t r = 0; r < f->n; r++) {
                if (shares_memory(&f->rows[r])) {
                        strbuf_puts(out, "* the system's memory: this GPU has none of its own\n");
                        return;
                }
        }
}

/* Room for "0-7" behind a host. */
static size_t reason_columns(const struct frame *f)
{
        size_t columns = (size_t)name_columns(f);
        return f->naming.with_host ? MIN(columns + 2, (size_t)NAME_COLUMNS_MAX) : columns;
}

/* The part of a label that counts: "7" of "7", "0/7", "0/1/7", "GPU-I 7" and "node3:7". */
static const char *last_number(const char *label)
{
        const char *cut = strrchr(label, strchr(label, '/') ? '/' : strchr(label, ' ') ? ' ' : ':');
        return cut ? cut + 1 : label;
}

/* Whether one label can stand for both: whole GPUs, or parts of one. */
static bool share_label(const char *a, const char *b, size_t columns)
{
        size_t before = (size_t)(last_number(a) - a);
        return before == (size_t)(last_number(b) - b) && memcmp(a, b, before) == 0 &&
               strlen(a) + 1 + strlen(last_number(b)) <= columns;
}

/* What limits it; nothing when the class has said already what is missing. */
static void put_limit(const struct row *row, struct strbuf *out)
{
        if (row->limit.limiter != LIMITER_UNKNOWN || row->verdict.workload != WORKLOAD_UNKNOWN)
                explain_limit(row, out);
}

/* How many rows from the first on have the same to say and can share a label. */
static size_t count_alike(const struct frame *f, size_t first, size_t columns)
{
        struct strbuf one = {0}, other = {0};
        char label[FRAME_LABEL_MAX], next[FRAME_LABEL_MAX];
        size_t n = 1;
        frame_label(f, f->rows[first].sample.who, label, sizeof(label));
        explain_verdict(&f->rows[first], &one);
        put_limit(&f->rows[first], &one);
        explain_health(&f->rows[first], &one);
        for (; first + n < f->n; n++) {
                const struct row *row = &f->rows[first + n];
                strbuf_clear(&other);
                explain_verdict(row, &other);
                put_limit(row, &other);
                explain_health(row, &other);
                frame_label(f, row->sample.who, next, sizeof(next));
                if (strcmp(strbuf_str(&other), strbuf_str(&one)) != 0 ||
                    !share_label(label, next, columns))
                        break;
        }
        strbuf_finish(&one);
        strbuf_finish(&other);
        return n;
}

/* Below the first line of a reason; nothing for an empty text. */
static void write_more(struct strbuf *text, size_t indent, unsigned width, struct strbuf *out)
{
        if (text->len == 0)
                return;
        strbuf_fill(out, ' ', indent);
        text_put_wrapped(out, strbuf_str(text), indent, width);
}

/* Neighbours that have the same to say say it once, as "0-7" or "0/0-7". */
static void write_reasons(const struct frame *f, const struct table_options *o, struct strbuf *out)
{
        struct strbuf text = {0};
        size_t columns = reason_columns(f), indent = columns + 1, alike;
        for (size_t i = 0; i < f->n; i += alike) {
                const struct row *row = &f->rows[i];
                char first[FRAME_LABEL_MAX], label[FRAME_LABEL_MAX + ENTITY_LABEL_MAX];
                alike = count_alike(f, i, columns);
                frame_label(f, row->sample.who, first, sizeof(first));
                snprintf(label, sizeof(label), "%s%s%s", first, alike > 1 ? "-" : "",
                         alike > 1 ? last_number(row[alike - 1].sample.who->label) : "");
                strbuf_clear(&text);
                explain_verdict(row, &text);
                tablew_put(out, label, -(int)columns);
                strbuf_putc(out, ' ');
                text_put_wrapped(out, strbuf_str(&text), indent, o->width);
                strbuf_clear(&text);
                put_limit(row, &text);
                write_more(&text, indent, o->width, out);
                strbuf_clear(&text);
                explain_health(row, &text);
                write_more(&text, indent, o->width, out);
        }
        strbuf_finish(&text);
}

/* A source that knows nothing of a group, as the kernel of SMs, does not have its heading. */
static void write_focus(const struct row *row, struct strbuf *out)
{
        for (enum metric_group g = 0; g < METRIC_GROUP_COUNT; g++) {
                bool begun = false;
                for (enum metric m = 0; m < METRIC_COUNT; m++) {
                        char text[FORMAT_MAX];
                        struct value v = row->sample.m[m];
                        if (metric_info(m)->group != g || v.state == STATE_NONE)
                                continue;
                        if (!begun)
                                strbuf_putf(out, "\n%s\n", metric_group_name(g));
                        begun = true;
                        format_with_unit(text, sizeof(text), metric_info(m)->unit, v);
                        strbuf_putf(out, "  %-24s", metric_info(m)->name);
                        tablew_put(out, text, 13);
                        if (!value_is_set(v))
                                strbuf_putf(out, "  %s", state_name((enum state)v.state));
                        else if (v.age_ms > 0)
                                strbuf_putf(out, "  %.1f s old", v.age_ms / 1000.0);
                        strbuf_putc(out, '\n');
                }
        }
}

/* Nodes of which something has to be reported. */
static void write_nodes(const struct frame *f, const struct table_options *o, struct strbuf *out)
{
        bool begun = false;
        for (size_t i = 0; i < f->n_nodes; i++) {
                const struct node *node = &f->nodes[i];
                struct strbuf text = {0};
                if (node->state == NODE_OK && !node->words[0])
                        continue;
                if (!begun)
                        strbuf_puts(out, "\nNodes\n");
                begun = true;
                strbuf_putf(&text, "%s: %s%s%s%s%s", node->name, node_state_name(node->state),
                            node->words[0] ? ", " : "", node->words, node->hint[0] ? "; " : "",
                            node->hint);
                strbuf_puts(out, "  ");
                text_put_wrapped(out, strbuf_str(&text), 4, o->width);
                strbuf_finish(&text);
        }
}

void table_write(const struct frame *frame, const struct table_options *options, struct strbuf *out)
{
        write_heading(frame, options, out);
        write_grid(frame, options, out);
        strbuf_putc(out, '\n');
        write_reasons(frame, options, out);
        if (options->recorded)
                strbuf_puts(
                    out, "\nLimits are judged live, by the last second; 'assay report' judges in "
                         "hindsight.\n");
        write_nodes(frame, options, out);
        details_write_clocks(frame, out);
        details_write_processes(frame, options->width, out);
        for (size_t i = 0; options->focus && i < frame->n; i++) {
                if (frame_label_matches(frame, frame->rows[i].sample.who, options->focus))
                        write_focus(&frame->rows[i], out);
        }
}
