#include "session/tapes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAPES_MARKS 256 /* that are read at once */

static bool has_table(struct db *db)
{
        return sqlite3_table_column_metadata(db->h, NULL, "tape", "taken", NULL, NULL, NULL, NULL,
                                             NULL) == SQLITE_OK;
}

int64_t tapes_position(struct db *db, const char *name)
{
        if (!has_table(db))
                return 0;
        struct statement q = db_prepare(db, DB_GET_TAPE, "SELECT taken FROM tape WHERE name = ?");
        db_bind_text(&q, name);
        int r = db_step(&q);
        int64_t at = r > 0 ? sqlite3_column_int64(q.h, 0) : 0;
        if (r > 0)
                db_reset(&q);
        return r < 0 ? r : at < 0 || at > TAPE_SLOTS ? TAPE_SLOTS : at;
}

static int put_position(struct db *db, const char *name, size_t at)
{
        struct statement q =
            db_prepare(db, DB_PUT_TAPE, "INSERT OR REPLACE INTO tape(name, taken) VALUES(?,?)");
        db_bind_text(&q, name);
        db_bind_int(&q, (int64_t)at);
        return db_run(&q);
}

static int put_marks(struct db *db, struct mark *marks, size_t n)
{
        int r = 0;
        for (size_t i = 0; r == 0 && i < n; i++)
                r = db_put_mark(db, &marks[i], NULL);
        return r;
}

/* Copies from the end of the file to the end of the tape, or to the end of the batch. */
static int take_slots(struct db *db, const struct tape *tape, bool last, size_t *at,
                      struct tapes *t)
{
        struct mark *marks = calloc(TAPES_MARKS, sizeof(*marks));
        size_t n = 1;
        int r = marks ? 0 : -ENOMEM;
        while (r == 0 && n > 0 && *at < TAPE_SLOTS && t->taken < TAPES_BATCH) {
                size_t from = *at;
                r = tape_read(tape, at, last, marks, TAPES_MARKS, &n);
                if (r == 0)
                        r = put_marks(db, marks, n);
                t->taken += n;
                n = *at - from;
        }
        free(marks);
        return r;
}

static int take_tape(struct db *db, int dir, char *name, bool last, struct tapes *t)
{
        struct tape tape;
        int64_t from = tapes_position(db, name);
        int r = from < 0 ? (int)from : tape_open(dir, name, &tape);
        if (r == ERR_DATA)
                return name[0] = '\0', 0;
        if (r < 0)
                return name[0] = '\0', from < 0 ? r : 0;
        size_t at = (size_t)from;
        r = take_slots(db, &tape, last, &at, t);
        close(tape.fd);
        t->more |= t->taken >= TAPES_BATCH;
        /* What was the last time is never examined again, also when its file stays. */
        if (r == 0 && last && t->taken < TAPES_BATCH)
                at = TAPE_SLOTS;
        if (r == 0 && at != (size_t)from)
                r = put_position(db, name, at);
        if (at < TAPE_SLOTS)
                name[0] = '\0';
        return r;
}

int tapes_take(struct db *db, int dir, bool last, struct tapes *ret)
{
        struct tapes t = {0};
        int r = dir >= 0 ? tape_list(dir, &t.list) : 0;
        /* Most recordings have no tape, and a table is a page of the file. */
        if (r == 0 && t.list.n > 0 && !has_table(db))
                r = db_exec(db,
                            "CREATE TABLE tape(name TEXT PRIMARY KEY, taken INTEGER)"
                            " WITHOUT ROWID",
                            NULL);
        for (size_t i = 0; r == 0 && i < t.list.n; i++) {
                if (t.taken < TAPES_BATCH)
                        r = take_tape(db, dir, t.list.names[i], last, &t);
                else
                        t.list.names[i][0] = '\0';
        }
        *ret = t;
        return r;
}

void tapes_clean(int dir, const struct tapes *t)
{
        spool_clean(dir, &t->list);
}

void tapes_finish(struct tapes *t)
{
        free(t->list.names);
        *t = (struct tapes){0};
}

void tapes_end(int dir)
{
        struct spool_list list = {0};
        if (dir < 0 || tape_list(dir, &list) < 0)
                return;
        for (size_t i = 0; i < list.n; i++)
                tape_end(dir, list.names[i]);
        free(list.names);
}

bool tapes_exist(struct db *db, int dir)
{
        struct statement q = {.db = db};
        struct stat st;
        bool all = true;
        if (!has_table(db))
                return true;
        q.r = sqlite3_prepare_v2(db->h, "SELECT name FROM tape WHERE taken < ?", -1, &q.h, NULL);
        db_bind_int(&q, TAPE_SLOTS);
        while (all && db_step(&q) > 0) {
                const char *name = (const char *)sqlite3_column_text(q.h, 0);
                all = name && dir >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
        }
        sqlite3_finalize(q.h);
        return all;
}
