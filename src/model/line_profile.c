#include "model/line_profile.h"

#include <stdlib.h>
#include <string.h>

void line_profile_finish(struct line_profile *p)
{
        free(p->lines);
        *p = (struct line_profile){0};
}

const struct profile_line *line_profile_find(const struct line_profile *p,
                                             const struct profile_line *line)
{
        const char *file = where_short_file(line->own.file, line->own.whose);
        for (size_t i = 0; i < p->n; i++) {
                const struct profile_line *l = &p->lines[i];
                if (l->of_workers == line->of_workers && l->offset == line->offset &&
                    strcmp(l->own.function, line->own.function) == 0 &&
                    strcmp(where_short_file(l->own.file, l->own.whose), file) == 0)
                        return l;
        }
        return NULL;
}
