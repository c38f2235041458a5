/*
 * The kernel's own word on who forked whom (proc connector): a process whose parent ended before it
 * was seen, in a session of its own, is still known as a descendant. Root may listen, and anybody
 * since Linux 6.6; not inside a container. Without it descendants are found by parent, session and
 * group, which misses only those that cut all three ties between two ticks.
 */
#pragma once

#include <stdint.h>

/* A socket, or a negative errno where it is not permitted. */
int forks_open(void);
/* Calls each() for every fork since the last call, in order. Drops nothing but what overflowed. */
void forks_read(int fd, void (*each)(int32_t parent, int32_t child, void *arg), void *arg);
