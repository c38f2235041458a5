/* The three files of a hardware monitor, written on a thread of their own as frames come. */
#pragma once

#include "api/core.h"

struct hwfiles;

/* Makes the folder when it is absent. The core must have begun and outlives this. */
int hwfiles_start(struct core *c, const char *folder, struct hwfiles **ret, struct err *err);
/* Waits until the last frame of a core that has ended is written. NULL is allowed. */
int hwfiles_finish(struct hwfiles *h, struct err *err);
