#include "read/host/files.h"

#include "base/attr.h"

#include <errno.h>
#include <fcntl.h>

int files_open_root(const char *root)
{
        int fd = open(root && root[0] ? root : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

static const char *relative_path(const char *path)
{
        while (*path == '/')
                path++;
        return *path ? path : ".";
}

int files_open(int dir, const char *path)
{
        /* A pipe in a strange tree must not hold us up. */
        int fd = openat(dir, relative_path(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        return fd < 0 ? -errno : fd;
}

ssize_t files_reread(int fd, char *buf, size_t size)
{
        size_t n = 0;
        while (n < size) {
                ssize_t k = pread(fd, buf + n, size - n, (off_t)n);
                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return n > 0 ? (ssize_t)n : -errno;
                if (k == 0)
                        break;
                n += (size_t)k;
        }
        return (ssize_t)n;
}

ssize_t files_reread_record(int fd, char *buf, size_t size)
{
        ssize_t n;
        do {
                n = pread(fd, buf, size, 0);
        } while (n < 0 && errno == EINTR);
        return n < 0 ? -errno : n;
}

ssize_t files_read(int dir, const char *path, char *buf, size_t size)
{
        CLEANUP(closep) int fd = files_open(dir, path);
        if (fd < 0)
                return fd;
        return files_reread(fd, buf, size);
}

bool files_exist(int dir, const char *path)
{
        return faccessat(dir, relative_path(path), F_OK, 0) == 0;
}

struct value files_missing(ssize_t error)
{
        switch (-error) {
        case EACCES:
        case EPERM:
                return value_missing(STATE_DENIED);
        case ENOENT:
        case ENOTDIR:
        case EOPNOTSUPP:
                return value_missing(STATE_UNSUPPORTED);
        default:
                return value_missing(STATE_ERROR);
        }
}
