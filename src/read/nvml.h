/* What the nvml source gives beside batches. */
#pragma once

#include "read/nvml_process.h"
#include "read/source.h"

extern const struct source_ops source_nvml;

/*
 * The processes on a GPU, by its index, as the driver told last; at most max. From the first call
 * on they are read about once a second, with their utilization. s must be a source of source_nvml.
 */
size_t nvml_processes(struct source *s, size_t gpu, struct nvml_process *ret, size_t max);
