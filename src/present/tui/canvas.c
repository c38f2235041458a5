#include "present/tui/canvas.h"

#include "base/list.h"
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX 1024

int canvas_resize(struct canvas *c, int w, int h)
{
        w = MIN(MAX(w, 1), CANVAS_WIDTH_MAX);
        h = MIN(MAX(h, 1), CANVAS_HEIGHT_MAX);
        size_t n = (size_t)w * (size_t)h;
        if (!LIST_RESERVE(c->cells, n, c->cap))
                return -ENOMEM;
        c->w = w;
        c->h = h;
        canvas_clear(c);
        return 0;
}

void canvas_finish(struct canvas *c)
{
        free(c->cells);
        *c = (struct canvas){0};
}

void canvas_clear(struct canvas *c)
{
        static const struct cell blank = {.ch = " "};
        size_t n = (size_t)c->w * (size_t)c->h;
        for (size_t i = 0; i < n; i++)
                c->cells[i] = blank;
}

/* Bytes that are not UTF-8 count as '?'. */
static size_t decode_utf8(const char *s, uint32_t *ret)
{
        size_t n = text_decode(s, ret);
        if (*ret == 0)
                *ret = '?';
        return n;
}

/* Characters that take one column everywhere. East Asian wide ones and marks that join the letter
 * before them would move the rest of the line. */
static bool one_column(uint32_t code)
{
        static const struct {
                uint32_t from, to;
        } odd[] = {
            {0x0, 0x1f},      {0x7f, 0xa0},       {0xad, 0xad},        {0x300, 0x36f},
            {0x483, 0x489},   {0x591, 0x5bd},     {0x610, 0x61a},      {0x64b, 0x65f},
            {0x900, 0x903},   {0x1100, 0x11ff},   {0x1ab0, 0x1aff},    {0x1dc0, 0x1dff},
            {0x200b, 0x200f}, {0x2028, 0x202e},   {0x2060, 0x206f},    {0x20d0, 0x20ff},
            {0x231a, 0x231b}, {0x23e9, 0x23f3},   {0x2614, 0x2615},    {0x26a1, 0x26a1},
            {0x2e80, 0xa4cf}, {0xa960, 0xa97f},   {0xac00, 0xd7ff},    {0xe000, 0xfaff},
            {0xfe00, 0xfe6f}, {0xfeff, 0xfeff},   {0xff00, 0xff60},    {0xffe0, 0xffe6},
            {0xfff0, 0xffff}, {0x1f000, 0x1faff}, {0x20000, 0x10ffff},
        };
        for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
                if (code <= odd[i].to)
                        return code < odd[i].from;
        }
        return true;
}

/* Dots of braille are numbered 1 to 8; the upper half holds 1, 2, 4, 5. */
static char braille_likeness(uint32_t dots)
{
        bool upper = dots & 0x1b, lower = dots & 0xe4;
        return upper && lower ? ':' : upper ? '\'' : lower ? '.' : ' ';
}

static char ascii_fallback(uint32_t code)
{
        static const struct {
                uint32_t code;
                char ascii;
        } table[] = {
            {0x2500, '-'}, {0x2501, '='}, {0x2502, '|'}, {0x257a, '-'}, {0x2578, '-'},
            {0x256d, '+'}, {0x256e, '+'}, {0x256f, '+'}, {0x2570, '+'}, {0x2524, '|'},
            {0x251c, '|'}, {0x252c, '+'}, {0x2534, '+'}, {0x253c, '+'}, {0x2514, '`'},
            {0x250a, ':'}, {0x2026, '~'}, {0xb7, '.'},   {0xb0, ' '},   {0xd7, 'x'},
            {0xb5, 'u'},   {0x25b2, '^'}, {0x25bc, 'v'}, {0x25b6, '>'}, {0x25cf, '*'},
            {0x2588, '#'}, {0x2581, '_'}, {0x2582, '.'}, {0x2583, ','}, {0x2584, '-'},
            {0x2585, '='}, {0x2586, '+'}, {0x2587, '*'}, {0x2191, '^'}, {0x2193, 'v'},
            {0x2265, '>'}, {0x2264, '<'}, {0x25a0, '#'}, {0x2192, '>'}, {0x2190, '<'},
        };
        if (code >= 0x2800 && code < 0x2900)
                return braille_likeness(code & 0xff);
        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
                if (table[i].code == code)
                        return table[i].ascii;
        }
        return '?';
}

static void encode_utf8(char ch[4], uint32_t code)
{
        memset(ch, 0, 4);
        if (code < 0x80) {
                ch[0] = (char)code;
        } else if (code < 0x800) {
                ch[0] = (char)(0xc0 | code >> 6);
                ch[1] = (char)(0x80 | (code & 0x3f));
        } else if (code < 0x10000) {
                ch[0] = (char)(0xe0 | code >> 12);
                ch[1] = (char)(0x80 | (code >> 6 & 0x3f));
                ch[2] = (char)(0x80 | (code & 0x3f));
        } else {
                ch[0] = (char)(0xf0 | code >> 18);
                ch[1] = (char)(0x80 | (code >> 12 & 0x3f));
                ch[2] = (char)(0x80 | (code >> 6 & 0x3f));
                ch[3] = (char)(0x80 | (code & 0x3f));
        }
}

void canvas_char(struct canvas *c, int x, int y, struct style style, uint32_t code)
{
        if (x < 0 || y < 0 || x >= c->w || y >= c->h)
                return;
        if (code >= 0x7f || code < 0x20)
                code = !one_column(code) ? '?' : c->ascii ? (uint32_t)ascii_fallback(code) : code;
        struct cell *cell = canvas_at(c, x, y);
        encode_utf8(cell->ch, code);
        /* A blank has no ink, so that two blanks are equal no matter who drew them. */
        cell->fg = code == ' ' ? INK_NONE : style.fg;
        cell->attr = code == ' ' ? style.attr & (ATTR_REVERSE | ATTR_UNDERLINE) : style.attr;
        if (style.bg != INK_NONE)
                cell->bg = style.bg;
}

int text_width(const char *text)
{
        int n = 0;
        uint32_t code;
        for (; *text; n++)
                text += decode_utf8(text, &code);
        return n;
}

int canvas_text(struct canvas *c, int x, int y, int w, struct style style, const char *text)
{
        int n = 0;
        while (*text && n < w) {
                uint32_t code;
                text += decode_utf8(text, &code);
                if (n == w - 1 && *text)
                        code = 0x2026;
                canvas_char(c, x + n, y, style, code);
                n++;
        }
        return n;
}

int canvas_textf(struct canvas *c, int x, int y, int w, struct style style, const char *fmt, ...)
{
        char buf[TEXT_MAX];
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(buf, sizeof(buf), fmt, ap);
        va_end(ap);
        return canvas_text(c, x, y, w, style, buf);
}

void canvas_right(struct canvas *c, int x, int y, int w, struct style style, const char *text)
{
        int n = MIN(text_width(text), w);
        canvas_text(c, x + w - n, y, n, style, text);
}

void canvas_line(struct canvas *c, int x, int y, int w, struct style style, uint32_t code)
{
        for (int i = 0; i < w; i++)
                canvas_char(c, x + i, y, style, code);
}

static struct area clip_area(const struct canvas *c, struct area a)
{
        int x = MAX(a.x, 0), y = MAX(a.y, 0);
        return (struct area){x, y, MIN(a.x + a.w, c->w) - x, MIN(a.y + a.h, c->h) - y};
}

void canvas_paint(struct canvas *c, struct area area, uint8_t bg)
{
        struct area a = clip_area(c, area);
        for (int y = a.y; y < a.y + a.h; y++) {
                for (int x = a.x; x < a.x + a.w; x++)
                        canvas_at(c, x, y)->bg = bg;
        }
}

void canvas_tint(struct canvas *c, struct area area, uint8_t fg)
{
        struct area a = clip_area(c, area);
        for (int y = a.y; y < a.y + a.h; y++) {
                for (int x = a.x; x < a.x + a.w; x++) {
                        struct cell *cell = canvas_at(c, x, y);
                        if (cell->ch[0] != ' ')
                                cell->fg = fg;
                }
        }
}
