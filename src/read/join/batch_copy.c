#include "read/join/batch_copy.h"

#include "base/attr.h"
#include "base/list.h"
#include "read/batch_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void batch_copy_finish(struct batch_copy *c)
{
        free(c->readings);
        free(c->cells);
        free(c->text);
        *c = (struct batch_copy){0};
}

static void copy_reading(struct batch_copy *c, size_t i, const struct reading *from, char **at)
{
        struct raw *cells = c->cells + i * c->schema.n;
        struct entity_key who = batch_text_keep_key(at, &from->who);
        memcpy(cells, from->values, c->schema.n * sizeof(*cells));
        for (size_t k = 0; k < c->schema.n; k++) {
                if (cells[k].text)
                        cells[k].text = batch_text_keep(at, cells[k].text, cells[k].len);
        }
        c->readings[i] = (struct reading){.who = who, .values = cells, .origin = from->origin};
}

static void copy_schema(struct schema *to, const struct schema *from)
{
        to->dialect = from->dialect;
        to->revision = from->revision;
        to->n = from->n;
        memcpy(to->names, from->names, from->n * sizeof(*from->names));
}

int batch_copy_take(struct batch_copy *c, const struct batch *from)
{
        if (!LIST_RESERVE(c->readings, from->n, c->rows_cap) ||
            !LIST_RESERVE(c->cells, from->n * from->schema->n, c->cells_cap) ||
            !LIST_RESERVE(c->text, batch_text_size(from), c->text_cap))
                return -ENOMEM;
        if (!c->batch.schema || c->schema.revision != from->schema->revision ||
            c->schema.dialect != from->schema->dialect)
                copy_schema(&c->schema, from->schema);
        char *at = c->text;
        for (size_t i = 0; i < from->n; i++)
                copy_reading(c, i, &from->readings[i], &at);
        c->batch = *from;
        c->batch.schema = &c->schema;
        c->batch.readings = c->readings;
        c->batch.more = NULL;
        return 0;
}

void batch_copy_age(struct batch_copy *c, uint32_t ms)
{
        for (size_t i = 0; i < c->batch.n * c->schema.n; i++) {
                struct raw *cell = &c->cells[i];
                if (cell->text || (cell->state != STATE_OK && cell->state != STATE_STALE))
                        continue;
                cell->state = STATE_STALE;
                cell->age_ms = MIN(cell->age_ms, UINT32_MAX - ms) + ms;
        }
        c->batch.stale = true;
}
