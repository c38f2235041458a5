/*
 * What the machine draws: its processors by their energy counters (RAPL, in /sys/class/powercap),
 * and the whole of it by the power meter of its firmware (ACPI, in /sys/class/hwmon).
 */
#pragma once

#include "model/host.h"

struct energy_reader;

/* Finds counters and meters. root is borrowed. 0 or -ENOMEM. */
int energy_open(int root, struct energy_reader **ret);
void energy_close(struct energy_reader *e);
/*
 * Fills SYSTEM_CPU_ENERGY and SYSTEM_NODE_POWER of system[]. Without a counter or a meter they are
 * missing, never 0. A slow meter is read rarely; its last value stands meanwhile.
 */
void energy_read(struct energy_reader *e, int64_t mono_ns, struct value *system);

/*
 * What a counter of energy that starts over after range grew by, in microjoules. False where
 * it may have started over more than once in gap_ns.
 */
bool energy_growth(uint64_t before, uint64_t now, uint64_t range, int64_t gap_ns, uint64_t *ret);
