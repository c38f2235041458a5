#include "model/where.h"

#include "base/attr.h"

static const struct where_rule table[] = {
#define WHERE(limiter, who, doing, otherwise, name, words)                                         \
        {LIMITER_##limiter, WHERE_##who, WHERE_##doing, WHERE_##otherwise, name, words},
#include "model/where.def"
#undef WHERE
};

size_t where_rules(enum limiter limiter, const struct where_rule **ret)
{
        size_t n = 0;
        for (size_t i = 0; i < ARRAY_LEN(table) && n < WHERE_PARTS_MAX; i++) {
                if (table[i].limiter == limiter)
                        ret[n++] = &table[i];
        }
        return n;
}
