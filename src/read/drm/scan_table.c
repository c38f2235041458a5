#include "read/drm/scan_table.h"

#include "base/attr.h"
#include "base/list.h"

#include <string.h>

static uint32_t hash_client(uint16_t gpu, uint64_t id)
{
        const uint64_t key[] = {gpu, id};
        return hash_text((const char *)key, sizeof(key));
}

static uint32_t hash_process(uint32_t pid)
{
        return hash_text((const char *)&pid, sizeof(pid));
}

/* Adds an entry of that many bytes. NULL when memory is short or there are max. */
static void *scan_table_add(struct scan_table *t, size_t max, uint32_t hash, const void *entry,
                            size_t size)
{
        if (t->n == max || (t->n == t->cap && !list_grow(&t->list, &t->cap, size)) ||
            !lookup_put(&t->places, hash, (uint32_t)t->n))
                return NULL;
        return memcpy((char *)t->list + t->n++ * size, entry, size);
}

struct scan_client *scan_find_client(const struct scan_table *t, uint16_t gpu, uint64_t id)
{
        uint32_t hash = hash_client(gpu, id), i;
        struct scan_client *list = t->list;
        for (size_t step = 0; (i = lookup_next(&t->places, hash, &step)) != LOOKUP_END;) {
                if (list[i].id == id && list[i].gpu == gpu)
                        return &list[i];
        }
        return NULL;
}

struct scan_client *scan_add_client(struct scan_table *t, const struct scan_client *client)
{
        return scan_table_add(t, SCAN_CLIENTS_MAX, hash_client(client->gpu, client->id), client,
                              sizeof(*client));
}

struct scan_visit *scan_find_process(const struct scan_table *t, uint32_t pid)
{
        uint32_t hash = hash_process(pid), i;
        struct scan_visit *list = t->list;
        for (size_t step = 0; (i = lookup_next(&t->places, hash, &step)) != LOOKUP_END;) {
                if (list[i].pid == pid)
                        return &list[i];
        }
        return NULL;
}

struct scan_visit *scan_add_process(struct scan_table *t, const struct scan_visit *process)
{
        return scan_table_add(t, SCAN_PROCESSES_MAX, hash_process(process->pid), process,
                              sizeof(*process));
}

void scan_table_clear(struct scan_table *t)
{
        t->n = 0;
        lookup_clear(&t->places);
}

void scan_table_finish(struct scan_table *t)
{
        free(t->list);
        lookup_finish(&t->places);
        *t = (struct scan_table){0};
}
