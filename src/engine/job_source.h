/* The sessions of a job's ranks, played together as one fleet. */
#pragma once

#include "read/source.h"

/* Whether a folder holds sessions of ranks. */
bool job_source_is_one(const char *path);

extern const struct source_ops source_job;
