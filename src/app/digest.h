/* From a recording to the numbers that a comparison needs. */
#pragma once

#include "app/summarise.h"
#include "model/diff.h"

/* Makes the digest of a run that was summarised with curves. 0 or -ENOMEM; diff_run_finish it. */
int digest_take(const struct run_summary *r, struct diff_run *ret);
