/* Marks from processes that do not record: by way of the recorder, or into the file itself. */
#include "base/text.h"
#include "session/db.h"
#include "session/session.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* Nobody records the session any more, so nobody else writes to it for long. */
static int put_into_file(const char *path, const struct mark *m, struct err *err)
{
        struct db db = {0};
        int r = db_open(&db, path, DB_ADD, err);
        if (r == 0)
                r = db_check_session(&db, err);
        if (r == 0) {
                r = db_put_mark(&db, m, NULL);
                if (r < 0)
                        r = db_error(&db, r, err);
        }
        db_close(&db);
        return r;
}

int session_put_mark(const char *path, const struct mark *m, struct err *err)
{
        if (!text_is_utf8(m->name)) {
                err_set(err, -EINVAL, "cannot mark '%s': the name is not UTF-8", path);
                return err_hint(err, "names and values must be UTF-8");
        }
        /* A folder of marks without its session has no recorder that would take the mark in. */
        struct stat st;
        if (stat(path, &st) < 0) {
                err_set(err, -errno, "cannot mark '%s': %s", path, strerror(errno));
                return err_hint(err, "name a session that is being recorded, or was");
        }
        CLEANUP(closep) int dir = spool_open(path, err);
        int r = dir < 0 ? dir : spool_put(dir, path, m, err);
        return r == -ENOENT ? put_into_file(path, m, err) : r;
}
