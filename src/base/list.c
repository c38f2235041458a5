#include "base/list.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST 4 /* a node has few GPUs, a cluster many */

bool list_resize(void *list, size_t n, size_t entry)
{
        void *old, *more;
        memcpy(&old, list, sizeof(old));
        more = n <= SIZE_MAX / entry ? realloc(old, n * entry) : NULL;
        if (more)
                memcpy(list, &more, sizeof(more));
        return more != NULL;
}

bool list_extend(void *list, size_t *n, size_t wanted, size_t entry)
{
        char *grown;
        if (wanted <= *n)
                return true;
        if (!list_resize(list, wanted, entry))
                return false;
        memcpy(&grown, list, sizeof(grown));
        memset(grown + *n * entry, 0, (wanted - *n) * entry);
        *n = wanted;
        return true;
}

bool list_reserve(void *list, size_t *cap, size_t n, size_t entry)
{
        if (n <= *cap)
                return true;
        if (!list_resize(list, n, entry))
                return false;
        *cap = n;
        return true;
}

bool list_grow(void *list, size_t *cap, size_t entry)
{
        return list_reserve(list, cap, *cap ? *cap * 2 : FIRST, entry);
}
