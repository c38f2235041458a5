#include "base/pool.h"

#include "base/attr.h"
#include "base/list.h"

#include <stdalign.h>
#include <string.h>

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
        if (!LIST_ONE_MORE(p->chunks, p->n))
                return false;
        char *data = malloc(size);
        if (!data)
                return false;
        p->chunks[p->n++] = (struct pool_chunk){data, size};
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
