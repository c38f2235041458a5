/* A document as one JSON object with a line end: SI units, null for what is missing. */
#include "present/stream/json.h"
#include "base/attr.h"
#include "base/jsonw.h"
#include "present/document/document.h"

#include <stdlib.h>
#include <string.h>

static void json_put_list(struct jsonw *j, const struct doc_column *c, const struct doc_cell *cell)
{
        char item[DOC_CELL_MAX];
        size_t at = 0;
        jsonw_array(j, c->key);
        while (doc_cell_next(cell, &at, item, sizeof(item)))
                c->kind == DOC_NUMBERS ? jsonw_number(j, NULL, strtod(item, NULL))
                                       : jsonw_text(j, NULL, item);
        jsonw_end(j);
}

static void json_put_cell(struct jsonw *j, const struct doc_column *c, const struct doc_cell *cell)
{
        bool is_set = c->kind == DOC_TEXT ? cell->text != NULL : value_is_set(cell->v);
        if (c->kind == DOC_LIST || c->kind == DOC_NUMBERS)
                json_put_list(j, c, cell);
        else if (!is_set && c->flags & DOC_OPTIONAL)
                return;
        else if (c->kind == DOC_TEXT)
                jsonw_text_or_null(j, c->key, cell->text);
        else if (c->kind == DOC_FLAG && is_set)
                jsonw_bool(j, c->key, cell->v.v != 0);
        else
                jsonw_value(j, c->key, cell->v);
}

static void json_put_members(struct jsonw *j, const struct doc_part *p, size_t row)
{
        const char *group = NULL;
        for (size_t i = 0; i < p->n_columns; i++) {
                const struct doc_column *c = &p->columns[i];
                if (c->flags & DOC_PEOPLE || c->kind == DOC_CURVE)
                        continue;
                bool same = group && c->group && strcmp(group, c->group) == 0;
                if (group && !same)
                        jsonw_end(j);
                if (c->group && !same)
                        jsonw_object(j, c->group);
                group = c->group;
                json_put_cell(j, c, doc_at(p, row, i));
        }
        if (group)
                jsonw_end(j);
}

static void json_put_rows(struct jsonw *j, const struct doc_part *p)
{
        jsonw_line(j);
        jsonw_array(j, p->name);
        for (size_t i = 0; i < p->n_rows; i++) {
                jsonw_line(j);
                jsonw_object(j, NULL);
                json_put_members(j, p, i);
                jsonw_end(j);
        }
        jsonw_end(j);
}

static void json_put_card(struct jsonw *j, const struct doc_part *p)
{
        jsonw_line(j);
        if (p->n_rows == 0) {
                jsonw_null(j, p->name);
                return;
        }
        jsonw_object(j, p->name);
        json_put_members(j, p, 0);
        jsonw_end(j);
}

static void json_put_notes(struct jsonw *j, const struct doc_part *p)
{
        jsonw_array(j, p->name);
        for (size_t i = 0; i < p->n_rows; i++)
                jsonw_text(j, NULL, doc_at(p, i, 0)->text);
        jsonw_end(j);
}

static void json_put_part(struct jsonw *j, const struct doc_part *p)
{
        if (p->flags & (DOC_PEOPLE | DOC_SCREEN))
                return;
        switch (p->style) {
        case DOC_ROWS:
        case DOC_FINDINGS:
                json_put_rows(j, p);
                break;
        case DOC_CARD:
                json_put_card(j, p);
                break;
        case DOC_FACTS:
                json_put_members(j, p, 0);
                break;
        case DOC_NOTES:
                json_put_notes(j, p);
                break;
        }
}

static void doc_json(const struct document *d, const struct doc_view *view UNUSED,
                     struct strbuf *out)
{
        struct jsonw j = {.out = out};
        jsonw_object(&j, NULL);
        for (size_t i = 0; i < d->n; i++)
                json_put_part(&j, &d->parts[i]);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
}

const struct doc_writer doc_writer_json = {.name = "json", .complete = true, .write = doc_json};
