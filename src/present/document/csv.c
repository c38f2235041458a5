/* The main part of a document as CSV, in the units of its JSON. */
#include "base/attr.h"
#include "base/csvw.h"
#include "present/document/document.h"

#include <stdio.h>

static bool csv_has_column(const struct doc_column *c)
{
        return !(c->flags & DOC_PEOPLE) && c->kind != DOC_CURVE;
}

/* Members of an object have its name before them: "means_engine". */
static void csv_put_title(struct csvw *w, const struct doc_column *c)
{
        char name[DOC_CELL_MAX];
        snprintf(name, sizeof(name), "%s%s%s", c->group ? c->group : "", c->group ? "_" : "",
                 c->key);
        csvw_text(w, name);
}

static void csv_put_cell(struct csvw *w, const struct doc_column *c, const struct doc_cell *cell)
{
        char buf[DOC_CELL_MAX];
        if (c->kind == DOC_LIST || c->kind == DOC_NUMBERS)
                csvw_name(w, doc_format_cell(c, cell, buf));
        else if (c->kind == DOC_TEXT)
                csvw_name(w, cell->text ? cell->text : "");
        else
                csvw_number(w, value_or_nan(cell->v));
}

static void doc_csv(const struct document *d, const struct doc_view *view UNUSED,
                    struct strbuf *out)
{
        const struct doc_part *p = document_main(d);
        struct csvw w = {.out = out};
        for (size_t i = 0; p && i < p->n_columns; i++) {
                if (csv_has_column(&p->columns[i]))
                        csv_put_title(&w, &p->columns[i]);
        }
        if (p)
                csvw_end(&w);
        for (size_t row = 0; p && row < p->n_rows; row++) {
                for (size_t i = 0; i < p->n_columns; i++) {
                        if (csv_has_column(&p->columns[i]))
                                csv_put_cell(&w, &p->columns[i], doc_at(p, row, i));
                }
                csvw_end(&w);
        }
}

const struct doc_writer doc_writer_csv = {.name = "csv", .complete = true, .write = doc_csv};
