/* How far something long has come, on a terminal only. */
#pragma once

#include <stdint.h>

/* All zeros to begin with. */
struct progress {
        uint64_t ticks;
        int64_t reported_ns; /* below zero once something was shown, so it is wiped at the end */
};

/* One tick more, of a struct progress. Tells twice a second. */
void progress_tick(void *progress);
/* Wipes what was reported. */
void progress_end(struct progress *p);
