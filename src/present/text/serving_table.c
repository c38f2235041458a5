#include "present/text/serving_table.h"

#include "present/serving_words.h"
#include "present/text/where.h"

#include <string.h>

#define INDENT 2

void serving_put_wrapped(struct strbuf *out, const char *text, unsigned indent, unsigned width)
{
        unsigned more = indent + 2;
        while (*text) {
                size_t room = width > indent + 20 ? width - indent : 20, len = strlen(text);
                if (len > room) {
                        len = room;
                        while (len > 0 && text[len] != ' ')
                                len--;
                        len = len > 0 ? len : strcspn(text, " ");
                }
                strbuf_putf(out, "%*s%.*s\n", (int)indent, "", (int)len, text);
                text += len + strspn(text + len, " ");
                indent = more;
        }
}

static void put_line(struct strbuf *out, struct strbuf *line, unsigned width)
{
        serving_put_wrapped(out, strbuf_str(line), INDENT, width);
        strbuf_clear(line);
}

void serving_put_front(struct strbuf *out, int32_t front, const struct where *where)
{
        if (front <= 0 || where->n == 0)
                return;
        strbuf_putf(out, "its process %d: ", front);
        where_put(out, where);
}

void serving_table_write(const struct served *list, size_t n, unsigned width, struct strbuf *out)
{
        struct strbuf line = {0};
        for (size_t i = 0; i < n; i++) {
                const struct served *s = &list[i];
                strbuf_putc(out, '\n');
                serving_put_name(out, &s->s);
                strbuf_putc(out, '\n');
                serving_put_load(&line, &s->s);
                put_line(out, &line, width);
                serving_put_latency(&line, &s->s);
                put_line(out, &line, width);
                serving_put_limit(&line, s);
                if (serving_try(s)[0])
                        strbuf_putf(&line, ": %s", serving_try(s));
                put_line(out, &line, width);
                serving_put_headroom(&line, s);
                put_line(out, &line, width);
                serving_put_yield(&line, s);
                put_line(out, &line, width);
        }
        strbuf_finish(&line);
}
