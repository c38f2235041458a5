/*
 * What the host does for each GPU, out of the scanner's groups and what is known of the holders.
 * Fills counters and gauges; rates are left to compute/.
 */
#pragma once

#include "read/host/holders.h"

/* A process that holds a GPU; gpu is the GPU's place in the host. */
struct host_holder {
        int32_t pid;
        uint32_t gpu;
};

struct evidence_reader;

int evidence_open(int root, const struct cgroup_mounts *mounts, size_t fd_budget,
                  struct evidence_reader **ret);
void evidence_close(struct evidence_reader *e);
/* As host_hold. */
void evidence_hold(struct evidence_reader *e, struct scanner *scanner, size_t n_gpus, bool known,
                   const struct host_holder *list, size_t n);
/* After the scan. has_command: a command is watched, whose main process may stand for holders. */
void evidence_fill(struct evidence_reader *e, struct scanner *scanner, bool has_command,
                   struct host *ret);
