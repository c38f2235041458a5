#include "present/stream/json.h"
#include "base/clock.h"
#include "base/csvw.h"
#include "present/fleet/fleet.h"

#include <stdio.h>

static void put_cell(const struct fleet_column *col, const struct fleet_cell *cell,
                     struct strbuf *out)
{
        json_put_string(out, col->key);
        strbuf_putc(out, ':');
        if (col->unit == FLEET_UNIT_TEXT && cell->text)
                json_put_string(out, cell->text);
        else if (col->unit != FLEET_UNIT_TEXT && value_there(cell->v))
                json_put_number(out, cell->v.v);
        else
                strbuf_puts(out, "null");
}

static void fleet_json_put_row(const struct fleet_table *t, size_t row, struct strbuf *out)
{
        strbuf_putc(out, '{');
        for (size_t i = 0; i < t->n_columns; i++) {
                strbuf_puts(out, i ? "," : "");
                put_cell(&t->columns[i], fleet_table_at(t, row, i), out);
        }
        strbuf_putc(out, '}');
}

static void put_table(const struct fleet_table *t, struct strbuf *out)
{
        strbuf_puts(out, ",\n");
        json_put_string(out, t->name);
        strbuf_putc(out, ':');
        if (t->card) {
                if (t->n_rows > 0)
                        fleet_json_put_row(t, 0, out);
                else
                        strbuf_puts(out, "null");
                return;
        }
        strbuf_putc(out, '[');
        for (size_t i = 0; i < t->n_rows; i++) {
                strbuf_puts(out, i ? ",\n" : "\n");
                fleet_json_put_row(t, i, out);
        }
        strbuf_putc(out, ']');
}

void fleet_write_json(const struct fleet_report *r, struct strbuf *out)
{
        strbuf_puts(out, "{\"schema\":1,\"view\":");
        json_put_string(out, r->what);
        strbuf_puts(out, ",\"engine\":");
        json_put_string(out, r->engine);
        strbuf_puts(out, ",\"from\":");
        json_put_number(out, clock_to_seconds(r->from_ns));
        strbuf_puts(out, ",\"to\":");
        json_put_number(out, clock_to_seconds(r->to_ns));
        strbuf_putf(out, ",\"recorded\":%s", r->recorded ? "true" : "false");
        strbuf_puts(out, ",\"notices\":[");
        for (size_t i = 0; i < r->n_notices; i++) {
                strbuf_puts(out, i ? "," : "");
                json_put_string(out, r->notices[i]);
        }
        strbuf_putc(out, ']');
        for (size_t i = 0; i < r->n_tables; i++)
                put_table(&r->tables[i], out);
        strbuf_puts(out, "}\n");
}

static const struct fleet_table *main_table(const struct fleet_report *r)
{
        const struct fleet_table *most = NULL;
        for (size_t i = 0; i < r->n_tables; i++) {
                if (!most || r->tables[i].n_columns > most->n_columns)
                        most = &r->tables[i];
        }
        return most;
}

void fleet_write_csv(const struct fleet_report *r, struct strbuf *out)
{
        const struct fleet_table *t = main_table(r);
        struct csvw c = {.out = out};
        if (!t)
                return;
        for (size_t i = 0; i < t->n_columns; i++)
                csvw_text(&c, t->columns[i].key);
        csvw_end(&c);
        for (size_t row = 0; row < t->n_rows; row++) {
                for (size_t i = 0; i < t->n_columns; i++) {
                        const struct fleet_cell *cell = fleet_table_at(t, row, i);
                        if (t->columns[i].unit == FLEET_UNIT_TEXT)
                                csvw_name(&c, cell->text ? cell->text : "");
                        else
                                csvw_number(&c, value_or_nan(cell->v));
                }
                csvw_end(&c);
        }
}
