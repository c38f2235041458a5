#include "base/quote.h"

void quote_csv(struct strbuf *out, const char *s)
{
        if (!strpbrk(s, ",\"\r\n")) {
                strbuf_puts(out, s);
                return;
        }
        strbuf_putc(out, '"');
        for (; *s; s++) {
                if (*s == '"')
                        strbuf_putc(out, '"');
                strbuf_putc(out, *s);
        }
        strbuf_putc(out, '"');
}

void quote_markup(struct strbuf *out, const char *s)
{
        for (; *s; s++) {
                if (*s == '<')
                        strbuf_puts(out, "&lt;");
                else if (*s == '>')
                        strbuf_puts(out, "&gt;");
                else if (*s == '&')
                        strbuf_puts(out, "&amp;");
                else if (*s == '"')
                        strbuf_puts(out, "&quot;");
                else if ((unsigned char)*s < ' ' && !strchr("\t\n\r", *s))
                        strbuf_putc(out, ' '); /* XML does not allow it */
                else
                        strbuf_putc(out, *s);
        }
}
