#include "formats/notebook/cells.h"

#include "base/jsonin.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

/* True when the phase's data has the text of a cell. */
static bool take_data(const struct phase *p, struct cell_of *ret)
{
        json_t *o = p->data ? jsonin_text(p->data, 0, NULL) : NULL;
        const char *raw = json_string_value(json_object_get(o, "raw_cell"));
        const json_t *index = json_object_get(o, "cell_index");
        if (raw) {
                ret->raw = strdup(raw);
                if (json_is_integer(index))
                        ret->index = (long)json_integer_value(index);
        }
        json_decref(o);
        return raw != NULL;
}

int cells_init(struct cells *c, const struct phase *phases, size_t n)
{
        struct cell_of *list = calloc(n + 1, sizeof(*list));
        size_t named = 0;
        if (!list)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                list[named] = (struct cell_of){.phase = &phases[i], .index = (long)named};
                named += take_data(&phases[i], &list[named]);
        }
        for (size_t i = 0; named == 0 && i < n; i++)
                list[i] = (struct cell_of){.phase = &phases[i], .index = (long)i};
        *c = (struct cells){.list = list, .n = named > 0 ? named : n};
        return 0;
}

void cells_finish(struct cells *c)
{
        for (size_t i = 0; i < c->n; i++)
                free(c->list[i].raw);
        free(c->list);
        *c = (struct cells){0};
}

/* Phases are in order of their beginning, so the last that holds the moment is the innermost. */
long cells_at(const struct cells *c, int64_t moment_ns)
{
        long found = -1;
        for (size_t i = 0; i < c->n && c->list[i].phase->begin_ns <= moment_ns; i++) {
                if (phase_holds(c->list[i].phase, moment_ns))
                        found = c->list[i].index;
        }
        return found;
}
