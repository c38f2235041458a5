/* The entries of a folder of /proc whose names are numbers: processes, threads, descriptors. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct numbered {
        const char *name;
        int32_t number;
        /* Of /proc/PID it belongs to one process as long as the kernel remembers it: a pid that is
         * used again shows without reading anything. */
        uint64_t inode;
};

/*
 * Calls visit for each, from the first; buf, aligned as malloc does, holds what the kernel lists at
 * a time. 0, or a negative errno when the folder cannot be read.
 */
int numbered_each(int folder, char *buf, size_t size,
                  void (*visit)(void *arg, const struct numbered *entry), void *arg);
