/* Blocks on their way into the file: coded, queued when they are full, written by a commit. */
#include "base/list.h"
#include "session/state.h"

#include <errno.h>

/* ---- coding ---- */

void block_begin(struct coded_block *to, bool host, const struct open_block *open)
{
        to->next = NULL;
        to->host = host;
        to->block = open->block;
        to->from = open->committed;
        to->to = open->n;
        memcpy(to->ticks, open->ticks, open->n * sizeof(open->ticks[0]));
        to->n_rows = 0;
        strbuf_clear(&to->bytes);
}

/*
 * A series that is still all one value needs no new row. A full block is written whole: a commit
 * under way may yet fail.
 */
static bool is_needed(const struct coded_block *to, const struct coded *now,
                      const struct coded *stored)
{
        if (now->empty)
                return false;
        return to->to == BLOCK_TICKS || stored->empty || now->bits > 0 || stored->bits > 0 ||
               now->has_base != stored->has_base || now->base != stored->base ||
               now->state != stored->state;
}

static struct coded_row *new_row(struct coded_block *b)
{
        if (!LIST_ROOM(b->rows, b->n_rows, b->cap_rows))
                return NULL;
        return &b->rows[b->n_rows++];
}

int block_add_row(struct coded_block *to, const cell *cells, struct coded_row row)
{
        if (!strbuf_reserve(&to->bytes, (size_t)BLOCK_TICKS * BLOCK_WIDTH_MAX))
                return -ENOMEM;
        row.coded = block_encode(cells, to->to, (uint8_t *)to->bytes.s + to->bytes.len);
        if (!is_needed(to, &row.coded, row.stored))
                return 0;
        struct coded_row *r = new_row(to);
        if (!r)
                return -ENOMEM;
        row.at = to->bytes.len;
        *r = row;
        to->bytes.len += row.coded.len;
        return 0;
}

/* ---- the queue of full ones ---- */

size_t block_size(const struct coded_block *b)
{
        return sizeof(*b) + b->cap_rows * sizeof(b->rows[0]) + b->bytes.cap;
}

void block_free(struct coded_block *b)
{
        free(b->rows);
        strbuf_finish(&b->bytes);
        free(b);
}

#define SPARE_MAX 4

static struct coded_block *take_spare(struct block_queue *q)
{
        struct coded_block *b = q->spare;
        if (!b)
                return calloc(1, sizeof(*b));
        q->spare = b->next;
        q->n_spare--;
        return b;
}

static void give_spare(struct block_queue *q, struct coded_block *b)
{
        if (q->n_spare == SPARE_MAX) {
                block_free(b);
                return;
        }
        b->next = q->spare;
        q->spare = b;
        q->n_spare++;
}

void block_enqueue(struct block_queue *q, struct coded_block *b)
{
        if (!q->end)
                q->end = &q->first;
        *q->end = b;
        q->end = &b->next;
        q->bytes += block_size(b);
}

void block_queue_drop(struct block_queue *q, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                struct coded_block *b = q->first;
                q->first = b->next;
                q->bytes -= block_size(b);
                give_spare(q, b);
        }
        if (!q->first)
                q->end = NULL;
}

void block_queue_free(struct block_queue *q)
{
        for (struct coded_block *b = q->first, *next; b; b = next) {
                next = b->next;
                block_free(b);
        }
        for (struct coded_block *b = q->spare, *next; b; b = next) {
                next = b->next;
                block_free(b);
        }
}

/* False when memory, or the bound on what may wait, did not allow it. */
static bool keep_full(struct session *s, const struct block_part *part,
                      const struct open_block *open)
{
        struct coded_block *b = s->full.bytes < WAITING_MAX ? take_spare(&s->full) : NULL;
        if (!b)
                return false;
        block_begin(b, part->host, open);
        if (part->code(s, b) < 0) {
                give_spare(&s->full, b);
                return false;
        }
        block_enqueue(&s->full, b);
        return true;
}

int session_next_block(struct session *s, const struct block_part *part, struct open_block *open)
{
        if (open->n < BLOCK_TICKS)
                return s->full.first != NULL;
        if (!keep_full(s, part, open))
                open->dropped += open->n - open->committed;
        open->n = open->committed = 0;
        open->block++;
        part->clear(s);
        return s->full.first != NULL;
}

/* ---- writing ---- */

static int write_tick(struct db *db, const struct coded_block *b, size_t place)
{
        const struct tick_row *t = &b->ticks[place];
        struct statement q =
            b->host ? db_prepare(db, DB_PUT_HOST_TICK,
                                 "INSERT OR REPLACE INTO host_tick VALUES(?,?,?,?,?)")
                    : db_prepare(db, DB_PUT_TICK, "INSERT OR REPLACE INTO tick VALUES(?,?,?,?,?)");
        db_bind_int(&q, (int64_t)(b->block * BLOCK_TICKS + place));
        db_bind_int(&q, t->wall_us);
        /* The two clocks drift by microseconds; only a step is worth the bytes. */
        db_bind_int_or_null(&q, t->skew_us, llabs(t->skew_us) >= 1000);
        db_bind_int_or_null(&q, t->window_ms, t->window_ms != 0);
        db_bind_int(&q, b->host ? t->cores : t->stale);
        return db_run(&q);
}

static int write_row(struct db *db, const struct coded_block *b, const struct coded_row *row)
{
        const struct coded *c = &row->coded;
        struct statement q =
            b->host ? db_prepare(db, DB_PUT_HOST_BLOCK,
                                 "INSERT OR REPLACE INTO host_block VALUES(?,?,?,?,?,?,?)")
                    : db_prepare(db, DB_PUT_BLOCK,
                                 "INSERT OR REPLACE INTO block VALUES(?,?,?,?,?,?,?)");
        db_bind_int(&q, (int64_t)b->block);
        db_bind_int(&q, row->entity);
        db_bind_int(&q, row->series);
        db_bind_int(&q, block_form(c));
        db_bind_int_or_null(&q, c->base, c->has_base);
        db_bind_int_or_null(&q, c->state, !c->has_base);
        db_bind_blob(&q, c->len > 0 ? b->bytes.s + row->at : NULL, c->len);
        return db_run(&q);
}

int block_write(struct db *db, const struct coded_block *b)
{
        int r = 0;
        for (size_t i = b->from; r == 0 && i < b->to; i++)
                r = write_tick(db, b, i);
        for (size_t i = 0; r == 0 && i < b->n_rows; i++)
                r = write_row(db, b, &b->rows[i]);
        return r;
}

void block_note_written(const struct coded_block *b, struct open_block *open)
{
        if (open->block != b->block)
                return;
        for (size_t i = 0; i < b->n_rows; i++)
                *b->rows[i].stored = b->rows[i].coded;
        open->committed = b->to;
}
