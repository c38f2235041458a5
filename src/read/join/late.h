/* A source that is opened on a thread of its own, because a driver may take long to start. */
#pragma once

#include "read/source.h"

struct late_config {
        const struct source_ops *ops; /* what is opened */
        int64_t patience_ns;          /* how long late_open waits for it */
        /* Where nothing was found after that, it is searched for again, ever more rarely. */
        bool keep_trying;
};

/*
 * Waits a moment for the source. What fails in that time fails here; what takes longer is begun: a
 * tick of it is stale and without GPUs until the source is present. Use it with source_late.
 */
int late_open(const struct late_config *late, const struct source_config *config,
              struct source **ret, struct err *err);

/* It is opened by late_open; open is NULL. */
extern const struct source_ops source_late;
