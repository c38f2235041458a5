/* Several sources of one machine as one: NVIDIA's GPUs from NVML, the others from the kernel. */
#pragma once

#include "read/source.h"

struct joined_part {
        const struct source_ops *ops;
        struct source *source; /* NULL: it is opened on its thread, as opening may take long */
};

/*
 * Owns the parts from now on, even on failure. GPUs get numbers in the order of the parts, and keep
 * them. Each part has a thread: one that does not answer makes its own GPUs stale, not the others'.
 * Use the source with source_joined.
 */
int joined_open(const struct joined_part *parts, size_t n, const struct source_config *config,
                struct source **ret, struct err *err);

/*
 * One source on a thread of its own, so that a driver that hangs makes its values old and nobody
 * waits for it. Waits until the thread has opened it, for some seconds; errors are those of its
 * open.
 */
int joined_open_one(const struct source_ops *ops, const struct source_config *config,
                    struct source **ret, struct err *err);

/* What a source that was opened by these does; for the ops of one that always is. */
int joined_next(struct source *s, struct batch *ret, struct err *err);
const char *joined_provenance(const struct source *s);
void joined_trouble(const struct source *s, struct source_trouble *ret);
size_t joined_processes(struct source *s, struct process *ret, size_t max);
void joined_interrupt(struct source *s);
void joined_close(struct source *s);

/* It is opened by joined_open; open is NULL. */
extern const struct source_ops source_joined;
