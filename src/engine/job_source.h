/* The sessions of a job's ranks, played together as one fleet. */
#pragma once

#include "read/source.h"

extern const struct source_ops source_job;
