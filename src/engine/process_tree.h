/* The descendants of the processes that hold GPUs, parents, and what the holders compute with. */
#pragma once

#include "model/process.h"
#include "read/listing.h"

struct process_tree;

/* root of the file system, "" for the real one; listing NULL for one of its own. 0 or a negative
 * errno. */
int process_tree_open(const char *root, struct listing *listing, struct process_tree **ret);
void process_tree_close(struct process_tree *t);
/*
 * Fills ppid and framework of the n processes in list, which hold GPUs, and adds their children
 * behind them: at most max, each once, with pid, ppid, child and the label of its holder's GPU. How
 * many were added. What /proc does not show stays as it is.
 */
size_t process_tree_fill(struct process_tree *t, int64_t mono_ns, struct process *list, size_t n,
                         size_t max);
