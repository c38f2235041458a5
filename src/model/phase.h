/* A part of a run that has a name. Phases nest and may come many times. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PHASE_NAME_MAX 128

struct phase {
        char name[PHASE_NAME_MAX];
        int64_t begin_ns, end_ns; /* wall clock */
        bool open;                /* nobody ended it: the run did */
        const char *data;         /* the keys it was marked with, JSON; borrowed, NULL for none */
};
