/* A number and whether it is present. Unknown is a state, never 0, -1 or NaN. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum state {
        STATE_NONE,        /* the source has no such field */
        STATE_OK,          /* v holds the value */
        STATE_STALE,       /* v holds an old value; age_ms says how old */
        STATE_BLANK,       /* the source has the field and gave no value this time */
        STATE_UNSUPPORTED, /* the device or driver does not have it */
        STATE_DENIED,      /* the user may not read it */
        STATE_ERROR,       /* reading failed, or what was read makes no sense */
        STATE_COUNT
};

struct value {
        double v;
        uint32_t age_ms; /* 0 for a value of this tick */
        uint8_t state;   /* enum state */
};

static inline struct value value_ok(double v)
{
        return (struct value){.v = v, .state = STATE_OK};
}

static inline struct value value_missing(enum state state)
{
        return (struct value){.state = (uint8_t)state};
}

/* Whether there is a number, fresh or stale. */
static inline bool value_is_set(struct value v)
{
        return v.state == STATE_OK || v.state == STATE_STALE;
}

/* The number, or another where there is none. */
static inline double value_or(struct value v, double other)
{
        return value_is_set(v) ? v.v : other;
}

/* The same with NaN: for writers that leave out what is not a number. */
static inline double value_or_nan(struct value v)
{
        return value_or(v, __builtin_nan(""));
}

/* One word for a state, as JSON and the focus view write it. */
const char *state_name(enum state state);

/*
 * What a counter grew by a second, between two readings that lie so many seconds apart. One rule
 * for all counters: one that fell was reset or lies, so the rate is an error for that tick, never 0
 * and never negative; without a reading before, or without news since, it is blank.
 */
struct value value_rate(struct value now, struct value before, double seconds);
/* The same for counters that are whole numbers, exact however far they have counted. */
struct value counter_rate(uint64_t now, uint64_t before, double seconds);

/*
 * What one counter of many adds to their sum. How much one grew that fell is not known; it adds
 * nothing, as a sum over a machine's processes that is unknown whenever one of them restarts would
 * never be known.
 */
static inline uint64_t counter_growth(uint64_t now, uint64_t before)
{
        return now > before ? now - before : 0;
}
