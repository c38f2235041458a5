#include "read/stacks/maps.h"

#include "base/attr.h"

#include <errno.h>
#include <string.h>

#define PIECE (64 * 1024)

/* A hexadecimal number that ends before c. */
static bool parse_hex(const char **s, const char *end, char c, uint64_t *ret)
{
        uint64_t v = 0;
        const char *at = *s;
        for (; at < end && *at != c; at++) {
                int digit = *at >= '0' && *at <= '9'   ? *at - '0'
                            : *at >= 'a' && *at <= 'f' ? *at - 'a' + 10
                                                       : -1;
                if (digit < 0 || v >> 60)
                        return false;
                v = v << 4 | (uint64_t)digit;
        }
        if (at == *s || at == end)
                return false;
        *s = at + 1;
        *ret = v;
        return true;
}

static const char *skip_field(const char *s, const char *end)
{
        while (s < end && *s != ' ')
                s++;
        while (s < end && *s == ' ')
                s++;
        return s;
}

bool maps_parse(const char *line, size_t n, char buf[MAPS_PATH_MAX], struct mapping *ret)
{
        static const char deleted[] = " (deleted)";
        const char *s = line, *end = line + n;
        struct mapping m = {.path = buf};
        if (!parse_hex(&s, end, '-', &m.begin) || !parse_hex(&s, end, ' ', &m.end) || end - s < 5 ||
            s[4] != ' ')
                return false;
        m.may_write = s[1] == 'w';
        s += 5;
        if (!parse_hex(&s, end, ' ', &m.offset) || m.end <= m.begin)
                return false;
        s = skip_field(skip_field(s, end), end); /* device, inode */
        size_t len = MIN((size_t)(end - s), (size_t)MAPS_PATH_MAX - 1);
        memcpy(buf, s, len);
        buf[len] = '\0';
        size_t tail = strlen(deleted);
        if (len > tail && strcmp(buf + len - tail, deleted) == 0)
                buf[len - tail] = '\0';
        *ret = m;
        return true;
}

int maps_each(int fd, bool (*visit)(void *arg, const struct mapping *m), void *arg)
{
        CLEANUP(freep) char *piece = malloc(PIECE);
        char path[MAPS_PATH_MAX];
        struct mapping m;
        size_t held = 0;
        if (!piece)
                return -ENOMEM;
        for (size_t total = 0; total < MAPS_BYTES_MAX;) {
                ssize_t got = read(fd, piece + held, PIECE - held);
                if (got <= 0)
                        return got < 0 ? -errno : 0;
                total += (size_t)got;
                held += (size_t)got;
                char *line = piece, *end = piece + held, *stop;
                while ((stop = memchr(line, '\n', (size_t)(end - line)))) {
                        if (maps_parse(line, (size_t)(stop - line), path, &m) && !visit(arg, &m))
                                return 0;
                        line = stop + 1;
                }
                held = (size_t)(end - line);
                if (held == PIECE) /* no line is that long */
                        held = 0;
                memmove(piece, line, held);
        }
        return 0;
}
