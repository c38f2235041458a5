#include "session/spool.h"
#include "base/list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#define SPOOL_PATH_MAX 4096

/* "-" never ends a host's name part, so names of different hosts cannot meet. */
static void file_name(const struct mark *m, char *buf, size_t size)
{
        snprintf(buf, size, "%016" PRIx64 "-%016" PRIx64 "-%" PRId64 "-%s", (uint64_t)m->wall_ns,
                 (uint64_t)m->mono_ns, m->pid, m->host);
        for (char *s = buf; *s; s++)
                *s = *s == '/' ? '_' : *s;
}

/* Written under a hidden name first: a file that can be seen is whole. */
static int put_file(int dir, const char *name, struct strbuf *text)
{
        char hidden[SPOOL_NAME_MAX + 1];
        snprintf(hidden, sizeof(hidden), ".%s", name);
        int fd = openat(dir, hidden, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        int r = strbuf_flush(text, fd);
        if (close(fd) < 0 && r == 0)
                r = -errno;
        if (r == 0 && renameat(dir, hidden, dir, name) < 0)
                r = -errno;
        if (r < 0)
                unlinkat(dir, hidden, 0);
        return r;
}

int spool_put(int dir, const char *session, const struct mark *m, struct err *err)
{
        char name[SPOOL_NAME_MAX];
        struct strbuf text = {0};
        file_name(m, name, sizeof(name));
        int r = mark_write(m, &text);
        if (r == 0)
                r = put_file(dir, name, &text);
        strbuf_finish(&text);
        if (r < 0) {
                err_set(err, r, "cannot mark '%s': %s", session, strerror(-r));
                if (r == -EINVAL)
                        return err_hint(err, "names and values must be UTF-8");
        }
        return r;
}

/* ---- the folder ---- */

/* The folder that the session is in, and the spool's name there. Links on the way are the user's.
 */
static int open_parent(const char *session, char name[SPOOL_PATH_MAX], struct err *err)
{
        char folder[SPOOL_PATH_MAX];
        const char *slash = strrchr(session, '/'), *base = slash ? slash + 1 : session;
        int n = snprintf(name, SPOOL_PATH_MAX, "%s" SPOOL_SUFFIX, base);
        int m = slash
                    ? snprintf(folder, sizeof(folder), "%.*s", (int)(slash - session) + 1, session)
                    : snprintf(folder, sizeof(folder), ".");
        if (n >= SPOOL_PATH_MAX || m >= SPOOL_PATH_MAX)
                return err_set(err, -ENAMETOOLONG, "the session's name is too long");
        int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
        return fd >= 0 ? fd
                       : err_set(err, -errno, "cannot mark '%s': %s", session, strerror(errno));
}

static int spool_refuse(const char *session, const char *why, struct err *err)
{
        err_set(err, -EPERM, "'%s" SPOOL_SUFFIX "' cannot be used for marks: %s", session, why);
        return err_hint(err, "remove it, or record in a folder of your own");
}

/* What is wrong with the open folder; NULL when it is ours alone. */
static const char *folder_problem(int fd)
{
        struct stat st;
        if (fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode))
                return "it is not a folder";
        if (st.st_uid != geteuid())
                return "it belongs to another user";
        return st.st_mode & 077 ? "others may enter it (its mode is not 0700)" : NULL;
}

static int open_at(int parent, const char *name, const char *session, struct err *err)
{
        int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
                return spool_refuse(session, "it is a link or a file, not a folder", err);
        if (fd < 0 && errno == EACCES)
                return spool_refuse(session, "it belongs to another user", err);
        if (fd < 0)
                return err_set(err, -errno, "cannot mark '%s': %s", session, strerror(errno));
        const char *why = folder_problem(fd);
        if (!why)
                return fd;
        close(fd);
        return spool_refuse(session, why, err);
}

int spool_open(const char *session, struct err *err)
{
        char name[SPOOL_PATH_MAX];
        CLEANUP(closep) int parent = open_parent(session, name, err);
        return parent < 0 ? parent : open_at(parent, name, session, err);
}

bool spool_lock(int dir)
{
        return flock(dir, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

/* Whether the open folder is still the one of that name. */
static bool is_present(int fd, int parent, const char *name)
{
        struct stat mine, present;
        return fstat(fd, &mine) == 0 && fstatat(parent, name, &present, AT_SYMLINK_NOFOLLOW) == 0 &&
               mine.st_ino == present.st_ino && mine.st_dev == present.st_dev;
}

int spool_make(const char *session, bool *ret_made, struct err *err)
{
        char name[SPOOL_PATH_MAX];
        CLEANUP(closep) int parent = open_parent(session, name, err);
        if (parent < 0)
                return parent;
        bool made = mkdirat(parent, name, 0700) == 0;
        if (!made && errno != EEXIST)
                return err_set(err, -errno, "cannot make '%s" SPOOL_SUFFIX "': %s", session,
                               strerror(errno));
        int fd = open_at(parent, name, session, err);
        if (fd == -ENOENT)
                return -EAGAIN;
        if (fd < 0)
                return fd;
        if (!spool_lock(fd) || !is_present(fd, parent, name)) {
                close(fd);
                return -EAGAIN;
        }
        *ret_made = made;
        return fd;
}

bool spool_remove(const char *session, int dir)
{
        char name[SPOOL_PATH_MAX];
        CLEANUP(closep) int parent = open_parent(session, name, NULL);
        /* A folder that lost its name, or whose name is another's by now, is not ours to remove. */
        return parent < 0 || !is_present(dir, parent, name) ||
               unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

/* ---- the marks in it ---- */

static const char *skip_chars(const char *s, const char *set, size_t least, size_t most)
{
        size_t n = s ? strspn(s, set) : 0;
        return s && n >= least && n <= most ? s + n : NULL;
}

/* What file_name() makes: WALL-MONO-PID-HOST. */
static bool is_mark_name(const char *s)
{
        static const char hex[] = "0123456789abcdef";
        s = skip_chars(skip_chars(skip_chars(s, hex, 16, 16), "-", 1, 1), hex, 16, 16);
        s = skip_chars(skip_chars(skip_chars(s, "-", 1, 1), hex, 1, 10), "-", 1, 1);
        return s != NULL;
}

/* A plain file of this user with one name. */
static bool is_our_file(int dir, const char *name)
{
        struct stat st;
        return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
               st.st_uid == geteuid() && st.st_nlink == 1;
}

static int compare_names(const void *a, const void *b)
{
        return strcmp(a, b);
}

static bool append_name(struct spool_list *l, size_t *cap, const char *name)
{
        if (!LIST_ROOM(l->names, l->n, *cap))
                return false;
        memcpy(l->names[l->n++], name, strlen(name) + 1);
        return true;
}

int spool_list(int dir, struct spool_list *ret)
{
        struct spool_list l = {0};
        size_t cap = 0;
        int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
        if (!d) {
                int r = -errno;
                closep(&fd);
                return r;
        }
        struct dirent *e;
        while (l.n < SPOOL_BATCH && (e = readdir(d))) {
                if (strlen(e->d_name) >= SPOOL_NAME_MAX || !is_mark_name(e->d_name) ||
                    !is_our_file(dir, e->d_name))
                        continue;
                if (!append_name(&l, &cap, e->d_name))
                        break;
        }
        closedir(d);
        if (l.n > 0)
                qsort(l.names, l.n, sizeof(*l.names), compare_names);
        *ret = l;
        return 0;
}

int spool_read(int dir, const char *name, struct mark *ret)
{
        char buf[SPOOL_FILE_MAX];
        int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
                return -errno;
        ssize_t n = read(fd, buf, sizeof(buf));
        int r = n < 0 ? -errno : mark_parse(buf, (size_t)n, ret);
        close(fd);
        return r;
}

void spool_clean(int dir, const struct spool_list *list)
{
        for (size_t i = 0; i < list->n; i++) {
                if (list->names[i][0])
                        unlinkat(dir, list->names[i], 0);
        }
}
