/* The machine around the GPUs, read on a thread of its own for the dashboard. */
#pragma once

#include "config/config.h"
#include "present/tui/host_panel.h"

struct hostwatch;

/* NULL when it cannot be started. What it needs of config is copied. */
struct hostwatch *hostwatch_start(const struct config *config, int64_t interval_ns, bool closely);
/* The whole machine is read always; every level, and so every process, only while this is on. */
void hostwatch_look_closely(struct hostwatch *h, bool closely);
/* Copies the newest figures. False while there are none. */
bool hostwatch_take(struct hostwatch *h, struct host_panel *ret);
/* Returns at once; a thread that still reads frees what there is. NULL is fine. */
void hostwatch_close(struct hostwatch *h);
