/*
 * Code objects of one process that are known: their names and the lines of places in them,
 * interned. A code object may be freed and another one take its place, so what identifies it is
 * read each time, which a plan makes cheap, and compared.
 */
#pragma once

#include "base/lookup.h"
#include "model/stack.h"
#include "read/stacks/runtime.h"

#define CODES_MAX 8192   /* then all are forgotten and learned again */
#define PLACES_MAX 65536 /* likewise */

struct code {
        uint64_t address;
        struct runtime_code is;
        uint32_t file, function; /* texts */
        enum stack_whose whose;
};

struct code_place {
        uint32_t code;  /* which of the list */
        int32_t place;  /* in bytes of its code */
        uint32_t frame; /* interned */
};

/* Zero it. */
struct code_cache {
        struct code *codes;
        struct code_place *places;
        size_t n_codes, codes_cap, n_places, places_cap;
        struct lookup by_address, by_place;
        char text[4 * STACK_NAME_MAX]; /* while a name is read */
};

void code_cache_finish(struct code_cache *c);
void code_cache_clear(struct code_cache *c);

/*
 * The interned frame of an instruction in the code object at an address. False when that is not a
 * code object, or the instruction is not one of it: the program moved on.
 */
bool code_find_frame(struct code_cache *c, struct remote *r, const struct runtime *rt,
                     struct stack_table *table, const struct runtime_frame *f, uint32_t *ret);

/* Whose code a file is, by the name that the program gives it. */
enum stack_whose code_whose(const char *file);
