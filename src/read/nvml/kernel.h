/* What NVIDIA's kernel driver says of its GPUs without being asked through NVML. In a container
 * these may be more than NVML gives. */
#pragma once

#include <stddef.h>

size_t nvml_kernel_count(const char *root);
/* "8 NVIDIA H200", "2 NVIDIA A100-SXM4-80GB, 1 Tesla T4"; "" where it names none. */
void nvml_kernel_names(const char *root, char *buf, size_t size);
