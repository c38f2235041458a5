#include "net/ask.h"

#include <ctype.h>

void ask_put_field(struct strbuf *form, const char *name, const char *value)
{
        static const char digits[] = "0123456789ABCDEF";
        if (form->len > 0)
                strbuf_putc(form, '&');
        strbuf_puts(form, name);
        strbuf_putc(form, '=');
        for (const unsigned char *s = (const unsigned char *)value; *s; s++) {
                if (isalnum(*s) || strchr("-._~", *s)) {
                        strbuf_putc(form, (char)*s);
                } else {
                        strbuf_putc(form, '%');
                        strbuf_putc(form, digits[*s >> 4]);
                        strbuf_putc(form, digits[*s & 15]);
                }
        }
}
