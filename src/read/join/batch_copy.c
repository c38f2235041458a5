#include "read/join/batch_copy.h"

#include "base/attr.h"

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

static bool reserve(void **list, size_t *cap, size_t n, size_t size)
{
        if (LIKELY(n <= *cap))
                return true;
        void *more = realloc(*list, n * size);
        if (!more)
                return false;
        *list = more;
        *cap = n;
        return true;
}

static size_t text_size(const struct batch *b)
{
        size_t size = 0;
        for (size_t i = 0; i < b->n; i++) {
                const struct reading *r = &b->readings[i];
                size += r->who.host_len + r->who.uuid_len;
                for (size_t k = 0; k < b->schema->n; k++)
                        size += r->values[k].text ? r->values[k].len : 0;
        }
        return size;
}

/* Copies text to *at and moves on. */
static const char *keep(char **at, const char *text, size_t len)
{
        char *to = *at;
        if (len == 0)
                return "";
        memcpy(to, text, len);
        *at += len;
        return to;
}

static void copy_reading(struct batch_copy *c, size_t i, const struct reading *from, char **at)
{
        struct raw *cells = c->cells + i * c->schema.n;
        struct entity_key who = from->who;
        who.host = keep(at, who.host, who.host_len);
        who.uuid = keep(at, who.uuid, who.uuid_len);
        memcpy(cells, from->values, c->schema.n * sizeof(*cells));
        for (size_t k = 0; k < c->schema.n; k++) {
                if (cells[k].text)
                        cells[k].text = keep(at, cells[k].text, cells[k].len);
        }
        c->readings[i] = (struct reading){.who = who, .values = cells};
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
        if (!reserve((void **)&c->readings, &c->rows_cap, from->n, sizeof(*c->readings)) ||
            !reserve((void **)&c->cells, &c->cells_cap, from->n * from->schema->n,
                     sizeof(*c->cells)) ||
            !reserve((void **)&c->text, &c->text_cap, text_size(from), 1))
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
