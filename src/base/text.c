#include "base/text.h"

#include "base/attr.h"

#include <string.h>

size_t text_decode(const char *s, uint32_t *ret)
{
        const unsigned char *u = (const unsigned char *)s;
        static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
        size_t n = u[0] < 0x80           ? 1
                   : (u[0] >> 5) == 0x6  ? 2
                   : (u[0] >> 4) == 0xe  ? 3
                   : (u[0] >> 3) == 0x1e ? 4
                                         : 0;
        *ret = 0;
        if (n == 0)
                return 1;
        uint32_t code = n == 1 ? u[0] : u[0] & (0x7fU >> n);
        for (size_t i = 1; i < n; i++) {
                /* The zero at the end of s is not a continuation either. */
                if ((u[i] & 0xc0) != 0x80)
                        return i;
                code = code << 6 | (u[i] & 0x3f);
        }
        if (code >= least[n] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff))
                *ret = code;
        return n;
}

bool text_is_plain(uint32_t code)
{
        return code >= 0x20 && (code < 0x7f || code > 0x9f) && code != 0xfffe && code != 0xffff &&
               (code < 0x2028 || code > 0x202e) && (code < 0x2066 || code > 0x2069);
}

bool text_is_utf8(const char *s)
{
        uint32_t code = ' ';
        while (*s && code != 0)
                s += text_decode(s, &code);
        return code != 0;
}

void text_clean(char *s)
{
        while (*s >= ' ' && *s <= '~') /* nearly always all of it */
                s++;
        char *to = s;
        size_t len;
        for (; *s; s += len) {
                uint32_t code;
                len = text_decode(s, &code);
                if (!text_is_plain(code)) {
                        *to++ = '?';
                        continue;
                }
                memmove(to, s, len);
                to += len;
        }
        *to = '\0';
}

char *text_trim(char *s)
{
        s += strspn(s, " \t");
        size_t n = strlen(s);
        while (n > 0 && strchr(" \t\r", s[n - 1]))
                s[--n] = '\0';
        return s;
}

static bool is_ascii_or_newline(char c)
{
        return (c >= ' ' && c < 0x7f) || c == '\n';
}

void text_clean_lines(struct strbuf *text, size_t from)
{
        /* Terminated, so that a letter which is cut off at the end is not read beyond. */
        if (strbuf_str(text)[0] == '\0' || text->failed)
                return;
        size_t to = from, len;
        for (size_t i = from; i < text->len; i += len) {
                uint32_t code = 0;
                len = 1;
                if (is_ascii_or_newline(text->s[i])) {
                        text->s[to++] = text->s[i];
                        continue;
                }
                if (text->s[i])
                        len = text_decode(text->s + i, &code);
                if (text_is_plain(code)) {
                        memmove(text->s + to, text->s + i, len);
                        to += len;
                } else {
                        text->s[to++] = '?';
                }
        }
        text->len = to;
}

/* Marks that join the letter before them take none; letters of East Asia and pictures two. */
static size_t columns_of(uint32_t code)
{
        static const struct {
                uint32_t from, to;
                uint8_t columns;
        } odd[] = {
            {0x300, 0x36f, 0},     {0x1100, 0x115f, 2}, {0x200b, 0x200f, 0}, {0x20d0, 0x20ff, 0},
            {0x2e80, 0xa4cf, 2},   {0xac00, 0xd7a3, 2}, {0xf900, 0xfaff, 2}, {0xfe00, 0xfe0f, 0},
            {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2}, {0xffe0, 0xffe6, 2}, {0x1f300, 0x1faff, 2},
            {0x20000, 0x3fffd, 2},
        };
        for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
                if (code >= odd[i].from && code <= odd[i].to)
                        return odd[i].columns;
        }
        return 1;
}

size_t text_put(struct strbuf *out, const char *s, size_t columns)
{
        size_t used = 0, len;
        for (; *s; s += len) {
                uint32_t code;
                len = text_decode(s, &code);
                size_t more = text_is_plain(code) ? columns_of(code) : 1;
                if (used + more > columns)
                        break;
                if (text_is_plain(code))
                        strbuf_put(out, s, len);
                else
                        strbuf_putc(out, '?');
                used += more;
        }
        return used;
}

size_t text_columns(const char *s)
{
        size_t used = 0, len;
        for (; *s; s += len) {
                uint32_t code;
                len = text_decode(s, &code);
                used += text_is_plain(code) ? columns_of(code) : 1;
        }
        return used;
}

void text_put_name(struct strbuf *out, const char *s, size_t columns)
{
        strbuf_fill(out, ' ', columns - text_put(out, s, columns));
}

static size_t letters_of(const char *s, size_t len)
{
        size_t n = 0;
        for (size_t i = 0; i < len; i++)
                n += ((unsigned char)s[i] & 0xc0) != 0x80;
        return n;
}

/* So many bytes of a text: what cannot be shown is '?', a line break in a name too. */
static void put_word(struct strbuf *out, const char *s, size_t n)
{
        size_t len;
        for (const char *end = s + n; s < end; s += len) {
                uint32_t code;
                len = text_decode(s, &code);
                if (text_is_plain(code))
                        strbuf_put(out, s, len);
                else
                        strbuf_putc(out, '?');
        }
}

void text_put_wrapped(struct strbuf *out, const char *text, size_t indent, size_t columns)
{
        size_t column = indent;
        while (*text) {
                size_t word = strcspn(text, " "), wide;
                /* "28 %" and "6.9 s" stay together. */
                if (word > 0 && text[word] == ' ' && text[word - 1] >= '0' && text[word - 1] <= '9')
                        word += 1 + strcspn(text + word + 1, " ");
                wide = letters_of(text, word);
                if (column > indent && column + 1 + wide > columns) {
                        strbuf_putc(out, '\n');
                        strbuf_fill(out, ' ', indent);
                        column = indent;
                } else if (column > indent) {
                        strbuf_putc(out, ' ');
                        column++;
                }
                put_word(out, text, word);
                column += wide;
                text += word + strspn(text + word, " ");
        }
        strbuf_putc(out, '\n');
}
