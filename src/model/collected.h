/* A number of the user's own that was collected beside the GPUs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define COLLECTED_MAX 16 /* numbers with different names */
#define COLLECTED_NAME_MAX 64
#define COLLECTED_UNIT_MAX 16

struct collected {
        char name[COLLECTED_NAME_MAX];
        char unit[COLLECTED_UNIT_MAX]; /* "" for none */
        double value;
        int64_t wall_ns, mono_ns; /* when its line came */
};
