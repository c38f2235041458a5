#include "base/quote.h"

#include "base/text.h"

void quote_markup(struct strbuf *out, const char *s)
{
        size_t len;
        for (; *s; s += len) {
                uint32_t code;
                len = text_decode(s, &code);
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
                else if (!text_is_plain(code) && !strchr("\t\n\r", *s))
                        strbuf_putc(out, '?');
                else
                        strbuf_put(out, s, len);
        }
}
