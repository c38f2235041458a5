/* Time in nanoseconds, and the beat that ticks keep. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define NS_PER_S 1000000000LL
#define NS_PER_MS 1000000LL

/* CLOCK_MONOTONIC. */
int64_t clock_mono_ns(void);
/* Nanoseconds since the Unix epoch. */
int64_t clock_wall_ns(void);

/*
 * Times that files report are kept within this, so that sums of a time and a length, and
 * differences of two times, are always in range: 126 years after 1970, and as many before.
 */
#define CLOCK_FILE_MAX_NS 4000000000000000000
static inline int64_t clock_bounded(int64_t ns)
{
        return ns > CLOCK_FILE_MAX_NS    ? CLOCK_FILE_MAX_NS
               : ns < -CLOCK_FILE_MAX_NS ? -CLOCK_FILE_MAX_NS
                                         : ns;
}

/*
 * Ticks passed over by one that comes behind_ns after its time. It is late, everywhere, when more
 * than half an interval remains beside these. interval_ns is above 0.
 */
uint64_t clock_skipped(int64_t behind_ns, int64_t interval_ns, bool *ret_late);

/* Of beats due_ns and every interval after: the last that has come, or due_ns itself while none
 * has. What was passed over is left out. */
int64_t clock_last_beat(int64_t due_ns, int64_t interval_ns, int64_t now_ns);

/* Saturates at 292 years either way. */
int64_t clock_from_seconds(double seconds);
double clock_to_seconds(int64_t ns);

/* Time cut into equal lengths. Moments near each other are found without a division. */
struct clock_slots {
        int64_t length_ns;
        int64_t last, last_ns; /* the one found last, and where it begins */
};

static inline struct clock_slots clock_slots(int64_t length_ns)
{
        return (struct clock_slots){.length_ns = length_ns, .last_ns = INT64_MAX};
}

/* The moment ÷ the length, towards 0. */
static inline int64_t clock_slot(struct clock_slots *s, int64_t ns)
{
        if (ns < s->last_ns || ns - s->last_ns >= s->length_ns) {
                s->last = ns / s->length_ns;
                s->last_ns = ns >= 0 ? s->last * s->length_ns : INT64_MAX;
        }
        return s->last;
}
