#include "base/beside.h"

#include "base/attr.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOG "-wal"
#define INDEX "-shm"
#define JOURNAL "-journal"

/* SQLite follows a link to the file first, and looks beside that one. */
bool beside_name(const char *path, size_t i, char *ret, size_t size)
{
        static const char *const endings[] = {LOG, INDEX, JOURNAL};
        if (i >= ARRAY_LEN(endings))
                return false;
        CLEANUP(freep) char *real = realpath(path, NULL);
        snprintf(ret, size, "%s%s", real ? real : path, endings[i]);
        return true;
}

/*
 * Whoever may write rolls back a journal that was left behind. One that ends in this names a second
 * file, which SQLite then removes: we make no such journal, and a stranger may name any file.
 */
static bool names_another(const char *path)
{
        size_t len = strlen(path), ending = strlen(JOURNAL);
        /* The others carry locks, which this process would lose with close(). */
        if (len < ending || strcmp(path + len - ending, JOURNAL) != 0)
                return false;
        static const unsigned char magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
        unsigned char end[sizeof(magic)];
        CLEANUP(closep) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
        return size >= (off_t)sizeof(end) &&
               pread(fd, end, sizeof(end), size - (off_t)sizeof(end)) == (ssize_t)sizeof(end) &&
               memcmp(end, magic, sizeof(magic)) == 0;
}

/*
 * A fifo would keep SQLite waiting, and where others may write, one of them could have put data or
 * a journal there.
 */
static const char *beside_check(const char *path, uid_t owner)
{
        struct stat st;
        if (lstat(path, &st) < 0)
                return NULL;
        if (!S_ISREG(st.st_mode))
                return "it is not a plain file";
        if (st.st_uid != owner && st.st_uid != geteuid())
                return "it belongs to another user";
        return names_another(path) ? "it names another file to remove" : NULL;
}

const char *beside_why_not(const char *path, char *ret, size_t size)
{
        struct stat st;
        const char *why = NULL;
        if (stat(path, &st) < 0)
                return NULL; /* SQLite will say why */
        for (size_t i = 0; !why && beside_name(path, i, ret, size); i++)
                why = beside_check(ret, st.st_uid);
        return why;
}

static bool file_exists(const char *path, const char *ending, bool *ret_has_bytes)
{
        struct stat st;
        char name[PATH_MAX + 16];
        snprintf(name, sizeof(name), "%s%s", path, ending);
        bool exists = lstat(name, &st) == 0;
        *ret_has_bytes = exists && st.st_size > 0;
        return exists;
}

bool beside_reading_uri(const char *path, char *ret, size_t size)
{
        bool has_bytes;
        size_t n = 0;
        CLEANUP(freep) char *real = realpath(path, NULL);
        if (!real || file_exists(real, INDEX, &has_bytes) || file_exists(real, JOURNAL, &has_bytes))
                return false;
        file_exists(real, LOG, &has_bytes);
        /* What a URI could take for its own. */
        n += (size_t)snprintf(ret, size, "file:");
        for (const char *s = path; *s && n < size; s++)
                n += (size_t)snprintf(ret + n, size - n, strchr("%?#", *s) ? "%%%02x" : "%c", *s);
        if (n < size)
                n += (size_t)snprintf(ret + n, size - n,
                                      has_bytes ? "?vfs=unix-none" : "?immutable=1");
        return n < size;
}
