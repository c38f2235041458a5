#include "present/text/where.h"

#include "base/attr.h"
#include "base/text.h"
#include "present/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
        const char *file, *function, *call, *advice;
        bool is_plumbing;
} known[] = {
#define PLACE(file, function, call, advice) {file, function, call, advice, false},
#define PLUMBING(file, function, call, advice) {file, function, call, advice, true},
#include "model/places.def"
#undef PLACE
};

/* The number of a notebook's cell, as its file or a terminal's IPython names it; -1 for none. */
static int cell_number(const char *file)
{
        int cell = -1, end = 0;
        if (sscanf(file, "cell %d%n", &cell, &end) == 1 && file[end] == '\0')
                return cell;
        return sscanf(file, "<ipython-input-%d-", &cell) == 1 ? cell : -1;
}

void where_put_line(struct strbuf *out, const struct code_line *line)
{
        int cell = cell_number(line->file);
        if (cell >= 0)
                strbuf_putf(out, "cell %d", cell);
        else
                text_put(out, where_short_file(line->file, line->whose), WHERE_FILE_MAX);
        if (line->line > 0)
                strbuf_putf(out, cell >= 0 ? ", line %" PRIu32 : ":%" PRIu32, line->line);
        if (line->function[0] && strcmp(line->function, "<module>") != 0) {
                strbuf_putc(out, ' ');
                text_put(out, line->function, WHERE_FUNCTION_MAX);
        }
}

void where_put_place(struct strbuf *out, const struct where_place *place)
{
        where_put_line(out, &place->own);
        if (!place->inner.file[0])
                return;
        strbuf_puts(out, " (in ");
        where_put_line(out, &place->inner);
        strbuf_putc(out, ')');
}

void where_put_places(struct strbuf *out, const struct where_place *places, size_t n,
                      const char *words)
{
        char share[FORMAT_MAX];
        for (size_t i = 0; i < n; i++) {
                strbuf_putf(out, "%s%s ", i > 0 ? ", " : "", format_share(share, places[i].share));
                if (i == 0)
                        strbuf_putf(out, "%s ", words);
                where_put_place(out, &places[i]);
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

static bool begins_with(const char *s, const char *start)
{
        return strncmp(s, start, strlen(start)) == 0;
}

/* A path in a row begins where a library's own files do: behind site-packages, or pythonX.Y. */
static bool is_in(const struct code_line *line, const char *path)
{
        const char *file = where_short_file(line->file, line->whose);
        return path[0] == '/' ? begins_with(file, path + 1) : begins_with(file, path);
}

/* The row of a line that mostly waits in a call; ARRAY_LEN(known) for none. */
static size_t known_place(const struct code_line *line, const char *call)
{
        size_t i = 0;
        for (; i < ARRAY_LEN(known); i++) {
                bool of_library = known[i].file[0] || known[i].function[0];
                if ((!of_library || line->whose != STACK_USER) && is_in(line, known[i].file) &&
                    strstr(line->function, known[i].function) &&
                    (!known[i].call[0] || strcmp(call, known[i].call) == 0))
                        break;
        }
        return i;
}

const char *where_advice(const struct where *where)
{
        if (!where || where->n == 0)
                return NULL;
        const struct where_place *p = &where->parts[0].places[0];
        size_t inner = known_place(p->inner.file[0] ? &p->inner : &p->own, p->call);
        bool is_plumbing = inner < ARRAY_LEN(known) && known[inner].is_plumbing;
        size_t called =
            is_plumbing && p->called.file[0] ? known_place(&p->called, "") : ARRAY_LEN(known);
        if (called < ARRAY_LEN(known) && !known[called].is_plumbing)
                return known[called].advice;
        return inner < ARRAY_LEN(known) ? known[inner].advice : NULL;
}
