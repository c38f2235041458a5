/* Findings as programs see them. */
#pragma once

#include "api/api.h"
#include "model/stretch.h"

/* Takes ownership of the list, even on failure. NULL when memory is short. */
struct assay_findings *findings_make(struct stretch_list *list);
/* Those of a recording. 0, or a negative code with err; free ret->list. */
int findings_read(const char *path, const struct config *config, struct stretch_list *ret,
                  struct err *err);
