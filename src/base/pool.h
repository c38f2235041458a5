/* Text that stays where it is put. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POOL_FIRST 4096
#define POOL_CHUNK (256 * 1024)
#define POOL_MAX (64 * 1024 * 1024)

struct pool_chunk {
        char *data;
        size_t size;
};

struct pool {
        struct pool_chunk *chunks;
        size_t n;     /* chunks there are */
        size_t at;    /* the one being filled */
        size_t used;  /* of that one */
        size_t total; /* bytes of all chunks */
};

void pool_finish(struct pool *p);
/* Forgets what is in it and keeps the memory. */
void pool_clear(struct pool *p);
/* Room for n bytes, aligned for any type. NULL when memory is short or POOL_MAX is reached. */
void *pool_take(struct pool *p, size_t n);
/* A copy of s; never NULL for an empty one. NULL as above. */
const char *pool_copy(struct pool *p, const char *s, size_t n);

/* Gives back all that was taken since the mark was made. */
struct pool_mark {
        size_t at, used;
};
struct pool_mark pool_mark(const struct pool *p);
void pool_release(struct pool *p, struct pool_mark mark);
