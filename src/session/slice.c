/* The last minutes of a session in memory, as the bytes of a session file. */
#include "session/state.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>

/* Far more than the bound of a session in memory makes of one. */
#define COPY_MOST ((int64_t)256 << 20)

/* ---- what is cut off ---- */

/* The first ticks that stay, and the first second of stacks. */
struct slice_cut {
        int64_t tick, host_tick, second;
        int64_t base_us; /* a whole second, at most the time of the first of them */
};

static int query_number(struct db *db, const char *sql, int64_t *ret)
{
        struct statement q = {.db = db};
        q.r = sqlite3_prepare_v2(db->h, sql, -1, &q.h, NULL);
        int got = db_step(&q);
        if (got > 0)
                *ret = sqlite3_column_int64(q.h, 0);
        sqlite3_finalize(q.h);
        return got < 0 ? got : 0;
}

#define ELAPSED "wall + coalesce(skew, 0)"

/* Microseconds since the start, of the newest tick of both; -1 where there is none. */
static int query_newest(struct db *db, int64_t *ret)
{
        return query_number(
            db,
            "SELECT max(coalesce((SELECT " ELAPSED " FROM tick ORDER BY id DESC LIMIT 1), -1),"
            " coalesce((SELECT " ELAPSED " FROM host_tick ORDER BY id DESC LIMIT 1), -1))",
            ret);
}

static int query_first(struct db *db, const char *table, int64_t from_us, int64_t *ret)
{
        char sql[256];
        snprintf(sql, sizeof(sql),
                 "SELECT coalesce((SELECT min(id) FROM %s WHERE " ELAPSED " >= %lld),"
                 " (SELECT max(id) + 1 FROM %s), 0)",
                 table, (long long)from_us, table);
        return query_number(db, sql, ret);
}

static int find_base(struct db *db, struct slice_cut *c)
{
        char sql[320];
        int64_t first_us = 0;
        const int64_t second_us = NS_PER_S / 1000;
        snprintf(sql, sizeof(sql),
                 "SELECT coalesce(min(e), 0) FROM (SELECT " ELAPSED
                 " AS e FROM tick WHERE id >= %lld"
                 " UNION ALL SELECT " ELAPSED " FROM host_tick WHERE id >= %lld)",
                 (long long)c->tick, (long long)c->host_tick);
        int r = query_number(db, sql, &first_us);
        c->second = MAX(first_us, 0) / second_us;
        c->base_us = c->second * second_us;
        return r;
}

static int find_slice_cut(struct db *db, int64_t keep_ns, struct slice_cut *ret)
{
        struct slice_cut c = {0};
        int64_t newest = -1;
        int r = query_newest(db, &newest);
        int64_t from_us = newest - keep_ns / 1000;
        if (r == 0)
                r = query_first(db, "tick", from_us, &c.tick);
        if (r == 0)
                r = query_first(db, "host_tick", from_us, &c.host_tick);
        if (r == 0)
                r = find_base(db, &c);
        if (r == 0)
                *ret = c;
        return r;
}

/* Of the notes on levels that are older, the last of each level still says how things are. */
static int cut_ticks(struct db *db, const struct slice_cut *c, struct err *err)
{
        char sql[1024];
        long long tick = c->tick, host_tick = c->host_tick;
        snprintf(sql, sizeof(sql),
                 "DELETE FROM tick WHERE id < %lld;"
                 "DELETE FROM block WHERE block < %lld;"
                 "DELETE FROM host_tick WHERE id < %lld;"
                 "DELETE FROM host_block WHERE block < %lld;"
                 "DELETE FROM level_note WHERE tick < (SELECT max(x.tick) FROM level_note x"
                 " WHERE x.level = level_note.level AND x.tick <= %lld);"
                 "DELETE FROM serving_note WHERE tick < (SELECT max(x.tick) FROM serving_note x"
                 " WHERE x.item = serving_note.item AND x.tick <= %lld);"
                 "DELETE FROM process_sample WHERE tick < %lld;"
                 "DELETE FROM process WHERE id NOT IN (SELECT process FROM process_sample);"
                 "DELETE FROM stack_window WHERE id < %lld;",
                 tick, tick >> BLOCK_SHIFT, host_tick, host_tick >> BLOCK_SHIFT, host_tick,
                 host_tick, tick, (long long)c->second);
        return db_exec(db, sql, err);
}

/* ---- the parts of a slice ---- */

/* Ids stay, so that no block has to be coded again; only the start moves. */
static int move_start(struct db *db, const struct slice_cut *c, struct err *err)
{
        char sql[1024];
        long long base = c->base_us, second = c->second;
        snprintf(sql, sizeof(sql),
                 "UPDATE tick SET wall = wall - %lld;"
                 "UPDATE host_tick SET wall = wall - %lld;"
                 /* In two steps, as no two may be equal in between. */
                 "UPDATE stack_window SET id = -1 - (id - %lld);"
                 "UPDATE stack_window SET id = -1 - id;"
                 "UPDATE manifest SET value = value + %lld * 1000"
                 " WHERE key IN ('start_ns', 'start_mono_ns');",
                 base, base, second, base);
        return db_exec(db, sql, err);
}

/* The recorder's own counts are of a longer time. */
static const char count_ticks[] =
    "CREATE TEMP TABLE counted AS WITH i AS (SELECT 1e6 * coalesce((SELECT value FROM manifest"
    " WHERE key = 'interval_s'), 0) AS us),"
    " g AS (SELECT stale, (" ELAPSED ") - lag(" ELAPSED ") OVER (ORDER BY id) AS gap FROM tick)"
    " SELECT count(*) AS n, coalesce(sum(stale), 0) AS stale,"
    " coalesce(sum(us > 0 AND gap > 1.5 * us), 0) AS late,"
    " coalesce(sum(CASE WHEN us > 0 AND gap > 1.5 * us THEN CAST(round(gap / us) - 1 AS INTEGER)"
    " END), 0) AS skipped FROM g, i;"
    "INSERT OR REPLACE INTO manifest SELECT 'ticks_asked', n + skipped FROM counted;"
    "INSERT OR REPLACE INTO manifest SELECT 'ticks_taken', n - stale FROM counted;"
    "INSERT OR REPLACE INTO manifest SELECT 'ticks_late', late FROM counted;"
    "INSERT OR REPLACE INTO manifest SELECT 'ticks_missed', skipped + stale FROM counted;"
    "INSERT OR REPLACE INTO manifest VALUES('ticks_dropped', 0);"
    "DROP TABLE counted;";

static int put_marks(struct db *db, const struct mark *marks, size_t n, struct err *err)
{
        int r = 0;
        for (size_t i = 0; r == 0 && i < n; i++)
                r = db_put_mark(db, &marks[i], NULL);
        return r < 0 ? db_error(db, r, err) : 0;
}

static int put_end(struct db *db, int64_t wall_ns, int64_t mono_ns, struct err *err)
{
        char sql[200];
        snprintf(sql, sizeof(sql),
                 "INSERT OR REPLACE INTO manifest VALUES('stop_ns', %lld),('stop_mono_ns', %lld);",
                 (long long)wall_ns, (long long)mono_ns);
        return db_exec(db, sql, err);
}

static int cut_image(struct db *db, const struct session_slice *slice, struct err *err)
{
        struct slice_cut cut;
        int r = find_slice_cut(db, slice->keep_ns, &cut);
        if (r < 0)
                return db_error(db, r, err);
        r = db_exec(db, "BEGIN", err);
        if (r == 0)
                r = cut_ticks(db, &cut, err);
        if (r == 0)
                r = move_start(db, &cut, err);
        if (r == 0)
                r = db_exec(db, count_ticks, err);
        if (r == 0)
                r = put_end(db, slice->wall_ns, slice->mono_ns, err);
        if (r == 0)
                r = put_marks(db, slice->marks, slice->n_marks, err);
        if (r == 0)
                r = db_exec(db, "COMMIT;VACUUM", err);
        return r;
}

/* ---- the copy ---- */

static int copy_tables(struct session *s, struct db *to, struct err *err)
{
        sqlite3_int64 len = 0;
        unsigned char *image = sqlite3_serialize(s->db.h, "main", &len, 0);
        if (!image)
                return err_set(err, -ENOMEM, "out of memory");
        return db_use_image(to, image, len, COPY_MOST, err);
}

/* Those in the queue may have become full since they were last taken out of it. */
static int copy_blocks(struct session *s, struct db *to)
{
        size_t n = 0;
        pthread_mutex_lock(&s->lock);
        int r = session_code_open(s);
        const struct coded_block *full = s->full.first;
        for (const struct coded_block *b = full; b; b = b->next)
                n++;
        pthread_mutex_unlock(&s->lock);
        for (const struct coded_block *b = s->kept.first; r == 0 && b; b = b->next)
                r = block_write(to, b);
        for (size_t i = 0; r == 0 && i < n; i++) {
                r = block_write(to, full);
                full = i + 1 < n ? full->next : NULL;
        }
        for (size_t i = 0; r == 0 && i < ARRAY_LEN(s->now); i++)
                r = block_write(to, &s->now[i]);
        return r;
}

/* Adding continues; what is full waits in the queue until this is through. */
static int copy_memory(struct session *s, struct db *to, struct err *err)
{
        pthread_mutex_lock(&s->writing);
        int r = copy_tables(s, to, err);
        if (r == 0)
                r = db_exec(to, "PRAGMA temp_store=MEMORY;PRAGMA journal_mode=OFF;BEGIN", err);
        if (r == 0 && (r = copy_blocks(s, to)) < 0)
                r = db_error(to, r, err);
        if (r == 0)
                r = db_exec(to, "COMMIT", err);
        pthread_mutex_unlock(&s->writing);
        return r;
}

int session_slice(struct session *s, const struct session_slice *slice, unsigned char **ret,
                  size_t *ret_len, struct err *err)
{
        struct db db = {.path = "memory"};
        sqlite3_int64 len = 0;
        int r = db_open_memory(&db, err);
        if (r == 0)
                r = copy_memory(s, &db, err);
        if (r == 0)
                r = cut_image(&db, slice, err);
        unsigned char *image = r == 0 ? sqlite3_serialize(db.h, "main", &len, 0) : NULL;
        if (r == 0 && !image)
                r = err_set(err, -ENOMEM, "out of memory");
        db_close(&db);
        if (r < 0)
                return r;
        *ret = image;
        *ret_len = (size_t)len;
        return 0;
}

void session_free_slice(unsigned char *image)
{
        sqlite3_free(image);
}
