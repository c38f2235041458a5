#include "base/strbuf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

void strbuf_finish(struct strbuf *b)
{
        free(b->s);
        *b = (struct strbuf){0};
}

void strbuf_clear(struct strbuf *b)
{
        b->len = 0;
}

bool strbuf_grow(struct strbuf *b, size_t n)
{
        size_t cap = MAX(b->cap * 2, b->len + n + 256);
        char *s = b->failed ? NULL : realloc(b->s, cap);
        if (!s) {
                b->failed = true;
                return false;
        }
        b->s = s;
        b->cap = cap;
        return true;
}

void strbuf_put(struct strbuf *b, const char *s, size_t n)
{
        if (n == 0 || !strbuf_reserve(b, n))
                return;
        memcpy(b->s + b->len, s, n);
        b->len += n;
}

void strbuf_puts(struct strbuf *b, const char *s)
{
        strbuf_put(b, s, strlen(s));
}

void strbuf_fill(struct strbuf *b, char c, size_t n)
{
        if (n == 0 || !strbuf_reserve(b, n))
                return;
        memset(b->s + b->len, c, n);
        b->len += n;
}

void strbuf_putf(struct strbuf *b, const char *fmt, ...)
{
        va_list ap;
        va_start(ap, fmt);
        va_list again;
        va_copy(again, ap);
        int n = vsnprintf(NULL, 0, fmt, ap);
        va_end(ap);
        if (n > 0 && strbuf_reserve(b, (size_t)n + 1)) {
                vsnprintf(b->s + b->len, (size_t)n + 1, fmt, again);
                b->len += (size_t)n;
        }
        va_end(again);
}

const char *strbuf_str(struct strbuf *b)
{
        if (!strbuf_reserve(b, 1))
                return "";
        b->s[b->len] = '\0';
        return b->s;
}

int strbuf_flush(struct strbuf *b, int fd)
{
        size_t done = 0;
        while (done < b->len) {
                ssize_t n = write(fd, b->s + done, b->len - done);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0) {
                        b->len = 0;
                        return -errno;
                }
                done += (size_t)n;
        }
        b->len = 0;
        return b->failed ? -ENOMEM : 0;
}
