#include "present/document/document.h"

#include "base/attr.h"
#include "base/clock.h"
#include "present/format.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SECONDS_PER_HOUR 3600.0

#define WRITER(name) extern const struct doc_writer doc_writer_##name;
#include "present/document/writers.def"
#undef WRITER

static const struct doc_writer *const writers[] = {
#define WRITER(name) &doc_writer_##name,
#include "present/document/writers.def"
#undef WRITER
};

const struct doc_writer *doc_writer_find(const char *format)
{
        for (size_t i = 0; i < ARRAY_LEN(writers); i++) {
                if (strcmp(writers[i]->name, format) == 0)
                        return writers[i];
        }
        return NULL;
}

static const char *writer_name(size_t i)
{
        return i < ARRAY_LEN(writers) ? writers[i]->name : NULL;
}

int document_write(const struct document *d, const char *format, const struct doc_view *view,
                   struct strbuf *out, struct err *err)
{
        const struct doc_writer *w = doc_writer_find(format);
        if (!w) {
                err_set(err, ERR_USAGE, "%s cannot be written as %s", d->what, format);
                return err_hint_choices(err, writer_name);
        }
        if (!d->failed)
                w->write(d, view, out);
        return d->failed || out->failed ? err_set(err, -ENOMEM, "out of memory") : 0;
}

/* ---- cells ---- */

static void format_hours(char buf[DOC_CELL_MAX], double v)
{
        v /= SECONDS_PER_HOUR;
        if (v > 0 && v < 0.0995)
                snprintf(buf, DOC_CELL_MAX, "%.*f", v < 0.000995 ? 5 : v < 0.00995 ? 4 : 3, v);
        else
                snprintf(buf, DOC_CELL_MAX, "%.*f", v < 1000 ? 2 : v < 1e5 ? 1 : 0, v);
}

static void format_cell_number(const struct doc_column *column, struct value v,
                               char buf[DOC_CELL_MAX])
{
        switch (column->kind) {
        case DOC_TEXT:
        case DOC_LIST:
        case DOC_NUMBERS:
        case DOC_CURVE:
                break;
        case DOC_NUMBER:
                format_short(buf, DOC_CELL_MAX, column->unit, v);
                break;
        case DOC_COUNT:
                snprintf(buf, DOC_CELL_MAX, "%.0f", v.v);
                break;
        case DOC_RATIO:
                snprintf(buf, DOC_CELL_MAX, "%.1f", v.v * 100);
                break;
        case DOC_GPU_HOURS:
                format_hours(buf, v.v);
                break;
        case DOC_LENGTH:
                format_length(buf, DOC_CELL_MAX, v.v);
                break;
        case DOC_ENERGY:
                snprintf(buf, DOC_CELL_MAX, "%.3f", v.v / JOULES_PER_KWH);
                break;
        case DOC_TIME:
                format_minute(buf, DOC_CELL_MAX, clock_from_seconds(v.v));
                break;
        case DOC_FLAG:
                snprintf(buf, DOC_CELL_MAX, "%s", v.v != 0 ? "yes" : "no");
                break;
        }
}

static void format_list(const struct doc_cell *cell, char buf[DOC_CELL_MAX])
{
        char item[DOC_CELL_MAX];
        size_t at = 0, n = 0;
        buf[0] = '\0';
        while (n < DOC_CELL_MAX && doc_cell_next(cell, &at, item, sizeof(item)))
                n += (size_t)snprintf(buf + n, DOC_CELL_MAX - n, "%s%s", n ? ", " : "", item);
}

const char *doc_format_cell(const struct doc_column *column, const struct doc_cell *cell,
                            char buf[DOC_CELL_MAX])
{
        snprintf(buf, DOC_CELL_MAX, "--");
        if (column->kind == DOC_LIST || column->kind == DOC_NUMBERS)
                format_list(cell, buf);
        else if (cell->text)
                snprintf(buf, DOC_CELL_MAX, "%s", cell->text);
        else if (column->kind == DOC_TEXT && !column->title[0])
                buf[0] = '\0';
        else if (value_is_set(cell->v))
                format_cell_number(column, cell->v, buf);
        return buf;
}

const char *doc_unit_after(const struct doc_column *column)
{
        return column->kind == DOC_GPU_HOURS ? " GPU-hours"
               : column->kind == DOC_RATIO   ? " %"
               : column->kind == DOC_ENERGY  ? " kWh"
                                             : "";
}

bool doc_is_words(const struct doc_column *column)
{
        return column->kind == DOC_TEXT || column->kind == DOC_LIST ||
               column->kind == DOC_NUMBERS || column->kind == DOC_CURVE || column->kind == DOC_TIME;
}

const struct doc_cell *doc_cell_of(const struct doc_part *part, size_t row, const char *key)
{
        size_t at = 0;
        while (at < part->n_columns && strcmp(part->columns[at].key, key) != 0)
                at++;
        return doc_at(part, row, at);
}

bool doc_shows_part(const struct doc_part *part)
{
        return part->n_rows > 0 && part->style != DOC_FACTS &&
               !(part->flags & (DOC_MACHINE_ONLY | DOC_SCREEN));
}

bool doc_shows(const struct doc_part *part, size_t column)
{
        const struct doc_column *c = &part->columns[column];
        if (c->flags & DOC_MACHINE_ONLY)
                return false;
        for (size_t i = 0; c->flags & DOC_MINOR && c->width == 0; i++) {
                const struct doc_cell *cell = doc_at(part, i, column);
                if (i == part->n_rows)
                        return false;
                if (cell->text || value_is_set(cell->v))
                        break;
        }
        return true;
}
