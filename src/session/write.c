/*
 * The writing side. Frames go into memory, as scaled numbers in a block that is open; a commit
 * writes the open block again, so that a recorder which dies loses what came after its last commit
 * and nothing else. Full blocks wait in a queue for the next commit, so adding never waits for a
 * disk.
 */
#include "session/state.h"
#include "session/tapes.h"

#include "base/clock.h"

#include <stdio.h>
#include <time.h>

/* ---- adding ---- */

static int64_t to_us(int64_t ns)
{
        return (ns >= 0 ? ns + 500 : ns - 500) / 1000;
}

struct tick_row session_tick_row(struct session *s, int64_t wall_ns, int64_t mono_ns,
                                 int64_t window_ns)
{
        if (s->start_wall_ns == SESSION_START_FIRST)
                s->start_wall_ns = wall_ns;
        if (s->start_mono_ns == INT64_MIN)
                s->start_mono_ns = mono_ns - (wall_ns - s->start_wall_ns);
        int64_t wall = to_us(wall_ns - s->start_wall_ns);
        return (struct tick_row){.wall_us = wall,
                                 .skew_us = to_us(mono_ns - s->start_mono_ns) - wall,
                                 .window_ms = (window_ns + NS_PER_MS / 2) / NS_PER_MS};
}

bool session_left_out(struct session *s)
{
        pthread_mutex_lock(&s->lock);
        bool left_out = s->left_out;
        pthread_mutex_unlock(&s->lock);
        return left_out;
}

uint64_t session_dropped(struct session *s)
{
        pthread_mutex_lock(&s->lock);
        uint64_t dropped = s->open.dropped;
        pthread_mutex_unlock(&s->lock);
        return dropped;
}

/* ---- committing ---- */

int session_code_open(struct session *s)
{
        block_begin(&s->now[0], false, &s->open);
        block_begin(&s->now[1], true, &s->host.open);
        int r = s->now[0].to > s->now[0].from ? frames_part.code(s, &s->now[0]) : 0;
        return r == 0 && s->now[1].to > s->now[1].from ? host_part.code(s, &s->now[1]) : r;
}

/* The full blocks of a commit. More may be queued behind them meanwhile. */
struct reach {
        const struct coded_block *first;
        size_t n;
};

/* The part that what is being added would disturb. */
static int write_locked(struct session *s, struct reach *ret)
{
        struct reach reach = {0};
        pthread_mutex_lock(&s->lock);
        int r = session_code_open(s);
        if (r == 0)
                r = facts_write(s);
        if (r == 0)
                r = frames_write_entities(s);
        if (r == 0)
                r = host_write_notes(s);
        if (r == 0)
                r = processes_write(s);
        if (r == 0)
                r = stacks_write(s);
        reach.first = s->full.first;
        for (const struct coded_block *b = reach.first; b; b = b->next)
                reach.n++;
        pthread_mutex_unlock(&s->lock);
        *ret = reach;
        return r;
}

static int write_blocks(struct session *s, struct reach reach)
{
        const struct coded_block *b = reach.first;
        int r = 0;
        for (size_t i = 0; r == 0 && i < reach.n; i++) {
                r = block_write(&s->db, b);
                /* The last one's next is not ours to examine. */
                b = i + 1 < reach.n ? b->next : NULL;
        }
        for (size_t i = 0; r == 0 && i < ARRAY_LEN(s->now); i++)
                r = block_write(&s->db, &s->now[i]);
        return r;
}

static void note_written(struct session *s, struct reach reach)
{
        pthread_mutex_lock(&s->lock);
        block_queue_drop(&s->full, reach.n);
        block_note_written(&s->now[0], &s->open);
        block_note_written(&s->now[1], &s->host.open);
        host_note_written(s);
        processes_note_written(s);
        stacks_note_written(s);
        pthread_mutex_unlock(&s->lock);
}

static void note_failed(struct session *s)
{
        db_rollback(&s->db);
        pthread_mutex_lock(&s->lock);
        frames_drop_written(s);
        host_drop_written(s);
        processes_drop_written(s);
        stacks_drop_written(s);
        facts_drop_written(s);
        pthread_mutex_unlock(&s->lock);
}

/* What waits in the spool: marks, each a file, and tapes. */
struct waiting {
        struct spool_list marks;
        struct tapes tapes;
        bool last; /* nobody writes to tapes any more */
};

static int commit_with(struct session *s, struct waiting *waiting, struct err *err)
{
        struct reach reach = {0};
        int r = db_exec(&s->db, "BEGIN IMMEDIATE", err);
        if (r < 0)
                return r;
        r = write_locked(s, &reach);
        if (r == 0)
                r = write_blocks(s, reach);
        if (r == 0)
                r = db_take_marks(&s->db, s->spool, &waiting->marks);
        if (r == 0)
                r = tapes_take(&s->db, s->spool, waiting->last, &waiting->tapes);
        if (r < 0)
                r = db_error(&s->db, r, err);
        if (r == 0)
                r = db_exec(&s->db, "COMMIT", err);
        if (r < 0)
                note_failed(s);
        else
                note_written(s, reach);
        return r;
}

static int commit_waiting(struct session *s, bool last, bool *ret_more, struct err *err)
{
        struct waiting waiting = {.last = last};
        pthread_mutex_lock(&s->writing);
        if (s->spool >= 0)
                spool_list(s->spool, &waiting.marks);
        int r = commit_with(s, &waiting, err);
        /* Each mark's file name is unique in the file, and the file says how much of a tape it has:
         * dying here loses and doubles nothing. */
        if (r == 0) {
                spool_clean(s->spool, &waiting.marks);
                tapes_clean(s->spool, &waiting.tapes);
        }
        *ret_more = waiting.tapes.more;
        free(waiting.marks.names);
        tapes_finish(&waiting.tapes);
        pthread_mutex_unlock(&s->writing);
        return r;
}

int session_commit(struct session *s, struct err *err)
{
        bool more;
        return commit_waiting(s, false, &more, err);
}

/* All that is in tapes, whose programs are reported that the recording is over. */
static int commit_last(struct session *s, struct err *err)
{
        bool more = true;
        int r = 0;
        tapes_end(s->spool);
        while (r == 0 && more)
                r = commit_waiting(s, true, &more, err);
        return r;
}

/* ---- closing ---- */

#define CLOSE_TRIES 50
#define CLOSE_WAIT_NS (10 * NS_PER_MS)

/* Marks keep coming until the folder is gone; from then on they go into the file itself. */
static int remove_spool(struct session *s, struct err *err)
{
        for (int i = 0; i < CLOSE_TRIES; i++) {
                int r = commit_last(s, err);
                if (r < 0 || s->spool < 0 || spool_remove(s->path, s->spool))
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
        /* No log any more, and no journal on the way there, which would be left behind by a kill.
         * Fails while a reader has the file open: then it stays as it is, which is fine to read. */
        if (r == 0)
                db_exec(&s->db, "PRAGMA journal_mode=MEMORY", NULL);
        session_free(s);
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
        return s->spool >= 0 ? spool_put(s->spool, s->path, m, err) : session_import(s, m, 1, err);
}
