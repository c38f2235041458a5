#pragma once

#include "cmd/command.h"

/* assay export stacks FILE: whether it is that, and doing it. 0 or a negative code with err. */
bool export_is_of_stacks(const struct config *config);
/* The same for assay export trace FILE. */
bool export_is_trace(const struct config *config);
int export_trace(const struct config *config, struct err *err);
int export_stacks(const struct config *config, struct err *err);
