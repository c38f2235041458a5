/* A document as a page: findings, tables one can sort, curves as strips. */
#include "base/attr.h"
#include "base/quote.h"
#include "present/document/document.h"
#include "present/document/page.h"

#include <math.h>

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
        if (value_there(cell->v))
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
        strbuf_puts(out, "<div class=keys>");
        for (size_t i = 0; i < p->n_columns; i++) {
                const struct doc_column *c = &p->columns[i];
                const struct doc_cell *cell = doc_at(p, 0, i);
                if (!doc_shows(p, i) || (!cell->text && !value_there(cell->v)))
                        continue;
                page_put_tag("<div>", c->title, " ", out);
                page_put_tag("", doc_format_cell(c, cell, buf), doc_unit_after(c), out);
                strbuf_puts(out, "</div>");
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

static void page_put_part(const struct doc_part *p, struct strbuf *out)
{
        if (!doc_shows_part(p))
                return;
        if (p->title[0])
                page_put_tag("<h2>", p->title, "</h2>\n", out);
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
        page_begin(out, d->title, NULL);
        for (size_t i = 0; i < d->n; i++)
                page_put_part(&d->parts[i], out);
        strbuf_puts(out, "</main>\n");
        page_end(out, NULL);
}

const struct doc_writer doc_writer_html = {.name = "html", .complete = true, .write = doc_html};
