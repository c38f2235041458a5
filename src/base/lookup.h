/* One hash table for the whole program, and the hashes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A hash table of numbers: places in a list of the caller's, by the hash of what stands there. */
struct lookup_slot {
        uint32_t hash;
        uint32_t id; /* + 1; 0 is empty */
};

struct lookup {
        struct lookup_slot *slots;
        size_t size, n; /* size is 0 or a power of two */
};

#define LOOKUP_END UINT32_MAX

void lookup_finish(struct lookup *l);
void lookup_clear(struct lookup *l);
/* False when memory is short. The id need not be new: what is found is the caller's to compare. */
bool lookup_put(struct lookup *l, uint32_t hash, uint32_t id);
/* The next id of that hash, LOOKUP_END after the last. *step starts at 0. */
uint32_t lookup_next(const struct lookup *l, uint32_t hash, size_t *step);

/*
 * A quick hash, for tables only; 8 bytes a step. It is another one in each process, so that who
 * chooses the names cannot choose them to have one hash.
 */
uint32_t hash_text(const char *s, size_t n);
/* FNV-1a: slower, and the same on every machine and forever, for what is kept in files. */
uint64_t hash_stable(const char *s, size_t n);
