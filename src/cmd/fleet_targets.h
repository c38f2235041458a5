/* assay fleet targets. */
#pragma once

#include "cmd/command.h"

/* Words after it are in config->args from 2 on. Returns the exit status. */
int fleet_targets_run(const struct config *config);
