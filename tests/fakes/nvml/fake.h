/* What a test may tell the fake library, found with dlsym. */
#pragma once

#include <stdint.h>

/* From then on, time is what the test says, in nanoseconds; -1 goes back to the real clock. */
typedef void fake_nvml_set_clock_fn(int64_t ns);
/* Another scenario, from its second 0. Nobody may be using the library. */
typedef void fake_nvml_load_fn(const char *path);
/* How many GPM samples are allocated, and how many calls were made. */
typedef int64_t fake_nvml_count_fn(void);
