#include "model/flame.h"

#include <stdlib.h>

void flame_finish(struct flame *f)
{
        for (size_t i = 0; i < f->n; i++)
                free(f->trees[i].nodes);
        free(f->trees);
        free(f->processes);
        *f = (struct flame){0};
}
