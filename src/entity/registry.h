/* Who is who: turns a source's way of naming an entity into one entity that stays the same. */
#pragma once

#include "base/lookup.h"
#include "model/entity.h"

/* More than any source shows at once; one that names new ones forever is cut off here. */
#define REGISTRY_MAX 16384

struct registry {
        struct entity **list; /* in order of appearance; entity->slot is the place in it */
        size_t n, cap;
        struct registry_key *keys; /* beside list */
        struct lookup slots;       /* by the key's hash */
};

void registry_finish(struct registry *r);
/* The entity of that key; NULL when there is none. hint is a slot worth trying first. */
struct entity *registry_find(const struct registry *r, const struct entity_key *key, size_t hint);
/*
 * The entity of that key, made when it is new. NULL when memory is short, or when it is new and the
 * registry is full.
 */
struct entity *registry_resolve(struct registry *r, const struct entity_key *key, size_t hint);
bool registry_is_full(const struct registry *r);
