/* Why a job does not continue, from a snapshot that watched its processes: pure. The rules:
 * docs/HANGS.md. */
#pragma once

#include "model/why.h"

/* look is settled; ras may be NULL. Both are borrowed. 0 or -ENOMEM; finish it either way. */
int why_conclude(const struct stack_snapshot *snapshot, const struct ras_report *ras,
                 struct why *ret);
