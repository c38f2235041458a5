#include "base/jsonw.h"

#include "base/attr.h"
#include "base/num.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Letters that stand for themselves, which are nearly all there are. */
static size_t plain_span(const char *s)
{
        size_t n = 0;
        while (s[n] >= ' ' && s[n] < 0x7f && s[n] != '"' && s[n] != '\\')
                n++;
        return n;
}

void json_put_string(struct strbuf *out, const char *s)
{
        strbuf_putc(out, '"');
        for (;;) {
                uint32_t c;
                size_t len = plain_span(s);
                strbuf_put(out, s, len);
                s += len;
                if (*s == '\0')
                        break;
                len = text_decode(s, &c);
                if (c == '"' || c == '\\')
                        strbuf_putf(out, "\\%c", (char)c);
                else if (c == 0)
                        strbuf_puts(out, "\\ufffd");
                else if (!text_is_plain(c) && c < 0x10000)
                        strbuf_putf(out, "\\u%04x", c);
                else
                        strbuf_put(out, s, len);
                s += len;
        }
        strbuf_putc(out, '"');
}

/* Without the zeros at the end of its decimals, nor a point without any. */
static size_t trim_zeros(const char *buf, size_t n)
{
        if (!memchr(buf, '.', n))
                return n;
        while (buf[n - 1] == '0')
                n--;
        return n - (buf[n - 1] == '.');
}

/* Most values have few decimals: then these are what printf would find, much sooner. */
#define FEW_DECIMALS 4

static bool put_few_decimals(struct strbuf *out, double v)
{
        char buf[NUM_FORMAT_MAX];
        double back;
        if (fabs(v) >= 1e9)
                return false;
        size_t n = num_format(buf, v, FEW_DECIMALS);
        if (!num_parse_all(buf, n, &back) || back != v)
                return false;
        strbuf_put(out, buf, trim_zeros(buf, n));
        return true;
}

void json_put_number(struct strbuf *out, double v)
{
        char buf[NUM_FORMAT_MAX];
        if (!isfinite(v)) {
                strbuf_puts(out, "null");
                return;
        }
        if (v == floor(v) && fabs(v) < 0x1p53) {
                strbuf_put(out, buf, num_format(buf, v + 0.0, 0));
                return;
        }
        if (put_few_decimals(out, v))
                return;
        for (int digits = 15; digits <= 17; digits++) {
                int n = snprintf(buf, sizeof(buf), "%.*g", digits, v);
                double back;
                if (num_parse_all(buf, (size_t)n, &back) && back == v)
                        break;
        }
        strbuf_puts(out, buf);
}

static void begin_line(struct jsonw *j)
{
        strbuf_putc(j->out, '\n');
        if (j->spread)
                strbuf_fill(j->out, ' ', 2 * (size_t)j->depth);
        j->line = false;
}

void jsonw_begin(struct jsonw *j, const char *name)
{
        if (j->more)
                strbuf_putc(j->out, ',');
        if (j->line || (j->spread && j->depth > 0))
                begin_line(j);
        j->more = true;
        if (!name)
                return;
        json_put_string(j->out, name);
        strbuf_puts(j->out, j->spread ? ": " : ":");
}

static void open_bracket(struct jsonw *j, const char *name, bool array)
{
        jsonw_begin(j, name);
        strbuf_putc(j->out, array ? '[' : '{');
        j->arrays = j->arrays << 1 | array;
        j->depth++;
        j->more = false;
}

void jsonw_object(struct jsonw *j, const char *name)
{
        open_bracket(j, name, false);
}

void jsonw_array(struct jsonw *j, const char *name)
{
        open_bracket(j, name, true);
}

void jsonw_end(struct jsonw *j)
{
        j->depth--;
        if (j->line || (j->spread && j->more))
                begin_line(j);
        strbuf_putc(j->out, j->arrays & 1 ? ']' : '}');
        j->arrays >>= 1;
        j->more = true;
}

void jsonw_line(struct jsonw *j)
{
        j->line = true;
}

void jsonw_reopen(struct strbuf *out)
{
        while (out->len > 0 && (out->s[out->len - 1] == '\n' || out->s[out->len - 1] == '}')) {
                out->len--;
                if (out->s[out->len] == '}')
                        break;
        }
}

void jsonw_text(struct jsonw *j, const char *name, const char *s)
{
        jsonw_begin(j, name);
        json_put_string(j->out, s);
}

void jsonw_text_or_null(struct jsonw *j, const char *name, const char *s)
{
        if (s && s[0])
                jsonw_text(j, name, s);
        else
                jsonw_null(j, name);
}

void jsonw_number(struct jsonw *j, const char *name, double v)
{
        jsonw_begin(j, name);
        json_put_number(j->out, v);
}

void jsonw_count(struct jsonw *j, const char *name, uint64_t v)
{
        char buf[20];
        jsonw_begin(j, name);
        strbuf_put(j->out, buf, num_format_u64(buf, v));
}

void jsonw_whole(struct jsonw *j, const char *name, int64_t v)
{
        jsonw_begin(j, name);
        strbuf_putf(j->out, "%lld", (long long)v);
}

void jsonw_fixed(struct jsonw *j, const char *name, double v, unsigned decimals)
{
        char buf[NUM_FORMAT_MAX];
        jsonw_begin(j, name);
        strbuf_put(j->out, buf, num_format(buf, v, decimals));
}

/* As %.*g writes numbers from a ten-thousandth on that need no exponent. */
static bool put_plain(struct strbuf *out, double v, int digits)
{
        static const double powers[] = {1e-3, 1e-2, 1e-1, 1, 10, 100, 1000};
        char buf[NUM_FORMAT_MAX];
        double size = fabs(v);
        int decimals = digits + 3;
        if (!(size >= 1e-4 && size < 1e4) || digits < 5 || digits > 6)
                return false;
        for (size_t i = 0; i < ARRAY_LEN(powers) && size >= powers[i]; i++)
                decimals--;
        strbuf_put(out, buf, trim_zeros(buf, num_format(buf, v, (unsigned)decimals)));
        return true;
}

void jsonw_short(struct jsonw *j, const char *name, double v, int digits)
{
        jsonw_begin(j, name);
        if (v == 0 && !signbit(v))
                strbuf_putc(j->out, '0');
        else if (!put_plain(j->out, v, digits))
                strbuf_putf(j->out, "%.*g", digits, v);
}

void jsonw_bool(struct jsonw *j, const char *name, bool v)
{
        jsonw_begin(j, name);
        strbuf_puts(j->out, v ? "true" : "false");
}

void jsonw_null(struct jsonw *j, const char *name)
{
        jsonw_begin(j, name);
        strbuf_puts(j->out, "null");
}
