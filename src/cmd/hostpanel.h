/* The host as the dashboard shows it: of this machine, or of a recorded run. */
#pragma once

#include "base/err.h"
#include "model/host.h"
#include "present/tui/host_panel.h"

/* The figures of a sample that the host view draws. */
void host_panel_fill(const struct host *h, struct host_panel *ret);

struct hostplay;

/* NULL when the file is no session. */
struct hostplay *hostplay_open(const char *path);
/* What the host did at that time of the run, forward or back. False when nobody recorded it. */
bool hostplay_at(struct hostplay *h, int64_t wall_ns, struct host_panel *ret);
void hostplay_close(struct hostplay *h);
