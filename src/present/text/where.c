#include "present/text/where.h"

#include "base/attr.h"
#include "base/text.h"
#include "present/format.h"

#include <inttypes.h>
#include <string.h>

static const struct {
        const char *file, *function, *advice;
} known[] = {
#define PLACE(file, function, advice) {file, function, advice},
#include "model/places.def"
#undef PLACE
};

void where_put_line(struct strbuf *out, const struct code_line *line)
{
        text_put(out, where_short_file(line->file, line->whose), WHERE_FILE_MAX);
        if (line->line > 0)
                strbuf_putf(out, ":%" PRIu32, line->line);
        if (line->function[0] && strcmp(line->function, "<module>") != 0) {
                strbuf_putc(out, ' ');
                text_put(out, line->function, WHERE_FUNCTION_MAX);
        }
}

static void put_place(struct strbuf *out, const struct where_place *p)
{
        where_put_line(out, &p->own);
        if (p->inner.file[0]) {
                strbuf_puts(out, " (in ");
                where_put_line(out, &p->inner);
                strbuf_putc(out, ')');
        }
}

void where_put_places(struct strbuf *out, const struct where_place *places, size_t n,
                      const char *words)
{
        char share[FORMAT_MAX];
        for (size_t i = 0; i < n; i++) {
                strbuf_putf(out, "%s%s ", i > 0 ? ", " : "", format_share(share, places[i].share));
                if (i == 0)
                        strbuf_putf(out, "%s ", words);
                put_place(out, &places[i]);
        }
}

void where_put_part(struct strbuf *out, const struct where_part *part)
{
        where_put_places(out, part->places, part->n, part->rule->words);
}

void where_put(struct strbuf *out, const struct where *where)
{
        for (size_t i = 0; where && i < where->n; i++) {
                strbuf_puts(out, i > 0 ? "; " : "");
                where_put_part(out, &where->parts[i]);
        }
}

const char *where_advice(const struct where *where)
{
        if (!where || where->n == 0)
                return NULL;
        const struct where_place *p = &where->parts[0].places[0];
        const struct code_line *line = p->inner.file[0] ? &p->inner : &p->own;
        for (size_t i = 0; line->whose != STACK_USER && i < ARRAY_LEN(known); i++) {
                if (strstr(line->file, known[i].file) && strstr(line->function, known[i].function))
                        return known[i].advice;
        }
        return NULL;
}
