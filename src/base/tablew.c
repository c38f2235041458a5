#include "base/tablew.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#define CELL_BYTES 512 /* of what is made with a format */

void tablew_put(struct strbuf *out, const char *s, int width)
{
        size_t columns = width > 0 ? text_columns(s) : 0;
        if (width < 0) {
                text_put_name(out, s, (size_t)-width);
                return;
        }
        strbuf_fill(out, ' ', columns < (size_t)width ? (size_t)width - columns : 0);
        text_put(out, s, SIZE_MAX);
}

void tablew_end_line(struct strbuf *out)
{
        while (out->len > 0 && out->s[out->len - 1] == ' ')
                out->len--;
        strbuf_putc(out, '\n');
}

void tablew_cell(struct tablew *t, const char *s)
{
        const struct tablew_column *c = &t->columns[t->at++];
        strbuf_fill(t->out, ' ', c->gap);
        tablew_put(t->out, s, c->width);
}

void tablew_cellf(struct tablew *t, const char *fmt, ...)
{
        char text[CELL_BYTES];
        va_list args;
        va_start(args, fmt);
        vsnprintf(text, sizeof(text), fmt, args);
        va_end(args);
        tablew_cell(t, text);
}

void tablew_end(struct tablew *t)
{
        tablew_end_line(t->out);
        t->at = 0;
}

void tablew_head(struct tablew *t, size_t n)
{
        for (size_t i = 0; i < n; i++)
                tablew_cell(t, t->columns[i].title);
        tablew_end(t);
}
