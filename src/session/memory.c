/*
 * A session without a file: full blocks stay in a list as they were coded, processes and stacks in
 * a database in memory, both within a bound; what is too old is dropped. From time to time somebody
 * asks for its last minutes as the bytes of a session file: only then are blocks written into a
 * database, which is a copy.
 */
#include "session/schema.h"
#include "session/state.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>

#define PAGE 4096
#define COMMIT_TRIES 6
/* Of the bound, what processes and stacks may take. */
#define TABLES_SHARE 4

static int create_tables(struct session *s, size_t most_bytes, struct err *err)
{
        char pragmas[160];
        struct strbuf sql = {0};
        snprintf(pragmas, sizeof(pragmas),
                 "PRAGMA page_size=%d;PRAGMA max_page_count=%zu;PRAGMA temp_store=MEMORY;", PAGE,
                 most_bytes / TABLES_SHARE / PAGE);
        session_schema(&sql);
        int r = db_open_memory(&s->db, err);
        if (r == 0)
                r = db_exec(&s->db, pragmas, err);
        if (r == 0)
                r = db_exec(&s->db, strbuf_str(&sql), err);
        strbuf_finish(&sql);
        return r;
}

int session_create_memory(size_t most_bytes, struct session **ret, struct err *err)
{
        struct session *s = session_alloc("memory", SESSION_START_FIRST);
        if (!s)
                return err_set(err, -ENOMEM, "out of memory");
        int r = create_tables(s, most_bytes, err);
        if (r < 0) {
                session_free(s);
                return r;
        }
        s->kept_most = most_bytes - most_bytes / TABLES_SHARE;
        session_set_number(s, "schema_version", SESSION_SCHEMA_VERSION);
        *ret = s;
        return 0;
}

void session_discard(struct session *s)
{
        if (s)
                session_free(s);
}

void session_limit_gpus(struct session *s, size_t most)
{
        s->tracks_max = MIN(most, (size_t)TRACKS_MAX);
}

/* ---- blocks ---- */

/* As many bytes as it needs: buffers that blocks are coded in are larger, and are used again. */
static struct coded_block *pack_block(const struct coded_block *b)
{
        struct coded_block *to = malloc(sizeof(*to));
        struct coded_row *rows = malloc(MAX(b->n_rows, (size_t)1) * sizeof(*rows));
        char *bytes = malloc(MAX(b->bytes.len, (size_t)1));
        if (!to || !rows || !bytes) {
                free(to);
                free(rows);
                free(bytes);
                return NULL;
        }
        /* All but the link, which the next block may set meanwhile. */
        *to = (struct coded_block){.host = b->host,
                                   .block = b->block,
                                   .from = b->from,
                                   .to = b->to,
                                   .rows = rows,
                                   .n_rows = b->n_rows,
                                   .cap_rows = b->n_rows};
        memcpy(to->ticks, b->ticks, sizeof(to->ticks));
        if (b->n_rows > 0)
                memcpy(rows, b->rows, b->n_rows * sizeof(*rows));
        to->bytes = (struct strbuf){.s = bytes, .len = b->bytes.len, .cap = b->bytes.len};
        if (b->bytes.len > 0)
                memcpy(bytes, b->bytes.s, b->bytes.len);
        return to;
}

/* Full blocks of the queue, as many as there are now. Those behind them may be added meanwhile. */
static size_t count_full(struct session *s, const struct coded_block **ret_first)
{
        size_t n = 0;
        pthread_mutex_lock(&s->lock);
        *ret_first = s->full.first;
        for (const struct coded_block *b = s->full.first; b; b = b->next)
                n++;
        pthread_mutex_unlock(&s->lock);
        return n;
}

/* With s->writing held. A block that memory is short for is lost. */
static void take_full(struct session *s)
{
        const struct coded_block *b;
        size_t n = count_full(s, &b);
        for (size_t i = 0; i < n; i++) {
                struct coded_block *packed = pack_block(b);
                if (packed)
                        block_enqueue(&s->kept, packed);
                b = i + 1 < n ? b->next : NULL;
        }
        pthread_mutex_lock(&s->lock);
        block_queue_drop(&s->full, n);
        pthread_mutex_unlock(&s->lock);
}

static int64_t elapsed_us(const struct tick_row *t)
{
        return t->wall_us + t->skew_us;
}

/* Since the start, of the newest tick of both, with what is not in a full block yet; -1 for none.
 */
static int64_t find_newest(struct session *s)
{
        const struct open_block *open[] = {&s->open, &s->host.open};
        int64_t newest = -1;
        for (const struct coded_block *b = s->kept.first; b; b = b->next)
                newest = MAX(newest, elapsed_us(&b->ticks[b->to - 1]));
        pthread_mutex_lock(&s->lock);
        for (size_t i = 0; i < ARRAY_LEN(open); i++) {
                if (open[i]->n > 0)
                        newest = MAX(newest, elapsed_us(&open[i]->ticks[open[i]->n - 1]));
        }
        pthread_mutex_unlock(&s->lock);
        return newest;
}

/* The oldest go, until all fit and none ended before a moment. */
static void drop_blocks(struct session *s, int64_t from_us)
{
        struct block_queue old = s->kept;
        size_t bytes = old.bytes;
        s->kept = (struct block_queue){0};
        for (struct coded_block *b = old.first, *next; b; b = next) {
                next = b->next;
                b->next = NULL;
                if (bytes <= s->kept_most && elapsed_us(&b->ticks[b->to - 1]) >= from_us) {
                        block_enqueue(&s->kept, b);
                        continue;
                }
                bytes -= block_size(b);
                block_free(b);
        }
}

/* ---- processes and stacks ---- */

/* What the tables may forget: the first ticks, and the second of stacks, that stay. */
struct forget_before {
        int64_t tick, host_tick, second;
        int64_t first_us;
};

static struct forget_before find_forgettable(struct session *s)
{
        struct forget_before c = {.tick = -1, .host_tick = -1, .first_us = INT64_MAX};
        for (const struct coded_block *b = s->kept.first; b; b = b->next) {
                int64_t *to = b->host ? &c.host_tick : &c.tick;
                if (*to < 0)
                        *to = (int64_t)b->block * BLOCK_TICKS;
                c.first_us = MIN(c.first_us, elapsed_us(&b->ticks[0]));
        }
        pthread_mutex_lock(&s->lock);
        if (c.tick < 0)
                c.tick = (int64_t)s->open.block * BLOCK_TICKS;
        if (c.host_tick < 0)
                c.host_tick = (int64_t)s->host.open.block * BLOCK_TICKS;
        if (s->open.n > 0)
                c.first_us = MIN(c.first_us, elapsed_us(&s->open.ticks[0]));
        pthread_mutex_unlock(&s->lock);
        c.first_us = c.first_us == INT64_MAX ? 0 : MAX(c.first_us, 0);
        c.second = c.first_us / (NS_PER_S / 1000);
        return c;
}

/* Of the notes on levels that are older, the last of each level still says how things are. */
static int drop_before(struct db *db, const struct forget_before *c, struct err *err)
{
        char sql[800];
        snprintf(sql, sizeof(sql),
                 "DELETE FROM level_note WHERE tick < (SELECT max(x.tick) FROM level_note x"
                 " WHERE x.level = level_note.level AND x.tick <= %lld);"
                 "DELETE FROM serving_note WHERE tick < (SELECT max(x.tick) FROM serving_note x"
                 " WHERE x.item = serving_note.item AND x.tick <= %lld);"
                 "DELETE FROM process_sample WHERE tick < %lld;"
                 "DELETE FROM process WHERE id NOT IN (SELECT process FROM process_sample);"
                 "DELETE FROM stack_window WHERE id < %lld;",
                 (long long)c->host_tick, (long long)c->host_tick, (long long)c->tick,
                 (long long)c->second);
        return db_exec(db, sql, err);
}

static int write_tables(struct session *s)
{
        int (*const parts[])(struct session *) = {facts_write, frames_write_entities,
                                                  host_write_notes, processes_write, stacks_write};
        int r = 0;
        pthread_mutex_lock(&s->lock);
        for (size_t i = 0; r == 0 && i < ARRAY_LEN(parts); i++)
                r = parts[i](s);
        pthread_mutex_unlock(&s->lock);
        return r;
}

/* With s->writing held. Who a process is may have been dropped with its last sample: it is written
 * again. */
static int commit_tables(struct session *s, const struct forget_before *forget_before,
                         struct err *err)
{
        int r = db_exec(&s->db, "BEGIN", err);
        if (r == 0 && (r = write_tables(s)) < 0)
                r = db_error(&s->db, r, err);
        if (r == 0)
                r = drop_before(&s->db, forget_before, err);
        if (r == 0)
                r = db_exec(&s->db, "COMMIT", err);
        if (r < 0)
                db_rollback(&s->db);
        pthread_mutex_lock(&s->lock);
        if (r < 0) {
                frames_drop_written(s);
                host_drop_written(s);
                processes_drop_written(s);
                stacks_drop_written(s);
                facts_drop_written(s);
        } else {
                host_note_written(s);
                processes_note_written(s);
                stacks_note_written(s);
                processes_rewrite(s);
        }
        pthread_mutex_unlock(&s->lock);
        return r;
}

/* Frees room in tables that are full: the older half is dropped. */
static int halve_tables(struct session *s, const struct forget_before *forget_before,
                        struct forget_before *ret)
{
        pthread_mutex_lock(&s->lock);
        int64_t newest = (int64_t)(s->open.block * BLOCK_TICKS + s->open.n);
        int64_t last_us =
            s->open.n > 0 ? elapsed_us(&s->open.ticks[s->open.n - 1]) : forget_before->first_us;
        pthread_mutex_unlock(&s->lock);
        *ret = *forget_before;
        ret->tick = forget_before->tick + (newest - forget_before->tick) / 2;
        ret->second =
            (forget_before->first_us + (last_us - forget_before->first_us) / 2) / (NS_PER_S / 1000);
        int r = db_exec(&s->db, "BEGIN", NULL);
        if (r == 0)
                r = drop_before(&s->db, ret, NULL);
        return r == 0 ? db_exec(&s->db, "COMMIT", NULL) : (db_rollback(&s->db), r);
}

static bool tables_wait(struct session *s)
{
        pthread_mutex_lock(&s->lock);
        bool wait = s->processes.n_samples >= PROCESS_SAMPLES_MAX / 8 ||
                    s->stacks.n_rows >= STACK_ROWS_MAX / 8;
        pthread_mutex_unlock(&s->lock);
        return wait;
}

int session_commit_memory(struct session *s, int64_t keep_ns, bool all, int64_t *ret_kept_ns,
                          struct err *err)
{
        pthread_mutex_lock(&s->writing);
        take_full(s);
        int64_t newest_us = find_newest(s);
        drop_blocks(s, newest_us - keep_ns / 1000);
        struct forget_before forget_before = find_forgettable(s);
        int r = all || tables_wait(s) ? commit_tables(s, &forget_before, err) : 0;
        for (int i = 0; r == -ENOSPC && i < COMMIT_TRIES; i++) {
                r = halve_tables(s, &forget_before, &forget_before);
                if (r == 0)
                        r = commit_tables(s, &forget_before, err);
        }
        pthread_mutex_unlock(&s->writing);
        *ret_kept_ns = MIN(MAX(newest_us - forget_before.first_us, 0) * 1000, keep_ns);
        return r;
}

/* ---- what it takes ---- */

static size_t size_of_tables(struct session *s)
{
        struct statement q = {.db = &s->db};
        size_t pages = 0;
        q.r = sqlite3_prepare_v2(s->db.h, "PRAGMA page_count", -1, &q.h, NULL);
        if (db_step(&q) > 0)
                pages = (size_t)sqlite3_column_int64(q.h, 0);
        sqlite3_finalize(q.h);
        return pages * PAGE;
}

size_t session_memory(struct session *s)
{
        pthread_mutex_lock(&s->writing);
        size_t bytes = size_of_tables(s) + s->kept.bytes;
        for (size_t i = 0; i < ARRAY_LEN(s->now); i++)
                bytes += s->now[i].bytes.cap + s->now[i].cap_rows * sizeof(*s->now[i].rows);
        pthread_mutex_unlock(&s->writing);
        pthread_mutex_lock(&s->lock);
        bytes += s->full.bytes + s->processes.cap_samples * sizeof(*s->processes.samples) +
                 s->processes.cap_tracks * sizeof(*s->processes.tracks) +
                 s->stacks.cap_rows * sizeof(*s->stacks.rows) +
                 s->stacks.cap_kinds * sizeof(*s->stacks.kinds) +
                 s->stacks.by_kind.size * sizeof(*s->stacks.by_kind.slots);
        for (size_t i = 0; i < s->n_tracks; i++)
                bytes += s->tracks[i] ? sizeof(*s->tracks[i]) : 0;
        for (size_t i = 0; s->host.tracks && i < HOST_PLACES_MAX; i++)
                bytes += s->host.tracks[i] ? sizeof(*s->host.tracks[i]) : 0;
        pthread_mutex_unlock(&s->lock);
        return bytes;
}
