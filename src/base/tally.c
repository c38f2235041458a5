#include "base/tally.h"

#include <stdio.h>
#include <stdlib.h>

/* The row of a reason, made if need be; NULL when there are too many. */
static struct tally_row *find_or_make_row(struct tally *t, const char *why)
{
        char cut[TALLY_WHY_MAX];
        snprintf(cut, sizeof(cut), "%s", why);
        for (size_t i = 0; i < t->n; i++) {
                if (strcmp(t->rows[i].why, cut) == 0)
                        return &t->rows[i];
        }
        if (t->n == TALLY_REASONS_MAX)
                return NULL;
        memcpy(t->rows[t->n].why, cut, sizeof(cut));
        return &t->rows[t->n++];
}

void tally_add(struct tally *t, const char *name, const char *why)
{
        struct tally_row *row = find_or_make_row(t, why);
        if (!row) {
                t->others++;
                return;
        }
        if (row->n < TALLY_NAMES_MAX)
                row->names[row->n] = strdup(name);
        row->n++;
}

static void write_row(struct tally_row *row, struct strbuf *out)
{
        for (size_t i = 0; i < MIN(row->n, (size_t)TALLY_NAMES_MAX); i++) {
                strbuf_putf(out, "'%s': %s, skipping\n", row->names[i] ? row->names[i] : "?",
                            row->why);
                free(row->names[i]);
        }
        if (row->n > TALLY_NAMES_MAX)
                strbuf_putf(out, "%zu more: %s, skipping\n", row->n - TALLY_NAMES_MAX, row->why);
}

void tally_write(struct tally *t, struct strbuf *out)
{
        for (size_t i = 0; i < t->n; i++)
                write_row(&t->rows[i], out);
        if (t->others > 0)
                strbuf_putf(out, "%zu more for other reasons, skipping\n", t->others);
        *t = (struct tally){0};
}
