/* Several sources of one machine as one: NVIDIA's GPUs from NVML, the others from the kernel. */
#pragma once

#include "read/source.h"

struct joined_part {
        const struct source_ops *ops;
        struct source *source; /* NULL: it is opened on its thread, as opening may take long */
};

/*
 * Owns the parts from now on, also when it fails. GPUs get numbers in the order of the parts, and
 * keep them. Each part has a thread: one that does not answer makes its own GPUs stale, not the
 * others'. Use the source with source_joined.
 */
int joined_open(const struct joined_part *parts, size_t n, const struct source_config *config,
                struct source **ret, struct err *err);

/* It is opened by joined_open; open is NULL. */
extern const struct source_ops source_joined;
