#include "present/text/where.h"

#include "base/attr.h"
#include "base/text.h"
#include "present/format.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

static const struct {
        const char *file, *function, *advice;
} known[] = {
#define PLACE(file, function, advice) {file, function, advice},
#include "model/places.def"
#undef PLACE
};

/* Behind the last "/pythonX.Y/" of a path; NULL without one. */
static const char *after_python(const char *file)
{
        const char *found = NULL;
        for (const char *s = file; (s = strstr(s, "/python")); s++) {
                const char *digits = s + strlen("/python");
                size_t n = strspn(digits, "0123456789.t");
                if (n > 0 && digits[n] == '/')
                        found = digits + n + 1;
        }
        return found;
}

static const char *last_part(const char *file)
{
        const char *slash = strrchr(file, '/');
        return slash && slash[1] ? slash + 1 : file;
}

/* People know their own files by name, and a library's by its package. */
static const char *short_file(const struct code_line *line)
{
        static const char *const folders[] = {"/site-packages/", "/dist-packages/"};
        if (line->whose == STACK_USER)
                return last_part(line->file);
        for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
                const char *at = strstr(line->file, folders[i]);
                if (at)
                        return at + strlen(folders[i]);
        }
        const char *file = after_python(line->file);
        return file ? file : last_part(line->file);
}

void where_put_line(struct strbuf *out, const struct code_line *line)
{
        text_put(out, short_file(line), WHERE_FILE_MAX);
        if (line->line > 0)
                strbuf_putf(out, ":%" PRIu32, line->line);
        if (line->function[0] && strcmp(line->function, "<module>") != 0) {
                strbuf_putc(out, ' ');
                text_put(out, line->function, WHERE_FUNCTION_MAX);
        }
}

void where_put_part(struct strbuf *out, const struct where_part *part)
{
        char share[FORMAT_MAX];
        for (size_t i = 0; i < part->n; i++) {
                const struct where_place *p = &part->places[i];
                strbuf_putf(out, "%s%s ", i > 0 ? ", " : "", format_share(share, p->share));
                if (i == 0)
                        strbuf_putf(out, "%s ", part->rule->words);
                where_put_line(out, &p->own);
                if (p->inner.file[0]) {
                        strbuf_puts(out, " (in ");
                        where_put_line(out, &p->inner);
                        strbuf_putc(out, ')');
                }
        }
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
