#include "app/output.h"

#include "base/beside.h"
#include "base/outfile.h"
#include "formats/format.h"
#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_ROOM 4200

static bool is_same(const struct stat *a, const struct stat *b)
{
        return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* A file that lies in the folder which is being read. */
static bool is_inside(const char *path, const struct stat *folder)
{
        char full[PATH_ROOM];
        struct stat st;
        const char *slash = strrchr(path, '/');
        snprintf(full, sizeof(full), "%.*s", slash ? (int)(slash - path) + 1 : 1,
                 slash ? path : ".");
        return stat(full, &st) == 0 && is_same(&st, folder);
}

static bool is_file(const char *path, const struct stat *out)
{
        struct stat st;
        return stat(path, &st) == 0 && S_ISREG(st.st_mode) && is_same(&st, out);
}

/* The input itself, or one of the files that SQLite keeps beside a session. */
static bool is_input(const struct stat *out, const char *input)
{
        char path[PATH_ROOM];
        bool found = is_file(input, out);
        for (size_t i = 0; !found && beside_name(input, i, path, sizeof(path)); i++)
                found = is_file(path, out);
        return found;
}

static int refuse_input(const char *path, struct err *err)
{
        err_set(err, ERR_USAGE, "'%s' is what is being read, and would be overwritten", path);
        return err_hint(err, "give another name");
}

/* What starts as a session, a zip, or one of the captures that can be replayed does. */
static bool is_recording(int fd)
{
        static const char sqlite[] = "SQLite format 3", zip[] = "PK\003\004";
        char head[4096 + 1];
        ssize_t n = pread(fd, head, sizeof(head) - 1, 0);
        if (n <= 0)
                return false;
        head[n] = '\0';
        if (((size_t)n >= sizeof(sqlite) && memcmp(head, sqlite, sizeof(sqlite)) == 0) ||
            memcmp(head, zip, MIN((size_t)n, sizeof(zip) - 1)) == 0)
                return true;
        /* Any JSON may be lines of our own to the replay; a report is not. */
        if (head[0] == '{')
                return strstr(head, "\"tick\":") != NULL;
        for (size_t i = 0; format_at(i); i++) {
                if (format_at(i)->probe(head, (size_t)n))
                        return true;
        }
        return false;
}

int output_check_fd(int fd, const char *name, const char *input, struct err *err)
{
        struct stat st;
        if (!input || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !is_input(&st, input))
                return 0;
        return refuse_input(name, err);
}

/* Whether the file is, or is a part of, what is being read. */
static int check_input(const char *path, const struct stat *st, const char *input, struct err *err)
{
        struct stat folder;
        if (!input || !S_ISREG(st->st_mode))
                return 0;
        bool inside = stat(input, &folder) == 0 && S_ISDIR(folder.st_mode) && st->st_size > 0 &&
                      is_inside(path, &folder);
        return inside || is_input(st, input) ? refuse_input(path, err) : 0;
}

static int refuse_recording(const char *path, struct err *err)
{
        err_set(err, ERR_USAGE, "'%s' is a recording, and would be overwritten", path);
        return err_hint(err, "give another name, or --force");
}

int output_check(const char *path, const char *input, bool force, struct err *err)
{
        struct stat st;
        /* Only a plain file is opened: a fifo would wait for its other end. */
        if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
                return 0;
        int r = check_input(path, &st, input, err);
        if (r < 0 || force)
                return r;
        /* A session may be one that this process records: to close it here would end its locks. */
        if (session_is_one(path))
                return refuse_recording(path, err);
        CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        return fd >= 0 && is_recording(fd) ? refuse_recording(path, err) : 0;
}

static int check_open(int fd, const char *path, const char *input, bool force, struct err *err)
{
        struct stat st;
        int r = fstat(fd, &st) == 0 ? check_input(path, &st, input, err) : 0;
        return r == 0 && !force && is_recording(fd) ? refuse_recording(path, err) : r;
}

static int open_for_writing(const char *path, const char *input, bool force, int *ret,
                            struct err *err)
{
        int fd = outfile_open(path, O_RDWR | O_CREAT, 0666, "", err);
        /* A pipe's or a printer's end for writing. */
        if (fd < 0 && fd != -EPERM)
                fd = outfile_open(path, O_WRONLY, 0666, "", err);
        if (fd < 0)
                return err->hint[0]
                           ? fd
                           : err_hint(err, "give a name in a folder that is yours to write");
        int r = check_open(fd, path, input, force, err);
        if (r == 0 && ftruncate(fd, 0) < 0 && errno != EINVAL)
                r = err_set(err, -errno, "cannot write '%s': %s", path, strerror(errno));
        if (r < 0) {
                close(fd);
                return r;
        }
        *ret = fd;
        return 0;
}

int output_write(const char *path, const char *input, bool force, struct strbuf *out,
                 struct err *err)
{
        int fd = -1;
        int r = output_check(path, input, force, err);
        if (r == 0)
                r = open_for_writing(path, input, force, &fd, err);
        if (r < 0)
                return r;
        r = strbuf_flush(out, fd);
        if (close(fd) < 0 && r == 0)
                r = -errno;
        return r < 0 && r != -EPIPE ? err_set(err, r, "cannot write '%s': %s", path, strerror(-r))
                                    : 0;
}

static int replace_file(const char *path, struct strbuf *text)
{
        char temporary[PATH_MAX];
        struct stat st;
        bool present = stat(path, &st) == 0;
        if (present && !S_ISREG(st.st_mode))
                return -EINVAL;
        if (snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path) >= (int)sizeof(temporary))
                return -ENAMETOOLONG;
        int fd = mkostemp(temporary, O_CLOEXEC);
        if (fd < 0)
                return -errno;
        int r = strbuf_flush(text, fd);
        if (r == 0 && (fchmod(fd, present ? st.st_mode & 0777 : 0644) < 0 || fsync(fd) < 0))
                r = -errno;
        if (close(fd) < 0 && r == 0)
                r = -errno;
        if (r == 0 && rename(temporary, path) < 0)
                r = -errno;
        if (r < 0)
                unlink(temporary);
        return r;
}

int output_replace(const char *path, struct strbuf *text, struct err *err)
{
        int r = output_check(path, NULL, false, err);
        if (r < 0)
                return r;
        r = replace_file(path, text);
        return r < 0 ? err_set(err, r, "cannot write '%s': %s", path, strerror(-r)) : 0;
}
