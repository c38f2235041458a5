#include "read/drm/scan_table.h"

#include "base/attr.h"

#include <string.h>

/* What a table needs to know of its entries. */
struct kind {
        size_t size, max;
        uint64_t (*hash)(const void *entry);
};

static uint64_t mix(uint64_t v)
{
        v = (v ^ (v >> 32)) * 0x9e3779b97f4a7c15ULL;
        return v ^ (v >> 29);
}

static uint64_t hash_client(const void *entry)
{
        const struct scan_client *c = entry;
        return mix(c->id ^ ((uint64_t)c->gpu << 48));
}

static uint64_t hash_process(const void *entry)
{
        return mix(((const struct scan_process *)entry)->pid);
}

static const struct kind clients = {sizeof(struct scan_client), SCAN_CLIENTS_MAX, hash_client};
static const struct kind processes = {sizeof(struct scan_process), SCAN_PROCESSES_MAX,
                                      hash_process};

static void *entry_at(const struct scan_table *t, const struct kind *k, size_t i)
{
        return (char *)t->list + i * k->size;
}

static void insert(struct scan_table *t, const struct kind *k, size_t place)
{
        size_t at = k->hash(entry_at(t, k, place)) & (t->index_size - 1);
        while (t->index[at] != 0)
                at = (at + 1) & (t->index_size - 1);
        t->index[at] = (uint32_t)place + 1;
}

static bool grow(struct scan_table *t, const struct kind *k)
{
        size_t cap = t->cap ? t->cap * 2 : 64;
        if (cap > k->max)
                return false;
        void *list = realloc(t->list, cap * k->size);
        if (!list)
                return false;
        t->list = list;
        uint32_t *index = calloc(cap * 2, sizeof(*index));
        if (!index)
                return false;
        free(t->index);
        t->index = index;
        t->index_size = cap * 2;
        t->cap = cap;
        for (size_t i = 0; i < t->n; i++)
                insert(t, k, i);
        return true;
}

static void *add(struct scan_table *t, const struct kind *k, const void *entry)
{
        if (t->n == t->cap && !grow(t, k))
                return NULL;
        void *to = entry_at(t, k, t->n);
        memcpy(to, entry, k->size);
        insert(t, k, t->n++);
        return to;
}

struct scan_client *scan_find_client(const struct scan_table *t, uint16_t gpu, uint64_t id)
{
        struct scan_client wanted;
        wanted.gpu = gpu;
        wanted.id = id;
        if (t->n == 0)
                return NULL;
        size_t at = hash_client(&wanted) & (t->index_size - 1);
        for (; t->index[at] != 0; at = (at + 1) & (t->index_size - 1)) {
                struct scan_client *c = entry_at(t, &clients, t->index[at] - 1);
                if (c->id == id && c->gpu == gpu)
                        return c;
        }
        return NULL;
}

struct scan_client *scan_add_client(struct scan_table *t, const struct scan_client *client)
{
        return add(t, &clients, client);
}

struct scan_process *scan_find_process(const struct scan_table *t, uint32_t pid)
{
        struct scan_process wanted = {.pid = pid};
        if (t->n == 0)
                return NULL;
        size_t at = hash_process(&wanted) & (t->index_size - 1);
        for (; t->index[at] != 0; at = (at + 1) & (t->index_size - 1)) {
                struct scan_process *p = entry_at(t, &processes, t->index[at] - 1);
                if (p->pid == pid)
                        return p;
        }
        return NULL;
}

struct scan_process *scan_add_process(struct scan_table *t, const struct scan_process *process)
{
        return add(t, &processes, process);
}

void scan_table_clear(struct scan_table *t)
{
        t->n = 0;
        if (t->index)
                memset(t->index, 0, t->index_size * sizeof(*t->index));
}

void scan_table_finish(struct scan_table *t)
{
        free(t->list);
        free(t->index);
        *t = (struct scan_table){0};
}
