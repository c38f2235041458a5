#include "entity/registry.h"

#include "base/attr.h"
#include "base/list.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* A key that owns its text. */
struct registry_key {
        struct entity_key key;
        char text[2 * ENTITY_TEXT_MAX];
};

void registry_finish(struct registry *r)
{
        for (size_t i = 0; i < r->n; i++)
                free(r->list[i]);
        free(r->list);
        free(r->keys);
        lookup_finish(&r->slots);
        *r = (struct registry){0};
}

/* Texts that are not there are NULL with length 0. */
static size_t text_len(size_t len)
{
        return MIN(len, (size_t)ENTITY_TEXT_MAX - 1);
}

/* A GPU that has a UUID is known by it; its number may differ from source to source. */
static bool by_uuid(const struct entity_key *k)
{
        return k->kind == ENTITY_GPU && k->uuid_len > 0;
}

static uint32_t hash_key(const struct entity_key *k)
{
        const int32_t ids[] = {(int32_t)k->kind, k->index, k->gi, k->ci, k->flat};
        uint32_t host = hash_text(k->host, text_len(k->host_len));
        uint32_t uuid = hash_text(k->uuid, text_len(k->uuid_len));
        if (by_uuid(k))
                return host ^ uuid;
        return host ^ hash_text((const char *)ids, sizeof(ids)) ^ (k->index < 0 ? uuid : 0);
}

static bool text_equal(const char *a, size_t an, const char *b, size_t bn)
{
        an = text_len(an);
        bn = text_len(bn);
        return an == bn && (an == 0 || memcmp(a, b, an) == 0);
}

static bool key_equal(const struct entity_key *a, const struct entity_key *b)
{
        if (a->kind != b->kind || !text_equal(a->host, a->host_len, b->host, b->host_len))
                return false;
        if (by_uuid(a) != by_uuid(b))
                return false;
        if (by_uuid(a))
                return text_equal(a->uuid, a->uuid_len, b->uuid, b->uuid_len);
        return a->index == b->index && a->gi == b->gi && a->ci == b->ci && a->flat == b->flat &&
               (a->index >= 0 || text_equal(a->uuid, a->uuid_len, b->uuid, b->uuid_len));
}

static void label_entity(struct entity *e, const struct entity_key *k)
{
        char *to = e->label;
        size_t size = sizeof(e->label);
        if (k->kind == ENTITY_GPU && k->index >= 0)
                snprintf(to, size, "%d", k->index);
        else if (k->kind == ENTITY_GPU)
                snprintf(to, size, "%.12s", e->text[ENTITY_TEXT_UUID]);
        else if (k->index < 0)
                snprintf(to, size, "%s %d", k->kind == ENTITY_GPU_INSTANCE ? "GPU-I" : "GPU-CI",
                         k->flat);
        else if (k->ci < 0)
                snprintf(to, size, "%d/%d", k->index, k->gi);
        else
                snprintf(to, size, "%d/%d/%d", k->index, k->gi, k->ci);
        text_clean(to); /* a UUID may be cut inside a letter */
}

static struct entity *make_entity(const struct entity_key *k, uint32_t slot)
{
        struct entity *e = calloc(1, sizeof(*e));
        if (!e)
                return NULL;
        e->slot = slot;
        e->kind = k->kind;
        e->index = k->index;
        e->gi = k->gi;
        e->ci = k->ci;
        e->flat = k->flat;
        e->vendor = k->vendor;
        e->ordinal = k->ordinal;
        e->ordinals = k->ordinals;
        entity_set_text(e, ENTITY_TEXT_UUID, k->uuid, k->uuid_len);
        entity_set_text(e, ENTITY_TEXT_HOST, k->host, k->host_len);
        label_entity(e, k);
        return e;
}

static void copy_key(struct registry_key *to, const struct entity_key *k)
{
        *to = (struct registry_key){.key = *k};
        to->key.host_len = text_len(k->host_len);
        to->key.uuid_len = text_len(k->uuid_len);
        if (to->key.host_len > 0)
                memcpy(to->text, k->host, to->key.host_len);
        if (to->key.uuid_len > 0)
                memcpy(to->text + ENTITY_TEXT_MAX, k->uuid, to->key.uuid_len);
}

/* The text moves with the array, so the pointers are made when the key is used. */
static struct entity_key stored_key(const struct registry *r, size_t slot)
{
        struct entity_key k = r->keys[slot].key;
        k.host = r->keys[slot].text;
        k.uuid = r->keys[slot].text + ENTITY_TEXT_MAX;
        return k;
}

static bool grow_registry(struct registry *r)
{
        if (r->n >= REGISTRY_MAX)
                return false;
        size_t cap = r->cap; /* both lists have the same */
        if (!LIST_ROOM(r->list, r->n, cap) || !list_resize(&r->keys, cap, sizeof(*r->keys)))
                return false;
        r->cap = cap;
        return true;
}

static struct entity *find_entity(const struct registry *r, const struct entity_key *key)
{
        uint32_t hashed = hash_key(key), slot;
        for (size_t step = 0; (slot = lookup_next(&r->slots, hashed, &step)) != LOOKUP_END;) {
                struct entity_key k = stored_key(r, slot);
                if (key_equal(key, &k))
                        return r->list[slot];
        }
        return NULL;
}

struct entity *registry_find(const struct registry *r, const struct entity_key *key, size_t hint)
{
        if (LIKELY(hint < r->n)) {
                struct entity_key k = stored_key(r, hint);
                if (LIKELY(key_equal(key, &k)))
                        return r->list[hint];
        }
        return find_entity(r, key);
}

struct entity *registry_resolve(struct registry *r, const struct entity_key *key, size_t hint)
{
        struct entity *e = registry_find(r, key, hint);
        if (e)
                return e;
        if (r->n == r->cap && !grow_registry(r))
                return NULL;
        e = make_entity(key, (uint32_t)r->n);
        if (!e || !lookup_put(&r->slots, hash_key(key), e->slot)) {
                free(e);
                return NULL;
        }
        r->list[r->n] = e;
        copy_key(&r->keys[r->n++], key);
        return e;
}

bool registry_is_full(const struct registry *r)
{
        return r->n >= REGISTRY_MAX;
}
