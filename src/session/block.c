#include "session/block.h"

#include <math.h>

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
        if (cell_there(c))
                return value_ok((double)c * step / scale);
        enum state state = cell_state(c);
        bool missing = state < STATE_COUNT && state != STATE_OK && state != STATE_STALE;
        return value_missing(missing ? state : STATE_BLANK);
}

/* The largest code of a width. */
static uint64_t top_of(unsigned width)
{
        return ((uint64_t)1 << (8 * width)) - 1;
}

struct range {
        int64_t lo, hi;
        size_t there;
        cell missing; /* the first that is missing */
        bool mixed;   /* missing for different reasons */
};

static struct range range_of(const cell *cells, size_t n)
{
        struct range r = {.lo = INT64_MAX, .hi = INT64_MIN};
        bool any_missing = false;
        for (size_t i = 0; i < n; i++) {
                if (cell_there(cells[i])) {
                        r.lo = cells[i] < r.lo ? cells[i] : r.lo;
                        r.hi = cells[i] > r.hi ? cells[i] : r.hi;
                        r.there++;
                } else {
                        r.mixed |= any_missing && cells[i] != r.missing;
                        r.missing = any_missing ? r.missing : cells[i];
                        any_missing = true;
                }
        }
        return r;
}

static unsigned width_for(uint64_t span)
{
        unsigned width = 1;
        while (width < BLOCK_WIDTH_MAX && span > top_of(width) - BLOCK_STATES)
                width++;
        return width;
}

struct coded block_encode(const cell *cells, size_t n, uint8_t *blob)
{
        struct range r = range_of(cells, n);
        if (r.there == 0 && !r.mixed) {
                enum state state = n > 0 ? cell_state(r.missing) : STATE_NONE;
                return (struct coded){.empty = state == STATE_NONE, .state = (uint8_t)state};
        }
        if (r.there == n && r.lo == r.hi)
                return (struct coded){.has_base = true, .base = r.lo};
        int64_t base = r.there > 0 ? r.lo : 0;
        unsigned width = width_for(r.there > 0 ? (uint64_t)(r.hi - r.lo) : 0);
        uint8_t *to = blob;
        for (size_t i = 0; i < n; i++) {
                uint64_t code = cell_there(cells[i]) ? (uint64_t)(cells[i] - base)
                                                     : top_of(width) - cell_state(cells[i]);
                for (unsigned k = width; k-- > 0;)
                        *to++ = (uint8_t)(code >> (8 * k));
        }
        return (struct coded){
            .has_base = true, .base = base, .width = (uint8_t)width, .len = n * width};
}

/* Written out for the widths that nearly all have. */
static inline uint64_t code_at(const uint8_t *at, unsigned width)
{
        if (width == 1)
                return at[0];
        if (width == 2)
                return (uint64_t)at[0] << 8 | at[1];
        uint64_t code = 0;
        for (unsigned k = 0; k < width; k++)
                code = code << 8 | at[k];
        return code;
}

cell block_decode(const struct coded *c, const uint8_t *blob, size_t place)
{
        if (!c->has_base)
                return CELL_MISSING(c->state);
        if (c->width == 0)
                return c->base;
        if ((place + 1) * c->width > c->len)
                return CELL_MISSING(STATE_NONE);
        uint64_t code = code_at(blob + place * c->width, c->width);
        uint64_t top = top_of(c->width);
        return code > top - BLOCK_STATES ? CELL_MISSING(top - code) : c->base + (int64_t)code;
}
