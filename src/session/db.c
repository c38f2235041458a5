#include "session/db.h"

#include "base/beside.h"
#include "base/clock.h"
#include "base/text.h"
#include "session/session.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Longer than any commit takes, also on a slow disk. */
#define BUSY_MS 20000
/* The longest row that is added to a file: larger than a mark. */
#define ADDED_MAX (1 << 20)
/* The longest value that is read, beyond the file's size: it may still lie in the log. */
#define READ_MAX (64 << 20)

void session_own_process(void)
{
        sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
        /* Pages of a cache are allocated as they are read, not twenty at once. */
        sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0);
}

static int code_of(int sqlite_code)
{
        switch (sqlite_code & 0xff) {
        case SQLITE_FULL:
                return -ENOSPC;
        case SQLITE_READONLY:
                return -EROFS;
        case SQLITE_PERM:
        case SQLITE_CANTOPEN:
                return -EACCES;
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
                return -EBUSY;
        case SQLITE_NOMEM:
                return -ENOMEM;
        case SQLITE_NOTADB:
        case SQLITE_CORRUPT:
        case SQLITE_ERROR: /* a table or column that is absent */
        case SQLITE_TOOBIG:
        case SQLITE_CONSTRAINT:
                return ERR_DATA;
        default:
                return -EIO;
        }
}

int db_error(struct db *db, int code, struct err *err)
{
        const char *why = !db->h                                ? "out of memory"
                          : sqlite3_errcode(db->h) == SQLITE_OK ? "a value in it makes no sense"
                                                                : sqlite3_errmsg(db->h);
        int system = db->h ? sqlite3_system_errno(db->h) : 0;
        if (code == -EACCES && system != 0) {
                code = -system;
                why = strerror(system);
        }
        /* Where its index cannot grow, SQLite speaks of a failed disk. */
        if (code == -EIO && (system == ENOSPC || system == EDQUOT))
                code = -ENOSPC;
        if (db->endless) {
                err_set(err, ERR_DATA, "'%s' takes longer to read than a session of its size can",
                        db->path);
                return err_hint(err, "it is damaged, or made to harm; do not trust its source");
        }
        if (db->h && sqlite3_extended_errcode(db->h) == SQLITE_READONLY_ROLLBACK) {
                err_set(err, code, "'%s' was left in the middle of a write", db->path);
                return err_hint(err, "'assay report --recover FILE' undoes it; reading does not");
        }
        if (code == ERR_DATA) {
                err_set(err, code, "'%s' is not a session, or it is damaged: %s", db->path, why);
                err_hint(err, "'sqlite3 FILE .recover' may save what is left");
        } else if (code == -ENOSPC) {
                err_set(err, code, "cannot write '%s': the disk is full", db->path);
                err_hint(err, "make room there, or choose a place on another disk");
        } else if (code == -EIO) {
                err_set(err, code, "cannot use '%s': %s (%s)", db->path, why, strerror(system));
                err_hint(err, "some network file systems lack what it needs, locks and shared "
                              "memory: choose a place on another one");
        } else {
                err_set(err, code, "cannot use '%s': %s", db->path, why);
                err_hint(err, "see that it and its folder exist and are yours to write");
        }
        return code;
}

/*
 * What reading a file may cost: so many steps of SQLite's machine to begin with, and so many a
 * byte. A page that it examines counts as some more: one step may compare with a value of many
 * pages. A session takes one or two a byte; one that is made to take forever is given up. Who plays
 * a session for days gets more with time, less than a machine does in it.
 */
#define STEPS_FREE 100000000
#define STEPS_A_BYTE 20
#define STEPS_A_PAGE 200
#define STEPS_A_SECOND 1000000
#define STEPS_A_ROUND 1000

/* Since the last time. */
static int64_t pages_seen(struct db *db)
{
        int hit = 0, miss = 0, most;
        sqlite3_db_status(db->h, SQLITE_DBSTATUS_CACHE_HIT, &hit, &most, 1);
        sqlite3_db_status(db->h, SQLITE_DBSTATUS_CACHE_MISS, &miss, &most, 1);
        return (int64_t)hit + miss;
}

/* Holes are no bytes: a file may be as long as it likes and hold nothing. */
static int64_t bytes_of(const char *path)
{
        struct stat st;
        return stat(path, &st) < 0 ? 0 : MIN((int64_t)st.st_size, (int64_t)st.st_blocks * 512);
}

static int count_pages(void *arg)
{
        struct db *db = arg;
        db->steps += STEPS_A_ROUND + pages_seen(db) * STEPS_A_PAGE;
        if (db->steps < STEPS_FREE)
                return 0;
        int64_t seconds = (clock_mono_ns() - db->opened_ns) / NS_PER_S;
        db->endless =
            db->steps - STEPS_FREE > bytes_of(db->path) * STEPS_A_BYTE + seconds * STEPS_A_SECOND;
        return db->endless;
}

/* A file from a stranger runs nothing of its own: no views, triggers or functions. */
static void harden_db(struct db *db, enum db_mode mode)
{
        int64_t longest = DB_LENGTH_MAX;
        if (mode == DB_READ)
                longest = MIN(longest, bytes_of(db->path) + READ_MAX);
        if (mode == DB_ADD)
                longest = ADDED_MAX;
        sqlite3_db_config(db->h, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        sqlite3_db_config(db->h, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
        sqlite3_db_config(db->h, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
        sqlite3_db_config(db->h, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
        sqlite3_limit(db->h, SQLITE_LIMIT_LENGTH, (int)longest);
        sqlite3_limit(db->h, SQLITE_LIMIT_ATTACHED, 0);
}

/* Bytes of a database's header, and what they say; https://www.sqlite.org/fileformat.html */
#define FORMAT_WRITE 18
#define FORMAT_READ 19
#define FORMAT_WAL 2

bool db_read_head(sqlite3 *h, unsigned char *ret, size_t len)
{
        sqlite3_file *file = NULL;
        sqlite3_int64 size = 0;
        return sqlite3_file_control(h, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK &&
               file->pMethods && file->pMethods->xFileSize(file, &size) == SQLITE_OK &&
               size >= (sqlite3_int64)len &&
               file->pMethods->xRead(file, ret, (int)len, 0) == SQLITE_OK;
}

/* Whether it uses a log: without one, reading makes nothing beside it, and locks are needed. */
static bool has_log(sqlite3 *h)
{
        unsigned char head[FORMAT_READ + 1];
        return db_read_head(h, head, sizeof(head)) && head[FORMAT_READ] == FORMAT_WAL;
}

/* Opens the file at a path that SQLite cannot take for anything else. */
static int db_open_path(const char *path, enum db_mode mode, sqlite3 **ret)
{
        static const int flags[] = {
            [DB_READ] = SQLITE_OPEN_READONLY,
            [DB_ADD] = SQLITE_OPEN_READWRITE,
            [DB_WRITE] = SQLITE_OPEN_READWRITE,
        };
        char uri[3 * 4200];
        int r = sqlite3_open_v2(path, ret, flags[mode] | SQLITE_OPEN_NOMUTEX, NULL);
        if (r != SQLITE_OK || mode != DB_READ || !has_log(*ret) ||
            !beside_reading_uri(path, uri, sizeof(uri)))
                return r;
        sqlite3_close(*ret);
        r = sqlite3_open_v2(uri, ret, flags[mode] | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL);
        return r == SQLITE_OK ? sqlite3_exec(*ret, BESIDE_READING_SQL, NULL, NULL, NULL) : r;
}

/* Closing removes a log in which nothing counts: one of a moment, or a spoiled one. */
static void keep_log(sqlite3 *h)
{
        int yes = 1;
        sqlite3_file_control(h, "main", SQLITE_FCNTL_PERSIST_WAL, &yes);
}

int db_open(struct db *db, const char *path, enum db_mode mode, struct err *err)
{
        snprintf(db->path, sizeof(db->path), "%s", path);
        /* A path that starts like an option of SQLite's own ("file:", ":memory:") is a file. */
        char local[4100];
        snprintf(local, sizeof(local), "%s%s", path[0] == '/' || path[0] == '.' ? "" : "./", path);
        int r = db_open_path(local, mode, &db->h);
        if (r != SQLITE_OK) {
                r = db_error(db, code_of(r), err);
                db_close(db);
                return r;
        }
        sqlite3_extended_result_codes(db->h, 1);
        sqlite3_busy_timeout(db->h, BUSY_MS);
        harden_db(db, mode);
        if (mode == DB_READ)
                keep_log(db->h);
        db->opened_ns = clock_mono_ns();
        /* A recorder may write for months. */
        if (mode != DB_WRITE)
                sqlite3_progress_handler(db->h, STEPS_A_ROUND, count_pages, db);
        return 0;
}

void db_close(struct db *db)
{
        for (size_t i = 0; i < DB_STATEMENTS; i++) {
                sqlite3_finalize(db->prepared[i]);
                db->prepared[i] = NULL;
        }
        sqlite3_close(db->h);
        db->h = NULL;
}

int db_exec(struct db *db, const char *sql, struct err *err)
{
        int r = sqlite3_exec(db->h, sql, NULL, NULL, NULL);
        return r == SQLITE_OK ? 0 : db_error(db, code_of(r), err);
}

int db_open_memory(struct db *db, struct err *err)
{
        int r =
            sqlite3_open_v2(":memory:", &db->h, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
        if (r == SQLITE_OK)
                return 0;
        r = db_error(db, code_of(r), err);
        db_close(db);
        return r;
}

int db_use_image(struct db *db, unsigned char *image, int64_t len, int64_t most, struct err *err)
{
        sqlite3_int64 limit = most;
        int r = sqlite3_deserialize(db->h, "main", image, len, len,
                                    SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
        if (r == SQLITE_OK)
                sqlite3_file_control(db->h, "main", SQLITE_FCNTL_SIZE_LIMIT, &limit);
        return r == SQLITE_OK ? 0 : db_error(db, code_of(r), err);
}

int db_make_image(const char *sql, unsigned char **ret, size_t *ret_len, struct err *err)
{
        struct db db = {.path = "memory"};
        sqlite3_int64 len = 0;
        int r = db_open_memory(&db, err);
        if (r == 0)
                r = db_exec(&db, "PRAGMA page_size=4096", err);
        if (r == 0)
                r = db_exec(&db, sql, err);
        unsigned char *image = r == 0 ? sqlite3_serialize(db.h, "main", &len, 0) : NULL;
        if (r == 0 && !image)
                r = err_set(err, -ENOMEM, "out of memory");
        db_close(&db);
        if (r < 0)
                return r;
        /* It uses a log from the first moment on: to change that later would take a journal, which
         * a recorder that is killed leaves behind, and which readers may not roll back. */
        image[FORMAT_WRITE] = image[FORMAT_READ] = FORMAT_WAL;
        *ret = image;
        *ret_len = (size_t)len;
        return 0;
}

bool db_begin_reading(struct db *db)
{
        return sqlite3_get_autocommit(db->h) &&
               sqlite3_exec(db->h, "BEGIN", NULL, NULL, NULL) == SQLITE_OK;
}

void db_end_reading(struct db *db, bool begun)
{
        if (begun)
                sqlite3_exec(db->h, "COMMIT", NULL, NULL, NULL);
}

void db_rollback(struct db *db)
{
        if (!sqlite3_get_autocommit(db->h))
                sqlite3_exec(db->h, "ROLLBACK", NULL, NULL, NULL);
}

struct statement db_prepare(struct db *db, enum db_statement which, const char *sql)
{
        struct statement q = {.db = db};
        if (!db->prepared[which])
                q.r = sqlite3_prepare_v3(db->h, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                         &db->prepared[which], NULL);
        q.h = db->prepared[which];
        return q;
}

static void note_error(struct statement *q, int r)
{
        if (q->r == SQLITE_OK)
                q->r = r;
}

void db_bind_int(struct statement *q, int64_t v)
{
        note_error(q, sqlite3_bind_int64(q->h, ++q->at, v));
}

void db_bind_int_or_null(struct statement *q, int64_t v, bool present)
{
        if (present)
                db_bind_int(q, v);
        else
                note_error(q, sqlite3_bind_null(q->h, ++q->at));
}

void db_bind_number(struct statement *q, double v)
{
        /* A whole number is shorter as one, and reads better. */
        if (v == nearbyint(v) && fabs(v) < 9e15)
                db_bind_int(q, (int64_t)v);
        else
                note_error(q, sqlite3_bind_double(q->h, ++q->at, v));
}

void db_bind_text(struct statement *q, const char *s)
{
        note_error(q, s ? sqlite3_bind_text(q->h, ++q->at, s, -1, SQLITE_STATIC)
                        : sqlite3_bind_null(q->h, ++q->at));
}

void db_bind_blob(struct statement *q, const void *s, size_t len)
{
        note_error(q, s ? sqlite3_bind_blob64(q->h, ++q->at, s, len, SQLITE_STATIC)
                        : sqlite3_bind_null(q->h, ++q->at));
}

void db_reset(struct statement *q)
{
        sqlite3_reset(q->h);
}

int db_step(struct statement *q)
{
        if (q->r == SQLITE_OK)
                q->r = sqlite3_step(q->h);
        int r = q->r;
        if (r == SQLITE_ROW) {
                q->r = SQLITE_OK;
                return 1;
        }
        sqlite3_reset(q->h);
        return r == SQLITE_DONE ? 0 : code_of(r);
}

void db_take_name(sqlite3_stmt *h, int column, char *ret, size_t size)
{
        const char *s = (const char *)sqlite3_column_text(h, column);
        snprintf(ret, size, "%s", s ? s : "");
        text_clean(ret);
}

int db_run(struct statement *q)
{
        return db_step(q);
}

int db_put_mark(struct db *db, const struct mark *m, const char *spool)
{
        struct statement q =
            db_prepare(db, DB_PUT_MARK,
                       "INSERT OR IGNORE INTO mark(wall_ns, mono_ns, host, pid, type, name,"
                       " seconds, value, data, spool) VALUES(?,?,?,?,?,?,?,?,?,?)");
        db_bind_int(&q, m->wall_ns);
        db_bind_int(&q, m->mono_ns);
        db_bind_text(&q, m->host);
        db_bind_int(&q, m->pid);
        db_bind_text(&q, mark_type_name(m->type));
        db_bind_text(&q, m->name);
        if (m->has_seconds)
                note_error(&q, sqlite3_bind_double(q.h, ++q.at, m->seconds));
        else
                note_error(&q, sqlite3_bind_null(q.h, ++q.at));
        if (m->type == MARK_METRIC || m->has_value)
                note_error(&q, sqlite3_bind_double(q.h, ++q.at, m->value));
        else
                note_error(&q, sqlite3_bind_null(q.h, ++q.at));
        db_bind_text(&q, m->data);
        db_bind_text(&q, spool);
        return db_run(&q);
}

int db_take_marks(struct db *db, int folder, struct spool_list *list)
{
        int r = 0;
        for (size_t i = 0; r == 0 && i < list->n; i++) {
                struct mark m;
                int got = spool_read(folder, list->names[i], &m);
                if (got < 0 && got != ERR_DATA)
                        list->names[i][0] = '\0';
                if (got < 0)
                        continue;
                r = db_put_mark(db, &m, list->names[i]);
                mark_finish(&m);
        }
        return r;
}
