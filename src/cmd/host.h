/* What the commands share about the host: options, the beat, output. */
#pragma once

#include "cmd/command.h"
#include "pipeline/host.h"

/* Opens the host view the options ask for. 0 or a negative code with err. */
int open_host(const struct config *config, struct host_view **ret, struct err *err);
/* assay export --host. Returns the exit status. */
int export_host(const struct config *config);
