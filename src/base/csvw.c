#include "base/csvw.h"

#include "base/jsonw.h"
#include "base/num.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void csvw_end(struct csvw *c)
{
        strbuf_puts(c->out, c->end ? c->end : "\n");
        c->more = false;
}

/* What ends a plain field: a bit for each, all below 64. */
#define ENDS_PLAIN (1ULL << '\0' | 1ULL << ',' | 1ULL << '"' | 1ULL << '\r' | 1ULL << '\n')

/* How many characters of a text need no quotes. */
static size_t unquoted_length(const char *s)
{
        size_t n = 0;
        while ((unsigned char)s[n] >= 64 || !(ENDS_PLAIN >> (s[n] & 63) & 1))
                n++;
        return n;
}

void csvw_text(struct csvw *c, const char *s)
{
        size_t len = unquoted_length(s);
        csvw_begin(c);
        if (s[len] == '\0') {
                strbuf_put(c->out, s, len);
                return;
        }
        strbuf_putc(c->out, '"');
        for (; *s; s++) {
                if (*s == '"')
                        strbuf_putc(c->out, '"');
                strbuf_putc(c->out, *s);
        }
        strbuf_putc(c->out, '"');
}

/* Names are short: of one that is longer the rest is left out. */
#define NAME_MAX_BYTES 1024

static bool is_plain(char c)
{
        return (unsigned char)((c | 0x20) - 'a') < 26 || (unsigned char)(c - '0') < 10 ||
               c == '.' || c == '_';
}

/* Letters, digits and points need neither cleaning nor quotes; most names are made of them. */
static size_t plain_length(const char *s)
{
        size_t n = 0;
        while (is_plain(s[n]))
                n++;
        return n;
}

void csvw_name(struct csvw *c, const char *s)
{
        size_t len = plain_length(s);
        if (LIKELY(s[len] == '\0' && len < NAME_MAX_BYTES)) {
                csvw_begin(c);
                strbuf_put(c->out, s, len);
                return;
        }
        char clean[NAME_MAX_BYTES];
        bool formula = s[0] && memchr("=+-@", s[0], 4);
        snprintf(clean, sizeof(clean), "%s%s", formula ? "'" : "", s);
        text_clean(clean);
        csvw_text(c, clean);
}

void csvw_count(struct csvw *c, uint64_t v)
{
        char buf[20];
        csvw_begin(c);
        strbuf_put(c->out, buf, num_format_u64(buf, v));
}

void csvw_fixed(struct csvw *c, double v, unsigned decimals)
{
        csvw_begin(c);
        if (isfinite(v) && strbuf_reserve(c->out, NUM_FORMAT_MAX))
                c->out->len += num_format(c->out->s + c->out->len, v, decimals);
}

void csvw_short(struct csvw *c, double v, int digits)
{
        csvw_begin(c);
        if (isfinite(v))
                strbuf_putf(c->out, "%.*g", digits, v);
}

void csvw_number(struct csvw *c, double v)
{
        csvw_begin(c);
        if (isfinite(v))
                json_put_number(c->out, v);
}
