#include "model/ras.h"

#include <stdlib.h>

void ras_report_finish(struct ras_report *r)
{
        free(r->ranks);
        *r = (struct ras_report){0};
}

const char *ras_trouble_name(enum ras_trouble trouble)
{
        static const char *const names[RAS_TROUBLE_COUNT] = {"fine", "missing", "dead", "behind",
                                                             "error"};
        return names[trouble < RAS_TROUBLE_COUNT ? trouble : RAS_FINE];
}
