/* Time in nanoseconds, and the beat that ticks keep. */
#pragma once

#include <stdint.h>

#define NS_PER_S 1000000000LL
#define NS_PER_MS 1000000LL

/* CLOCK_MONOTONIC. */
int64_t clock_mono_ns(void);
/* Nanoseconds since the Unix epoch. */
int64_t clock_wall_ns(void);

/* Saturates at 292 years either way. */
int64_t clock_from_seconds(double seconds);
double clock_to_seconds(int64_t ns);
