/*
 * Model servers beside the host's beat: asked once a second on a thread of its own, which nobody
 * waits for. Reading them more often would report no more and cost them time.
 */
#pragma once

#include "engine/serving_view.h"

struct serving_beat;

/* 0, or a negative code with err. */
int serving_beat_start(const struct serving_config *config, struct serving_beat **ret,
                       struct err *err);
/* Copies the newest list into the host, and takes who holds which GPU. Never waits for a server. */
void serving_beat_join(struct serving_beat *b, const struct gpu_use *use, struct host *host);
/* Waits until all were asked twice, so that rates are present; at most so long. */
void serving_beat_settle(struct serving_beat *b, int64_t patience_ns);
/* Stops and returns at once. NULL is allowed. */
void serving_beat_close(struct serving_beat *b);
