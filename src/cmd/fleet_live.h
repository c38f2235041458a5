/* The live screen of 'assay fleet'. */
#pragma once

#include "cmd/command.h"
#include "fleet/fleet.h"

/* Runs until the user leaves. Returns the exit status. */
int fleet_live_run(const struct config *config, const struct fleet_config *fleet,
                   enum fleet_view view, int64_t window_ns);
