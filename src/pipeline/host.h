/* Joins the host's reading with what is computed from it: one host a tick. */
#pragma once

#include "read/host/host.h"

struct host_view;

/* 0, or a negative code with err. */
int host_view_open(const struct host_config *config, struct host_view **ret, struct err *err);
void host_view_close(struct host_view *v);
/* One tick now. *ret is valid until the next call. 0 or a negative code with err. */
int host_view_tick(struct host_view *v, struct host **ret, struct err *err);
/* As host_levels_of. */
unsigned host_view_levels_of(const struct host_view *v, int32_t pid);
