/* From a recording to the numbers that a comparison needs. */
#pragma once

#include "app/summarise.h"
#include "model/diff.h"

/* Makes the digest of a run that was summarised with curves. 0 or -ENOMEM; diff_run_finish it. */
int digest_take(struct run_summary *r, struct diff_run *ret);

/* Events that come once a step: the time between two of them is a step. */
bool digest_is_step_event(const char *name);
/* Numbers of the user's own that are lengths of steps, and the seconds of their unit. */
bool digest_is_step_length(const char *name, double *ret_unit_s);
