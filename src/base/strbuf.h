/* A growing text buffer. A failed allocation sticks: later writes do nothing, and failed says
 * so. */
#pragma once

#include "base/attr.h"

#include <stdbool.h>
#include <string.h>

struct strbuf {
        char *s; /* not terminated; NULL while empty */
        size_t len;
        size_t cap;
        bool failed;
};

void strbuf_finish(struct strbuf *b);
void strbuf_clear(struct strbuf *b);
bool strbuf_grow(struct strbuf *b, size_t n);
/* Makes room for n more bytes. False when memory is short. */
static inline bool strbuf_reserve(struct strbuf *b, size_t n)
{
        return LIKELY(b->cap - b->len >= n) || strbuf_grow(b, n);
}
void strbuf_put(struct strbuf *b, const char *s, size_t n);
void strbuf_puts(struct strbuf *b, const char *s);
static inline void strbuf_putc(struct strbuf *b, char c)
{
        if (LIKELY(b->len < b->cap) || strbuf_reserve(b, 1))
                b->s[b->len++] = c;
}
void strbuf_fill(struct strbuf *b, char c, size_t n);
void strbuf_putf(struct strbuf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A terminated view of the contents, valid until the next write; "" on failure. */
const char *strbuf_str(struct strbuf *b);
/* Writes everything to fd and clears the buffer. 0 or a negative errno. */
int strbuf_flush(struct strbuf *b, int fd);
