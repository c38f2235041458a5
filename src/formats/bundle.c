#include "formats/bundle.h"

#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

void bundle_finish(struct bundle *b)
{
        for (size_t i = 0; i < b->n; i++)
                strbuf_finish(&b->files[i].text);
        b->n = b->total = 0;
}

struct strbuf *bundle_find(struct bundle *b, const char *name)
{
        for (size_t i = 0; i < b->n; i++) {
                if (strcmp(b->files[i].name, name) == 0)
                        return &b->files[i].text;
        }
        return NULL;
}

struct strbuf *bundle_add(struct bundle *b, const char *name)
{
        if (b->n == BUNDLE_FILES_MAX || strlen(name) >= sizeof(b->files[0].name))
                return NULL;
        struct bundle_file *f = &b->files[b->n++];
        *f = (struct bundle_file){0};
        memcpy(f->name, name, strlen(name) + 1);
        return &f->text;
}

bool bundle_begins(const char *path, const char *text)
{
        char head[128];
        size_t len = strlen(text);
        struct stat st;
        if (len > sizeof(head) || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
                return false;
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        ssize_t n = fd >= 0 ? read(fd, head, len) : 0;
        closep(&fd);
        return n == (ssize_t)len && memcmp(head, text, len) == 0;
}

bool bundle_is_zip(const char *path)
{
        return bundle_begins(path, "PK\003\004");
}

bool bundle_has(const char *path, const char *name)
{
        char full[4200];
        snprintf(full, sizeof(full), "%s/%s", path, name);
        return access(full, R_OK) == 0;
}

/* Reads all of fd into out, up to a limit. */
static int read_whole_file(int fd, struct strbuf *out, size_t limit)
{
        for (;;) {
                if (!strbuf_reserve(out, 65536))
                        return -ENOMEM;
                ssize_t n = read(fd, out->s + out->len, out->cap - out->len);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : 0;
                out->len += (size_t)n;
                if (out->len > limit)
                        return -EFBIG;
        }
}

static int read_zip_file(const char *path, bool (*wanted)(const char *name), struct bundle *ret,
                         struct err *err)
{
        struct strbuf zip = {0};
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        int r = fd < 0 ? -errno : read_whole_file(fd, &zip, BUNDLE_FILE_MAX);
        closep(&fd);
        if (r < 0)
                err_set(err, r, "cannot read '%s': %s", path, strerror(-r));
        else
                r = bundle_read_zip(zip.s, zip.len, wanted, ret, err);
        strbuf_finish(&zip);
        return r;
}

/* ---- folders ---- */

static int read_one(int dir, const char *path, const char *name, struct bundle *b, struct err *err)
{
        struct strbuf *to = bundle_add(b, name);
        int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        int r = fd < 0 ? -errno : to ? read_whole_file(fd, to, BUNDLE_FILE_MAX) : -ENOMEM;
        closep(&fd);
        return r < 0 ? err_set(err, r, "cannot read '%s': %s", path, strerror(-r)) : 0;
}

int bundle_read_file(const char *path, const char *name, struct bundle *ret, struct err *err)
{
        *ret = (struct bundle){0};
        int r = read_one(AT_FDCWD, path, name, ret, err);
        if (r < 0)
                bundle_finish(ret);
        return r;
}

/* The names a bundle can have are few and known, so they are tried rather than listed. */
static const char *const known[] = {"manifest.json",   "perf_process.csv", "perf_user.csv",
                                    "perf_system.csv", "perf_slurm.csv",   "perf_cgroup.csv",
                                    "cell_history.csv"};

int bundle_read(const char *path, bool (*wanted)(const char *name), struct bundle *ret,
                struct err *err)
{
        *ret = (struct bundle){0};
        if (bundle_is_zip(path))
                return read_zip_file(path, wanted, ret, err);
        int r = 0, dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
                return err_set(err, -errno, "cannot read '%s': %s", path, strerror(errno));
        for (size_t i = 0; r == 0 && i < ARRAY_LEN(known); i++) {
                if (wanted(known[i]) && faccessat(dir, known[i], R_OK, 0) == 0)
                        r = read_one(dir, known[i], known[i], ret, err);
        }
        close(dir);
        if (r < 0)
                bundle_finish(ret);
        return r;
}

/* ---- writing ---- */

static int write_folder(const char *path, const struct bundle *b, struct err *err)
{
        int r = outfile_check_folder(path, err);
        if (r < 0)
                return r;
        r = mkdir(path, 0777) < 0 && errno != EEXIST ? -errno : 0;
        CLEANUP(closep) int dir = r == 0 ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        if (r == 0 && dir < 0)
                r = -errno;
        for (size_t i = 0; r == 0 && i < b->n; i++) {
                int fd =
                    openat(dir, b->files[i].name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
                struct strbuf copy = b->files[i].text;
                r = fd < 0 ? -errno : strbuf_flush(&copy, fd);
                if (fd >= 0 && close(fd) < 0 && r == 0)
                        r = -errno;
        }
        if (r == -EEXIST) {
                err_set(err, r, "'%s' has such files already", path);
                return err_hint(err, "give a new folder");
        }
        return r < 0 ? err_set(err, r, "cannot write '%s': %s", path, strerror(-r)) : 0;
}

int bundle_write(const char *path, const struct bundle *b, struct err *err)
{
        size_t len = strlen(path);
        bool zip = len > 4 && strcmp(path + len - 4, ".zip") == 0;
        return zip ? bundle_write_zip(path, b, err) : write_folder(path, b, err);
}
