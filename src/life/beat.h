/*
 * The beat of a sampler: ticks at start, start + interval, start + 2 × interval, … A tick that
 * takes too long makes later ones be skipped; it never makes them bunch, and it never moves the
 * others. Arithmetic only: the clock is the caller's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct beat {
        int64_t start_ns; /* CLOCK_MONOTONIC of tick 0 */
        int64_t interval_ns;
        uint64_t next;   /* the number of the tick to come */
        uint64_t asked;  /* ticks whose time has come */
        uint64_t taken;  /* ticks that were begun */
        uint64_t late;   /* of those taken, the late ones as clock_skipped says */
        uint64_t missed; /* ticks that were skipped: asked = taken + missed */
};

/* Tick 0 is due at now_ns. interval_ns is above 0. */
void beat_start(struct beat *b, int64_t now_ns, int64_t interval_ns);
/* How long until the next tick is due; 0 when it is. */
int64_t beat_remaining(const struct beat *b, int64_t now_ns);
/* Begins the tick that is due at now_ns, counts it and those passed over, and returns its number.
 */
uint64_t beat_take(struct beat *b, int64_t now_ns);
