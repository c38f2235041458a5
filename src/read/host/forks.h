/*
 * The kernel's own word on who forked whom (proc connector): a process whose parent ended before it
 * was seen, in a session of its own, is still known as a descendant. Root may listen, and anybody
 * since Linux 6.6; inside a container nothing comes. Without it descendants are found by parent,
 * session, group and, of a command that assay runs, by coming to it as orphans. Of a process that
 * assay only watches, those are missed that cut the first three ties between two ticks.
 */
#pragma once

#include <stdint.h>

/* A socket, or a negative errno where it is not permitted. */
int forks_open(void);
/* Calls each() for every fork since the last call, in order. Drops nothing but what overflowed. */
void forks_read(int fd, void (*each)(int32_t parent, int32_t child, void *arg), void *arg);
