/* The host of a recorded run, at any time of it. */
#pragma once

#include "model/host.h"

struct host_play;

/* NULL when the file is not a session. */
struct host_play *host_play_open(const char *path);
/* What the host did at that time of the run, forward or back; valid until the next call. NULL when
 * nobody recorded it. */
const struct host *host_play_at(struct host_play *h, int64_t wall_ns);
/* The next sample on the way to that time, oldest first; from the beginning when it lies behind.
 * Valid until the next call. NULL when there are no more. */
const struct host *host_play_next(struct host_play *h, int64_t wall_ns);
void host_play_close(struct host_play *h);
