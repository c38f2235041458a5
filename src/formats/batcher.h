/* Gathers rows into a batch. Used by every source that reads row by row. */
#pragma once

#include "base/attr.h"
#include "model/reading.h"

#define BATCH_ROWS_MAX 16384
#define BATCH_TEXT_CHUNK 16384

struct batch_text; /* a chunk of copied text */

struct batcher {
        struct schema schema;
        struct reading *readings;
        struct raw *cells; /* schema.n a row */
        size_t n, cap;     /* rows */
        size_t width;      /* cells a row when the arrays were made */
        int32_t highest;   /* no row's entity has a higher index */
        struct batch_text *text;
};

void batcher_init(struct batcher *b, enum dialect dialect);
void batcher_finish(struct batcher *b);
/* Forgets the rows and keeps the memory. */
void batcher_clear(struct batcher *b);

/* Drops all fields and rows: the source's layout changed. */
void batcher_new_schema(struct batcher *b);
/* Adds a field and returns its place, or -1 when there are too many. No rows may be there yet. */
int batcher_add_field(struct batcher *b, const char *name, size_t len);

/* The row that has this key, or NULL. */
struct raw *batcher_find(const struct batcher *b, const struct entity_key *key);
/* A new row, all cells STATE_NONE; the key's text is copied. NULL when it cannot be had. */
struct raw *batcher_add(struct batcher *b, const struct entity_key *key);
/* Takes the row back that was added last. */
void batcher_drop(struct batcher *b);
/* Copies text that lives as long as the batch. NULL when memory is short. */
const char *batcher_text(struct batcher *b, const char *s, size_t len);

/* Whether two keys name the same entity. */
bool batcher_same(const struct entity_key *a, const struct entity_key *b);

/* Hands out the rows. The times are the caller's to fill. */
void batcher_give(const struct batcher *b, struct batch *ret);

/* Turns one word of a source into a cell: a number, a known way of saying "missing", or text. */
void batcher_cell(struct batcher *b, const char *s, size_t len, struct raw *ret);
/* The state of a number that may be one of DCGM's blanks, which are large numbers: of 32 and 64
 * bits, and of floating point. A value that happens to be one of the twelve is missing for a tick.
 */
#define BATCHER_LEAST_BLANK 0x7ffffff0
enum state batcher_large_number_state(double v);

static inline enum state batcher_number_state(double v)
{
        return LIKELY(v < BATCHER_LEAST_BLANK) ? STATE_OK : batcher_large_number_state(v);
}
