/* Whether a file may be used as a session: what it is, what is in it, and what lies beside it. */
#include "base/beside.h"
#include "session/db.h"
#include "session/schema.h"
#include "session/session.h"

#include <errno.h>

int db_check_beside(struct db *db, struct err *err)
{
        char path[sizeof(db->path) + 16];
        const char *why = beside_why_not(db->path, path, sizeof(path));
        if (!why)
                return 0;
        err_set(err, -EPERM, "'%s' is in the way: %s", path, why);
        return err_hint(err, BESIDE_HINT);
}

static int check_kind(struct db *db, struct err *err)
{
        struct statement q = {.db = db};
        q.r = sqlite3_prepare_v2(db->h,
                                 "SELECT application_id, user_version FROM pragma_application_id,"
                                 " pragma_user_version",
                                 -1, &q.h, NULL);
        int got = db_step(&q);
        int64_t id = got > 0 ? sqlite3_column_int64(q.h, 0) : 0;
        int64_t version = got > 0 ? sqlite3_column_int64(q.h, 1) : 0;
        if (got < 0)
                db_error(db, got, err);
        sqlite3_finalize(q.h);
        if (got < 0)
                return got;
        if (id != SESSION_APPLICATION_ID) {
                err_set(err, ERR_DATA, "'%s' is a database, but not a session", db->path);
                return err_hint(err, "point at a file that 'assay run' or 'assay record' wrote");
        }
        if (version > SESSION_SCHEMA_VERSION) {
                err_set(err, ERR_DATA, "'%s' was written by a newer assay (schema %lld)", db->path,
                        (long long)version);
                return err_hint(err, "use that version of assay to read it");
        }
        return 0;
}

/* The tables that are used. Other programs' names in the file are left alone. */
#define TABLES                                                                                     \
        "'manifest', 'series', 'entity', 'tick', 'block', 'mark', 'tape', 'host_series', "         \
        "'host_gpu',"                                                                              \
        " 'host_tick', 'host_block', 'level_note', 'serving_note', 'process', 'process_sample',"   \
        " 'stack_text', 'stack_frame', 'stack_node', 'stack_process', 'stack_thread',"             \
        " 'stack_kind', 'stack_window'"

/*
 * Each is a plain table. A view could continue forever, a virtual table run other code, and a
 * column that is computed take as long as its maker likes.
 */
static int check_tables(struct db *db, struct err *err)
{
        struct statement q = {.db = db};
        q.r = sqlite3_prepare_v2(
            db->h,
            "SELECT name FROM sqlite_master WHERE name COLLATE NOCASE IN (" TABLES ") AND"
            " (type <> 'table' OR rootpage = 0 OR sql LIKE 'create virtual%')"
            " UNION ALL SELECT m.name FROM sqlite_master m, pragma_table_xinfo(m.name) x"
            " WHERE m.type = 'table' AND m.name COLLATE NOCASE IN (" TABLES ") AND x.hidden <> 0"
            " LIMIT 1",
            -1, &q.h, NULL);
        int got = db_step(&q);
        if (got > 0) {
                const char *name = (const char *)sqlite3_column_text(q.h, 0);
                err_set(err, ERR_DATA, "'%s' is not a session: its '%s' is not a plain table",
                        db->path, name ? name : "?");
                err_hint(err, "it is damaged, or made to harm; do not trust its source");
        }
        int code = got < 0 ? db_error(db, got, err) : got > 0 ? ERR_DATA : 0;
        sqlite3_finalize(q.h);
        return code;
}

int db_check_session(struct db *db, struct err *err)
{
        int r = db_check_beside(db, err);
        if (r == 0)
                r = check_kind(db, err);
        return r == 0 ? check_tables(db, err) : r;
}
