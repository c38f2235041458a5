#pragma once

#include "read/source.h"

/* Other hosts as one fleet. Nobody names it as a backend: --hosts and --slurm choose it. */
extern const struct source_ops source_nodes;
