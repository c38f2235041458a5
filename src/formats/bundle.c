#include "formats/bundle.h"

#include "formats/zip_api.h"

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

/* A pipe is not looked into: what is read there is gone for the reader that comes after. */
bool bundle_is_zip(const char *path)
{
        char head[4] = "";
        struct stat st;
        if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
                return false;
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        ssize_t n = fd >= 0 ? read(fd, head, sizeof(head)) : 0;
        closep(&fd);
        return n == 4 && memcmp(head, "PK\003\004", 4) == 0;
}

bool bundle_has(const char *path, const char *name)
{
        char full[4200];
        snprintf(full, sizeof(full), "%s/%s", path, name);
        return access(full, R_OK) == 0;
}

static int too_large(struct err *err)
{
        err_set(err, ERR_DATA, "the session is larger than %zu MiB unpacked",
                BUNDLE_TOTAL_MAX >> 20);
        return err_hint(err, "no monitor writes so much: it may be made to fill memory");
}

/* Reads all of fd into out, up to a limit. */
static int slurp(int fd, struct strbuf *out, size_t limit)
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

/* ---- zip ---- */

/* "a/b.csv" is fine; a name that leaves the folder is not. */
static bool is_safe(const char *name)
{
        if (!name || name[0] == '/' || strchr(name, '\\') || strchr(name, ':'))
                return false;
        for (const char *s = name; *s;) {
                size_t len = strcspn(s, "/");
                if (len == 2 && s[0] == '.' && s[1] == '.')
                        return false;
                s += len + (s[len] == '/');
        }
        return true;
}

static int take_data(const struct zip_api *api, struct archive *a, struct bundle *b,
                     struct strbuf *out, struct err *err)
{
        for (;;) {
                if (!strbuf_reserve(out, 65536))
                        return err_set(err, -ENOMEM, "out of memory");
                la_ssize_t n = api->archive_read_data(a, out->s + out->len, out->cap - out->len);
                if (n < 0)
                        return err_set(err, ERR_DATA, "the zip is damaged: %s",
                                       api->archive_error_string(a));
                if (n == 0)
                        return 0;
                out->len += (size_t)n;
                b->total += (size_t)n;
                if (out->len > BUNDLE_FILE_MAX || b->total > BUNDLE_TOTAL_MAX)
                        return too_large(err);
        }
}

static int take_entry(const struct zip_api *api, struct archive *a, struct archive_entry *e,
                      bool (*wanted)(const char *), struct bundle *b, struct err *err)
{
        const char *name = api->archive_entry_pathname(e);
        unsigned type = api->archive_entry_filetype(e);
        if (!is_safe(name) || (type != AE_IFREG && type != AE_IFDIR)) {
                err_set(err, ERR_DATA, "the zip names '%s', which leads out of it",
                        name ? name : "?");
                return err_hint(err, "it is not from a monitor; do not unpack it elsewhere either");
        }
        const char *slash = strrchr(name, '/');
        const char *base = slash ? slash + 1 : name;
        if (type != AE_IFREG || !wanted(base) || bundle_find(b, base))
                return 0;
        struct strbuf *to = bundle_add(b, base);
        return to ? take_data(api, a, b, to, err) : too_large(err);
}

#define ENTRIES_MAX 10000

int bundle_read_zip(const void *zip, size_t len, bool (*wanted)(const char *name),
                    struct bundle *ret, struct err *err)
{
        struct zip_api api;
        int r = zip_api_load(&api, err);
        if (r < 0)
                return r;
        struct archive *a = api.archive_read_new();
        struct archive_entry *e;
        int got = ARCHIVE_FATAL;
        api.archive_read_support_format_zip(a);
        if (api.archive_read_open_memory(a, zip, len) == ARCHIVE_OK) {
                for (int i = 0; r == 0 && i < ENTRIES_MAX; i++) {
                        got = api.archive_read_next_header(a, &e);
                        if (got != ARCHIVE_OK && got != ARCHIVE_WARN)
                                break;
                        r = take_entry(&api, a, e, wanted, ret, err);
                }
        }
        if (r == 0 && got != ARCHIVE_EOF) {
                const char *why = api.archive_error_string(a);
                r = err_set(err, ERR_DATA, "the zip cannot be read: %s",
                            why ? why : "too many files");
        }
        api.archive_read_free(a);
        if (r < 0)
                bundle_finish(ret);
        return r;
}

static int read_zip_file(const char *path, bool (*wanted)(const char *name), struct bundle *ret,
                         struct err *err)
{
        struct strbuf zip = {0};
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        int r = fd < 0 ? -errno : slurp(fd, &zip, BUNDLE_FILE_MAX);
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
        int r = fd < 0 ? -errno : to ? slurp(fd, to, BUNDLE_FILE_MAX) : -ENOMEM;
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
        int r = mkdir(path, 0777) < 0 && errno != EEXIST ? -errno : 0;
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

static bool write_entry(const struct zip_api *api, struct archive *a, const struct bundle_file *f)
{
        struct archive_entry *e = api->archive_entry_new();
        api->archive_entry_set_pathname(e, f->name);
        api->archive_entry_set_filetype(e, AE_IFREG);
        api->archive_entry_set_perm(e, 0644);
        api->archive_entry_set_size(e, (la_int64_t)f->text.len);
        bool fine = api->archive_write_header(a, e) == ARCHIVE_OK &&
                    api->archive_write_data(a, f->text.s, f->text.len) == (la_ssize_t)f->text.len;
        api->archive_entry_free(e);
        return fine;
}

static int refuse_zip(const char *path, const struct zip_api *api, struct archive *a,
                      struct err *err)
{
        int why = api->archive_errno(a);
        err_set(err, why > 0 ? -why : -EIO, "cannot write '%s': %s", path,
                why > 0 ? strerror(why) : api->archive_error_string(a));
        return err_hint(err, "give a new name in a folder that is yours to write");
}

static int write_zip(const char *path, const struct bundle *b, struct err *err)
{
        struct zip_api api;
        if (access(path, F_OK) == 0) {
                err_set(err, -EEXIST, "'%s' is there already", path);
                return err_hint(err, "give another name");
        }
        int r = zip_api_load(&api, err);
        if (r < 0)
                return r;
        struct archive *a = api.archive_write_new();
        bool begun = api.archive_write_set_format_zip(a) == ARCHIVE_OK &&
                     api.archive_write_open_filename(a, path) == ARCHIVE_OK;
        bool fine = begun;
        for (size_t i = 0; fine && i < b->n; i++)
                fine = write_entry(&api, a, &b->files[i]);
        fine = fine && api.archive_write_close(a) == ARCHIVE_OK;
        if (!fine)
                r = refuse_zip(path, &api, a, err);
        api.archive_write_free(a);
        /* Half a file is taken for a whole one sooner or later. */
        if (begun && !fine)
                unlink(path);
        return r;
}

int bundle_write(const char *path, const struct bundle *b, struct err *err)
{
        size_t len = strlen(path);
        bool zip = len > 4 && strcmp(path + len - 4, ".zip") == 0;
        return zip ? write_zip(path, b, err) : write_folder(path, b, err);
}
