#include "base/clock.h"
#include "base/tablew.h"
#include "model/unit.h"
#include "present/fleet/fleet.h"
#include "present/format.h"

#include <stdio.h>
#include <string.h>

#define SECONDS_PER_HOUR 3600.0
#define CARD_NAME 26

static void format_number(const struct fleet_column *column, double v, char buf[FLEET_CELL_MAX])
{
        switch (column->unit) {
        case FLEET_UNIT_TEXT:
                break;
        case FLEET_UNIT_COUNT:
                snprintf(buf, FLEET_CELL_MAX, "%.0f", v);
                break;
        case FLEET_UNIT_SECONDS:
                v /= SECONDS_PER_HOUR;
                snprintf(buf, FLEET_CELL_MAX, "%.*f", v < 1000 ? 2 : v < 1e5 ? 1 : 0, v);
                break;
        case FLEET_UNIT_RATIO:
                snprintf(buf, FLEET_CELL_MAX, "%.1f", v * 100);
                break;
        case FLEET_UNIT_JOULES:
                snprintf(buf, FLEET_CELL_MAX, "%.3f", v / JOULES_PER_KWH);
                break;
        case FLEET_UNIT_TIME:
                format_minute(buf, FLEET_CELL_MAX, clock_from_seconds(v));
                break;
        }
}

const char *fleet_format_cell(const struct fleet_column *column, const struct fleet_cell *cell,
                              char buf[FLEET_CELL_MAX])
{
        snprintf(buf, FLEET_CELL_MAX, "--");
        if (column->unit == FLEET_UNIT_TEXT && cell->text)
                snprintf(buf, FLEET_CELL_MAX, "%s", cell->text);
        else if (column->unit == FLEET_UNIT_TEXT && !column->title[0])
                buf[0] = '\0';
        else if (column->unit != FLEET_UNIT_TEXT && value_there(cell->v))
                format_number(column, cell->v.v, buf);
        return buf;
}

void fleet_format_window(const struct fleet_report *r, char *buf, size_t size)
{
        char to[32];
        double hours = clock_to_seconds(r->to_ns - r->from_ns) / SECONDS_PER_HOUR;
        format_minute(to, sizeof(to), r->to_ns);
        if (hours >= 72)
                snprintf(buf, size, "%g days to %s", hours / 24, to);
        else if (hours >= 1)
                snprintf(buf, size, "%g h to %s", hours, to);
        else
                snprintf(buf, size, "%g min to %s", hours * 60, to);
}

/* Texts stand left and numbers right. The last title needs no room for others. */
static void put_head(const struct fleet_table *t, struct strbuf *out)
{
        for (size_t i = 0; i < t->n_columns; i++) {
                const struct fleet_column *col = &t->columns[i];
                bool last = i + 1 == t->n_columns, text = col->unit == FLEET_UNIT_TEXT;
                strbuf_puts(out, i ? " " : "");
                tablew_put(out, col->title, !text ? col->width : last ? 0 : -col->width);
        }
        tablew_end_line(out);
}

static void fleet_text_put_row(const struct fleet_table *t, size_t row, struct strbuf *out)
{
        char buf[FLEET_CELL_MAX];
        for (size_t i = 0; i < t->n_columns; i++) {
                const struct fleet_column *col = &t->columns[i];
                fleet_format_cell(col, fleet_table_at(t, row, i), buf);
                strbuf_puts(out, i ? " " : "");
                tablew_put(out, buf, col->unit == FLEET_UNIT_TEXT ? -col->width : col->width);
        }
        tablew_end_line(out);
}

static const char *unit_after(enum fleet_unit unit)
{
        switch (unit) {
        case FLEET_UNIT_TEXT:
        case FLEET_UNIT_COUNT:
        case FLEET_UNIT_TIME:
                break;
        case FLEET_UNIT_SECONDS:
                return " GPU-hours";
        case FLEET_UNIT_RATIO:
                return " %";
        case FLEET_UNIT_JOULES:
                return " kWh";
        }
        return "";
}

static void put_card(const struct fleet_table *t, struct strbuf *out)
{
        char buf[FLEET_CELL_MAX];
        for (size_t i = 0; i < t->n_columns; i++) {
                const struct fleet_cell *cell = fleet_table_at(t, 0, i);
                if (!cell->text && !value_there(cell->v))
                        continue;
                strbuf_putf(out, "  %-*s ", CARD_NAME, t->columns[i].title);
                strbuf_puts(out, fleet_format_cell(&t->columns[i], cell, buf));
                strbuf_puts(out, unit_after(t->columns[i].unit));
                strbuf_putc(out, '\n');
        }
}

static void put_table(const struct fleet_table *t, const char *rest, struct strbuf *out)
{
        if (t->n_rows == 0)
                return;
        strbuf_putf(out, "\n%s\n", t->title);
        if (t->card) {
                put_card(t, out);
                return;
        }
        put_head(t, out);
        for (size_t i = 0; i < t->n_rows; i++)
                fleet_text_put_row(t, i, out);
        if (t->left_out > 0)
                strbuf_putf(out, "… and %zu more; %s shows them\n", t->left_out, rest);
}

void fleet_write_text(const struct fleet_report *r, struct strbuf *out)
{
        char window[64];
        /* The overview's tables are short, whatever is asked for. */
        const char *rest = strcmp(r->what, "overview") == 0 ? "their own view" : "--limit";
        fleet_format_window(r, window, sizeof(window));
        strbuf_putf(out, "%s: %s, from %s%s\n", r->what, window, r->engine,
                    r->recorded ? " (recording rules)" : "");
        for (size_t i = 0; i < r->n_tables; i++)
                put_table(&r->tables[i], rest, out);
        for (size_t i = 0; i < r->n_notices; i++)
                strbuf_putf(out, "%s%s\n", i ? "" : "\n", r->notices[i]);
}
