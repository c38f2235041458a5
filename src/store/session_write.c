/*
 * The writing side. Frames go into memory, as scaled numbers in a block that is open; a commit
 * writes the open block anew, so that a recorder which dies loses what came after its last commit
 * and nothing else.
 */
#include "store/block.h"
#include "store/db.h"
#include "store/series.h"
#include "store/session.h"
#include "store/session_schema.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

/* What is kept of an entity while its block is open. */
struct track {
        struct entity who;
        bool written;                      /* the entity's own row is in the file */
        struct coded stored[SERIES_COUNT]; /* what the file has of the open block */
        cell cells[SERIES_COUNT][BLOCK_TICKS];
};

struct tick_row {
        int64_t wall_us, skew_us, window_ms;
        bool stale;
};

/* A row of the table block that a commit is going to write. */
struct staged {
        uint32_t entity;
        uint16_t series;
        struct coded coded;
        size_t at; /* of its bytes in bytes */
};

struct fact {
        char key[64];
        double number;
        int64_t whole; /* when is_whole: times do not fit a double */
        bool is_whole;
        bool written;
        char *text; /* NULL when it is a number */
};

#define TRACKS_MAX 4096
#define FACTS_MAX 128

struct session {
        char path[4096];
        struct db db;
        pthread_mutex_t writing; /* held by a commit: the database and what is staged */
        pthread_mutex_t lock;    /* what frames are added to */
        int spool;               /* the folder; locked while we record */
        int64_t start_wall_ns, start_mono_ns;

        struct track **tracks; /* by entity slot */
        size_t n_tracks;
        struct tick_row ticks[BLOCK_TICKS];
        size_t n;         /* ticks in the open block */
        size_t committed; /* how many of them are in the file */
        uint64_t block;
        struct session_counts counts;
        struct fact facts[FACTS_MAX];
        size_t n_facts;

        struct staged *staged;
        size_t n_staged, cap_staged;
        struct strbuf bytes;
};

/* ---- opening ---- */

static void free_session(struct session *s)
{
        db_close(&s->db);
        closep(&s->spool);
        for (size_t i = 0; i < s->n_tracks; i++)
                free(s->tracks[i]);
        for (size_t i = 0; i < s->n_facts; i++)
                free(s->facts[i].text);
        free(s->tracks);
        free(s->staged);
        strbuf_finish(&s->bytes);
        pthread_mutex_destroy(&s->writing);
        pthread_mutex_destroy(&s->lock);
        free(s);
}

static int refuse_existing(const char *path, struct err *err)
{
        if (access(path, F_OK) != 0)
                return 0;
        err_set(err, -EEXIST, "'%s' is there already", path);
        return err_hint(err, "give another name with -o FILE, or move it away");
}

static int make_spool(struct session *s, struct err *err)
{
        char path[sizeof(s->path) + sizeof(SPOOL_SUFFIX)];
        snprintf(path, sizeof(path), "%s" SPOOL_SUFFIX, s->path);
        if (mkdir(path, 0777) < 0 && errno != EEXIST)
                return err_set(err, -errno, "cannot make '%s': %s", path, strerror(errno));
        s->spool = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (s->spool < 0)
                return err_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
        /* A reader that can take this lock knows that the recorder is dead. */
        flock(s->spool, LOCK_EX | LOCK_NB);
        return 0;
}

static int make_tables(struct session *s, struct err *err)
{
        struct strbuf sql = {0};
        session_schema(&sql);
        int r = db_exec(
            &s->db, "PRAGMA page_size=4096;PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;", err);
        if (r == 0)
                r = db_exec(&s->db, strbuf_str(&sql), err);
        strbuf_finish(&sql);
        return r;
}

int session_create(const char *path, int64_t start_wall_ns, struct session **ret, struct err *err)
{
        int r = refuse_existing(path, err);
        if (r < 0)
                return r;
        struct session *s = calloc(1, sizeof(*s));
        if (!s)
                return err_set(err, -ENOMEM, "out of memory");
        s->spool = -1;
        s->start_wall_ns = start_wall_ns;
        s->start_mono_ns = INT64_MIN;
        pthread_mutex_init(&s->writing, NULL);
        pthread_mutex_init(&s->lock, NULL);
        snprintf(s->path, sizeof(s->path), "%s", path);
        r = db_open(&s->db, path, DB_CREATE, err);
        if (r == 0)
                r = make_tables(s, err);
        if (r == 0)
                r = make_spool(s, err);
        if (r < 0) {
                free_session(s);
                unlink(path);
                return r;
        }
        session_set_number(s, "schema_version", SESSION_SCHEMA_VERSION);
        *ret = s;
        return 0;
}

/* ---- adding ---- */

static struct fact *fact_for(struct session *s, const char *key)
{
        for (size_t i = 0; i < s->n_facts; i++) {
                if (strcmp(s->facts[i].key, key) != 0)
                        continue;
                s->facts[i].written = false;
                return &s->facts[i];
        }
        if (s->n_facts == FACTS_MAX)
                return NULL;
        struct fact *f = &s->facts[s->n_facts++];
        *f = (struct fact){0};
        snprintf(f->key, sizeof(f->key), "%s", key);
        return f;
}

int session_set_text(struct session *s, const char *key, const char *value)
{
        char *copy = strdup(value);
        if (!copy)
                return -ENOMEM;
        pthread_mutex_lock(&s->lock);
        struct fact *f = fact_for(s, key);
        if (f) {
                free(f->text);
                f->text = copy;
        } else {
                free(copy);
        }
        pthread_mutex_unlock(&s->lock);
        return f ? 0 : -ENOMEM;
}

int session_set_number(struct session *s, const char *key, double value)
{
        pthread_mutex_lock(&s->lock);
        struct fact *f = fact_for(s, key);
        if (f) {
                f->number = value;
                f->is_whole = false;
        }
        pthread_mutex_unlock(&s->lock);
        return f ? 0 : -ENOMEM;
}

int session_set_time(struct session *s, const char *key, int64_t ns)
{
        pthread_mutex_lock(&s->lock);
        struct fact *f = fact_for(s, key);
        if (f) {
                f->whole = ns;
                f->is_whole = true;
        }
        pthread_mutex_unlock(&s->lock);
        return f ? 0 : -ENOMEM;
}

void session_set_counts(struct session *s, const struct session_counts *counts)
{
        pthread_mutex_lock(&s->lock);
        uint64_t dropped = s->counts.dropped;
        s->counts = *counts;
        s->counts.dropped += dropped;
        pthread_mutex_unlock(&s->lock);
}

static void clear_track(struct track *t)
{
        for (size_t i = 0; i < SERIES_COUNT; i++) {
                t->stored[i] = (struct coded){.empty = true};
                for (size_t k = 0; k < BLOCK_TICKS; k++)
                        t->cells[i][k] = CELL_MISSING(STATE_NONE);
        }
}

static struct track *track_for(struct session *s, const struct entity *e)
{
        if (e->slot >= TRACKS_MAX)
                return NULL;
        if (e->slot >= s->n_tracks) {
                struct track **more = realloc(s->tracks, (e->slot + 1) * sizeof(*more));
                if (!more)
                        return NULL;
                memset(more + s->n_tracks, 0, (e->slot + 1 - s->n_tracks) * sizeof(*more));
                s->tracks = more;
                s->n_tracks = e->slot + 1;
        }
        struct track *t = s->tracks[e->slot];
        if (!t) {
                t = s->tracks[e->slot] = malloc(sizeof(*t));
                if (!t)
                        return NULL;
                t->written = false;
                clear_track(t);
        }
        /* Sources learn a model or a driver version after the first tick. */
        if (!t->written || memcmp(t->who.text, e->text, sizeof(e->text)) != 0) {
                t->who = *e;
                t->written = false;
        }
        return t;
}

static void add_row(struct track *t, size_t place, const struct row *row)
{
        for (size_t i = 0; i < METRIC_COUNT; i++) {
                struct series_scale s = series_scale(i);
                t->cells[i][place] = cell_from(row->sample.m[i], s.step, s.scale);
        }
        t->cells[SERIES_WORKLOAD][place] = (cell)row->verdict.workload;
        t->cells[SERIES_RULE][place] = row->verdict.rule;
        t->cells[SERIES_HEALTH][place] = (cell)row->health.state;
        t->cells[SERIES_FINDINGS][place] = row->health.findings;
}

static int64_t to_us(int64_t ns)
{
        return (ns >= 0 ? ns + 500 : ns - 500) / 1000;
}

static struct tick_row tick_of(struct session *s, const struct frame *f)
{
        if (s->start_wall_ns == SESSION_START_FIRST)
                s->start_wall_ns = f->wall_ns;
        if (s->start_mono_ns == INT64_MIN)
                s->start_mono_ns = f->mono_ns - (f->wall_ns - s->start_wall_ns);
        int64_t wall = to_us(f->wall_ns - s->start_wall_ns);
        return (struct tick_row){.wall_us = wall,
                                 .skew_us = to_us(f->mono_ns - s->start_mono_ns) - wall,
                                 .window_ms = (f->window_ns + NS_PER_MS / 2) / NS_PER_MS,
                                 .stale = f->stale};
}

/* The next block begins; what the file does not have of the old one is lost. */
static void roll(struct session *s)
{
        s->counts.dropped += s->n - s->committed;
        s->n = s->committed = 0;
        s->block++;
        for (size_t i = 0; i < s->n_tracks; i++) {
                if (s->tracks[i])
                        clear_track(s->tracks[i]);
        }
}

static bool is_full(struct session *s)
{
        pthread_mutex_lock(&s->lock);
        bool full = s->n == BLOCK_TICKS;
        pthread_mutex_unlock(&s->lock);
        return full;
}

static int next_block(struct session *s, struct err *err)
{
        int r = session_commit(s, err);
        pthread_mutex_lock(&s->writing);
        pthread_mutex_lock(&s->lock);
        roll(s);
        pthread_mutex_unlock(&s->lock);
        pthread_mutex_unlock(&s->writing);
        return r;
}

int session_add(struct session *s, const struct frame *f, struct err *err)
{
        int r = is_full(s) ? next_block(s, err) : 0;
        int failed = 0;
        pthread_mutex_lock(&s->lock);
        for (size_t i = 0; i < f->n; i++) {
                struct track *t = track_for(s, f->rows[i].sample.who);
                if (t)
                        add_row(t, s->n, &f->rows[i]);
                else
                        failed = -ENOMEM;
        }
        s->ticks[s->n++] = tick_of(s, f);
        pthread_mutex_unlock(&s->lock);
        return failed < 0 ? err_set(err, failed, "out of memory") : r;
}

/* ---- committing ---- */

static struct staged *stage_one(struct session *s)
{
        if (s->n_staged == s->cap_staged) {
                size_t cap = s->cap_staged ? s->cap_staged * 2 : 512;
                struct staged *more = realloc(s->staged, cap * sizeof(*more));
                if (!more)
                        return NULL;
                s->staged = more;
                s->cap_staged = cap;
        }
        return &s->staged[s->n_staged++];
}

/* A series that is still all one value needs no new row. */
static bool unchanged(const struct coded *a, const struct coded *b)
{
        return a->empty == b->empty && a->len == b->len && a->width == b->width &&
               a->has_base == b->has_base && a->base == b->base && a->state == b->state &&
               a->width == 0;
}

static int stage_track(struct session *s, struct track *t)
{
        for (size_t i = 0; i < SERIES_COUNT; i++) {
                if (!strbuf_reserve(&s->bytes, (size_t)BLOCK_TICKS * BLOCK_WIDTH_MAX))
                        return -ENOMEM;
                uint8_t *blob = (uint8_t *)s->bytes.s + s->bytes.len;
                struct coded c = block_encode(t->cells[i], s->n, blob);
                if (unchanged(&c, &t->stored[i]))
                        continue;
                struct staged *row = stage_one(s);
                if (!row)
                        return -ENOMEM;
                *row = (struct staged){t->who.slot + 1, (uint16_t)i, c, s->bytes.len};
                s->bytes.len += c.len;
        }
        return 0;
}

static int stage(struct session *s)
{
        int r = 0;
        s->n_staged = 0;
        strbuf_clear(&s->bytes);
        for (size_t i = 0; r == 0 && s->n > s->committed && i < s->n_tracks; i++)
                r = s->tracks[i] ? stage_track(s, s->tracks[i]) : 0;
        return r;
}

static int write_entity(struct session *s, const struct entity *e)
{
        struct statement q = db_prepare(&s->db, DB_PUT_ENTITY,
                                        "INSERT OR REPLACE INTO entity VALUES(?,?,?,?,?,?,?"
#define ENTITY_TEXT(id, name) ",?"
                                        ENTITY_TEXTS(ENTITY_TEXT)
#undef ENTITY_TEXT
                                            ")");
        db_bind_int(&q, e->slot + 1);
        db_bind_int(&q, (int64_t)e->kind);
        db_bind_text(&q, e->label);
        const int32_t ids[] = {e->index, e->gi, e->ci, e->flat};
        for (size_t i = 0; i < ARRAY_LEN(ids); i++)
                db_bind_int(&q, ids[i]);
        for (size_t i = 0; i < ENTITY_TEXT_COUNT; i++)
                db_bind_text(&q, e->text[i][0] ? e->text[i] : NULL);
        return db_run(&q);
}

static int write_ticks(struct session *s, size_t n)
{
        int r = 0;
        for (size_t i = s->committed; r == 0 && i < n; i++) {
                const struct tick_row *t = &s->ticks[i];
                struct statement q = db_prepare(&s->db, DB_PUT_TICK,
                                                "INSERT OR REPLACE INTO tick VALUES(?,?,?,?,?)");
                db_bind_int(&q, (int64_t)(s->block * BLOCK_TICKS + i));
                db_bind_int(&q, t->wall_us);
                /* The two clocks drift by microseconds; only a step is worth the bytes. */
                db_bind_int_or_null(&q, t->skew_us, llabs(t->skew_us) >= 1000);
                db_bind_int_or_null(&q, t->window_ms, t->window_ms != 0);
                db_bind_int(&q, t->stale);
                r = db_run(&q);
        }
        return r;
}

static int write_staged(struct session *s)
{
        int r = 0;
        for (size_t i = 0; r == 0 && i < s->n_staged; i++) {
                const struct staged *row = &s->staged[i];
                const struct coded *c = &row->coded;
                struct statement q = db_prepare(
                    &s->db, DB_PUT_BLOCK, "INSERT OR REPLACE INTO block VALUES(?,?,?,?,?,?,?)");
                db_bind_int(&q, (int64_t)s->block);
                db_bind_int(&q, row->entity);
                db_bind_int(&q, row->series);
                db_bind_int(&q, c->width);
                db_bind_int_or_null(&q, c->base, c->has_base);
                db_bind_int_or_null(&q, c->state, !c->has_base);
                db_bind_blob(&q, c->len > 0 ? s->bytes.s + row->at : NULL, c->len);
                r = db_run(&q);
        }
        return r;
}

static int write_fact(struct session *s, const struct fact *f)
{
        struct statement q =
            db_prepare(&s->db, DB_PUT_FACT, "INSERT OR REPLACE INTO manifest VALUES(?,?)");
        db_bind_text(&q, f->key);
        if (f->text)
                db_bind_text(&q, f->text);
        else if (f->is_whole)
                db_bind_int(&q, f->whole);
        else
                db_bind_number(&q, f->number);
        return db_run(&q);
}

static int write_facts(struct session *s)
{
        const struct fact counts[] = {
            {.key = "ticks_asked", .number = (double)s->counts.asked},
            {.key = "ticks_taken", .number = (double)s->counts.taken},
            {.key = "ticks_late", .number = (double)s->counts.late},
            {.key = "ticks_missed", .number = (double)s->counts.missed},
            {.key = "ticks_dropped", .number = (double)s->counts.dropped}};
        int r = 0;
        for (size_t i = 0; r == 0 && i < ARRAY_LEN(counts); i++)
                r = write_fact(s, &counts[i]);
        for (size_t i = 0; r == 0 && i < s->n_facts; i++) {
                if (!s->facts[i].written)
                        r = write_fact(s, &s->facts[i]);
                s->facts[i].written = true;
        }
        if (r < 0 || s->committed > 0 || s->block > 0 || s->start_wall_ns == SESSION_START_FIRST)
                return r;
        struct fact start = {.key = "start_ns", .whole = s->start_wall_ns, .is_whole = true};
        return write_fact(s, &start);
}

static int write_entities(struct session *s)
{
        int r = 0;
        for (size_t i = 0; r == 0 && i < s->n_tracks; i++) {
                if (!s->tracks[i] || s->tracks[i]->written)
                        continue;
                r = write_entity(s, &s->tracks[i]->who);
                s->tracks[i]->written = true;
        }
        return r;
}

/* The part that frames being added would disturb. Gives how many ticks are to be written. */
static int write_locked(struct session *s, size_t *ret_n)
{
        pthread_mutex_lock(&s->lock);
        int r = stage(s);
        if (r == 0)
                r = write_facts(s);
        if (r == 0)
                r = write_entities(s);
        *ret_n = s->n;
        pthread_mutex_unlock(&s->lock);
        return r;
}

static void note_written(struct session *s, size_t n)
{
        pthread_mutex_lock(&s->lock);
        for (size_t i = 0; i < s->n_staged; i++) {
                const struct staged *row = &s->staged[i];
                s->tracks[row->entity - 1]->stored[row->series] = row->coded;
        }
        s->committed = n;
        pthread_mutex_unlock(&s->lock);
}

static void note_failed(struct session *s)
{
        db_rollback(&s->db);
        pthread_mutex_lock(&s->lock);
        for (size_t i = 0; i < s->n_tracks; i++) {
                if (s->tracks[i])
                        s->tracks[i]->written = false;
        }
        for (size_t i = 0; i < s->n_facts; i++)
                s->facts[i].written = false;
        pthread_mutex_unlock(&s->lock);
}

static int commit_with(struct session *s, const struct spool_list *waiting, struct err *err)
{
        size_t n = 0;
        int r = db_exec(&s->db, "BEGIN IMMEDIATE", err);
        if (r < 0)
                return r;
        r = write_locked(s, &n);
        if (r == 0)
                r = write_ticks(s, n);
        if (r == 0)
                r = write_staged(s);
        if (r == 0)
                r = db_take_marks(&s->db, s->spool, waiting);
        if (r < 0)
                r = db_error(&s->db, r, err);
        if (r == 0)
                r = db_exec(&s->db, "COMMIT", err);
        if (r < 0)
                note_failed(s);
        else
                note_written(s, n);
        return r;
}

int session_commit(struct session *s, struct err *err)
{
        struct spool_list waiting = {0};
        pthread_mutex_lock(&s->writing);
        spool_list(s->spool, &waiting);
        int r = commit_with(s, &waiting, err);
        /* Each mark's file name is unique in the file, so dying here loses and doubles nothing. */
        for (size_t i = 0; r == 0 && i < waiting.n; i++)
                unlinkat(s->spool, waiting.names[i], 0);
        free(waiting.names);
        pthread_mutex_unlock(&s->writing);
        return r;
}

/* ---- closing ---- */

#define CLOSE_TRIES 50
#define CLOSE_WAIT_NS (10 * NS_PER_MS)

/* Marks keep coming until the folder is gone; from then on they go into the file itself. */
static int remove_spool(struct session *s, struct err *err)
{
        char path[sizeof(s->path) + sizeof(SPOOL_SUFFIX)];
        snprintf(path, sizeof(path), "%s" SPOOL_SUFFIX, s->path);
        for (int i = 0; i < CLOSE_TRIES; i++) {
                int r = session_commit(s, err);
                if (r < 0 || rmdir(path) == 0)
                        return r;
                struct timespec wait = {.tv_nsec = CLOSE_WAIT_NS};
                nanosleep(&wait, NULL);
        }
        return 0;
}

int session_close(struct session *s, struct err *err)
{
        if (!s)
                return 0;
        int r = remove_spool(s, err);
        /* Fails while a reader has the file open: then it stays as it is, which is fine to read. */
        if (r == 0)
                db_exec(&s->db, "PRAGMA journal_mode=DELETE", NULL);
        free_session(s);
        return r;
}

int session_import(struct session *s, const struct mark *marks, size_t n, struct err *err)
{
        pthread_mutex_lock(&s->writing);
        int r = db_exec(&s->db, "BEGIN IMMEDIATE", err);
        for (size_t i = 0; r == 0 && i < n; i++) {
                r = db_put_mark(&s->db, &marks[i], NULL);
                if (r < 0)
                        db_error(&s->db, r, err);
        }
        if (r == 0)
                r = db_exec(&s->db, "COMMIT", err);
        if (r < 0)
                db_rollback(&s->db);
        pthread_mutex_unlock(&s->writing);
        return r;
}

int session_mark(struct session *s, const struct mark *m, struct err *err)
{
        return spool_put(s->path, m, err);
}
