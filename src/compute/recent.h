/* What a GPU was in the last half minute. */
#pragma once

#include "model/recent.h"
#include "model/trend.h"

/* From what was said of it since then, oldest first. False when nothing is known. */
bool recent_of(const struct said *said, size_t n, int64_t now_ns, struct recent *ret);
