/* Marks of a session: those in the file, and those that wait in its spool. */
#include "base/clock.h"
#include "base/list.h"
#include "session/reader.h"
#include "session/tapes.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool take_mark(sqlite3_stmt *h, struct mark *m)
{
        const char *host = (const char *)sqlite3_column_text(h, 2);
        const char *type = (const char *)sqlite3_column_text(h, 4);
        const char *name = (const char *)sqlite3_column_text(h, 5);
        const char *data = (const char *)sqlite3_column_text(h, 8);
        *m = (struct mark){.wall_ns = clock_bounded(sqlite3_column_int64(h, 0)),
                           .mono_ns = clock_bounded(sqlite3_column_int64(h, 1)),
                           .pid = sqlite3_column_int64(h, 3),
                           .type = type ? mark_type_find(type) : MARK_COUNT,
                           .has_seconds = sqlite3_column_type(h, 6) != SQLITE_NULL,
                           .seconds = sqlite3_column_double(h, 6),
                           .has_value = sqlite3_column_type(h, 7) != SQLITE_NULL,
                           .value = sqlite3_column_double(h, 7)};
        snprintf(m->host, sizeof(m->host), "%s", host ? host : "");
        snprintf(m->name, sizeof(m->name), "%s", name ? name : "");
        m->data = data ? strdup(data) : NULL;
        /* What is infinite, or no number, is not a metric. */
        if (m->type != MARK_COUNT && isfinite(m->value))
                return true;
        mark_finish(m);
        return false;
}

struct mark_list {
        struct mark *list;
        size_t n, cap;
};

static void drop_list(struct mark_list *l)
{
        for (size_t i = 0; i < l->n; i++)
                mark_finish(&l->list[i]);
        free(l->list);
}

/* Room for one more; NULL when memory ends. */
static struct mark *next_place(struct mark_list *l)
{
        if (!LIST_ROOM(l->list, l->n, l->cap))
                return NULL;
        return &l->list[l->n];
}

static int compare_marks(const void *a, const void *b)
{
        const struct mark *x = a, *y = b;
        if (x->wall_ns != y->wall_ns)
                return x->wall_ns < y->wall_ns ? -1 : 1;
        return (x->mono_ns > y->mono_ns) - (x->mono_ns < y->mono_ns);
}

/* Those of the recorder's own machine, whose monotonic clock is the session's. */
static void steady_marks(struct session_reader *r, struct mark_list *l, size_t from)
{
        char host[MARK_HOST_MAX];
        const char *ours = session_text(r, "host");
        snprintf(host, sizeof(host), "%s", ours ? ours : "");
        for (size_t i = from; host[0] && i < l->n; i++) {
                struct mark *m = &l->list[i];
                if (strcmp(m->host, host) == 0)
                        m->wall_ns = session_steady(r, m->wall_ns, m->mono_ns);
        }
        if (l->n > 1)
                qsort(l->list, l->n, sizeof(*l->list), compare_marks);
}

static int read_table(struct session_reader *r, struct mark_list *l)
{
        struct statement q = {.db = &r->db};
        q.r = sqlite3_prepare_v2(r->db.h,
                                 "SELECT wall_ns, mono_ns, host, pid, type, name, seconds, value,"
                                 " data FROM mark ORDER BY wall_ns, mono_ns, id",
                                 -1, &q.h, NULL);
        int got;
        while ((got = db_step(&q)) > 0) {
                struct mark *m = next_place(l);
                if (!m) {
                        got = -ENOMEM;
                        break;
                }
                l->n += take_mark(q.h, m);
        }
        steady_marks(r, l, 0);
        sqlite3_finalize(q.h);
        return got;
}

/* A mark may be in the file already when its recorder died, or has not come to remove it yet. */
static int read_waiting(struct session_reader *r, int dir, const struct spool_list *names,
                        struct mark_list *l)
{
        struct statement q = {.db = &r->db};
        int got = 0;
        q.r = sqlite3_prepare_v2(r->db.h, "SELECT 1 FROM mark WHERE spool = ?", -1, &q.h, NULL);
        for (size_t i = 0; got >= 0 && i < names->n; i++) {
                struct mark *m = next_place(l);
                if (!m) {
                        got = -ENOMEM;
                        break;
                }
                q.at = 0;
                db_bind_text(&q, names->names[i]);
                got = db_step(&q);
                if (got > 0)
                        db_reset(&q);
                else if (got == 0 && spool_read(dir, names->names[i], m) == 0)
                        l->n++;
        }
        sqlite3_finalize(q.h);
        return MIN(got, 0);
}

static int add_waiting(struct session_reader *r, struct mark_list *l)
{
        struct spool_list names = {0};
        CLEANUP(closep) int dir = spool_open(r->db.path, NULL);
        if (dir < 0 || spool_list(dir, &names) < 0 || names.n == 0)
                return 0;
        size_t known = l->n;
        int got = read_waiting(r, dir, &names, l);
        free(names.names);
        if (l->n > known)
                qsort(l->list, l->n, sizeof(*l->list), compare_marks);
        return got;
}

/* ---- tapes ---- */

struct tape_positions {
        struct spool_list names;
        int64_t *taken;
};

/* How far the file has each tape. Together with the table, so that nothing is read twice. */
static int read_positions(struct session_reader *r, int dir, struct tape_positions *p)
{
        int code = dir >= 0 ? tape_list(dir, &p->names) : 0;
        p->taken = calloc(p->names.n + 1, sizeof(*p->taken));
        if (!p->taken)
                return -ENOMEM;
        for (size_t i = 0; code == 0 && i < p->names.n; i++) {
                p->taken[i] = tapes_position(&r->db, p->names.names[i]);
                code = p->taken[i] < 0 ? (int)p->taken[i] : 0;
        }
        return code;
}

static int add_slots(const struct tape *tape, size_t at, struct mark_list *l)
{
        int code = 0;
        while (code == 0 && at < TAPE_SLOTS) {
                size_t n, from = at;
                struct mark *m = next_place(l);
                if (!m)
                        return -ENOMEM;
                code = tape_read(tape, &at, true, m, l->cap - l->n, &n);
                l->n += code == 0 ? n : 0;
                if (at == from)
                        break;
        }
        return code;
}

static int add_tapes(struct session_reader *r, int dir, const struct tape_positions *p,
                     struct mark_list *l)
{
        size_t known = l->n;
        int code = 0;
        for (size_t i = 0; code == 0 && i < p->names.n; i++) {
                struct tape tape;
                if (p->taken[i] >= TAPE_SLOTS || tape_open(dir, p->names.names[i], &tape) < 0)
                        continue;
                code = add_slots(&tape, (size_t)p->taken[i], l);
                close(tape.fd);
        }
        if (code == 0 && l->n > known)
                steady_marks(r, l, known);
        return code;
}

int session_marks(struct session_reader *r, struct mark **ret, size_t *ret_n, struct err *err)
{
        struct mark_list l = {0};
        struct tape_positions tapes = {0};
        CLEANUP(closep) int dir = spool_open(r->db.path, NULL);
        bool begun = db_begin_reading(&r->db);
        int got = read_table(r, &l);
        if (got == 0)
                got = read_positions(r, dir, &tapes);
        db_end_reading(&r->db, begun);
        if (got == 0)
                got = add_tapes(r, dir, &tapes, &l);
        if (got == 0)
                got = add_waiting(r, &l);
        free(tapes.names.names);
        free(tapes.taken);
        if (got < 0) {
                drop_list(&l);
                return db_error(&r->db, got, err);
        }
        *ret = l.list;
        *ret_n = l.n;
        return 0;
}
