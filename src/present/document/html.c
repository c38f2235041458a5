/* A document as a page: findings, tables one can sort, curves as strips. */
#include "base/attr.h"
#include "base/quote.h"
#include "present/document/document.h"
#include "present/document/page.h"

#include <math.h>
#include <stdio.h>

#define STRIP_WIDTH 900
#define STRIP_HEIGHT 14
#define STRIP_CELLS 300

static void page_put_tag(const char *before, const char *text, const char *after,
                         struct strbuf *out)
{
        strbuf_puts(out, before);
        quote_markup(out, text);
        strbuf_puts(out, after);
}

static void page_put_curve(const struct doc_cell *cell, struct strbuf *out)
{
        double x = (double)STRIP_WIDTH / STRIP_CELLS;
        strbuf_putf(out, "<td class=curve><svg class=strip viewBox=\"0 0 %d %d\">", STRIP_WIDTH,
                    STRIP_HEIGHT);
        for (size_t i = 0; i < STRIP_CELLS && cell->n > 0; i++) {
                double v = (double)cell->curve[i * cell->n / STRIP_CELLS];
                if (isnan(v) || v < 0.02)
                        continue;
                v = MIN(v, 1);
                strbuf_putf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
                            (double)i * x, STRIP_HEIGHT * (1 - v), x, STRIP_HEIGHT * v);
        }
        strbuf_puts(out, "</svg>");
}

/* The number is for sorting, the text for people. */
static void page_put_cell(const struct doc_column *c, const struct doc_cell *cell,
                          struct strbuf *out)
{
        char buf[DOC_CELL_MAX];
        if (c->kind == DOC_CURVE) {
                page_put_curve(cell, out);
                return;
        }
        const char *text = doc_format_cell(c, cell, buf);
        const char *class = c->kind == DOC_TIME ? "text"
                            : doc_is_words(c)   ? "text words"
                                                : "number";
        strbuf_putf(out, "<td class=\"%s%s\"", class, cell->loud ? " loud" : "");
        if (value_is_set(cell->v))
                strbuf_putf(out, " data-v=%.6g", cell->v.v);
        strbuf_putc(out, '>');
        quote_markup(out, text);
}

static void page_put_rows(const struct doc_part *p, struct strbuf *out)
{
        page_open_table(out, p->title);
        for (size_t i = 0; i < p->n_columns; i++) {
                const struct doc_column *c = &p->columns[i];
                if (doc_shows(p, i))
                        page_put_tag(doc_is_words(c) ? "<th scope=col class=text>"
                                                     : "<th scope=col>",
                                     c->title, "", out);
        }
        strbuf_puts(out, "</tr></thead><tbody>\n");
        for (size_t row = 0; row < p->n_rows; row++) {
                strbuf_puts(out, "<tr>");
                for (size_t i = 0; i < p->n_columns; i++) {
                        if (doc_shows(p, i))
                                page_put_cell(&p->columns[i], doc_at(p, row, i), out);
                }
                strbuf_puts(out, "</tr>\n");
        }
        page_close_table(out);
        if (p->left_out > 0) {
                strbuf_putf(out, "<p class=note>%zu more: ", p->left_out);
                page_put_tag("", p->rest, "</p>\n", out);
        }
}

static void page_put_card(const struct doc_part *p, struct strbuf *out)
{
        char buf[DOC_CELL_MAX];
        strbuf_puts(out, "<div class=tiles>");
        for (size_t i = 0; i < p->n_columns; i++) {
                const struct doc_column *c = &p->columns[i];
                const struct doc_cell *cell = doc_at(p, 0, i);
                if (doc_shows(p, i) && (cell->text || value_is_set(cell->v)))
                        page_put_tile(out, c->title, doc_format_cell(c, cell, buf),
                                      doc_unit_after(c));
        }
        strbuf_puts(out, "</div>\n");
}

static void page_put_findings(const struct doc_part *p, struct strbuf *out)
{
        strbuf_puts(out, "<ol class=findings>\n");
        for (size_t i = 0; i < p->n_rows; i++) {
                const struct doc_cell *text = doc_cell_of(p, i, "text"),
                                      *advice = doc_cell_of(p, i, "try");
                page_put_tag("<li>", text->text ? text->text : "--", "", out);
                if (advice->text)
                        page_put_tag("<p><b>Try:</b> ", advice->text, "</p>", out);
                strbuf_puts(out, "</li>\n");
        }
        strbuf_puts(out, "</ol>\n");
}

/* ---- the curves of a table over each other ---- */

#define CURVES_EACH 8           /* more are drawn as mean and range; each can still be chosen */
#define CURVE_GAP 4             /* samples */
#define CURVES_MOST 256         /* rows whose curves are drawn */
#define CURVE_POINTS (64 << 10) /* of all of them together */

/* A column of curves, and the part that has it; n: how many rows of it are drawn. */
struct overlay {
        const struct doc_part *part;
        size_t column, n;
};

static bool page_find_curves(const struct document *d, struct overlay *ret)
{
        for (size_t i = 0; i < d->n; i++) {
                const struct doc_part *p = &d->parts[i];
                for (size_t k = 0; k < p->n_columns; k++) {
                        if (p->columns[k].kind != DOC_CURVE || p->curve_s <= 0 || p->n_rows == 0)
                                continue;
                        *ret = (struct overlay){p, k, MIN(p->n_rows, (size_t)CURVES_MOST)};
                        return true;
                }
        }
        return false;
}

static const struct doc_cell *page_curve_cell(const struct overlay *o, size_t row)
{
        return doc_at(o->part, row, o->column);
}

static size_t page_curve_points(const struct overlay *o)
{
        size_t most = 0;
        for (size_t i = 0; i < o->n; i++)
                most = MAX(most, page_curve_cell(o, i)->n);
        return MIN(most, CURVE_POINTS / o->n);
}

/* The mean of what falls into a point. */
static double page_curve_at(const struct doc_cell *cell, size_t i, size_t n)
{
        double sum = 0, known = 0;
        size_t from = i * cell->n / n, to = MAX((i + 1) * cell->n / n, from + 1);
        for (size_t k = from; k < to && k < cell->n; k++) {
                sum += isnan(cell->curve[k]) ? 0 : (double)cell->curve[k];
                known += !isnan(cell->curve[k]);
        }
        return known > 0 ? sum / known : NAN;
}

/* Mean and range over all rows. */
static void page_put_all(struct jsonw *j, const struct overlay *o, size_t n)
{
        static const char *const names[] = {"mean", "min", "max"};
        jsonw_object(j, "all");
        for (size_t part = 0; part < ARRAY_LEN(names); part++) {
                jsonw_begin(j, names[part]);
                strbuf_putc(j->out, '"');
                for (size_t i = 0; i < n; i++) {
                        double sum = 0, known = 0, least = NAN, most = NAN;
                        for (size_t row = 0; row < o->n; row++) {
                                double v = page_curve_at(page_curve_cell(o, row), i, n);
                                if (isnan(v))
                                        continue;
                                sum += v;
                                known++;
                                least = fmin(least, v);
                                most = fmax(most, v);
                        }
                        page_put_point(j->out,
                                       part == 1   ? least
                                       : part == 2 ? most
                                       : known > 0 ? sum / known
                                                   : NAN,
                                       1);
                }
                strbuf_putc(j->out, '"');
        }
        jsonw_end(j);
}

/* "rank 3": what a row is, by its first column. */
static void page_put_name(struct jsonw *j, const struct overlay *o, size_t row)
{
        char buf[DOC_CELL_MAX], name[DOC_CELL_MAX + 32];
        const struct doc_column *c = &o->part->columns[0];
        snprintf(name, sizeof(name), "%.30s %s", c->title,
                 doc_format_cell(c, doc_at(o->part, row, 0), buf));
        jsonw_object(j, NULL);
        page_put_text(j, "name", name);
}

static void page_put_overlay(struct jsonw *j, const struct overlay *o)
{
        size_t n = page_curve_points(o);
        page_begin_chart(j, &(struct page_chart){.id = "curves",
                                                 .title = o->part->columns[o->column].title,
                                                 .unit = "%",
                                                 .top = 100,
                                                 .chosen = true,
                                                 .says = "each row of the table over the others"});
        jsonw_array(j, "limits");
        jsonw_end(j);
        jsonw_array(j, "curves");
        for (size_t row = 0; row < o->n; row++) {
                page_put_name(j, o, row);
                jsonw_begin(j, "mean");
                strbuf_putc(j->out, '"');
                for (size_t i = 0; i < n; i++)
                        page_put_point(j->out, page_curve_at(page_curve_cell(o, row), i, n), 1);
                strbuf_putc(j->out, '"');
                jsonw_end(j);
        }
        jsonw_end(j);
        if (o->n > 1)
                page_put_all(j, o, n);
        jsonw_end(j);
}

/* Samples may be further apart than points: no value for longer than a few of them is a gap. */
static double page_curve_gap(const struct overlay *o, double step)
{
        size_t n = page_curve_points(o);
        double known = 0, most = 0;
        for (size_t row = 0; row < o->n; row++) {
                double n_known = 0;
                for (size_t i = 0; i < n; i++)
                        n_known += !isnan(page_curve_at(page_curve_cell(o, row), i, n));
                known += n_known;
                most += n_known > 0 ? (double)n : 0;
        }
        return known > 0 ? CURVE_GAP * step * most / known : step;
}

static void page_put_curves(const struct overlay *o, struct strbuf *out)
{
        struct strbuf data = {0};
        struct jsonw j = {.out = &data};
        double step = o->part->curve_s / (double)MAX(page_curve_points(o), (size_t)1);
        jsonw_object(&j, NULL);
        jsonw_short(&j, "seconds", o->part->curve_s, 9);
        jsonw_short(&j, "seconds_all", o->part->curve_s, 9);
        jsonw_short(&j, "step", step, 9);
        page_put_short(&j, "gap", page_curve_gap(o, step));
        jsonw_bool(&j, "many", o->n > CURVES_EACH);
        jsonw_array(&j, "gpus");
        for (size_t row = 0; row < o->n; row++) {
                page_put_name(&j, o, row);
                jsonw_array(&j, "classes");
                jsonw_end(&j);
                jsonw_end(&j);
        }
        jsonw_end(&j);
        jsonw_array(&j, "charts");
        page_put_overlay(&j, o);
        jsonw_end(&j);
        jsonw_end(&j);
        page_put_data(out, &data);
        strbuf_finish(&data);
}

/* ---- the page ---- */

static void page_put_part(const struct doc_part *p, bool curves, struct strbuf *out)
{
        if (!doc_shows_part(p))
                return;
        if (p->title[0])
                page_put_tag("<h2>", p->title, "</h2>\n", out);
        if (curves) {
                page_put_chart_bar(out);
                page_put_chart(out, "curves");
        }
        switch (p->style) {
        case DOC_ROWS:
                page_put_rows(p, out);
                break;
        case DOC_CARD:
                page_put_card(p, out);
                break;
        case DOC_FINDINGS:
                page_put_findings(p, out);
                break;
        case DOC_NOTES:
                for (size_t i = 0; i < p->n_rows; i++)
                        page_put_tag("<p class=note>", doc_at(p, i, 0)->text, "</p>\n", out);
                break;
        case DOC_FACTS:
                break;
        }
}

static void doc_html(const struct document *d, const struct doc_view *view UNUSED,
                     struct strbuf *out)
{
        struct overlay curves = {0};
        const struct page_scripts scripts = {.charts = page_find_curves(d, &curves)};
        page_begin(out, d->title, &scripts);
        page_put_title(out, d->title);
        for (size_t i = 0; i < d->n; i++) {
                page_put_part(&d->parts[i], scripts.charts && curves.part == &d->parts[i], out);
        }
        if (scripts.charts)
                page_put_curves(&curves, out);
        page_end(out, &scripts);
}

const struct doc_writer doc_writer_html = {.name = "html", .complete = true, .write = doc_html};
