#pragma once

#include "cmd/command.h"

/* Streams for an assay on another host until that goes away. 0 or a negative code with err. */
int export_peer(const struct config *config, struct err *err);
