/* The nvml source, for tests that need no other. */
#pragma once

#include "read/source.h"

extern const struct source_ops source_nvml;
