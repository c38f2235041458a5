#include "present/stream/json.h"
#include "base/clock.h"
#include "base/csvw.h"
#include "present/fleet/fleet.h"

#include <stdio.h>

static void put_cell(struct jsonw *j, const struct fleet_column *col, const struct fleet_cell *cell)
{
        if (col->unit == FLEET_UNIT_TEXT && cell->text)
                jsonw_text(j, col->key, cell->text);
        else if (col->unit != FLEET_UNIT_TEXT)
                jsonw_value(j, col->key, cell->v);
        else
                jsonw_null(j, col->key);
}

static void fleet_json_put_row(struct jsonw *j, const char *name, const struct fleet_table *t,
                               size_t row)
{
        jsonw_object(j, name);
        for (size_t i = 0; i < t->n_columns; i++)
                put_cell(j, &t->columns[i], fleet_table_at(t, row, i));
        jsonw_end(j);
}

static void put_table(struct jsonw *j, const struct fleet_table *t)
{
        jsonw_line(j);
        if (t->card && t->n_rows > 0) {
                fleet_json_put_row(j, t->name, t, 0);
                return;
        }
        if (t->card) {
                jsonw_null(j, t->name);
                return;
        }
        jsonw_array(j, t->name);
        for (size_t i = 0; i < t->n_rows; i++) {
                jsonw_line(j);
                fleet_json_put_row(j, NULL, t, i);
        }
        jsonw_end(j);
}

void fleet_write_json(const struct fleet_report *r, struct strbuf *out)
{
        struct jsonw j = {.out = out};
        jsonw_object(&j, NULL);
        jsonw_count(&j, "schema", 1);
        jsonw_text(&j, "view", r->what);
        jsonw_text(&j, "engine", r->engine);
        jsonw_number(&j, "from", clock_to_seconds(r->from_ns));
        jsonw_number(&j, "to", clock_to_seconds(r->to_ns));
        jsonw_bool(&j, "recorded", r->recorded);
        jsonw_array(&j, "notices");
        for (size_t i = 0; i < r->n_notices; i++)
                jsonw_text(&j, NULL, r->notices[i]);
        jsonw_end(&j);
        for (size_t i = 0; i < r->n_tables; i++)
                put_table(&j, &r->tables[i]);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
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
