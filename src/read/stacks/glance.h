/* One look, now, at the stacks of processes of this machine. */
#pragma once

#include "model/stack_snapshot.h"

#define GLANCE_PROCESSES_MAX 1024

/* The processes of a list and all that they started, each before what it started, at most max; how
 * many. This program is none of them. */
size_t glance_list_tree(const int32_t *roots, size_t n_roots, int32_t *list, size_t max);
/* All processes of this user, at most max; how many. */
size_t glance_list_own(int32_t *list, size_t max);

/*
 * Adds each process to the snapshot, with its threads: all of host 0. Others than those whose
 * frames could be read, or might be except for a reason, are left out where only_python, and those
 * that have ended. 0 or -ENOMEM.
 */
int glance_take(struct stack_snapshot *l, const int32_t *pids, size_t n, bool only_python);
/* A variable of a process's environment, as it began. False when it is absent, or may not be read.
 */
bool glance_environment(int32_t pid, const char *name, char *ret, size_t size);
