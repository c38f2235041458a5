/* Which of the engine's GPUs this machine, container or job can reach, and their numbers here. */
#pragma once

#include "read/dcgm/discovery.h"

/* A GPU as the driver lists it under /proc/driver/nvidia/gpus. */
struct local_gpu {
        char pci[ENTITY_TEXT_MAX];
        char uuid[ENTITY_TEXT_MAX]; /* empty when the driver hides it */
        char model[ENTITY_TEXT_MAX];
        int32_t minor;  /* of /dev/nvidiaN; -1 when not known */
        int open_error; /* why the device file cannot be opened; 0 when it can */
};

/* Lists them by PCI bus id, which is the order NVML and CUDA number them in. Returns how many. */
size_t local_gpus_list(const char *root, struct local_gpu *ret, size_t max);

/*
 * Fills the local number of each GPU, matched by UUID or else PCI bus id: its place among the GPUs
 * whose device files can be opened, -1 when this machine has none such. Numbers stay the engine's
 * when no GPU matches.
 */
void dcgm_number_locally(struct dcgm_inventory *inv, const char *root);

/* Whether the address names this machine. NULL does. */
bool dcgm_host_is_local(const char *host);
