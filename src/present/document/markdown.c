/* A document for the summary of a CI job and for comments. */
#include "base/attr.h"
#include "present/document/document.h"

#include <string.h>

/* What would be a link, a table's border, HTML or emphasis stays what it is. */
static void markdown_put_words(const char *s, struct strbuf *out)
{
        for (; *s; s++) {
                if (strchr("\\`*_[]<>|#&~", *s))
                        strbuf_putc(out, '\\');
                strbuf_putc(out, *s);
        }
}

static void markdown_put_line(const struct doc_part *p, size_t row, struct strbuf *out)
{
        char buf[DOC_CELL_MAX];
        strbuf_putc(out, '|');
        for (size_t i = 0; i < p->n_columns; i++) {
                const struct doc_column *c = &p->columns[i];
                if (!doc_shows(p, i) || c->kind == DOC_CURVE)
                        continue;
                strbuf_putc(out, ' ');
                markdown_put_words(
                    row == SIZE_MAX ? c->title : doc_format_cell(c, doc_at(p, row, i), buf), out);
                strbuf_puts(out, " |");
        }
        strbuf_putc(out, '\n');
}

static void markdown_put_rows(const struct doc_part *p, struct strbuf *out)
{
        markdown_put_line(p, SIZE_MAX, out);
        strbuf_putc(out, '|');
        for (size_t i = 0; i < p->n_columns; i++) {
                const struct doc_column *c = &p->columns[i];
                if (doc_shows(p, i) && c->kind != DOC_CURVE)
                        strbuf_puts(out, doc_is_words(c) ? " --- |" : " ---: |");
        }
        strbuf_putc(out, '\n');
        for (size_t i = 0; i < p->n_rows; i++)
                markdown_put_line(p, i, out);
}

static void markdown_put_card(const struct doc_part *p, struct strbuf *out)
{
        char buf[DOC_CELL_MAX];
        for (size_t i = 0; i < p->n_columns; i++) {
                const struct doc_cell *cell = doc_at(p, 0, i);
                if (!doc_shows(p, i) || (!cell->text && !value_is_set(cell->v)))
                        continue;
                strbuf_puts(out, "- ");
                markdown_put_words(p->columns[i].title, out);
                strbuf_puts(out, ": ");
                markdown_put_words(doc_format_cell(&p->columns[i], cell, buf), out);
                strbuf_putf(out, "%s\n", doc_unit_after(&p->columns[i]));
        }
}

static void markdown_put_texts(const struct doc_part *p, struct strbuf *out)
{
        for (size_t i = 0; i < p->n_rows; i++) {
                const struct doc_cell *text = doc_cell_of(p, i, "text"),
                                      *advice = doc_cell_of(p, i, "try");
                strbuf_puts(out, p->style == DOC_FINDINGS ? "1. " : "- ");
                markdown_put_words(text->text ? text->text : "--", out);
                if (advice->text) {
                        strbuf_puts(out, "  \n   try: ");
                        markdown_put_words(advice->text, out);
                }
                strbuf_putc(out, '\n');
        }
}

static void doc_markdown(const struct document *d, const struct doc_view *view UNUSED,
                         struct strbuf *out)
{
        strbuf_puts(out, "## ");
        markdown_put_words(d->title, out);
        strbuf_putc(out, '\n');
        for (size_t i = 0; i < d->n; i++) {
                const struct doc_part *p = &d->parts[i];
                if (!doc_shows_part(p))
                        continue;
                strbuf_putc(out, '\n');
                if (p->title[0]) {
                        strbuf_puts(out, "### ");
                        markdown_put_words(p->title, out);
                        strbuf_puts(out, "\n\n");
                }
                if (p->style == DOC_ROWS)
                        markdown_put_rows(p, out);
                else if (p->style == DOC_CARD)
                        markdown_put_card(p, out);
                else
                        markdown_put_texts(p, out);
        }
}

const struct doc_writer doc_writer_markdown = {
    .name = "markdown", .complete = true, .write = doc_markdown};
