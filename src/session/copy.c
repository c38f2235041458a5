/* A copy of a session as it reads now, also while it is being recorded. */
#include "session/db.h"
#include "session/session.h"
#include "session/tapes.h"

#include <errno.h>

/* How often a copy is repeated because its recorder took marks into the file meanwhile. */
#define COPY_TRIES 5

/* What is still in the log comes with the pages; the recorder continues meanwhile. */
static int copy_pages(struct db *from, struct db *to, struct err *err)
{
        bool begun = db_begin_reading(from);
        sqlite3_backup *b = sqlite3_backup_init(to->h, "main", from->h, "main");
        int step = b ? sqlite3_backup_step(b, -1) : SQLITE_ERROR;
        int end = b ? sqlite3_backup_finish(b) : SQLITE_ERROR;
        int r = 0;
        if (step != SQLITE_DONE || end != SQLITE_OK)
                r = db_error(to, step == SQLITE_NOMEM ? -ENOMEM : -EIO, err);
        db_end_reading(from, begun);
        return r;
}

static bool is_whole(const struct spool_list *marks)
{
        size_t present = 0;
        while (present < marks->n && marks->names[present][0])
                present++;
        return present == marks->n;
}

static int copy_tapes(struct db *to, int spool, bool *ret_more)
{
        struct tapes tapes = {0};
        int r = tapes_take(to, spool, true, &tapes);
        *ret_more = tapes.more;
        tapes_finish(&tapes);
        return r;
}

/* False when the recorder took some of the marks before they were read: they are in its file now.
 */
static int copy_marks(struct db *to, int spool, bool *ret_whole, struct err *err)
{
        struct spool_list marks = {0};
        *ret_whole = true;
        int r = spool >= 0 ? spool_list(spool, &marks) : 0;
        if (r < 0)
                return err_set(err, r, "cannot read the marks of '%s': %s", to->path, strerror(-r));
        r = db_exec(to, "BEGIN", err);
        if (r == 0) {
                *ret_whole = tapes_exist(to, spool);
                r = db_take_marks(to, spool, &marks);
                for (bool more = true; r == 0 && more;)
                        r = copy_tapes(to, spool, &more);
                r = r < 0 ? db_error(to, r, err) : db_exec(to, "COMMIT", err);
        }
        *ret_whole &= is_whole(&marks);
        free(marks.names);
        return r;
}

static int copy_whole(struct db *from, struct db *to, int spool, struct err *err)
{
        bool whole = false;
        int r = 0;
        for (int i = 0; r == 0 && !whole && i < COPY_TRIES; i++) {
                r = copy_pages(from, to, err);
                if (r == 0)
                        r = copy_marks(to, spool, &whole, err);
        }
        if (r == 0 && !whole) {
                err_set(err, -EAGAIN, "'%s' changes faster than it can be copied", from->path);
                return err_hint(err, "wait until its recording has ended");
        }
        /* One plain file, as a recorder leaves it. */
        return r == 0 ? db_exec(to, "PRAGMA journal_mode=MEMORY", err) : r;
}

int session_copy(const char *path, const char *to, struct err *err)
{
        struct db source = {0}, copy = {0};
        int r = db_open(&source, path, DB_READ, err);
        if (r == 0)
                r = db_check_session(&source, err);
        if (r == 0)
                r = db_open(&copy, to, DB_WRITE, err);
        CLEANUP(closep) int spool = spool_open(path, NULL);
        if (r == 0)
                r = copy_whole(&source, &copy, spool, err);
        db_close(&copy);
        db_close(&source);
        return r;
}
