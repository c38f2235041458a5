/* Zips of a stranger, by libarchive. */
#include "formats/bundle.h"
#include "formats/zip_api.h"

#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static int too_large(struct err *err)
{
        err_set(err, ERR_DATA, "the session is larger than %zu MiB unpacked",
                BUNDLE_TOTAL_MAX >> 20);
        return err_hint(err, "no monitor writes so much: it may be made to fill memory");
}

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

int bundle_write_zip(const char *path, const struct bundle *b, struct err *err)
{
        struct zip_api api;
        int r = zip_api_load(&api, err);
        if (r < 0)
                return r;
        CLEANUP(closep) int fd = outfile_open(path, O_WRONLY | O_CREAT | O_EXCL, 0666, "", err);
        if (fd == -EEXIST) {
                err_set(err, fd, "'%s' is there already", path);
                return err_hint(err, "give another name");
        }
        if (fd < 0)
                return err_hint(err, "give a new name in a folder that is yours to write");
        struct archive *a = api.archive_write_new();
        bool begun = api.archive_write_set_format_zip(a) == ARCHIVE_OK &&
                     api.archive_write_open_fd(a, fd) == ARCHIVE_OK;
        bool fine = begun;
        for (size_t i = 0; fine && i < b->n; i++)
                fine = write_entry(&api, a, &b->files[i]);
        fine = fine && api.archive_write_close(a) == ARCHIVE_OK;
        if (!fine)
                r = refuse_zip(path, &api, a, err);
        api.archive_write_free(a);
        /* Half a file is taken for a whole one sooner or later. */
        if (!fine)
                unlink(path);
        return r;
}
