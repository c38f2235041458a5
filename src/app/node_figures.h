/* What this machine, or that of a recording, has and does, beside the programs that are watched. */
#pragma once

#include "model/host.h"
#include "model/stack_snapshot.h"

struct node_watch;

/* NULL where that cannot be read: then nothing is known of it. end(NULL) is fine, and leaves the
 * host as it is. */
struct node_watch *node_watch_begin(void);
void node_watch_end(struct node_watch *w, struct snapshot_host *ret);
/* The same of a host's sample whose rates are known. */
void node_figures_take(const struct host *host, struct snapshot_host *ret);
