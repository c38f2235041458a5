/* What follows from two readings of a model server: rates, and latencies of the interval. Pure. */
#pragma once

#include "model/serving.h"

/* before may be NULL. Sets the interval, the time and all figures of ret. */
void serving_compute(const struct serving_reading *before, const struct serving_reading *now,
                     struct serving *ret);
