/*
 * Tells the host's reader who holds which GPU, and gives GPUs their places in the host. A place is
 * permanent: what is counted for a GPU must not become another's when one more is found.
 */
#pragma once

#include "engine/host.h"

struct evidence_join {
        size_t n;
        char gpus[HOST_GPUS_MAX][ENTITY_LABEL_MAX];
};

/* The place of a GPU, a new one when it has none; HOST_GPUS_MAX when there are too many. */
size_t evidence_place(struct evidence_join *j, const char *label);
/* The next ticks are about these holders. */
void evidence_publish(struct evidence_join *j, const struct gpu_use *u, struct host_reader *reader);
