/* Which phases are the cells of a notebook: those that keep their text, or all when none does. */
#pragma once

#include "model/phase.h"

#include <stddef.h>

struct cell_of {
        const struct phase *phase;
        long index;
        char *raw; /* its text, owned; NULL: the phase's name stands for it */
};

struct cells {
        struct cell_of *list;
        size_t n;
};

/* The phases are borrowed. 0 or -ENOMEM. */
int cells_init(struct cells *c, const struct phase *phases, size_t n);
void cells_finish(struct cells *c);
/* The index of the innermost cell that holds a moment; -1 for none. */
long cells_at(const struct cells *c, int64_t moment_ns);
