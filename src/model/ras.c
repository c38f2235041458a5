#include "model/ras.h"

#include "base/list.h"

#include <stdlib.h>

void ras_report_finish(struct ras_report *r)
{
        free(r->ranks);
        *r = (struct ras_report){0};
}

struct ras_rank *ras_report_add(struct ras_report *r)
{
        if (r->n == RAS_RANKS_MAX || !LIST_ROOM(r->ranks, r->n, r->cap))
                return NULL;
        struct value none = value_missing(STATE_NONE);
        r->ranks[r->n] = (struct ras_rank){.rank = none, .count = none, .most = none};
        return &r->ranks[r->n++];
}

const char *ras_trouble_name(enum ras_trouble trouble)
{
        static const char *const names[RAS_TROUBLE_COUNT] = {"fine", "missing", "dead", "behind",
                                                             "error"};
        return names[trouble < RAS_TROUBLE_COUNT ? trouble : RAS_FINE];
}
