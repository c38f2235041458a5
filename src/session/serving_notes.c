/* Which model servers the items of the host's series are: reported once, and when something
 * changes. */
#include "base/list.h"
#include "session/reader.h"
#include "session/schema.h"
#include "session/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void fill_note(const struct serving *s, struct serving_note *ret)
{
        memset(ret, 0, sizeof(*ret)); /* notes are compared whole */
        ret->kind = s->kind;
        ret->front = s->front;
        snprintf(ret->url, sizeof(ret->url), "%s", s->url);
        snprintf(ret->model, sizeof(ret->model), "%s", s->model);
        snprintf(ret->gpus, sizeof(ret->gpus), "%s", s->gpus);
        if (!s->present)
                snprintf(ret->why, sizeof(ret->why), "%s", s->why[0] ? s->why : "not there");
}

/* Notes that do not fit wait in the server itself: the next tick tries again. */
void serving_notes_add(struct serving_notes *n, const struct host *host, uint64_t tick)
{
        for (size_t i = 0; i < host->n_servings && n->n < SERVING_NOTES_MAX; i++) {
                struct serving_note now;
                fill_note(&host->servings[i], &now);
                if (n->known[i] && memcmp(&now, &n->now[i], sizeof(now)) == 0)
                        continue;
                n->now[i] = now;
                n->known[i] = true;
                n->list[n->n] = now;
                n->list[n->n].tick = tick;
                n->list[n->n++].item = (uint8_t)i;
        }
}

/* A file without model servers, as most are, does not pay for their view and their series. */
static int create_servings(struct session *s)
{
        struct strbuf sql = {0};
        struct err unused = {0};
        session_schema_servings(&sql);
        int r = sql.failed ? -ENOMEM : db_exec(&s->db, strbuf_str(&sql), &unused);
        strbuf_finish(&sql);
        return r;
}

int serving_notes_write(struct session *s, struct serving_notes *n)
{
        int r = n->n > 0 ? create_servings(s) : 0;
        for (size_t i = 0; r == 0 && i < n->n; i++) {
                const struct serving_note *note = &n->list[i];
                struct statement q =
                    db_prepare(&s->db, DB_PUT_SERVING,
                               "INSERT OR REPLACE INTO serving_note VALUES(?,?,?,?,?,?,?,?)");
                db_bind_int(&q, (int64_t)note->tick);
                db_bind_int(&q, note->item);
                db_bind_text(&q, engine_name(note->kind));
                db_bind_text(&q, note->url);
                db_bind_text(&q, note->model[0] ? note->model : NULL);
                db_bind_text(&q, note->gpus[0] ? note->gpus : NULL);
                db_bind_text(&q, note->why[0] ? note->why : NULL);
                db_bind_int(&q, note->front);
                r = db_run(&q);
        }
        n->noted = n->n;
        return r;
}

void serving_notes_written(struct serving_notes *n)
{
        memmove(n->list, n->list + n->noted, (n->n - n->noted) * sizeof(*n->list));
        n->n -= n->noted;
        n->noted = 0;
}

/* --- reading --------------------------------------------------------------------------------- */

#define NOTES_READ_MAX 4096 /* a server that comes and goes more often keeps its first state */

struct serving_cursor {
        struct serving_note *list;
        size_t n, cap, at;
};

void serving_cursor_close(struct serving_cursor *c)
{
        if (!c)
                return;
        free(c->list);
        free(c);
}

static bool add_note_read(struct serving_cursor *c, sqlite3_stmt *h)
{
        if (!LIST_ROOM(c->list, c->n, c->cap))
                return false;
        struct serving_note *n = &c->list[c->n];
        char kind[32];
        int64_t item = sqlite3_column_int64(h, 1);
        *n = (struct serving_note){.tick = (uint64_t)sqlite3_column_int64(h, 0)};
        if (item < 0 || item >= SERVINGS_MAX)
                return true;
        n->item = (uint8_t)item;
        db_take_name(h, 2, kind, sizeof(kind));
        n->kind = engine_find(kind);
        db_take_name(h, 3, n->url, sizeof(n->url));
        db_take_name(h, 4, n->model, sizeof(n->model));
        db_take_name(h, 5, n->gpus, sizeof(n->gpus));
        db_take_name(h, 6, n->why, sizeof(n->why));
        int64_t front = sqlite3_column_int64(h, 7);
        n->front = front > 0 && front <= INT32_MAX ? (int32_t)front : 0;
        c->n++;
        return true;
}

int serving_cursor_open(struct session_reader *r, struct serving_cursor **ret)
{
        struct serving_cursor *c = calloc(1, sizeof(*c));
        struct statement q = {.db = &r->db};
        int got = 0;
        if (!c)
                return -ENOMEM;
        if (session_has_table(r, "serving_note")) {
                q.r = sqlite3_prepare_v2(
                    r->db.h,
                    "SELECT tick, item, engine, url, model, gpus, why, front FROM"
                    " serving_note WHERE tick >= 0 ORDER BY tick, item",
                    -1, &q.h, NULL);
                while ((got = db_step(&q)) > 0 && c->n < NOTES_READ_MAX) {
                        if (!add_note_read(c, q.h)) {
                                got = -ENOMEM;
                                break;
                        }
                }
                sqlite3_finalize(q.h);
        }
        if (got < 0) {
                serving_cursor_close(c);
                return got;
        }
        *ret = c;
        return 0;
}

static void apply_note(const struct serving_note *n, struct host *h)
{
        struct serving *s = &h->servings[n->item];
        s->kind = n->kind;
        s->present = n->why[0] == '\0';
        s->front = n->front;
        memcpy(s->url, n->url, sizeof(s->url));
        memcpy(s->model, n->model, sizeof(s->model));
        memcpy(s->gpus, n->gpus, sizeof(s->gpus));
        memcpy(s->why, n->why, sizeof(s->why));
        if (h->n_servings <= n->item)
                h->n_servings = n->item + (size_t)1;
}

void serving_cursor_fill(struct serving_cursor *c, uint64_t tick, struct host *h)
{
        /* A block that is loaded begins with an empty host: all is said again. */
        if (h->n_servings == 0)
                c->at = 0;
        for (; c->at < c->n && c->list[c->at].tick <= tick; c->at++)
                apply_note(&c->list[c->at], h);
        for (size_t i = 0; i < h->n_servings; i++) {
                h->servings[i].mono_ns = h->mono_ns;
                h->servings[i].interval_ns = h->interval_ns;
        }
}
