#include "session/block.h"

#include "base/attr.h"

#include <endian.h>
#include <math.h>
#include <string.h>

cell cell_from(struct value v, double step, double scale)
{
        /* An old value stands where it was new. */
        if (v.state != STATE_OK)
                return CELL_MISSING(v.state);
        double scaled = v.v * scale / step;
        if (!(fabs(scaled) < (double)BLOCK_LIMIT))
                return isnan(scaled) ? CELL_MISSING(STATE_ERROR)
                                     : (scaled < 0 ? -BLOCK_LIMIT : BLOCK_LIMIT);
        return llrint(scaled);
}

struct value cell_value(cell c, double step, double scale)
{
        if (cell_is_set(c))
                return value_ok((double)c * step / scale);
        enum state state = cell_state(c);
        bool missing = state < STATE_COUNT && state != STATE_OK && state != STATE_STALE;
        return value_missing(missing ? state : STATE_BLANK);
}

/* The largest code of that many bits. */
static uint64_t top_of(unsigned bits)
{
        return ((uint64_t)1 << bits) - 1;
}

static unsigned bits_for(uint64_t most)
{
        return most > 0 ? 64 - (unsigned)__builtin_clzll(most) : 0;
}

struct range {
        int64_t lo, hi;
        size_t present;
        cell missing; /* the first that is missing */
        bool mixed;   /* missing for different reasons */
};

static struct range range_of(const cell *cells, size_t n)
{
        struct range r = {.lo = INT64_MAX, .hi = INT64_MIN};
        bool any_missing = false;
        for (size_t i = 0; i < n; i++) {
                if (cell_is_set(cells[i])) {
                        r.lo = cells[i] < r.lo ? cells[i] : r.lo;
                        r.hi = cells[i] > r.hi ? cells[i] : r.hi;
                        r.present++;
                } else {
                        r.mixed |= any_missing && cells[i] != r.missing;
                        r.missing = any_missing ? r.missing : cells[i];
                        any_missing = true;
                }
        }
        return r;
}

/* ---- bits, the most significant first ---- */

struct bit_writer {
        uint8_t *to;
        uint64_t held; /* the lowest n bits are still to be written */
        unsigned n;    /* fewer than 8 between calls */
};

static void put_bits(struct bit_writer *w, uint64_t v, unsigned bits)
{
        w->held = w->held << bits | v;
        w->n += bits;
        while (w->n >= 8) {
                w->n -= 8;
                *w->to++ = (uint8_t)(w->held >> w->n);
        }
}

static void fill_byte(struct bit_writer *w)
{
        if (w->n > 0)
                put_bits(w, 0, 8 - w->n);
}

static size_t bytes_for(size_t bits)
{
        return (bits + 7) / 8;
}

/* At most 56 bits; the caller has checked that they are present. */
static inline uint64_t bits_at(const uint8_t *blob, size_t at, unsigned bits)
{
        uint64_t v;
        memcpy(&v, blob + at / 8, sizeof(v)); /* BLOCK_PAD is for this */
        return be64toh(v) << (at & 7) >> (64 - bits);
}

/* ---- coding ---- */

/* The cells of a block that differ, in the order in which they came. */
struct distinct {
        uint8_t slot[BLOCK_TICKS * 2]; /* a hash table of their numbers from 1; 0 is free */
        uint8_t number[BLOCK_TICKS];   /* of each tick's cell, from 0 */
        cell cells[BLOCK_TICKS];
        size_t n;
};

static void find_distinct(const cell *cells, size_t n, struct distinct *ret)
{
        memset(ret->slot, 0, sizeof(ret->slot));
        ret->n = 0;
        for (size_t i = 0; i < n; i++) {
                if (i > 0 && cells[i] == cells[i - 1]) {
                        ret->number[i] = ret->number[i - 1];
                        continue;
                }
                size_t at = (uint64_t)cells[i] * 0x9e3779b97f4a7c15u >> 56;
                while (ret->slot[at] && ret->cells[ret->slot[at] - 1] != cells[i])
                        at = (at + 1) % sizeof(ret->slot);
                if (!ret->slot[at]) {
                        ret->cells[ret->n++] = cells[i];
                        ret->slot[at] = (uint8_t)ret->n;
                }
                ret->number[i] = ret->slot[at] - 1;
        }
}

static void put_cells(struct bit_writer *w, const struct coded *c, const cell *cells, size_t n)
{
        for (size_t i = 0; i < n; i++)
                put_bits(w,
                         cell_is_set(cells[i]) ? (uint64_t)(cells[i] - c->base)
                                               : top_of(c->bits) - cell_state(cells[i]),
                         c->bits);
        fill_byte(w);
}

/* Each value once and where it comes, when that is shorter. */
static void put_shorter(struct coded *c, const cell *cells, size_t n, uint8_t *blob)
{
        struct distinct d;
        struct bit_writer w = {.to = blob};
        find_distinct(cells, n, &d);
        unsigned index_bits = bits_for(d.n - 1);
        size_t plain = bytes_for(n * c->bits);
        size_t placed = bytes_for(d.n * c->bits) + bytes_for(n * index_bits);
        c->len = plain;
        if (placed >= plain) {
                put_cells(&w, c, cells, n);
                return;
        }
        c->len = placed;
        c->index_bits = (uint8_t)index_bits;
        c->distinct = (uint8_t)d.n;
        c->index_at = (uint16_t)(8 * bytes_for(d.n * c->bits));
        put_cells(&w, c, d.cells, d.n);
        for (size_t i = 0; i < n; i++)
                put_bits(&w, d.number[i], index_bits);
        fill_byte(&w);
}

struct coded block_encode(const cell *cells, size_t n, uint8_t *blob)
{
        struct range r = range_of(cells, n);
        if (r.present == 0 && !r.mixed) {
                enum state state = n > 0 ? cell_state(r.missing) : STATE_NONE;
                return (struct coded){.empty = state == STATE_NONE, .state = (uint8_t)state};
        }
        if (r.present == n && r.lo == r.hi)
                return (struct coded){.has_base = true, .base = r.lo};
        struct coded c = {.has_base = true, .has_states = r.present < n};
        c.base = r.present > 0 ? r.lo : 0;
        uint64_t span = r.present > 0 ? (uint64_t)(r.hi - r.lo) : 0;
        c.bits = (uint8_t)bits_for(span + (c.has_states ? BLOCK_STATES : 0));
        if (c.bits > BLOCK_BITS_MAX) {
                c.bits = 8 * BLOCK_WIDTH_MAX;
                c.has_states = true;
        }
        put_shorter(&c, cells, n, blob);
        return c;
}

/* ---- the column width ---- */

#define FORM_BITS 1
#define FORM_INDEX 7
#define FORM_DISTINCT 10

int64_t block_form(const struct coded *c)
{
        bool whole = c->bits == 0 || c->bits > BLOCK_BITS_MAX;
        if (whole && c->index_bits == 0)
                return c->bits / 8;
        return 8 + (int64_t)c->has_states + ((int64_t)c->bits << FORM_BITS) +
               ((int64_t)c->index_bits << FORM_INDEX) + ((int64_t)c->distinct << FORM_DISTINCT);
}

bool block_take_form(int64_t form, struct coded *ret)
{
        if (form < 0 || form >> FORM_DISTINCT > BLOCK_TICKS)
                return false;
        if (form <= BLOCK_WIDTH_MAX) {
                ret->bits = (uint8_t)(8 * form);
                ret->has_states = true;
                ret->index_bits = ret->distinct = 0;
                ret->index_at = 0;
                return true;
        }
        unsigned low = (unsigned)form & ((1u << FORM_INDEX) - 1);
        unsigned index_bits = (unsigned)(form >> FORM_INDEX) & 7;
        unsigned distinct = (unsigned)(form >> FORM_DISTINCT);
        unsigned bits = low < 8 ? 0 : (low - 8) >> FORM_BITS;
        bool can_be = bits > 0 && (bits <= BLOCK_BITS_MAX || bits == 8 * BLOCK_WIDTH_MAX);
        bool has_room = !(low & 1) || top_of(bits) >= BLOCK_STATES;
        if (!can_be || !has_room || (index_bits > 0) != (distinct > 0))
                return false;
        ret->bits = (uint8_t)bits;
        ret->has_states = low & 1;
        ret->index_bits = (uint8_t)index_bits;
        ret->distinct = (uint8_t)distinct;
        ret->index_at = (uint16_t)(8 * bytes_for((size_t)distinct * bits));
        return true;
}

/* ---- decoding ---- */

/* Which of the distinct offsets a tick has; distinct when there is none. */
static inline size_t place_of(const struct coded *c, const uint8_t *blob, size_t tick)
{
        size_t from = c->index_at + tick * c->index_bits;
        if (from + c->index_bits > 8 * c->len)
                return c->distinct;
        return bits_at(blob, from, c->index_bits);
}

cell block_decode(const struct coded *c, const uint8_t *blob, size_t place)
{
        if (!c->has_base)
                return CELL_MISSING(c->state);
        if (c->bits == 0)
                return c->base;
        if (c->index_bits > 0) {
                place = place_of(c, blob, place);
                if (place >= c->distinct)
                        return CELL_MISSING(STATE_NONE);
        }
        if ((place + 1) * c->bits > 8 * c->len)
                return CELL_MISSING(STATE_NONE);
        uint64_t code = bits_at(blob, place * c->bits, c->bits);
        uint64_t top = top_of(c->bits);
        return c->has_states && code > top - BLOCK_STATES ? CELL_MISSING(top - code)
                                                          : c->base + (int64_t)code;
}
