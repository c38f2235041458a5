#include "model/fleet.h"

#include "base/list.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
        const char *name, *what;
} views[] = {
#define FLEET_VIEW(id, name, what) {name, what},
    FLEET_VIEWS(FLEET_VIEW)
#undef FLEET_VIEW
};

const char *fleet_view_name(enum fleet_view view)
{
        return views[view].name;
}

const char *fleet_view_what(enum fleet_view view)
{
        return views[view].what;
}

enum fleet_view fleet_view_find(const char *name)
{
        enum fleet_view i = 0;
        while (i < FLEET_VIEW_COUNT && strcmp(views[i].name, name) != 0)
                i++;
        return i;
}

void fleet_report_finish(struct fleet_report *r)
{
        for (size_t i = 0; i < r->n_tables; i++) {
                struct fleet_table *t = &r->tables[i];
                for (size_t k = 0; k < t->n_rows * t->n_columns; k++)
                        free(t->cells[k].text);
                free(t->cells);
        }
        *r = (struct fleet_report){0};
}

void fleet_report_notice(struct fleet_report *r, const char *fmt, ...)
{
        va_list ap;
        if (r->n_notices == FLEET_NOTICES_MAX)
                return;
        char *to = r->notices[r->n_notices++];
        va_start(ap, fmt);
        vsnprintf(to, FLEET_NOTICE_MAX, fmt, ap);
        va_end(ap);
        text_clean(to);
}

struct fleet_table *fleet_report_table(struct fleet_report *r, const char *name, const char *title,
                                       const struct fleet_column *columns, size_t n)
{
        if (r->n_tables == FLEET_TABLES_MAX)
                return NULL;
        struct fleet_table *t = &r->tables[r->n_tables++];
        *t = (struct fleet_table){.name = name, .title = title, .columns = columns, .n_columns = n};
        return t;
}

struct fleet_cell *fleet_table_row(struct fleet_table *t)
{
        if (t->n_rows == t->cap && !list_grow(&t->cells, &t->cap, t->n_columns * sizeof(*t->cells)))
                return NULL;
        struct fleet_cell *row = &t->cells[t->n_rows++ * t->n_columns];
        memset(row, 0, t->n_columns * sizeof(*row));
        return row;
}

void fleet_cell_text(struct fleet_cell *c, const char *text)
{
        free(c->text);
        c->text = text[0] ? strdup(text) : NULL;
        if (c->text)
                text_clean(c->text);
}

const struct fleet_cell *fleet_table_at(const struct fleet_table *t, size_t row, size_t column)
{
        static const struct fleet_cell nothing;
        if (row >= t->n_rows || column >= t->n_columns)
                return &nothing;
        return &t->cells[row * t->n_columns + column];
}

struct order {
        size_t columns, by;
};

static int compare_rows(const void *a, const void *b, void *arg)
{
        const struct order *o = arg;
        const struct value x = ((const struct fleet_cell *)a)[o->by].v,
                           y = ((const struct fleet_cell *)b)[o->by].v;
        if (value_there(x) != value_there(y))
                return value_there(x) ? -1 : 1;
        if (value_there(x) && x.v != y.v)
                return x.v > y.v ? -1 : 1;
        /* Equal ones by name, so that the order is always the same. */
        const char *m = ((const struct fleet_cell *)a)[0].text,
                   *n = ((const struct fleet_cell *)b)[0].text;
        return strcmp(m ? m : "", n ? n : "");
}

void fleet_table_sort(struct fleet_table *t, size_t column, size_t n)
{
        struct order o = {t->n_columns, column};
        if (t->n_rows > 1)
                qsort_r(t->cells, t->n_rows, t->n_columns * sizeof(*t->cells), compare_rows, &o);
        while (t->n_rows > n) {
                t->n_rows--;
                t->left_out++;
                for (size_t i = 0; i < t->n_columns; i++)
                        free(t->cells[t->n_rows * t->n_columns + i].text);
        }
}
