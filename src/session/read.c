/* The reading side: a session, also one that still grows or whose recorder died. */
#include "base/attr.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "session/reader.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#define SQLITE_MAGIC "SQLite format 3"

/* A broken file may say any number. */
static int64_t bounded_time(int64_t v, int64_t most)
{
        return v > most ? most : v < -most ? -most : v;
}

static int64_t us_to_ns(int64_t us)
{
        return bounded_time(us, CLOCK_FILE_MAX_NS / 1000) * 1000;
}

/* A whole number from 0 to most; what is beyond, or no number at all, is 0. */
static uint64_t whole_number(double v, double most)
{
        return v >= 0 && v <= most ? (uint64_t)v : 0;
}

bool session_is_one(const char *path)
{
        unsigned char head[sizeof(SQLITE_MAGIC)];
        struct stat st;
        struct db db = {0};
        if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || db_open(&db, path, DB_READ, NULL) < 0)
                return false;
        bool same =
            db_read_head(db.h, head, sizeof(head)) && memcmp(head, SQLITE_MAGIC, sizeof(head)) == 0;
        db_close(&db);
        return same;
}

void session_reader_close(struct session_reader *r)
{
        if (!r)
                return;
        db_close(&r->db);
        free(r->fact);
        free(r->entities);
        free(r->ids);
        free(r->used);
        free(r->columns);
        strbuf_finish(&r->bytes);
        free(r->given);
        free(r->packed);
        free(r->present);
        host_cursor_close(r->host);
        process_cursor_close(r->processes);
        stack_cursor_close(r->stacks);
        free(r);
}

static int load_series(struct session_reader *r)
{
        struct statement q = {.db = &r->db};
        for (size_t i = 0; i < SERIES_IDS_MAX; i++)
                r->place[i] = SERIES_COUNT;
        q.r =
            sqlite3_prepare_v2(r->db.h, "SELECT id, name, step, scale FROM series", -1, &q.h, NULL);
        int got;
        while ((got = db_step(&q)) > 0) {
                int64_t id = sqlite3_column_int64(q.h, 0);
                const char *name = (const char *)sqlite3_column_text(q.h, 1);
                struct series_scale scale = {sqlite3_column_double(q.h, 2),
                                             sqlite3_column_double(q.h, 3)};
                if (id < 0 || id >= SERIES_IDS_MAX || !name || !series_scale_fits(scale))
                        continue;
                r->place[id] = (uint16_t)series_find(name);
                r->scale[id] = scale;
        }
        sqlite3_finalize(q.h);
        return got;
}

static int32_t small_column(sqlite3_stmt *h, int column)
{
        int64_t v = sqlite3_column_int64(h, column);
        return v >= -1 && v <= UINT16_MAX ? (int32_t)v : -1;
}

static void take_entity(sqlite3_stmt *h, struct entity *e)
{
        *e = (struct entity){.shown = true};
        int64_t kind = sqlite3_column_int64(h, 1);
        e->kind = kind >= 0 && kind < ENTITY_OTHER ? (enum entity_kind)kind : ENTITY_OTHER;
        db_take_name(h, 2, e->label, sizeof(e->label));
        if (!e->label[0])
                snprintf(e->label, sizeof(e->label), "?");
        e->index = small_column(h, 3);
        e->gi = small_column(h, 4);
        e->ci = small_column(h, 5);
        e->flat = small_column(h, 6);
        for (int i = 0; i < ENTITY_TEXT_COUNT; i++) {
                const char *s = (const char *)sqlite3_column_text(h, 7 + i);
                if (s)
                        entity_set_text(e, (enum entity_text)i, s, strlen(s));
        }
}

static int compare_rows(const void *a, const void *b)
{
        return entity_compare(a, b);
}

static int compare_ids(const void *a, const void *b)
{
        const struct entity_id *x = a, *y = b;
        return (x->id > y->id) - (x->id < y->id);
}

/* The slot is the place in the list; the file's id may be any number. */
static void sort_entities(struct session_reader *r)
{
        if (r->n > 1)
                qsort(r->entities, r->n, sizeof(*r->entities), compare_rows);
        for (size_t i = 0; i < r->n; i++) {
                r->ids[r->entities[i].slot].place = i;
                r->entities[i].slot = (uint32_t)i;
        }
        if (r->n > 1)
                qsort(r->ids, r->n, sizeof(*r->ids), compare_ids);
}

static bool add_entity(struct session_reader *r, sqlite3_stmt *h)
{
        if (!LIST_ONE_MORE(r->entities, r->n))
                return false;
        if (!LIST_ONE_MORE(r->ids, r->n))
                return false;
        take_entity(h, &r->entities[r->n]);
        r->entities[r->n].slot = (uint32_t)r->n;
        r->ids[r->n].id = sqlite3_column_int64(h, 0);
        r->n++;
        return true;
}

#define ENTITIES_MAX 4096

/* Files of older versions lack the facts that are newer. */
static bool has_text(struct session_reader *r, const char *name)
{
        struct statement q = {.db = &r->db};
        q.r = sqlite3_prepare_v2(
            r->db.h, "SELECT 1 FROM pragma_table_info('entity') WHERE name = ?", -1, &q.h, NULL);
        db_bind_text(&q, name);
        bool present = db_step(&q) > 0;
        sqlite3_finalize(q.h);
        return present;
}

static int load_entities(struct session_reader *r)
{
        static const char *const texts[ENTITY_TEXT_COUNT] = {
#define ENTITY_TEXT(id, name) [ENTITY_TEXT_##id] = name,
            ENTITY_TEXTS(ENTITY_TEXT)
#undef ENTITY_TEXT
        };
        struct strbuf sql = {0};
        strbuf_puts(&sql, "SELECT id, kind, label, idx, gi, ci, flat");
        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                strbuf_putf(&sql, ", %s", has_text(r, texts[i]) ? texts[i] : "NULL");
        strbuf_puts(&sql, " FROM entity");
        struct statement q = {.db = &r->db};
        q.r = sql.failed ? SQLITE_NOMEM
                         : sqlite3_prepare_v2(r->db.h, strbuf_str(&sql), -1, &q.h, NULL);
        strbuf_finish(&sql);
        int got;
        while ((got = db_step(&q)) > 0 && r->n < ENTITIES_MAX) {
                if (!add_entity(r, q.h)) {
                        got = -ENOMEM;
                        break;
                }
        }
        sqlite3_finalize(q.h);
        sort_entities(r);
        size_t n = MAX(r->n, (size_t)1);
        r->used = calloc(n, sizeof(*r->used));
        r->given = calloc(n, sizeof(*r->given));
        r->packed = calloc(n, sizeof(*r->packed));
        r->present = calloc(n, sizeof(*r->present));
        bool made = r->used && r->given && r->packed && r->present;
        return got < 0 ? got : made ? 0 : -ENOMEM;
}

static int load_head(struct session_reader *r, struct err *err)
{
        int code = db_check_session(&r->db, err);
        if (code < 0)
                return code;
        code = load_series(r);
        if (code == 0)
                code = load_entities(r);
        if (code < 0)
                return db_error(&r->db, code, err);
        const char *start = session_text(r, "start_ns");
        r->start_ns = start ? clock_bounded(strtoll(start, NULL, 10)) : 0;
        const char *mono = session_text(r, "start_mono_ns");
        r->start_mono_ns = mono ? clock_bounded(strtoll(mono, NULL, 10)) : 0;
        const char *backend = session_text(r, "provenance");
        snprintf(r->provenance, sizeof(r->provenance), "%s", backend ? backend : "session");
        return 0;
}

static int load_session(struct session_reader *r, struct err *err)
{
        bool begun = db_begin_reading(&r->db);
        int code = load_head(r, err);
        db_end_reading(&r->db, begun);
        return code;
}

int session_open(const char *path, struct session_reader **ret, struct err *err)
{
        struct session_reader *r = calloc(1, sizeof(*r));
        if (!r)
                return err_set(err, -ENOMEM, "out of memory");
        r->loaded = -1;
        int code = db_open(&r->db, path, DB_READ, err);
        if (code == 0)
                code = load_session(r, err);
        if (code < 0) {
                session_reader_close(r);
                return code;
        }
        *ret = r;
        return 0;
}

const char *session_text(struct session_reader *r, const char *key)
{
        struct statement q =
            db_prepare(&r->db, DB_GET_FACT, "SELECT value FROM manifest WHERE key = ?");
        db_bind_text(&q, key);
        free(r->fact);
        r->fact = NULL;
        if (db_step(&q) > 0) {
                const char *s = (const char *)sqlite3_column_text(q.h, 0);
                r->fact = s ? strdup(s) : NULL;
                if (r->fact)
                        text_clean(r->fact);
                db_reset(&q);
        }
        return r->fact;
}

void session_each_fact(struct session_reader *r, const char *prefix,
                       void (*take)(void *arg, const char *key, const char *value), void *arg)
{
        struct statement q = {.db = &r->db};
        q.r = sqlite3_prepare_v2(r->db.h, "SELECT key, value FROM manifest", -1, &q.h, NULL);
        while (db_step(&q) > 0) {
                const char *key = (const char *)sqlite3_column_text(q.h, 0);
                const char *value = (const char *)sqlite3_column_text(q.h, 1);
                if (key && value && strncmp(key, prefix, strlen(prefix)) == 0)
                        take(arg, key, value);
        }
        sqlite3_finalize(q.h);
}

/* Beyond any time, size or count of a run; infinite and no number are beyond it too. */
#define FACT_MAX 1e18

double session_number(struct session_reader *r, const char *key, double fallback)
{
        const char *s = session_text(r, key);
        double v = s ? strtod(s, NULL) : fallback;
        return fabs(v) <= FACT_MAX ? v : fallback;
}

int64_t session_start_ns(const struct session_reader *r)
{
        return r->start_ns;
}

/* Microseconds, on the monotonic clock, of the last row of a table of ticks; 0 when there is none,
 * or no such table. */
static int64_t last_us(struct session_reader *r, const char *sql)
{
        struct statement q = {.db = &r->db};
        int64_t wall = 0, skew = 0;
        q.r = sqlite3_prepare_v2(r->db.h, sql, -1, &q.h, NULL);
        if (q.r == SQLITE_OK && db_step(&q) > 0) {
                wall = bounded_time(sqlite3_column_int64(q.h, 0), CLOCK_FILE_MAX_NS / 1000);
                skew = bounded_time(sqlite3_column_int64(q.h, 1), CLOCK_FILE_MAX_NS / 1000);
        }
        sqlite3_finalize(q.h);
        return wall + skew;
}

int64_t session_last_ns(struct session_reader *r)
{
        int64_t gpus = last_us(r, "SELECT wall, skew FROM tick ORDER BY id DESC LIMIT 1");
        int64_t host = last_us(r, "SELECT wall, skew FROM host_tick ORDER BY id DESC LIMIT 1");
        int64_t last = MAX(gpus, host);
        return last == 0 ? 0 : clock_bounded(r->start_ns + us_to_ns(last));
}

#define STEP_NS (2 * NS_PER_S)

int64_t session_steady(struct session_reader *r, int64_t wall_ns, int64_t mono_ns)
{
        int64_t wall = clock_bounded(wall_ns);
        if (r->start_mono_ns == 0 || mono_ns == 0)
                return wall;
        int64_t passed = clock_bounded(clock_bounded(mono_ns) - r->start_mono_ns);
        int64_t steady = clock_bounded(r->start_ns + passed);
        /* Asked of every mark: the end of the file is looked up for those alone that need it. */
        if (llabs(steady - wall) <= STEP_NS || steady < r->start_ns - STEP_NS)
                return wall;
        return steady <= session_last_ns(r) + STEP_NS ? steady : wall;
}

#define COUNT_MAX 1e15

void session_counts(struct session_reader *r, struct session_counts *ret)
{
        *ret = (struct session_counts){
            .asked = whole_number(session_number(r, "ticks_asked", 0), COUNT_MAX),
            .taken = whole_number(session_number(r, "ticks_taken", 0), COUNT_MAX),
            .late = whole_number(session_number(r, "ticks_late", 0), COUNT_MAX),
            .missed = whole_number(session_number(r, "ticks_missed", 0), COUNT_MAX),
            .dropped = whole_number(session_number(r, "ticks_dropped", 0), COUNT_MAX),
        };
}

size_t session_entities(const struct session_reader *r)
{
        return r->n;
}

const struct entity *session_entity(const struct session_reader *r, size_t at)
{
        return &r->entities[at];
}

/* ---- ticks ---- */

/* A value that is not a metric: what was concluded from them. */
static void put_verdict(struct row *row, bool *present, size_t series, struct value v)
{
        if (series == SERIES_WORKLOAD) {
                *present = value_is_set(v);
                row->verdict.workload =
                    v.v >= 0 && v.v < WORKLOAD_COUNT ? (enum workload)v.v : WORKLOAD_UNKNOWN;
        } else if (series == SERIES_RULE) {
                row->verdict.rule = (uint8_t)whole_number(v.v, UINT8_MAX);
        } else if (series == SERIES_HEALTH) {
                row->health.state =
                    v.v >= 0 && v.v <= HEALTH_CRIT ? (enum health_state)v.v : HEALTH_UNKNOWN;
        } else {
                row->health.findings = (uint32_t)whole_number(v.v, UINT32_MAX);
        }
}

static void place_value(struct session_reader *r, size_t entity, size_t series, struct value v)
{
        if (series < METRIC_COUNT)
                r->given[entity].sample.m[series] = v;
        else
                put_verdict(&r->given[entity], &r->present[entity], series, v);
}

bool session_take_coded(sqlite3_stmt *h, int first, struct coded *ret, const uint8_t **ret_blob)
{
        struct coded c = {.has_base = sqlite3_column_type(h, first + 1) != SQLITE_NULL,
                          .base = sqlite3_column_int64(h, first + 1),
                          .state = (uint8_t)sqlite3_column_int64(h, first + 2),
                          .len = (size_t)sqlite3_column_bytes(h, first + 3)};
        const uint8_t *blob = sqlite3_column_blob(h, first + 3);
        /* What a file can claim and no program of our own writes. */
        if (!block_take_form(sqlite3_column_int64(h, first), &c) || c.base > BLOCK_LIMIT ||
            c.base < -BLOCK_LIMIT || (c.has_base && c.bits > 0 && !blob))
                return false;
        /* A blob is as long as its block: what a file has beyond that is nothing. */
        c.len = MIN(c.len, (size_t)BLOCK_TICKS * BLOCK_WIDTH_MAX);
        *ret = c;
        *ret_blob = blob;
        return true;
}

void session_moment(const struct session_reader *r, sqlite3_stmt *h, int first,
                    int64_t *ret_wall_ns, int64_t *ret_mono_ns)
{
        int64_t wall = sqlite3_column_int64(h, first), skew = sqlite3_column_int64(h, first + 1);
        int64_t reported = clock_bounded(r->start_ns + us_to_ns(wall));
        *ret_wall_ns = *ret_mono_ns = clock_bounded(reported + us_to_ns(skew));
}

bool session_has_table(struct session_reader *r, const char *name)
{
        struct statement q = {.db = &r->db};
        q.r = sqlite3_prepare_v2(r->db.h,
                                 "SELECT 1 FROM sqlite_master WHERE type = 'table' AND"
                                 " name = ?",
                                 -1, &q.h, NULL);
        db_bind_text(&q, name);
        bool has = db_step(&q) > 0;
        sqlite3_finalize(q.h);
        return has;
}

/* Most series of most blocks are one value over and over. */
static int take_series(struct session_reader *r, size_t entity, sqlite3_stmt *h)
{
        int64_t id = sqlite3_column_int64(h, 1);
        struct coded c;
        const uint8_t *blob;
        if (id < 0 || id >= SERIES_IDS_MAX || r->place[id] == SERIES_COUNT ||
            !session_take_coded(h, 2, &c, &blob))
                return 0;
        if (!c.has_base || c.bits == 0) {
                place_value(
                    r, entity, r->place[id],
                    cell_value(block_decode(&c, NULL, 0), r->scale[id].step, r->scale[id].scale));
                return 0;
        }
        if (!LIST_ONE_MORE(r->columns, r->n_columns))
                return -ENOMEM;
        r->columns[r->n_columns++] = (struct coded_column){.entity = (uint32_t)entity,
                                                           .series = r->place[id],
                                                           .scale = r->scale[id],
                                                           .coded = c,
                                                           .at = r->bytes.len};
        strbuf_put(&r->bytes, (const char *)blob, c.len);
        strbuf_reserve(&r->bytes, BLOCK_PAD);
        return r->bytes.failed ? -ENOMEM : 0;
}

static size_t reader_place_of(const struct session_reader *r, int64_t id)
{
        const struct entity_id key = {.id = id};
        const struct entity_id *found =
            r->n > 0 ? bsearch(&key, r->ids, r->n, sizeof(key), compare_ids) : NULL;
        return found ? found->place : r->n;
}

/* Only what the last block filled: a file may name thousands of GPUs that are never there. */
static void clear_block(struct session_reader *r)
{
        for (size_t i = 0; i < r->n; i++) {
                if (!r->used[i])
                        continue;
                r->given[i] = (struct row){0};
                r->present[i] = r->used[i] = false;
        }
        r->n_columns = 0;
        strbuf_clear(&r->bytes);
}

/* Rows of one series may stand in a file several times: more than these are no session's. */
#define COLUMNS_MAX_EACH 4

static int load_block(struct session_reader *r, int64_t block)
{
        struct statement q = db_prepare(
            &r->db, DB_GET_BLOCK,
            "SELECT entity, series, width, base, state, data FROM block WHERE block = ?");
        size_t most = r->n * SERIES_COUNT * COLUMNS_MAX_EACH;
        int got, code = 0;
        clear_block(r);
        db_bind_int(&q, block);
        while (code == 0 && (got = db_step(&q)) > 0) {
                size_t entity = reader_place_of(r, sqlite3_column_int64(q.h, 0));
                if (entity == r->n || r->n_columns >= most)
                        continue;
                r->used[entity] = true;
                r->given[entity].sample.who = &r->entities[entity];
                code = take_series(r, entity, q.h);
        }
        if (code < 0)
                db_reset(&q);
        r->loaded = block;
        return code < 0 ? code : got;
}

/* The rows of a tick, each at its entity's place: what is the same in the whole block is present.
 */
static void decode_tick(struct session_reader *r, size_t place)
{
        for (size_t i = 0; i < r->n_columns; i++) {
                const struct coded_column *c = &r->columns[i];
                const uint8_t *blob = (const uint8_t *)r->bytes.s + c->at;
                struct value v =
                    cell_value(block_decode(&c->coded, blob, place), c->scale.step, c->scale.scale);
                place_value(r, c->entity, c->series, v);
        }
}

/* Nearly always all are present, and nothing has to be moved. */
static struct row *rows_present(struct session_reader *r, size_t *ret_n)
{
        size_t n = 0;
        while (n < r->n && r->present[n])
                n++;
        *ret_n = n;
        if (n == r->n)
                return r->given;
        memcpy(r->packed, r->given, n * sizeof(*r->packed));
        for (size_t i = n; i < r->n; i++) {
                if (r->present[i])
                        r->packed[n++] = r->given[i];
        }
        *ret_n = n;
        return r->packed;
}

static void fill_frame(struct session_reader *r, int64_t tick, sqlite3_stmt *h)
{
        struct frame *f = &r->frame;
        *f = (struct frame){.tick = (uint64_t)tick,
                            .window_ns = MAX(sqlite3_column_int64(h, 3), 0) % 86400000 * NS_PER_MS,
                            .stale = sqlite3_column_int64(h, 4) != 0,
                            .provenance = r->provenance};
        session_moment(r, h, 1, &f->wall_ns, &f->mono_ns);
        decode_tick(r, (size_t)(tick % BLOCK_TICKS));
        f->rows = rows_present(r, &f->n);
}

int session_next(struct session_reader *r, const struct frame **ret, struct err *err)
{
        if (!r->reading) {
                r->ticks = db_prepare(&r->db, DB_GET_TICKS,
                                      "SELECT id, wall, skew, window, stale FROM tick"
                                      " WHERE id >= 0 ORDER BY id");
                r->reading = true;
        }
        int got = db_step(&r->ticks);
        if (got < 0)
                return db_error(&r->db, got, err);
        if (got == 0)
                return process_cursor_rest(r->processes), 0;
        int64_t tick = sqlite3_column_int64(r->ticks.h, 0);
        if (tick / BLOCK_TICKS != r->loaded) {
                got = load_block(r, tick / BLOCK_TICKS);
                if (got < 0)
                        return db_error(&r->db, got, err);
        }
        fill_frame(r, tick, r->ticks.h);
        got = process_cursor_fill(r, tick, &r->frame);
        if (got < 0)
                return db_error(&r->db, got, err);
        *ret = &r->frame;
        return 1;
}
