/* The host on its way into a session. It has ticks of its own, since it is read on its own beat. */
#include "session/state.h"

#include <errno.h>
#include <stdio.h>

static void clear_track(struct host_track *t)
{
        t->stored = (struct coded){.empty = true};
        for (size_t i = 0; i < BLOCK_TICKS; i++)
                t->cells[i] = CELL_MISSING(STATE_NONE);
}

/* A value that no tick ever had needs no track. */
static int add_value(struct host_part *h, size_t place, size_t series, size_t item, struct value v)
{
        struct host_track *t = h->tracks[place];
        if (!t && v.state == STATE_NONE)
                return 0;
        if (!t) {
                t = h->tracks[place] = malloc(sizeof(*t));
                if (!t)
                        return -ENOMEM;
                t->series = (uint16_t)series;
                t->item = (uint16_t)item;
                clear_track(t);
        }
        struct series_scale s = series_scale(host_series_info(series));
        t->cells[h->open.n] = cell_from(v, s.step, s.scale);
        return 0;
}

/* The number that the session gives a GPU of that label; HOST_GPUS_MAX when there are too many. */
static size_t gpu_number(struct host_part *h, const char *label)
{
        for (size_t i = 0; i < h->n_gpus; i++) {
                if (strcmp(h->gpus[i], label) == 0)
                        return i;
        }
        if (h->n_gpus == HOST_GPUS_MAX)
                return HOST_GPUS_MAX;
        snprintf(h->gpus[h->n_gpus], sizeof(h->gpus[0]), "%s", label);
        h->gpus_written = false;
        return h->n_gpus++;
}

static int add_gpus(struct host_part *h, const struct host *host, size_t series, size_t first)
{
        size_t n = host_series_items(series);
        int r = 0;
        for (size_t gpu = 0; gpu < host->n_gpus; gpu++) {
                size_t number = gpu_number(h, host->gpus[gpu]);
                for (size_t l = 0; number < HOST_GPUS_MAX && r == 0 && l < n; l += HOST_GPUS_MAX)
                        r = add_value(h, first + l + number, series, l + number,
                                      *host_value((struct host *)host, series, l + gpu));
        }
        return r;
}

static int add_items(struct host_part *h, const struct host *host, size_t series, size_t first)
{
        enum metric_scope scope = host_series_scope(series);
        size_t n = host_series_items(series);
        int r = 0;
        if (host_scope_has_gpus(scope))
                return add_gpus(h, host, series, first);
        if (scope == METRIC_SCOPE_CORE)
                n = MIN(host->n_cores, n);
        if (scope == METRIC_SCOPE_SERVING)
                n = MIN(host->n_servings, n);
        for (size_t i = 0; r == 0 && i < n; i++) {
                if (scope != METRIC_SCOPE_LEVEL || host->levels[i].asked)
                        r = add_value(h, first + i, series, i,
                                      *host_value((struct host *)host, series, i));
        }
        return r;
}

/* Notes that do not fit wait in the level itself: the next tick tries again. */
static void add_note(struct host_part *h, const struct host *host, enum level level)
{
        const struct level_state *l = &host->levels[level];
        struct level_note *now = &h->now[level];
        const char *why = l->present ? "" : l->why[0] ? l->why : "not here";
        if (!l->asked || h->n_notes == LEVEL_NOTES_MAX ||
            (h->known[level] && strcmp(now->name, l->name) == 0 && strcmp(now->why, why) == 0))
                return;
        *now = (struct level_note){.tick = h->open.block * BLOCK_TICKS + h->open.n,
                                   .level = (uint8_t)level};
        snprintf(now->name, sizeof(now->name), "%s", l->name);
        snprintf(now->why, sizeof(now->why), "%s", why);
        h->known[level] = true;
        h->notes[h->n_notes++] = *now;
}

static void clear_block(struct session *s)
{
        struct host_part *h = &s->host;
        for (size_t i = 0; h->tracks && i < HOST_PLACES_MAX; i++) {
                if (h->tracks[i])
                        clear_track(h->tracks[i]);
        }
}

static int add_host(struct session *s, const struct host *host)
{
        struct host_part *h = &s->host;
        int r = 0;
        if (!h->tracks)
                h->tracks = calloc(HOST_PLACES_MAX, sizeof(*h->tracks));
        if (!h->tracks)
                return -ENOMEM;
        for (size_t i = 0, first = 0; i < HOST_SERIES_COUNT; first += host_series_items(i++)) {
                if (r == 0 && host_series_kept(i))
                        r = add_items(h, host, i, first);
        }
        for (enum level l = 0; l < LEVEL_COUNT; l++)
                add_note(h, host, l);
        serving_notes_add(&h->servings, host, h->open.block * BLOCK_TICKS + h->open.n);
        struct tick_row row = session_tick_row(s, host->wall_ns, host->mono_ns, host->interval_ns);
        row.cores = (uint16_t)MIN(host->n_cores, (size_t)HOST_CORES_MAX);
        h->open.ticks[h->open.n++] = row;
        return r;
}

int session_add_host(struct session *s, const struct host *host, struct err *err)
{
        pthread_mutex_lock(&s->lock);
        int waits = session_next_block(s, &host_part, &s->host.open);
        int failed = add_host(s, host);
        pthread_mutex_unlock(&s->lock);
        return failed < 0 ? err_set(err, failed, "out of memory") : waits;
}

/* ---- committing ---- */

static int encode_block(struct session *s, struct coded_block *to)
{
        int r = 0;
        for (size_t i = 0; r == 0 && s->host.tracks && i < HOST_PLACES_MAX; i++) {
                struct host_track *t = s->host.tracks[i];
                if (t)
                        r = block_add_row(to, t->cells,
                                          (struct coded_row){.entity = t->item,
                                                             .series = t->series,
                                                             .stored = &t->stored});
        }
        return r;
}

const struct block_part host_part = {.host = true, .code = encode_block, .clear = clear_block};

static int write_gpus(struct session *s)
{
        struct host_part *h = &s->host;
        int r = 0;
        for (size_t i = 0; r == 0 && !h->gpus_written && i < h->n_gpus; i++) {
                struct statement q = db_prepare(&s->db, DB_PUT_HOST_GPU,
                                                "INSERT OR REPLACE INTO host_gpu VALUES(?,?)");
                db_bind_int(&q, (int64_t)i);
                db_bind_text(&q, h->gpus[i]);
                r = db_run(&q);
        }
        h->gpus_written = true;
        return r;
}

int host_write_notes(struct session *s)
{
        struct host_part *h = &s->host;
        int r = write_gpus(s);
        for (size_t i = 0; r == 0 && i < h->n_notes; i++) {
                const struct level_note *n = &h->notes[i];
                struct statement q = db_prepare(
                    &s->db, DB_PUT_LEVEL, "INSERT OR REPLACE INTO level_note VALUES(?,?,?,?)");
                db_bind_int(&q, (int64_t)n->tick);
                db_bind_int(&q, n->level);
                db_bind_text(&q, n->name[0] ? n->name : NULL);
                db_bind_text(&q, n->why[0] ? n->why : NULL);
                r = db_run(&q);
        }
        h->noted = h->n_notes;
        return r == 0 ? serving_notes_write(s, &h->servings) : r;
}

void host_note_written(struct session *s)
{
        struct host_part *h = &s->host;
        memmove(h->notes, h->notes + h->noted, (h->n_notes - h->noted) * sizeof(*h->notes));
        h->n_notes -= h->noted;
        h->noted = 0;
        serving_notes_written(&h->servings);
}

void host_drop_written(struct session *s)
{
        s->host.gpus_written = false;
        s->host.noted = s->host.servings.noted = 0;
}

void host_free(struct session *s)
{
        for (size_t i = 0; s->host.tracks && i < HOST_PLACES_MAX; i++)
                free(s->host.tracks[i]);
        free(s->host.tracks);
}
