/* The host as a session has it, tick by tick. */
#include "base/clock.h"
#include "session/host_series.h"
#include "session/reader.h"

#include <errno.h>
#include <stdio.h>

/* One series of one item in the block that is loaded. */
struct host_row {
        struct value *to; /* in the cursor's host */
        struct series_scale scale;
        struct coded coded;
        size_t at; /* of its bytes */
};

struct host_cursor {
        bool present; /* the file has a host */
        bool started;
        uint16_t place[SERIES_IDS_MAX]; /* id in the file → our series, or HOST_SERIES_COUNT */
        struct series_scale scale[SERIES_IDS_MAX];
        struct statement ticks, notes;
        int64_t loaded;  /* block; -1 for none */
        bool ahead;      /* a note lies ahead */
        int64_t next_at; /* its tick */
        struct host_row rows[HOST_PLACES_MAX];
        size_t n_rows;
        struct strbuf bytes;
        struct host host;
        /* Of each level, what its last note says. */
        struct {
                bool asked;
                char name[HOST_TEXT_MAX], why[HOST_TEXT_MAX];
        } levels[LEVEL_COUNT];
        size_t n_gpus;
        char gpus[HOST_GPUS_MAX][ENTITY_LABEL_MAX];
        struct serving_cursor *servings;
};

void host_cursor_close(struct host_cursor *c)
{
        if (!c)
                return;
        strbuf_finish(&c->bytes);
        serving_cursor_close(c->servings);
        free(c);
}

static int load_series(struct session_reader *r, struct host_cursor *c)
{
        struct statement q = {.db = &r->db};
        int got;
        for (size_t i = 0; i < SERIES_IDS_MAX; i++)
                c->place[i] = HOST_SERIES_COUNT;
        q.r = sqlite3_prepare_v2(r->db.h, "SELECT id, scope, name, step, scale FROM host_series",
                                 -1, &q.h, NULL);
        while ((got = db_step(&q)) > 0) {
                int64_t id = sqlite3_column_int64(q.h, 0);
                const char *scope = (const char *)sqlite3_column_text(q.h, 1);
                const char *name = (const char *)sqlite3_column_text(q.h, 2);
                struct series_scale scale = {sqlite3_column_double(q.h, 3),
                                             sqlite3_column_double(q.h, 4)};
                if (id < 0 || id >= SERIES_IDS_MAX || !scope || !name || !series_scale_fits(scale))
                        continue;
                c->place[id] = (uint16_t)host_series_find(scope, name);
                c->scale[id] = scale;
        }
        sqlite3_finalize(q.h);
        return got;
}

static int load_gpus(struct session_reader *r, struct host_cursor *c)
{
        struct statement q = {.db = &r->db};
        int got;
        q.r = sqlite3_prepare_v2(r->db.h, "SELECT id, label FROM host_gpu", -1, &q.h, NULL);
        while ((got = db_step(&q)) > 0) {
                int64_t id = sqlite3_column_int64(q.h, 0);
                if (id < 0 || id >= HOST_GPUS_MAX || sqlite3_column_type(q.h, 1) == SQLITE_NULL)
                        continue;
                db_take_name(q.h, 1, c->gpus[id], sizeof(c->gpus[id]));
                c->n_gpus = MAX(c->n_gpus, (size_t)id + 1);
        }
        sqlite3_finalize(q.h);
        return got;
}

static int open_cursor(struct session_reader *r)
{
        struct host_cursor *c = r->host = calloc(1, sizeof(*c));
        if (!c)
                return -ENOMEM;
        c->loaded = -1;
        c->present = session_has_table(r, "host_tick");
        if (!c->present)
                return 0;
        int code = load_series(r, c);
        if (code == 0)
                code = serving_cursor_open(r, &c->servings);
        return code == 0 ? load_gpus(r, c) : code;
}

static void put_value(struct host_cursor *c, const struct host_row *row, size_t place)
{
        bool has_bytes = row->coded.has_base && row->coded.bits > 0;
        const char *blob = has_bytes ? c->bytes.s + row->at : NULL;
        cell v = block_decode(&row->coded, (const uint8_t *)blob, place);
        *row->to = cell_value(v, row->scale.step, row->scale.scale);
}

/* Most rows are one value all through the block: they are put into the host here and now. */
static int take_row(struct host_cursor *c, sqlite3_stmt *h)
{
        int64_t item = sqlite3_column_int64(h, 0), id = sqlite3_column_int64(h, 1);
        const uint8_t *blob;
        if (id < 0 || id >= SERIES_IDS_MAX || c->place[id] == HOST_SERIES_COUNT ||
            c->n_rows == HOST_PLACES_MAX)
                return 0;
        struct host_row *row = &c->rows[c->n_rows];
        *row = (struct host_row){.scale = c->scale[id], .at = c->bytes.len};
        if (item < 0 || item >= (int64_t)host_series_items(c->place[id]) ||
            !session_take_coded(h, 2, &row->coded, &blob))
                return 0;
        row->to = host_value(&c->host, c->place[id], (size_t)item);
        if (!row->coded.has_base || row->coded.bits == 0) {
                put_value(c, row, 0);
                return 0;
        }
        if (blob)
                strbuf_put(&c->bytes, (const char *)blob, row->coded.len);
        strbuf_reserve(&c->bytes, BLOCK_PAD);
        c->n_rows++;
        return c->bytes.failed ? -ENOMEM : 0;
}

static int load_block(struct session_reader *r, int64_t block)
{
        struct host_cursor *c = r->host;
        struct statement q = db_prepare(&r->db, DB_GET_HOST_BLOCK,
                                        "SELECT item, series, width, base, state, data"
                                        " FROM host_block WHERE block = ?");
        int got, code = 0;
        c->n_rows = 0;
        c->loaded = block;
        c->host = (struct host){.n_gpus = c->n_gpus};
        memcpy(c->host.gpus, c->gpus, sizeof(c->gpus));
        strbuf_clear(&c->bytes);
        db_bind_int(&q, block);
        while (code == 0 && (got = db_step(&q)) > 0)
                code = take_row(c, q.h);
        if (code < 0)
                db_reset(&q);
        return code < 0 ? code : got;
}

/*
 * 1 when there is a note ahead, 0 at their end. Notes come in the order that they are kept in: a
 * file that has another one is wrong about its levels, but is not sorted for it.
 */
static int next_note(struct host_cursor *c)
{
        int got = db_step(&c->notes);
        c->ahead = got > 0;
        if (c->ahead)
                c->next_at = sqlite3_column_int64(c->notes.h, 0);
        return got;
}

static int begin_notes(struct session_reader *r)
{
        r->host->notes = db_prepare(&r->db, DB_GET_LEVELS,
                                    "SELECT tick, level, name, why FROM level_note"
                                    " WHERE tick >= 0");
        return next_note(r->host);
}

/* What is said of levels up to this tick. The tick that brought a note may itself be lost. */
static int take_notes(struct host_cursor *c, int64_t tick)
{
        int got = 0;
        while (c->ahead && c->next_at <= tick) {
                sqlite3_stmt *h = c->notes.h;
                int64_t level = sqlite3_column_int64(h, 1);
                if (level >= 0 && level < LEVEL_COUNT) {
                        c->levels[level].asked = true;
                        db_take_name(h, 2, c->levels[level].name, HOST_TEXT_MAX);
                        db_take_name(h, 3, c->levels[level].why, HOST_TEXT_MAX);
                }
                got = next_note(c);
        }
        return got;
}

static void fill_levels(const struct host_cursor *c, struct host *h)
{
        for (size_t i = 0; i < LEVEL_COUNT; i++) {
                struct level_state *l = &h->levels[i];
                l->asked = c->levels[i].asked;
                l->present = l->asked && c->levels[i].why[0] == '\0';
                memcpy(l->name, c->levels[i].name, sizeof(l->name));
                memcpy(l->why, c->levels[i].why, sizeof(l->why));
        }
}

static void fill_host(struct session_reader *r, int64_t tick, sqlite3_stmt *h)
{
        struct host_cursor *c = r->host;
        int64_t cores = sqlite3_column_int64(h, 4);
        c->host.tick = (uint64_t)tick;
        c->host.interval_ns = MAX(sqlite3_column_int64(h, 3), 0) % 86400000 * NS_PER_MS;
        c->host.n_cores = (size_t)MIN(MAX(cores, 0), HOST_CORES_MAX);
        session_moment(r, h, 1, &c->host.wall_ns, &c->host.mono_ns);
        fill_levels(c, &c->host);
        serving_cursor_fill(c->servings, (uint64_t)tick, &c->host);
        for (size_t i = 0; i < c->n_rows; i++)
                put_value(c, &c->rows[i], (size_t)(tick % BLOCK_TICKS));
}

int session_next_host(struct session_reader *r, const struct host **ret, struct err *err)
{
        int got = r->host ? 0 : open_cursor(r);
        if (got < 0)
                return db_error(&r->db, got, err);
        struct host_cursor *c = r->host;
        if (!c->present)
                return 0;
        if (!c->started) {
                c->ticks = db_prepare(&r->db, DB_GET_HOST_TICKS,
                                      "SELECT id, wall, skew, window, cores FROM host_tick"
                                      " WHERE id >= 0 ORDER BY id");
                got = begin_notes(r);
        }
        c->started = true;
        if (got >= 0)
                got = db_step(&c->ticks);
        if (got < 0)
                return db_error(&r->db, got, err);
        if (got == 0) {
                /* A question that is not asked to its end would keep a recorder's log growing. */
                db_reset(&c->notes);
                c->ahead = false;
                return 0;
        }
        int64_t tick = sqlite3_column_int64(c->ticks.h, 0);
        if (tick / BLOCK_TICKS != c->loaded)
                got = load_block(r, tick / BLOCK_TICKS);
        if (got >= 0)
                got = take_notes(c, tick);
        if (got < 0)
                return db_error(&r->db, got, err);
        fill_host(r, tick, c->ticks.h);
        *ret = &c->host;
        return 1;
}

unsigned session_levels(struct session_reader *r)
{
        struct statement q = {.db = &r->db};
        unsigned levels = 0;
        q.r = sqlite3_prepare_v2(r->db.h, "SELECT DISTINCT level FROM level_note WHERE why IS NULL",
                                 -1, &q.h, NULL);
        while (db_step(&q) > 0) {
                int64_t level = sqlite3_column_int64(q.h, 0);
                levels |= level >= 0 && level < LEVEL_COUNT ? LEVEL_BIT((unsigned)level) : 0;
        }
        sqlite3_finalize(q.h);
        return levels;
}
