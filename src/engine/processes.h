/*
 * Who uses the GPUs: what the source reports its processes, joined with what the host knows, and
 * their descendants that hold no GPU (loader workers, compilers), after them.
 */
#pragma once

#include "model/frame.h"
#include "read/source.h"

#define PROCESSES_MAX 1024
#define PROCESSES_EVERY_NS 900000000LL /* the driver samples them about once a second */

#define CHILDREN_MAX 128 /* listed beside those that hold a GPU */

struct process_join;

struct process_join_config {
        const char *root;        /* of the file system, "" for the real one */
        struct listing *listing; /* of its processes; NULL: its own */
        bool with_children;      /* also what a holder of a GPU started */
        bool recorded;           /* the pids are of a capture: nothing here is asked of them */
};

/* 0 or a negative errno. */
int process_join_open(const struct process_join_config *config, struct process_join **ret);
void process_join_close(struct process_join *j);
/* Gives the frame its processes. Asks again only when PROCESSES_EVERY_NS have passed. */
void process_join_fill(struct process_join *j, const struct source_ops *ops, struct source *source,
                       struct frame *frame);
