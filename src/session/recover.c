/* What a recorder that was killed did not live to take into its session. */
#include "session/db.h"
#include "session/session.h"
#include "session/tapes.h"

#include <errno.h>

static int take_in(struct db *db, int dir, struct spool_list *list, struct tapes *tapes,
                   struct err *err)
{
        int r = db_exec(db, "BEGIN IMMEDIATE", err);
        if (r < 0)
                return r;
        r = db_take_marks(db, dir, list);
        if (r == 0)
                r = tapes_take(db, dir, true, tapes);
        if (r < 0)
                r = db_error(db, r, err);
        if (r == 0)
                r = db_exec(db, "COMMIT", err);
        if (r < 0)
                db_rollback(db);
        return r;
}

/* A folder with more than a batch of marks takes several rounds. */
static int take_all(const char *path, struct db *db, int dir, size_t *ret_n, struct err *err)
{
        struct spool_list list = {0};
        struct tapes tapes = {0};
        int r = 0;
        tapes_end(dir);
        do {
                free(list.names);
                list = (struct spool_list){0};
                tapes_finish(&tapes);
                r = spool_list(dir, &list);
                if (r == 0)
                        r = take_in(db, dir, &list, &tapes, err);
                if (r == 0) {
                        spool_clean(dir, &list);
                        tapes_clean(dir, &tapes);
                        *ret_n += list.n + tapes.taken;
                }
        } while (r == 0 && (list.n == SPOOL_BATCH || tapes.more));
        free(list.names);
        tapes_finish(&tapes);
        if (r == 0)
                spool_remove(path, dir);
        return r;
}

/* Opening it to write is enough: SQLite undoes what an older recorder left half done. */
static int undo_half(const char *path, struct err *err)
{
        struct db db = {0};
        int r = db_open(&db, path, DB_ADD, err);
        if (r == 0)
                r = db_check_session(&db, err);
        if (r == 0)
                r = db_exec(&db, "BEGIN IMMEDIATE;COMMIT", err);
        db_close(&db);
        return r;
}

int session_recover(const char *path, size_t *ret_n, struct err *err)
{
        struct db db = {0};
        *ret_n = 0;
        CLEANUP(closep) int dir = spool_open(path, err);
        if (dir == -ENOENT)
                return undo_half(path, err);
        if (dir < 0)
                return dir;
        if (!spool_lock(dir)) {
                err_set(err, -EBUSY, "'%s' is still being recorded", path);
                return err_hint(err, "its recorder takes the marks in; leave out --recover");
        }
        int r = db_open(&db, path, DB_ADD, err);
        if (r == 0)
                r = db_check_session(&db, err);
        if (r == 0)
                r = take_all(path, &db, dir, ret_n, err);
        db_close(&db);
        return r;
}
