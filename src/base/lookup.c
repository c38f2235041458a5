#include "base/lookup.h"

#include <stdlib.h>
#include <string.h>

#define HASH_FACTOR 0x9e3779b97f4a7c15ULL

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

static void lookup_put_slot(struct lookup *l, struct lookup_slot slot)
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
                        lookup_put_slot(&bigger, l->slots[i]);
        }
        free(l->slots);
        *l = bigger;
        return true;
}

bool lookup_put(struct lookup *l, uint32_t hash, uint32_t id)
{
        if (l->n * 2 >= l->size && !grow(l))
                return false;
        lookup_put_slot(l, (struct lookup_slot){hash, id + 1});
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

uint64_t hash_stable(const char *s, size_t n)
{
        uint64_t h = UINT64_C(0xcbf29ce484222325);
        for (size_t i = 0; i < n; i++)
                h = (h ^ (unsigned char)s[i]) * UINT64_C(0x100000001b3);
        return h;
}
