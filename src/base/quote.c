#include "base/quote.h"

#include "base/attr.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>

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

/* Names are short: of one that is longer the rest is left out. */
#define NAME_MAX_BYTES 1024

/* Letters, digits and points need neither cleaning nor quotes; most names are made of them. */
static bool is_plain(const char *s)
{
        size_t n = 0;
        for (; isalnum((unsigned char)s[n]) || s[n] == '.' || s[n] == '_'; n++)
                ;
        return s[n] == '\0' && n < NAME_MAX_BYTES;
}

void quote_csv_name(struct strbuf *out, const char *s)
{
        if (LIKELY(is_plain(s))) {
                strbuf_puts(out, s);
                return;
        }
        char clean[NAME_MAX_BYTES];
        bool formula = s[0] && memchr("=+-@", s[0], 4);
        snprintf(clean, sizeof(clean), "%s%s", formula ? "'" : "", s);
        text_clean(clean);
        quote_csv(out, clean);
}

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
                else if (code == 0)
                        strbuf_putc(out, '?'); /* not UTF-8 */
                else
                        strbuf_put(out, s, len);
        }
}
