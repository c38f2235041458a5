#include "read/drm/file.h"

#include "base/attr.h"
#include "base/num.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

int drm_open_folder(int folder, const char *path)
{
        return openat(folder, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

ssize_t drm_read_text(int folder, const char *name, char *buf, size_t size)
{
        if (folder < 0)
                return -ENOENT;
        CLEANUP(closep) int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);
        if (n < 0)
                return -errno;
        while (n > 0 && (buf[n - 1] == '\n' || buf[n - 1] == ' '))
                n--;
        buf[n] = '\0';
        return n;
}

enum state drm_state_of(int error)
{
        switch (-error) {
        case ENOENT:
        case EOPNOTSUPP:
        case ENODATA:
        case EINVAL:
                return STATE_UNSUPPORTED;
        case EACCES:
        case EPERM:
                return STATE_DENIED;
        case EBUSY:
        case EAGAIN:
                return STATE_BLANK;
        default:
                return STATE_ERROR;
        }
}

static bool read_hex(const char *s, size_t n, double *ret)
{
        uint64_t v = 0;
        if (n < 3 || n > 18 || s[0] != '0' || s[1] != 'x')
                return false;
        for (size_t i = 2; i < n; i++) {
                const char *digits = "0123456789abcdefABCDEF", *d = strchr(digits, s[i]);
                if (!d || !*d)
                        return false;
                size_t digit = (size_t)(d - digits);
                v = v << 4 | (digit < 16 ? digit : digit - 6);
        }
        *ret = (double)v;
        return true;
}

static struct raw number_of(const char *s, size_t n)
{
        double v;
        if (num_parse_all(s, n, &v) || read_hex(s, n, &v))
                return drm_raw(v);
        return drm_missing(STATE_ERROR);
}

struct raw drm_read_number(int folder, const char *name)
{
        char text[64];
        ssize_t n = drm_read_text(folder, name, text, sizeof(text));
        return n < 0 ? drm_missing(drm_state_of((int)n)) : number_of(text, (size_t)n);
}

struct raw drm_read_keyed(int folder, const char *name, const char *key)
{
        char text[256];
        ssize_t n = drm_read_text(folder, name, text, sizeof(text));
        size_t len = strlen(key);
        if (n < 0)
                return drm_missing(drm_state_of((int)n));
        for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
                if (strncmp(line, key, len) != 0 || line[len] != ':')
                        continue;
                line += len + 1;
                line += strspn(line, " \t");
                return number_of(line, strcspn(line, " \t"));
        }
        return drm_missing(STATE_UNSUPPORTED);
}
