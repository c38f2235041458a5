#include "read/numbered.h"

#include <dirent.h>
#include <errno.h>
#include <sys/types.h>
#include <unistd.h>

/* -1 when the name is not a number, or a larger one than the kernel gives. */
static int32_t parse_number(const char *name)
{
        int64_t v = 0;
        const char *s = name;
        for (; *s >= '0' && *s <= '9' && v <= INT32_MAX; s++)
                v = v * 10 + (*s - '0');
        return *s == '\0' && s > name && v <= INT32_MAX ? (int32_t)v : -1;
}

int numbered_each(int folder, char *buf, size_t size,
                  void (*visit)(void *arg, const struct numbered *entry), void *arg)
{
        if (lseek(folder, 0, SEEK_SET) < 0)
                return -errno;
        for (;;) {
                ssize_t n = getdents64(folder, buf, size);
                if (n <= 0)
                        return n < 0 ? -errno : 0;
                for (ssize_t at = 0; at < n;) {
                        const struct dirent64 *d = (const void *)(buf + at);
                        const struct numbered entry = {d->d_name, parse_number(d->d_name),
                                                       d->d_ino};
                        if (entry.number >= 0)
                                visit(arg, &entry);
                        at += d->d_reclen;
                }
        }
}
