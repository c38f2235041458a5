/* A batch that owns what it points to, so that its source may continue. */
#pragma once

#include "model/reading.h"

struct batch_copy {
        struct batch batch; /* schema is NULL before the first copy */
        struct schema schema;
        struct reading *readings;
        struct raw *cells;
        char *text;
        size_t rows_cap, cells_cap, text_cap;
};

void batch_copy_finish(struct batch_copy *c);
/* Copies one part. Allocates only when it is larger than any before. 0 or -ENOMEM. */
int batch_copy_take(struct batch_copy *c, const struct batch *from);
/* Makes the values older by so much; they are stale from then on. Texts do not age. */
void batch_copy_age(struct batch_copy *c, uint32_t ms);
