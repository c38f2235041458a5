/* Frames on their way into a session: scaled numbers in a block that is open. */
#include "session/state.h"

#include "base/list.h"

#include <errno.h>

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
        if (!LIST_EXTEND(s->tracks, s->n_tracks, e->slot + 1))
                return NULL;
        struct track *t = s->tracks[e->slot];
        if (!t) {
                t = s->tracks[e->slot] = malloc(sizeof(*t));
                if (!t)
                        return NULL;
                t->written = false;
                t->staged = 0;
                clear_track(t);
        }
        /* Sources learn a model or a driver version after the first tick. */
        if (!t->written || memcmp(t->who.text, e->text, sizeof(e->text)) != 0) {
                t->who = *e;
                t->written = false;
        }
        return t;
}

static void frames_add_row(struct track *t, size_t place, const struct row *row,
                           const struct series_scale *scales)
{
        cell *to = t->stage[place % STAGE_TICKS];
        for (size_t i = 0; i < METRIC_COUNT; i++)
                to[i] = cell_from(row->sample.m[i], scales[i].step, scales[i].scale);
        to[SERIES_WORKLOAD] = (cell)row->verdict.workload;
        to[SERIES_RULE] = row->verdict.rule;
        to[SERIES_HEALTH] = (cell)row->health.state;
        to[SERIES_FINDINGS] = row->health.findings;
        t->staged |= (uint8_t)(1u << place % STAGE_TICKS);
}

static void sort_track(struct track *t, size_t from)
{
        for (size_t i = 0; t->staged && i < SERIES_COUNT; i++) {
                for (size_t k = 0; k < STAGE_TICKS; k++) {
                        if (t->staged & (1u << k))
                                t->cells[i][from + k] = t->stage[k][i];
                }
        }
        t->staged = 0;
}

/* Sorts what waits by series; n ticks are in the block. */
static void sort_stage(struct session *s, size_t n)
{
        size_t from = n > 0 ? (n - 1) / STAGE_TICKS * STAGE_TICKS : 0;
        for (size_t i = 0; i < s->n_tracks; i++) {
                if (s->tracks[i])
                        sort_track(s->tracks[i], from);
        }
}

static void clear_block(struct session *s)
{
        for (size_t i = 0; i < s->n_tracks; i++) {
                if (s->tracks[i])
                        clear_track(s->tracks[i]);
        }
}

int session_add(struct session *s, const struct frame *f, struct err *err)
{
        int failed = 0;
        pthread_mutex_lock(&s->lock);
        int waits = session_next_block(s, &frames_part, &s->open);
        for (size_t i = 0; i < f->n; i++) {
                if (f->rows[i].sample.who->slot >= s->tracks_max) {
                        s->left_out = true;
                        continue;
                }
                struct track *t = track_for(s, f->rows[i].sample.who);
                if (t)
                        frames_add_row(t, s->open.n, &f->rows[i], s->scales);
                else
                        failed = -ENOMEM;
        }
        processes_add(s, f, s->open.block * BLOCK_TICKS + s->open.n);
        struct tick_row row = session_tick_row(s, f->wall_ns, f->mono_ns, f->window_ns);
        row.stale = f->stale;
        s->open.ticks[s->open.n++] = row;
        if (s->open.n % STAGE_TICKS == 0)
                sort_stage(s, s->open.n);
        pthread_mutex_unlock(&s->lock);
        return failed < 0 ? err_set(err, failed, "out of memory") : waits;
}

/* ---- committing ---- */

static int code_track(struct coded_block *to, struct track *t)
{
        int r = 0;
        for (size_t i = 0; r == 0 && i < SERIES_COUNT; i++)
                r = block_add_row(to, t->cells[i],
                                  (struct coded_row){.entity = t->who.slot + 1,
                                                     .series = (uint16_t)i,
                                                     .stored = &t->stored[i]});
        return r;
}

static int encode_block(struct session *s, struct coded_block *to)
{
        int r = 0;
        sort_stage(s, s->open.n);
        for (size_t i = 0; r == 0 && i < s->n_tracks; i++)
                r = s->tracks[i] ? code_track(to, s->tracks[i]) : 0;
        return r;
}

const struct block_part frames_part = {.host = false, .code = encode_block, .clear = clear_block};

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

int frames_write_entities(struct session *s)
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

void frames_drop_written(struct session *s)
{
        for (size_t i = 0; i < s->n_tracks; i++) {
                if (s->tracks[i])
                        s->tracks[i]->written = false;
        }
}

void frames_free(struct session *s)
{
        for (size_t i = 0; i < s->n_tracks; i++)
                free(s->tracks[i]);
        free(s->tracks);
}
