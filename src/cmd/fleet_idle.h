/* assay fleet idle: jobs that hold GPUs and leave them idle, and reporting their users. */
#pragma once

#include "cmd/command.h"
#include "fleet/fleet.h"

/* Writes what was asked for; sends digests with --send. 0, or a negative code with err. *ret_status
 * is the exit status where something could not be sent. */
int fleet_idle_show(const struct config *config, const struct fleet_config *fc,
                    const struct fleet_asked *asked, struct strbuf *out, int *ret_status,
                    struct err *err);
/* Refuses options that only 'idle' has where it is not asked for. 0 or ERR_USAGE with err. */
int fleet_idle_refuse(const struct config *config, bool idle, struct err *err);
/* The window: the grace. 0 or ERR_USAGE with err. */
int fleet_idle_window(const struct config *config, int64_t *ret_ns, struct err *err);
