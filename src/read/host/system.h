/* The whole machine: CPU, memory, pressure, disks, network. Descriptors stay open. */
#pragma once

#include "model/host.h"

struct system_reader;

/* root is borrowed. 0 or -ENOMEM. */
int system_open(int root, struct system_reader **ret);
void system_close(struct system_reader *s);
/* Fills the counters and gauges of ret->system, the cores, and the disks of the system level. */
void system_read(struct system_reader *s, uint64_t clock_ticks, struct host *ret);
