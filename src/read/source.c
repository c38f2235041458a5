#include "read/source.h"

#include <string.h>

#define SOURCE(name) extern const struct source_ops source_##name;
#include "read/sources.def"
#undef SOURCE

static const struct source_ops *const table[] = {
#define SOURCE(name) &source_##name,
#include "read/sources.def"
#undef SOURCE
    NULL,
};

const struct source_ops *source_at(size_t i)
{
        return i < ARRAY_LEN(table) ? table[i] : NULL;
}

const struct source_ops *source_find(const char *name)
{
        for (size_t i = 0; table[i]; i++) {
                if (strcmp(table[i]->name, name) == 0)
                        return table[i];
        }
        return NULL;
}
