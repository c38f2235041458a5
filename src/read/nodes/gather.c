#include "read/nodes/gather.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/list.h"
#include "read/batch_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NOWHERE UINT16_MAX
#define FIRST_NS (1500 * NS_PER_MS)

int gather_init(struct gather *g, enum dialect dialect, size_t parts)
{
        *g = (struct gather){.n_parts = parts,
                             .parts = calloc(parts, sizeof(*g->parts)),
                             .nodes = calloc(parts, sizeof(*g->nodes))};
        g->schema.dialect = dialect;
        return g->parts && g->nodes ? 0 : -ENOMEM;
}

void gather_finish(struct gather *g)
{
        for (size_t i = 0; g->parts && i < g->n_parts; i++) {
                free(g->parts[i].readings);
                free(g->parts[i].cells);
                free(g->parts[i].text);
                free(g->parts[i].map);
        }
        free(g->parts);
        free(g->nodes);
        free(g->readings);
        free(g->cells);
        *g = (struct gather){0};
}

static bool is_host(const char *field)
{
        return strcmp(field, "hostname") == 0 || strcmp(field, "Hostname") == 0;
}

/* The field of all that has this name, made when it is new; NOWHERE when there are too many. */
static uint16_t field_of(struct gather *g, const char *name)
{
        struct schema *s = &g->schema;
        for (size_t i = 0; i < s->n; i++) {
                if (strcmp(s->names[i], name) == 0)
                        return (uint16_t)i;
        }
        if (s->n >= SCHEMA_FIELDS_MAX)
                return NOWHERE;
        memcpy(s->names[s->n], name, strlen(name) + 1);
        s->revision++;
        if (is_host(name) && g->n_hosts < ARRAY_LEN(g->hosts))
                g->hosts[g->n_hosts++] = (uint16_t)s->n;
        return (uint16_t)s->n++;
}

static bool make_map(struct gather *g, struct gather_part *p, const struct schema *from)
{
        if (LIKELY(p->map && p->revision == from->revision))
                return true;
        if (!LIST_RESERVE(p->map, from->n, p->map_cap))
                return false;
        for (size_t i = 0; i < from->n; i++)
                p->map[i] = field_of(g, from->names[i]);
        p->revision = from->revision;
        return true;
}

static void copy_reading(struct gather_part *p, const struct batch *b, size_t i, char **at)
{
        const struct reading *from = &b->readings[i];
        struct raw *cells = p->cells + i * p->width;
        struct entity_key who = batch_text_keep_key(at, &from->who);
        memset(cells, 0, p->width * sizeof(*cells));
        for (size_t k = 0; k < b->schema->n; k++) {
                if (p->map[k] == NOWHERE || p->map[k] >= p->width)
                        continue;
                struct raw *cell = &cells[p->map[k]];
                *cell = from->values[k];
                if (cell->text)
                        cell->text = batch_text_keep(at, cell->text, cell->len);
        }
        p->readings[i] = (struct reading){.who = who, .values = cells};
}

int gather_take(struct gather *g, size_t part, const struct batch *from, int64_t measured_ns,
                int64_t heard_ns)
{
        struct gather_part *p = &g->parts[part];
        if (!make_map(g, p, from->schema))
                return -ENOMEM;
        size_t width = g->schema.n;
        if (!LIST_RESERVE(p->readings, from->n, p->rows_cap) ||
            !LIST_RESERVE(p->cells, from->n * width, p->cells_cap) ||
            !LIST_RESERVE(p->text, batch_text_size(from), p->text_cap))
                return -ENOMEM;
        char *at = p->text;
        p->width = width;
        p->n = from->n;
        for (size_t i = 0; i < from->n; i++)
                copy_reading(p, from, i, &at);
        p->measured_ns = measured_ns;
        p->heard_ns = heard_ns;
        p->stale = from->stale;
        p->fresh = true;
        return 0;
}

void gather_name(struct gather *g, size_t part, const char *name)
{
        g->parts[part].name = name;
}

/* A node is called as we call it, whatever it says. */
static void rename_host(const struct gather *g, const struct gather_part *p, struct entity_key *who,
                        struct raw *cells)
{
        if (!p->name)
                return;
        who->host = p->name;
        who->host_len = strlen(p->name);
        for (size_t i = 0; i < g->n_hosts; i++)
                cells[g->hosts[i]] = (struct raw){0};
}

/* Texts do not age. */
static void age_cells(struct raw *cells, size_t n, uint32_t age_ms, bool stale)
{
        for (size_t i = 0; i < n; i++) {
                struct raw *cell = &cells[i];
                if (cell->text || (cell->state != STATE_OK && cell->state != STATE_STALE))
                        continue;
                cell->age_ms = MIN(cell->age_ms, UINT32_MAX - age_ms) + age_ms;
                if (stale)
                        cell->state = STATE_STALE;
        }
}

static size_t give_part(struct gather *g, const struct gather_part *p, size_t part, size_t at,
                        int64_t age_ns, bool late)
{
        uint32_t age_ms = (uint32_t)MIN(MAX(age_ns, (int64_t)0) / NS_PER_MS, (int64_t)UINT32_MAX);
        for (size_t i = 0; i < p->n; i++, at++) {
                struct raw *cells = g->cells + at * g->schema.n;
                memcpy(cells, p->readings[i].values, p->width * sizeof(*cells));
                memset(cells + p->width, 0, (g->schema.n - p->width) * sizeof(*cells));
                struct entity_key who = p->readings[i].who;
                age_cells(cells, p->width, age_ms, late);
                rename_host(g, p, &who, cells);
                g->readings[at] =
                    (struct reading){.who = who, .values = cells, .origin = (uint16_t)part};
        }
        return at;
}

size_t gather_count(const struct gather *g)
{
        size_t n = 0;
        for (size_t i = 0; i < g->n_parts; i++)
                n += g->parts[i].n;
        return n;
}

int gather_give(struct gather *g, int64_t now_ns, int64_t late_ns, struct batch *ret)
{
        size_t rows = gather_count(g), at = 0;
        bool stale = true;
        if (!LIST_RESERVE(g->readings, rows, g->rows_cap) ||
            !LIST_RESERVE(g->cells, rows * g->schema.n, g->cells_cap))
                return -ENOMEM;
        for (size_t i = 0; i < g->n_parts; i++) {
                struct gather_part *p = &g->parts[i];
                bool late = p->stale || now_ns - p->heard_ns > late_ns;
                bool news = p->fresh && p->measured_ns >= p->heard_ns;
                stale = stale && (p->n == 0 || late);
                at = give_part(g, p, i, at, news ? 0 : now_ns - p->measured_ns, late);
                p->fresh = false;
        }
        g->last_ns = MAX(now_ns, g->last_ns + 1);
        *ret = (struct batch){.schema = &g->schema,
                              .mono_ns = g->last_ns,
                              .readings = g->readings,
                              .n = rows,
                              .stale = stale};
        return 0;
}

static bool all_tried(const struct gather *g)
{
        for (size_t i = 0; i < g->n_parts; i++) {
                if (!g->nodes[i].tried)
                        return false;
        }
        return true;
}

bool gather_first_due(const struct gather *g, const struct source_config *config, int64_t since_ns)
{
        if (all_tried(g))
                return true;
        if (config->settle || (!config->wait && gather_count(g) == 0))
                return false;
        return since_ns >= FIRST_NS;
}

void gather_trouble(const struct gather *g, const struct source_config *config, const char *what,
                    struct source_trouble *ret)
{
        size_t bad = g->n_parts - node_count(g->nodes, g->n_parts, NODE_OK);
        const struct node *first = g->nodes;
        /* Who does not wait has reported it already. */
        if (bad == 0 || !config->wait)
                return;
        while (first->state == NODE_OK)
                first++;
        snprintf(ret->notice, sizeof(ret->notice), "%zu of %zu %s gave nothing at the end; %s: %s",
                 bad, g->n_parts, what, first->name,
                 first->words[0] ? first->words : node_state_name(first->state));
}
