#include "session/mark.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

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
        int fd = openat(dir, hidden, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
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

int spool_put(const char *session, const struct mark *m, struct err *err)
{
        char path[4096], name[SPOOL_NAME_MAX];
        struct strbuf text = {0};
        int n = snprintf(path, sizeof(path), "%s" SPOOL_SUFFIX, session);
        if (n >= (int)sizeof(path))
                return err_set(err, -ENAMETOOLONG, "the session's name is too long");
        int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
                return err_set(err, -errno, "cannot mark '%s': %s", session, strerror(errno));
        file_name(m, name, sizeof(name));
        int r = mark_write(m, &text);
        if (r == 0)
                r = put_file(dir, name, &text);
        strbuf_finish(&text);
        close(dir);
        if (r < 0) {
                err_set(err, r, "cannot mark '%s': %s", session, strerror(-r));
                if (r == -EINVAL)
                        return err_hint(err, "names and values must be UTF-8");
        }
        return r;
}

static int compare_names(const void *a, const void *b)
{
        return strcmp(a, b);
}

static bool append(struct spool_list *l, size_t *cap, const char *name)
{
        if (l->n == *cap) {
                size_t more = *cap ? *cap * 2 : 64;
                void *names = realloc(l->names, more * sizeof(*l->names));
                if (!names)
                        return false;
                l->names = names;
                *cap = more;
        }
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
                if (e->d_name[0] == '.' || strlen(e->d_name) >= SPOOL_NAME_MAX)
                        continue;
                if (!append(&l, &cap, e->d_name))
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
