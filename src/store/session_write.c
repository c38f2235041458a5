/*
 * The writing side. Frames go into memory, as scaled numbers in a block that is open; a commit
 * writes the open block anew, so that a recorder which dies loses what came after its last commit
 * and nothing else. Full blocks wait in a queue for the next commit, so adding never waits for a
 * disk.
 */
#include "store/session_schema.h"
#include "store/session_state.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

/* ---- opening ---- */

static void free_session(struct session *s)
{
        db_close(&s->db);
        closep(&s->spool);
        frames_free(s);
        host_free(s);
        processes_free(s);
        facts_free(s);
        block_queue_free(&s->full);
        for (size_t i = 0; i < ARRAY_LEN(s->now); i++) {
                free(s->now[i].rows);
                strbuf_finish(&s->now[i].bytes);
        }
        pthread_mutex_destroy(&s->writing);
        pthread_mutex_destroy(&s->lock);
        free(s);
}

/* Makes the file, empty: nobody else can, and SQLite would not say why it cannot. */
static int claim(const char *path, struct err *err)
{
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
        if (fd >= 0)
                return close(fd), 0;
        int r = -errno;
        if (r == -EEXIST) {
                err_set(err, r, "'%s' is there already", path);
                return err_hint(err, "give another name, or move it away");
        }
        err_set(err, r, "cannot create '%s': %s", path, strerror(-r));
        return err_hint(err, "give a name in a folder that exists and is yours to write");
}

#define SPOOL_PATH_MAX (sizeof(((struct session *)0)->path) + sizeof(SPOOL_SUFFIX))

static void spool_path(const struct session *s, char path[SPOOL_PATH_MAX])
{
        snprintf(path, SPOOL_PATH_MAX, "%s" SPOOL_SUFFIX, s->path);
}

/* Whether the open folder is still the one of that name. */
static bool is_there(int fd, const char *path)
{
        struct stat mine, there;
        return fstat(fd, &mine) == 0 && stat(path, &there) == 0 && mine.st_ino == there.st_ino &&
               mine.st_dev == there.st_dev;
}

/* Makes the folder and locks it. -EAGAIN when somebody who took it for a dead one's cleans up. */
static int lock_spool(struct session *s, const char *path, struct err *err)
{
        if (mkdir(path, 0777) < 0 && errno != EEXIST)
                return err_set(err, -errno, "cannot make '%s': %s", path, strerror(errno));
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT)
                return -EAGAIN;
        if (fd < 0)
                return err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
        /* A reader that can take this lock knows that the recorder is dead. */
        bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
        if ((locked || errno != EWOULDBLOCK) && is_there(fd, path))
                return s->spool = fd, 0;
        close(fd);
        return -EAGAIN;
}

#define SPOOL_TRIES 500

static int make_spool(struct session *s, struct err *err)
{
        char path[SPOOL_PATH_MAX];
        int r = -EAGAIN;
        spool_path(s, path);
        for (int i = 0; i < SPOOL_TRIES && r == -EAGAIN; i++) {
                struct timespec wait = {.tv_nsec = i > 0 ? NS_PER_MS : 0};
                nanosleep(&wait, NULL);
                r = lock_spool(s, path, err);
        }
        return r == -EAGAIN ? err_set(err, r, "somebody else holds '%s'", path) : r;
}

static int make_tables(struct session *s, struct err *err)
{
        struct strbuf sql = {0};
        session_schema(&sql);
        int r = db_exec(
            &s->db, "PRAGMA page_size=4096;PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;", err);
        if (r == 0)
                r = db_exec(&s->db, strbuf_str(&sql), err);
        strbuf_finish(&sql);
        return r;
}

int session_relax(struct session *s, struct err *err)
{
        pthread_mutex_lock(&s->writing);
        int r = db_exec(&s->db, "PRAGMA synchronous=OFF", err);
        pthread_mutex_unlock(&s->writing);
        return r;
}

int session_create(const char *path, int64_t start_wall_ns, struct session **ret, struct err *err)
{
        struct session *s = calloc(1, sizeof(*s));
        if (!s)
                return err_set(err, -ENOMEM, "out of memory");
        int r = claim(path, err);
        if (r < 0)
                return free(s), r;
        s->spool = -1;
        s->start_wall_ns = start_wall_ns;
        s->start_mono_ns = INT64_MIN;
        pthread_mutex_init(&s->writing, NULL);
        pthread_mutex_init(&s->lock, NULL);
        snprintf(s->path, sizeof(s->path), "%s", path);
        /* The spool is locked before the file is a session: a reader would clean up after the dead.
         */
        r = make_spool(s, err);
        if (r == 0)
                r = db_open(&s->db, path, DB_CREATE, err);
        if (r == 0)
                r = make_tables(s, err);
        if (r < 0) {
                char spool[SPOOL_PATH_MAX];
                spool_path(s, spool);
                free_session(s);
                rmdir(spool);
                unlink(path);
                return r;
        }
        session_set_number(s, "schema_version", SESSION_SCHEMA_VERSION);
        *ret = s;
        return 0;
}

/* ---- adding ---- */

static int64_t to_us(int64_t ns)
{
        return (ns >= 0 ? ns + 500 : ns - 500) / 1000;
}

struct tick_row session_tick_row(struct session *s, int64_t wall_ns, int64_t mono_ns,
                                 int64_t window_ns)
{
        if (s->start_wall_ns == SESSION_START_FIRST)
                s->start_wall_ns = wall_ns;
        if (s->start_mono_ns == INT64_MIN)
                s->start_mono_ns = mono_ns - (wall_ns - s->start_wall_ns);
        int64_t wall = to_us(wall_ns - s->start_wall_ns);
        return (struct tick_row){.wall_us = wall,
                                 .skew_us = to_us(mono_ns - s->start_mono_ns) - wall,
                                 .window_ms = (window_ns + NS_PER_MS / 2) / NS_PER_MS};
}

uint64_t session_dropped(struct session *s)
{
        pthread_mutex_lock(&s->lock);
        uint64_t dropped = s->open.dropped;
        pthread_mutex_unlock(&s->lock);
        return dropped;
}

/* ---- committing ---- */

/* The open blocks, where they have news. */
static int code_open(struct session *s)
{
        block_begin(&s->now[0], false, &s->open);
        block_begin(&s->now[1], true, &s->host.open);
        int r = s->now[0].to > s->now[0].from ? frames_part.code(s, &s->now[0]) : 0;
        return r == 0 && s->now[1].to > s->now[1].from ? host_part.code(s, &s->now[1]) : r;
}

/* The full blocks of a commit. More may be queued behind them meanwhile. */
struct reach {
        const struct coded_block *first;
        size_t n;
};

/* The part that what is being added would disturb. */
static int write_locked(struct session *s, struct reach *ret)
{
        struct reach reach = {0};
        pthread_mutex_lock(&s->lock);
        int r = code_open(s);
        if (r == 0)
                r = facts_write(s);
        if (r == 0)
                r = frames_write_entities(s);
        if (r == 0)
                r = host_write_notes(s);
        if (r == 0)
                r = processes_write(s);
        reach.first = s->full.first;
        for (const struct coded_block *b = reach.first; b; b = b->next)
                reach.n++;
        pthread_mutex_unlock(&s->lock);
        *ret = reach;
        return r;
}

static int write_blocks(struct session *s, struct reach reach)
{
        const struct coded_block *b = reach.first;
        int r = 0;
        for (size_t i = 0; r == 0 && i < reach.n; i++) {
                r = block_write(&s->db, b);
                /* The last one's next is not ours to look at. */
                b = i + 1 < reach.n ? b->next : NULL;
        }
        for (size_t i = 0; r == 0 && i < ARRAY_LEN(s->now); i++)
                r = block_write(&s->db, &s->now[i]);
        return r;
}

static void note_written(struct session *s, struct reach reach)
{
        pthread_mutex_lock(&s->lock);
        block_queue_drop(&s->full, reach.n);
        block_note_written(&s->now[0], &s->open);
        block_note_written(&s->now[1], &s->host.open);
        host_note_written(s);
        processes_note_written(s);
        pthread_mutex_unlock(&s->lock);
}

static void note_failed(struct session *s)
{
        db_rollback(&s->db);
        pthread_mutex_lock(&s->lock);
        frames_forget_written(s);
        host_forget_written(s);
        processes_forget_written(s);
        facts_forget_written(s);
        pthread_mutex_unlock(&s->lock);
}

static int commit_with(struct session *s, const struct spool_list *waiting, struct err *err)
{
        struct reach reach = {0};
        int r = db_exec(&s->db, "BEGIN IMMEDIATE", err);
        if (r < 0)
                return r;
        r = write_locked(s, &reach);
        if (r == 0)
                r = write_blocks(s, reach);
        if (r == 0)
                r = db_take_marks(&s->db, s->spool, waiting);
        if (r < 0)
                r = db_error(&s->db, r, err);
        if (r == 0)
                r = db_exec(&s->db, "COMMIT", err);
        if (r < 0)
                note_failed(s);
        else
                note_written(s, reach);
        return r;
}

int session_commit(struct session *s, struct err *err)
{
        struct spool_list waiting = {0};
        pthread_mutex_lock(&s->writing);
        spool_list(s->spool, &waiting);
        int r = commit_with(s, &waiting, err);
        /* Each mark's file name is unique in the file, so dying here loses and doubles nothing. */
        for (size_t i = 0; r == 0 && i < waiting.n; i++)
                unlinkat(s->spool, waiting.names[i], 0);
        free(waiting.names);
        pthread_mutex_unlock(&s->writing);
        return r;
}

/* ---- closing ---- */

#define CLOSE_TRIES 50
#define CLOSE_WAIT_NS (10 * NS_PER_MS)

/* Marks keep coming until the folder is gone; from then on they go into the file itself. */
static int remove_spool(struct session *s, struct err *err)
{
        char path[SPOOL_PATH_MAX];
        spool_path(s, path);
        for (int i = 0; i < CLOSE_TRIES; i++) {
                int r = session_commit(s, err);
                if (r < 0 || rmdir(path) == 0)
                        return r;
                struct timespec wait = {.tv_nsec = CLOSE_WAIT_NS};
                nanosleep(&wait, NULL);
        }
        return 0;
}

int session_close(struct session *s, struct err *err)
{
        if (!s)
                return 0;
        int r = remove_spool(s, err);
        /* Fails while a reader has the file open: then it stays as it is, which is fine to read. */
        if (r == 0)
                db_exec(&s->db, "PRAGMA journal_mode=DELETE", NULL);
        free_session(s);
        return r;
}

int session_import(struct session *s, const struct mark *marks, size_t n, struct err *err)
{
        pthread_mutex_lock(&s->writing);
        int r = db_exec(&s->db, "BEGIN IMMEDIATE", err);
        for (size_t i = 0; r == 0 && i < n; i++) {
                r = db_put_mark(&s->db, &marks[i], NULL);
                if (r < 0)
                        db_error(&s->db, r, err);
        }
        if (r == 0)
                r = db_exec(&s->db, "COMMIT", err);
        if (r < 0)
                db_rollback(&s->db);
        pthread_mutex_unlock(&s->writing);
        return r;
}

int session_mark(struct session *s, const struct mark *m, struct err *err)
{
        return spool_put(s->path, m, err);
}
