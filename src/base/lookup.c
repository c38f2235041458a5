#include "base/lookup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define HASH_FACTOR 0x9e3779b97f4a7c15ULL
#define HASH_KEY_BYTES 16

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

static bool grow_slots(struct lookup *l)
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
        if (l->n * 2 >= l->size && !grow_slots(l))
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

/* 128 bits of a product, folded: no bit of the factors stays where it was. */
static uint64_t fold_product(uint64_t a, uint64_t b)
{
        __extension__ typedef unsigned __int128 wide;
        wide product = (wide)a * b;
        return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The kernel gives each process 16 random bytes. */
static void take_key(uint64_t ret[HASH_KEY_BYTES / sizeof(uint64_t)])
{
        unsigned long at = getauxval(AT_RANDOM);
        const void *bytes;
        memcpy(&bytes, &at, sizeof(bytes));
        memset(ret, 0, HASH_KEY_BYTES);
        if (bytes)
                memcpy(ret, bytes, HASH_KEY_BYTES);
}

uint32_t hash_text(const char *s, size_t n)
{
        uint64_t key[HASH_KEY_BYTES / sizeof(uint64_t)], word;
        take_key(key);
        uint64_t factor = key[1] | 1, h = key[0] ^ n * HASH_FACTOR;
        for (; n >= sizeof(word); s += sizeof(word), n -= sizeof(word)) {
                memcpy(&word, s, sizeof(word));
                h = fold_product(h ^ word, factor) + key[0];
        }
        word = 0;
        if (n > 0)
                memcpy(&word, s, n);
        h = fold_product(fold_product(h ^ word, factor), HASH_FACTOR);
        return (uint32_t)(h >> 32);
}

uint64_t hash_stable(const char *s, size_t n)
{
        uint64_t h = UINT64_C(0xcbf29ce484222325);
        for (size_t i = 0; i < n; i++)
                h = (h ^ (unsigned char)s[i]) * UINT64_C(0x100000001b3);
        return h;
}
