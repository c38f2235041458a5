/* A process of a Slurm job, whether it uses a GPU or not. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct listing;

/*
 * Looks through the processes below the root for a process of the job, by control group or
 * environment: one that is not root's, else any. Its pid, or 0. listing NULL finds none. buf is to
 * work with. Takes milliseconds.
 */
int32_t job_seek(int root, struct listing *listing, const char *job, char *buf, size_t size);
