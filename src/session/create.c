/*
 * A new session: its file appears under its name at once with all tables, so that a recorder which
 * is killed at any moment leaves either none or one that opens.
 */
#include "session/schema.h"
#include "session/state.h"

#include "base/beside.h"
#include "base/clock.h"
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

struct session *session_alloc(const char *path, int64_t start_wall_ns)
{
        struct session *s = calloc(1, sizeof(*s));
        if (!s)
                return NULL;
        s->spool = s->file = -1;
        s->tracks_max = TRACKS_MAX;
        for (size_t i = 0; i < SERIES_COUNT; i++)
                s->scales[i] = series_scale(series_info(i));
        s->start_wall_ns = start_wall_ns;
        s->start_mono_ns = INT64_MIN;
        pthread_mutex_init(&s->writing, NULL);
        pthread_mutex_init(&s->lock, NULL);
        snprintf(s->path, sizeof(s->path), "%s", path);
        return s;
}

void session_free(struct session *s)
{
        db_close(&s->db);
        closep(&s->spool);
        closep(&s->file);
        frames_free(s);
        host_free(s);
        processes_free(s);
        stacks_free(s);
        facts_free(s);
        block_queue_free(&s->full);
        block_queue_free(&s->kept);
        for (size_t i = 0; i < ARRAY_LEN(s->now); i++) {
                free(s->now[i].rows);
                strbuf_finish(&s->now[i].bytes);
        }
        pthread_mutex_destroy(&s->writing);
        pthread_mutex_destroy(&s->lock);
        free(s);
}

static int create_refuse(const char *path, int code, struct err *err)
{
        if (code == -EEXIST) {
                err_set(err, code, "'%s' is there already", path);
                return err_hint(err, "give another name, or move it away");
        }
        if (code == -ENOSPC || code == -EDQUOT) {
                err_set(err, code, "cannot write '%s': the disk is full", path);
                return err_hint(err, "make room, or give a name on another disk");
        }
        err_set(err, code, "cannot create '%s': %s", path, strerror(-code));
        return err_hint(err, "give a name in a folder that exists and is yours to write");
}

/* ---- the folder of marks ---- */

static bool is_taken(const char *path)
{
        struct stat present;
        return lstat(path, &present) == 0;
}

#define SPOOL_TRIES 500

/* A folder that another user put there, or a link, means a recording without marks. */
static int make_spool(struct session *s, bool *made, struct err *err)
{
        int r = -EAGAIN;
        for (int i = 0; i < SPOOL_TRIES && r == -EAGAIN; i++) {
                struct timespec wait = {.tv_nsec = i > 0 ? NS_PER_MS : 0};
                nanosleep(&wait, NULL);
                if (is_taken(s->path))
                        return create_refuse(s->path, -EEXIST, err);
                r = spool_make(s->path, made, &s->spool_trouble);
        }
        if (r == -EAGAIN)
                return err_set(err, r, "somebody else holds '%s" SPOOL_SUFFIX "'", s->path);
        if (r < 0 && r != -EPERM)
                return create_refuse(s->path, r, err);
        s->spool = MAX(r, -1);
        return 0;
}

/* ---- the file ---- */

static int write_all(int fd, const unsigned char *s, size_t len)
{
        while (len > 0) {
                ssize_t n = write(fd, s, len);
                if (n < 0 && errno != EINTR)
                        return -errno;
                if (n > 0) {
                        s += n;
                        len -= (size_t)n;
                }
        }
        return 0;
}

/* A file without a name, which then gets it. -EOPNOTSUPP and similar variables where there are none
 * such. */
static int write_unnamed(const char *path, const unsigned char *s, size_t len)
{
        char folder[sizeof(((struct session *)0)->path)], link[64];
        snprintf(folder, sizeof(folder), "%s", path);
        CLEANUP(closep)
        int fd = open(dirname(folder), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        int r = write_all(fd, s, len);
        if (r == 0 && fsync(fd) < 0)
                r = -errno;
        if (r < 0)
                return r;
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        return linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 ? 0 : -errno;
}

static int write_named(const char *path, const unsigned char *s, size_t len)
{
        CLEANUP(closep) int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);
        if (fd < 0)
                return -errno;
        int r = write_all(fd, s, len);
        if (r == 0 && fsync(fd) < 0)
                r = -errno;
        if (r < 0)
                unlink(path);
        return r;
}

/* So that the file's name outlives a power loss; where a folder cannot be synced, it may not. */
static void sync_folder(const char *path)
{
        char folder[sizeof(((struct session *)0)->path)];
        snprintf(folder, sizeof(folder), "%s", path);
        CLEANUP(closep) int fd = open(dirname(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0)
                fsync(fd);
}

/* NFS has no files without a name, and a jail may have no /proc: there it is written in place. */
static int make_file(const char *path, const unsigned char *image, size_t len, struct err *err)
{
        int r = outfile_check_way(path, err);
        if (r < 0)
                return r;
        r = write_unnamed(path, image, len);
        if (r < 0 && r != -EEXIST && r != -ENOSPC)
                r = write_named(path, image, len);
        if (r < 0)
                return create_refuse(path, r, err);
        sync_folder(path);
        return 0;
}

/* Closing does not remove what SQLite made beside it when that failed. */
static void remove_file(struct session *s)
{
        char path[sizeof(s->path) + 16];
        struct stat st;
        db_close(&s->db);
        for (size_t i = 0; beside_name(s->path, i, path, sizeof(path)); i++) {
                if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
                        unlink(path);
        }
        unlink(s->path);
}

static int open_file(struct session *s, struct err *err)
{
        int r = db_open(&s->db, s->path, DB_WRITE, err);
        if (r == 0)
                r = db_check_beside(&s->db, err);
        if (r == 0)
                r = db_exec(&s->db, "PRAGMA synchronous=FULL;PRAGMA journal_mode=WAL;", err);
        /* Some cluster file systems have no locks, or no shared memory: better to know it now. */
        if (r == 0)
                r = db_exec(&s->db, "BEGIN IMMEDIATE;COMMIT;", err);
        if (r == 0)
                r = db_check_beside(&s->db, err);
        if (r < 0)
                remove_file(s);
        return r;
}

/* The spool is locked before there is a file: a reader would clean up after the dead. */
static int make_parts(struct session *s, const unsigned char *image, size_t len, struct err *err)
{
        bool made = false;
        int r = make_spool(s, &made, err);
        if (r == 0)
                r = make_file(s->path, image, len, err);
        if (r == 0)
                r = open_file(s, err);
        /* Somebody else's stays: where folders cannot be locked, it may be in use. */
        if (r < 0 && made)
                spool_remove(s->path, s->spool);
        return r;
}

static int make_session(struct session *s, struct err *err)
{
        struct strbuf sql = {0};
        unsigned char *image = NULL;
        size_t len = 0;
        session_schema(&sql);
        int r = db_make_image(strbuf_str(&sql), &image, &len, err);
        if (r == 0)
                r = make_parts(s, image, len, err);
        sqlite3_free(image);
        strbuf_finish(&sql);
        return r;
}

int session_create(const char *path, int64_t start_wall_ns, struct session **ret, struct err *err)
{
        if (is_taken(path))
                return create_refuse(path, -EEXIST, err);
        struct session *s = session_alloc(path, start_wall_ns);
        if (!s)
                return err_set(err, -ENOMEM, "out of memory");
        int r = make_session(s, err);
        if (r < 0) {
                session_free(s);
                return r;
        }
        s->file = open(s->path, O_PATH | O_CLOEXEC);
        session_set_number(s, "schema_version", SESSION_SCHEMA_VERSION);
        *ret = s;
        return 0;
}

static bool is_same_file(const char *path, const struct stat *st)
{
        struct stat present;
        return stat(path, &present) == 0 && present.st_dev == st->st_dev &&
               present.st_ino == st->st_ino;
}

bool session_find_file(const struct session *s, char *ret, size_t size)
{
        struct stat st;
        char link[64], now[sizeof(s->path)];
        if (fstat(s->file, &st) < 0 || is_same_file(s->path, &st)) {
                snprintf(ret, size, "%s", s->path);
                return true;
        }
        snprintf(link, sizeof(link), "/proc/self/fd/%d", s->file);
        ssize_t n = readlink(link, now, sizeof(now) - 1);
        if (n < 0)
                return false;
        now[n] = '\0';
        snprintf(ret, size, "%s", now);
        return is_same_file(now, &st);
}

const struct err *session_trouble(const struct session *s)
{
        return s->spool_trouble.code != 0 && s->spool < 0 ? &s->spool_trouble : NULL;
}

int session_relax(struct session *s, struct err *err)
{
        pthread_mutex_lock(&s->writing);
        int r = db_exec(&s->db, "PRAGMA synchronous=OFF", err);
        pthread_mutex_unlock(&s->writing);
        return r;
}
