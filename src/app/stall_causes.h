/* Who differed when a recorded job stalled: from the stacks of that time, as 'assay why' does. */
#pragma once

#include "base/err.h"
#include "model/stretch.h"

/* Fills what is known of the first stalls of a session at path that has stacks. 0, or a negative
 * code with err where memory is short; what cannot be read leaves them as they are. */
int stall_causes_find(const char *path, struct stretch_list *list, struct err *err);
