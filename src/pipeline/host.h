/* Joins the host's reading with what is computed from it: one host a tick. */
#pragma once

#include "model/frame.h"
#include "read/host/host.h"

struct host_view;

/* 0, or a negative code with err. */
int host_view_open(const struct host_config *config, struct host_view **ret, struct err *err);
void host_view_close(struct host_view *v);
/* One tick now. *ret is valid until the next call. 0 or a negative code with err. */
int host_view_tick(struct host_view *v, struct host **ret, struct err *err);
/*
 * Adds the GPUs of a frame: what each device does is what the system level does there. What single
 * processes do comes on top with levels_add_process and host_view_levels_of.
 */
void host_view_join(struct host *h, const struct frame *frame);
/* Adds what the frame's processes do on those GPUs to the levels they belong to. */
void host_view_join_processes(const struct host_view *v, struct host *h, const struct frame *frame);
/* As host_levels_of. */
unsigned host_view_levels_of(const struct host_view *v, int32_t pid);
