/* A document for a terminal: titles, tables that fit its columns, numbered findings, notes. */
#include "base/text.h"
#include "base/attr.h"
#include "base/tablew.h"
#include "present/document/document.h"

#include <math.h>
#include <string.h>

#define COLUMNS_MAX 64
#define CARD_NAME 26
#define WORDS_READABLE 16 /* columns that a text keeps while there are spare columns */
#define WORDS_LEAST 8     /* columns that it keeps where a screen is narrow */
#define CURVE_LEAST 12
#define CURVE_MOST 40

struct layout {
        const struct doc_part *part;
        int width[COLUMNS_MAX]; /* 0: not shown */
        int gap[COLUMNS_MAX];
};

static int text_widest_cell(const struct doc_part *p, size_t column)
{
        char buf[DOC_CELL_MAX];
        size_t width = text_columns(p->columns[column].title);
        for (size_t i = 0; i < p->n_rows; i++)
                width = MAX(width, text_columns(doc_format_cell(&p->columns[column],
                                                                doc_at(p, i, column), buf)));
        return (int)MAX(width, (size_t)1);
}

static int text_taken(const struct layout *l)
{
        int sum = 0;
        for (size_t i = 0; i < l->part->n_columns; i++)
                sum += l->width[i] > 0 ? l->width[i] + (sum > 0 ? l->gap[i] : 0) : 0;
        return sum;
}

/* Cuts the widest of the texts that have no width of their own, down to so many columns each. */
static void text_cut(struct layout *l, int columns, int least)
{
        const struct doc_part *p = l->part;
        while (text_taken(l) > columns) {
                size_t widest = p->n_columns;
                for (size_t i = 0; i < p->n_columns; i++) {
                        const struct doc_column *c = &p->columns[i];
                        bool may = c->width == 0 && c->kind == DOC_TEXT &&
                                   !(c->flags & DOC_WHOLE) && l->width[i] > least;
                        if (may && (widest == p->n_columns || l->width[i] > l->width[widest]))
                                widest = i;
                }
                if (widest == p->n_columns)
                        return;
                l->width[widest]--;
        }
}

/* Takes columns with such a flag away, the last first. */
static void text_drop(struct layout *l, int columns, unsigned flag)
{
        const struct doc_part *p = l->part;
        for (size_t i = p->n_columns; i-- > 0 && text_taken(l) > columns;) {
                if (p->columns[i].flags & flag && p->columns[i].width == 0)
                        l->width[i] = 0;
        }
}

/* Minor columns go first, then texts are cut to what can still be read, then spare columns go; the
 * texts share the room of those. */
static void text_make_room(struct layout *l, int columns)
{
        text_drop(l, columns, DOC_MINOR);
        const struct layout whole = *l;
        text_cut(l, columns, WORDS_READABLE);
        text_drop(l, columns, DOC_SPARE);
        for (size_t i = 0; i < l->part->n_columns; i++)
                l->width[i] = l->width[i] > 0 ? whole.width[i] : 0;
        text_cut(l, columns, WORDS_LEAST);
}

/* Curves take what is left. */
static void text_lay_out(const struct doc_part *p, int columns, struct layout *ret)
{
        *ret = (struct layout){.part = p};
        for (size_t i = 0; i < MIN(p->n_columns, (size_t)COLUMNS_MAX); i++) {
                const struct doc_column *c = &p->columns[i];
                ret->gap[i] = c->width ? 1 : 2;
                if (doc_shows(p, i) && c->kind != DOC_CURVE)
                        ret->width[i] = c->width ? c->width : text_widest_cell(p, i);
        }
        text_make_room(ret, columns);
        for (size_t i = 0; i < MIN(p->n_columns, (size_t)COLUMNS_MAX); i++) {
                int room = columns - text_taken(ret) - ret->gap[i];
                if (p->columns[i].kind == DOC_CURVE && room >= CURVE_LEAST)
                        ret->width[i] = MIN(room, CURVE_MOST);
        }
}

/* Eight heights, a blank for nothing, a dot where nothing is known. */
static void text_put_curve(const struct doc_cell *cell, int width, struct strbuf *out)
{
        static const char *const heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
        if (cell->n == 0)
                strbuf_fill(out, ' ', (size_t)width);
        for (size_t i = 0; cell->n > 0 && i < (size_t)width; i++) {
                size_t from = i * cell->n / (size_t)width, to = (i + 1) * cell->n / (size_t)width;
                double sum = 0, n = 0;
                for (size_t k = from; k < MAX(to, from + 1) && k < cell->n; k++) {
                        sum += isnan(cell->curve[k]) ? 0 : (double)cell->curve[k];
                        n += !isnan(cell->curve[k]);
                }
                double v = n > 0 ? sum / n : NAN;
                strbuf_puts(out, isnan(v)   ? "·"
                                 : v < 0.02 ? " "
                                            : heights[MIN((size_t)(v * 8), (size_t)7)]);
        }
}

/* Where they are cut, dots say so. */
static void text_put_words(struct strbuf *out, const char *text, int width)
{
        bool is_cut = (int)text_columns(text) > width;
        tablew_put(out, text, is_cut ? 1 - width : -width);
        strbuf_puts(out, is_cut ? "…" : "");
}

/* The row, or with SIZE_MAX the titles. Texts stand left and numbers right; the last text needs no
 * room for others. */
static void text_put_row(const struct layout *l, size_t row, struct strbuf *out)
{
        const struct doc_part *p = l->part;
        char buf[DOC_CELL_MAX];
        size_t from = out->len;
        for (size_t i = 0; i < MIN(p->n_columns, (size_t)COLUMNS_MAX); i++) {
                const struct doc_column *c = &p->columns[i];
                if (l->width[i] == 0)
                        continue;
                strbuf_fill(out, ' ', out->len > from ? (size_t)l->gap[i] : 0);
                if (c->kind == DOC_CURVE && row != SIZE_MAX) {
                        text_put_curve(doc_at(p, row, i), l->width[i], out);
                        continue;
                }
                const char *text =
                    row == SIZE_MAX ? c->title : doc_format_cell(c, doc_at(p, row, i), buf);
                bool title_last = row == SIZE_MAX && i + 1 == p->n_columns && doc_is_words(c);
                if (doc_is_words(c) && !title_last)
                        text_put_words(out, text, l->width[i]);
                else
                        tablew_put(out, text, title_last ? 0 : l->width[i]);
        }
        tablew_end_line(out);
}

static void text_put_rows(const struct doc_part *p, int columns, struct strbuf *out)
{
        struct layout l;
        text_lay_out(p, columns, &l);
        text_put_row(&l, SIZE_MAX, out);
        for (size_t i = 0; i < p->n_rows; i++)
                text_put_row(&l, i, out);
        if (p->left_out > 0)
                strbuf_putf(out, "… and %zu more; %s\n", p->left_out, p->rest);
}

static void text_put_card(const struct doc_part *p, struct strbuf *out)
{
        char buf[DOC_CELL_MAX];
        for (size_t i = 0; i < p->n_columns; i++) {
                const struct doc_cell *cell = doc_at(p, 0, i);
                if (!doc_shows(p, i) || (!cell->text && !value_is_set(cell->v)))
                        continue;
                strbuf_putf(out, "  %-*s ", CARD_NAME, p->columns[i].title);
                strbuf_puts(out, doc_format_cell(&p->columns[i], cell, buf));
                strbuf_puts(out, doc_unit_after(&p->columns[i]));
                strbuf_putc(out, '\n');
        }
}

static void text_put_findings(const struct doc_part *p, size_t columns, struct strbuf *out)
{
        for (size_t i = 0; i < p->n_rows; i++) {
                const struct doc_cell *text = doc_cell_of(p, i, "text"),
                                      *advice = doc_cell_of(p, i, "try");
                strbuf_putf(out, "  %zu ", i + 1);
                text_put_wrapped(out, text->text ? text->text : "--", i < 9 ? 4 : 5, columns);
                if (!advice->text)
                        continue;
                strbuf_puts(out, "    try: ");
                text_put_wrapped(out, advice->text, 9, columns);
        }
        if (p->left_out > 0)
                strbuf_putf(out, "  … and %zu more; %s\n", p->left_out, p->rest);
}

static void text_put_notes(const struct doc_part *p, size_t columns, struct strbuf *out)
{
        for (size_t i = 0; i < p->n_rows; i++) {
                const struct doc_cell *note = doc_at(p, i, 0);
                text_put_wrapped(out, note->text ? note->text : "", 0, columns);
        }
}

static void text_put_part(const struct doc_part *p, size_t columns, struct strbuf *out)
{
        if (!doc_shows_part(p) && !(p->flags & DOC_SCREEN))
                return;
        strbuf_putc(out, '\n');
        if (p->title[0])
                strbuf_putf(out, "%s\n", p->title);
        switch (p->style) {
        case DOC_ROWS:
                text_put_rows(p, (int)columns, out);
                break;
        case DOC_CARD:
                text_put_card(p, out);
                break;
        case DOC_FINDINGS:
                text_put_findings(p, columns, out);
                break;
        case DOC_NOTES:
                text_put_notes(p, columns, out);
                break;
        case DOC_FACTS:
                break;
        }
}

static void doc_text(const struct document *d, const struct doc_view *view, struct strbuf *out)
{
        size_t columns = view && view->columns ? view->columns : DOC_COLUMNS;
        strbuf_putf(out, "%s\n", d->title);
        for (size_t i = 0; i < d->n; i++)
                text_put_part(&d->parts[i], columns, out);
}

const struct doc_writer doc_writer_text = {.name = "text", .write = doc_text};
