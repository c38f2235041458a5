/* What follows from the host's counters: rates, shares, busy cores. Pure, no I/O. */
#pragma once

#include "model/host.h"

/* Fills the rates, shares and derived figures of now. before is NULL at the first tick. */
void levels_compute(const struct host *before, struct host *now);

/* Adds a GPU and gives its place; HOST_GPUS_MAX when there are too many. Values begin missing. */
size_t levels_add_gpu(struct host *h, const char *label);
/* What the whole device does is what the system level does. */
void levels_set_device(struct host *h, size_t gpu, struct level_gpu device);
/*
 * Adds what one process does on a GPU to the levels it belongs to (bits). Shares of one device add
 * up to at most 1. A missing figure adds nothing: so a level has one when any process has it.
 */
void levels_add_process(struct host *h, unsigned levels, size_t gpu, struct level_gpu process);
