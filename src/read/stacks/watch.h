/* Many examines some processes, over some seconds: what they did meanwhile beside where they are.
 */
#pragma once

#include "model/stack_snapshot.h"

#define WATCH_EVERY_NS (NS_PER_S / 4)

/*
 * As glance_take, but looks again and again for so long: each thread is where the last snapshot
 * found it, and has how often its stack changed, how much it ran and what its call is about; each
 * process has its figures. Sleeps meanwhile. 0 or -ENOMEM.
 */
int glance_watch(struct stack_snapshot *l, const int32_t *pids, size_t n, bool only_python,
                 int64_t watch_ns);
