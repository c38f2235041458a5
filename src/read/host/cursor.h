/* A place in a bounded text, and the small steps that /proc's formats need. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
        const char *s, *end;
};

static inline struct cursor cursor_of(const char *buf, size_t n)
{
        return (struct cursor){.s = buf, .end = buf + n};
}

static inline void cursor_skip_blanks(struct cursor *c)
{
        while (c->s < c->end && (*c->s == ' ' || *c->s == '\t'))
                c->s++;
}

/* The next unsigned number after blanks. False, and the place unchanged, when there is none or it
 * does not fit 64 bits. */
static inline bool cursor_u64(struct cursor *c, uint64_t *ret)
{
        struct cursor at = *c;
        cursor_skip_blanks(&at);
        const char *start = at.s;
        uint64_t v = 0;
        for (; at.s < at.end && *at.s >= '0' && *at.s <= '9'; at.s++) {
                if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
                    __builtin_add_overflow(v, (uint64_t)(*at.s - '0'), &v))
                        return false;
        }
        if (at.s == start)
                return false;
        *c = at;
        *ret = v;
        return true;
}

/* The next word, ended by a blank or the end of the text. False when there is none. */
static inline bool cursor_word(struct cursor *c, struct cursor *ret)
{
        cursor_skip_blanks(c);
        const char *start = c->s;
        while (c->s < c->end && *c->s != ' ' && *c->s != '\t' && *c->s != '\n')
                c->s++;
        *ret = (struct cursor){.s = start, .end = c->s};
        return c->s > start;
}

static inline bool cursor_is(struct cursor c, const char *word)
{
        size_t n = strlen(word);
        return (size_t)(c.end - c.s) == n && memcmp(c.s, word, n) == 0;
}

static inline bool cursor_starts(struct cursor c, const char *word)
{
        size_t n = strlen(word);
        return (size_t)(c.end - c.s) >= n && memcmp(c.s, word, n) == 0;
}

/* Takes the next line, without its end. False at the end of the text. */
static inline bool cursor_line(struct cursor *c, struct cursor *ret)
{
        if (c->s >= c->end)
                return false;
        const char *nl = memchr(c->s, '\n', (size_t)(c->end - c->s));
        const char *stop = nl ? nl : c->end;
        *ret = (struct cursor){.s = c->s, .end = stop};
        c->s = nl ? nl + 1 : c->end;
        return true;
}

/* Copies a piece as a string, cut to fit. */
static inline void cursor_copy(struct cursor c, char *buf, size_t size)
{
        size_t n = (size_t)(c.end - c.s);
        n = n < size ? n : size - 1;
        memcpy(buf, c.s, n);
        buf[n] = '\0';
}
