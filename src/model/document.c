#include "model/document.h"

#include "base/list.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEM_END '\n' /* text_clean takes it out of texts, so no item has one */

static void doc_cell_finish(struct doc_cell *c)
{
        free(c->text);
        free(c->curve);
}

void document_finish(struct document *d)
{
        for (size_t i = 0; i < d->n; i++) {
                struct doc_part *p = &d->parts[i];
                for (size_t k = 0; k < p->n_rows * p->n_columns; k++)
                        doc_cell_finish(&p->cells[k]);
                free(p->cells);
        }
        *d = (struct document){0};
}

void document_set_title(struct document *d, const char *text)
{
        snprintf(d->title, sizeof(d->title), "%s", text);
        text_clean(d->title);
}

struct doc_part *document_add(struct document *d, enum doc_style style, const char *name,
                              const char *title, const struct doc_column *columns, size_t n)
{
        if (d->n == DOC_PARTS_MAX)
                return NULL;
        struct doc_part *p = &d->parts[d->n++];
        *p = (struct doc_part){
            .name = name, .title = title, .style = style, .columns = columns, .n_columns = n};
        return p;
}

void document_note(struct document *d, unsigned flags, const char *text)
{
        static const struct doc_column note[] = {{.key = "text"}};
        struct doc_part *p = d->n > 0 ? &d->parts[d->n - 1] : NULL;
        if (!p || p->style != DOC_NOTES || p->flags != flags)
                p = document_add(d, DOC_NOTES, "notes", "", note, 1);
        if (p)
                p->flags = flags;
        struct doc_cell *row = p ? doc_add_row(d, p) : NULL;
        if (row)
                doc_cell_text(&row[0], text);
}

const struct doc_part *document_main(const struct document *d)
{
        const struct doc_part *most = NULL;
        for (size_t i = 0; i < d->n; i++) {
                const struct doc_part *p = &d->parts[i];
                bool fits = p->style != DOC_FACTS && p->style != DOC_NOTES;
                if (fits && !(p->flags & DOC_PEOPLE) && (!most || p->n_columns > most->n_columns))
                        most = p;
        }
        return most;
}

struct doc_cell *doc_add_row(struct document *d, struct doc_part *p)
{
        if (p->n_rows == p->cap &&
            !list_grow(&p->cells, &p->cap, p->n_columns * sizeof(*p->cells))) {
                d->failed = true;
                return NULL;
        }
        struct doc_cell *row = &p->cells[p->n_rows++ * p->n_columns];
        memset(row, 0, p->n_columns * sizeof(*row));
        return row;
}

void doc_cell_text(struct doc_cell *c, const char *text)
{
        free(c->text);
        c->text = text[0] ? strdup(text) : NULL;
        if (c->text)
                text_clean(c->text);
}

void doc_cell_item(struct doc_cell *c, const char *text)
{
        size_t len = c->text ? strlen(c->text) : 0, more = strlen(text);
        char *grown = realloc(c->text, len + more + 2);
        if (!grown)
                return;
        memcpy(grown + len, text, more + 1);
        text_clean(grown + len);
        more = strlen(grown + len);
        grown[len + more] = ITEM_END;
        grown[len + more + 1] = '\0';
        c->text = grown;
}

bool doc_cell_next(const struct doc_cell *c, size_t *at, char *buf, size_t size)
{
        const char *s = c->text ? c->text + *at : "";
        const char *end = strchr(s, ITEM_END);
        if (!end)
                return false;
        snprintf(buf, size, "%.*s", (int)(end - s), s);
        *at += (size_t)(end - s) + 1;
        return true;
}

const struct doc_cell *doc_at(const struct doc_part *p, size_t row, size_t column)
{
        static const struct doc_cell nothing;
        if (row >= p->n_rows || column >= p->n_columns)
                return &nothing;
        return &p->cells[row * p->n_columns + column];
}

struct order {
        size_t by;
        bool as_text;
};

static int compare_texts(const struct doc_cell *a, const struct doc_cell *b)
{
        if (!a->text != !b->text)
                return a->text ? -1 : 1;
        return strcmp(a->text ? a->text : "", b->text ? b->text : "");
}

static int compare_rows(const void *a, const void *b, void *arg)
{
        const struct order *o = arg;
        const struct doc_cell *x = a, *y = b;
        const struct value v = x[o->by].v, w = y[o->by].v;
        if (o->as_text && compare_texts(&x[o->by], &y[o->by]) != 0)
                return compare_texts(&x[o->by], &y[o->by]);
        if (value_is_set(v) != value_is_set(w))
                return value_is_set(v) ? -1 : 1;
        if (value_is_set(v) && v.v != w.v)
                return v.v > w.v ? -1 : 1;
        return compare_texts(&x[0], &y[0]);
}

void doc_sort(struct doc_part *p, size_t column, size_t n)
{
        struct order o = {column, p->columns[column].kind == DOC_TEXT};
        if (p->n_rows > 1)
                qsort_r(p->cells, p->n_rows, p->n_columns * sizeof(*p->cells), compare_rows, &o);
        while (p->n_rows > n) {
                p->n_rows--;
                p->left_out++;
                for (size_t i = 0; i < p->n_columns; i++)
                        doc_cell_finish(&p->cells[p->n_rows * p->n_columns + i]);
        }
}
