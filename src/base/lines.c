#include "base/lines.h"

#include "base/attr.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* So much is read at a time: it stays in the cache until it is taken. */
#define PIECE ((size_t)128 * 1024)

int lines_init(struct lines *l, int fd)
{
        char *buf = malloc(LINES_BUFFER);
        if (!buf)
                return -ENOMEM;
        *l = (struct lines){.fd = fd, .buf = buf, .allowance = SIZE_MAX};
        return 0;
}

void lines_finish(struct lines *l)
{
        free(l->buf);
        closep(&l->fd);
        *l = (struct lines){.fd = -1};
}

static int lines_fill(struct lines *l)
{
        if (l->start > 0) {
                memmove(l->buf, l->buf + l->start, l->end - l->start);
                l->end -= l->start;
                l->start = 0;
        }
        ssize_t n;
        size_t room = MIN(LINES_BUFFER - l->end, PIECE);
        if (l->allowance == 0)
                return -EAGAIN;
        do {
                n = read(l->fd, l->buf + l->end, MIN(room, l->allowance));
        } while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        l->bytes += (uint64_t)n;
        if (l->allowance != SIZE_MAX)
                l->allowance -= (size_t)n;
        l->eof = n == 0;
        l->end += (size_t)n;
        return 0;
}

static void hand_out_line(struct lines *l, size_t len, size_t taken, bool cut, struct line *ret)
{
        const char *s = l->buf + l->start;
        if (len > 0 && s[len - 1] == '\r')
                len--;
        *ret = (struct line){.s = s, .len = len, .cut = cut};
        l->start += taken;
        l->number++;
}

int lines_next(struct lines *l, struct line *ret)
{
        for (;;) {
                size_t avail = l->end - l->start;
                const char *s = l->buf + l->start;
                const char *nl = avail > 0 ? memchr(s, '\n', avail) : NULL;
                if (LIKELY(nl != NULL)) {
                        size_t len = (size_t)(nl - s);
                        if (UNLIKELY(l->skipping || len > LINES_MAX)) {
                                l->too_long += !l->skipping;
                                l->skipping = false;
                                l->start += len + 1;
                                l->number++;
                                continue;
                        }
                        hand_out_line(l, len, len + 1, false, ret);
                        return 1;
                }
                if (avail > LINES_MAX || l->skipping) {
                        l->too_long += !l->skipping;
                        l->skipping = true;
                        l->start = l->end;
                } else if (l->eof) {
                        if (avail == 0)
                                return 0;
                        hand_out_line(l, avail, avail, true, ret);
                        return 1;
                }
                if (l->eof)
                        return 0;
                int r = lines_fill(l);
                if (r < 0)
                        return r;
        }
}

int lines_peek(struct lines *l, const char **ret, size_t *ret_len)
{
        struct stat st;
        bool waits = fstat(l->fd, &st) == 0 && !S_ISREG(st.st_mode);
        while (!l->eof && l->end - l->start < LINES_MAX) {
                /* A pipe may give no more for long: its first line must do. */
                size_t have = l->end - l->start;
                if (waits && have > 0 && memchr(l->buf + l->start, '\n', have))
                        break;
                int r = lines_fill(l);
                if (r < 0)
                        return r;
        }
        *ret = l->buf + l->start;
        *ret_len = l->end - l->start;
        return 0;
}
