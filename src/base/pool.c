#include "base/pool.h"

#include "base/attr.h"

#include <stdalign.h>
#include <string.h>

#define HASH_FACTOR 0x9e3779b97f4a7c15ULL

void pool_finish(struct pool *p)
{
        for (size_t i = 0; i < p->n; i++)
                free(p->chunks[i].data);
        free(p->chunks);
        *p = (struct pool){0};
}

void pool_clear(struct pool *p)
{
        p->at = p->used = 0;
}

static bool add_chunk(struct pool *p, size_t n)
{
        /* The first are small: there may be a pool for each of a thousand things. */
        size_t size =
            MAX(n, MIN((size_t)POOL_CHUNK, (size_t)POOL_FIRST << MIN(2 * p->n, (size_t)8)));
        if (size > POOL_MAX || p->total > POOL_MAX - size)
                return false;
        struct pool_chunk *chunks = realloc(p->chunks, (p->n + 1) * sizeof(*chunks));
        if (!chunks)
                return false;
        p->chunks = chunks;
        char *data = malloc(size);
        if (!data)
                return false;
        chunks[p->n++] = (struct pool_chunk){data, size};
        p->total += size;
        return true;
}

void *pool_take(struct pool *p, size_t n)
{
        size_t align = alignof(max_align_t);
        if (n > POOL_MAX)
                return NULL;
        n = (n + align - 1) / align * align;
        while (p->at < p->n && p->chunks[p->at].size - p->used < n) {
                p->at++;
                p->used = 0;
        }
        if (p->at == p->n && !add_chunk(p, n))
                return NULL;
        char *to = p->chunks[p->at].data + p->used;
        p->used += n;
        return to;
}

const char *pool_copy(struct pool *p, const char *s, size_t n)
{
        if (n == 0)
                return "";
        char *to = pool_take(p, n);
        if (to)
                memcpy(to, s, n);
        return to;
}

struct pool_mark pool_mark(const struct pool *p)
{
        return (struct pool_mark){p->at, p->used};
}

void pool_release(struct pool *p, struct pool_mark mark)
{
        p->at = mark.at;
        p->used = mark.used;
}

void lookup_finish(struct lookup *l)
{
        free(l->slots);
        *l = (struct lookup){0};
}

void lookup_clear(struct lookup *l)
{
        if (l->n > 0)
                memset(l->slots, 0, l->size * sizeof(*l->slots));
        l->n = 0;
}

static void put(struct lookup *l, struct lookup_slot slot)
{
        size_t at = slot.hash & (l->size - 1);
        while (l->slots[at].id != 0)
                at = (at + 1) & (l->size - 1);
        l->slots[at] = slot;
        l->n++;
}

static bool grow(struct lookup *l)
{
        struct lookup bigger = {.size = l->size ? l->size * 2 : 64};
        bigger.slots = calloc(bigger.size, sizeof(*bigger.slots));
        if (!bigger.slots)
                return false;
        for (size_t i = 0; i < l->size; i++) {
                if (l->slots[i].id != 0)
                        put(&bigger, l->slots[i]);
        }
        free(l->slots);
        *l = bigger;
        return true;
}

bool lookup_put(struct lookup *l, uint32_t hash, uint32_t id)
{
        if (l->n * 2 >= l->size && !grow(l))
                return false;
        put(l, (struct lookup_slot){hash, id + 1});
        return true;
}

uint32_t lookup_next(const struct lookup *l, uint32_t hash, size_t *step)
{
        while (*step < l->size) {
                const struct lookup_slot *slot = &l->slots[(hash + *step) & (l->size - 1)];
                if (slot->id == 0)
                        break;
                ++*step;
                if (slot->hash == hash)
                        return slot->id - 1;
        }
        return LOOKUP_END;
}

uint32_t hash_text(const char *s, size_t n)
{
        uint64_t h = n * HASH_FACTOR, word;
        for (; n >= sizeof(word); s += sizeof(word), n -= sizeof(word)) {
                memcpy(&word, s, sizeof(word));
                h = (h ^ word) * HASH_FACTOR;
                h ^= h >> 29;
        }
        word = 0;
        if (n > 0)
                memcpy(&word, s, n);
        h = (h ^ word) * HASH_FACTOR;
        return (uint32_t)(h >> 32);
}
