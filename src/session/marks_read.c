/* Marks of a session: those in the file, and those that wait in its spool. */
#include "base/clock.h"
#include "base/list.h"
#include "session/reader.h"

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
static void steady_marks(struct session_reader *r, struct mark_list *l)
{
        char host[MARK_HOST_MAX];
        const char *ours = session_text(r, "host");
        snprintf(host, sizeof(host), "%s", ours ? ours : "");
        for (size_t i = 0; host[0] && i < l->n; i++) {
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
        steady_marks(r, l);
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

int session_marks(struct session_reader *r, struct mark **ret, size_t *ret_n, struct err *err)
{
        struct mark_list l = {0};
        int got = read_table(r, &l);
        if (got == 0)
                got = add_waiting(r, &l);
        if (got < 0) {
                drop_list(&l);
                return db_error(&r->db, got, err);
        }
        *ret = l.list;
        *ret_n = l.n;
        return 0;
}
