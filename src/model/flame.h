/*
 * What the threads of a run were doing, added up as trees: processes, their threads, the lines from
 * the outermost to the innermost, and the system call that a thread waited in. One tree for the
 * whole run and one for each of its longest stretches.
 */
#pragma once

#include "model/stack_log.h"
#include "model/where.h"

#define FLAME_STRETCHES_MAX 24 /* that have a tree of their own */
#define FLAME_NODES_MAX 2500   /* of the whole run's tree */
#define FLAME_NODES_EACH 500   /* of a stretch's */
#define FLAME_PROCESSES_MAX 40 /* that are reported one by one */

enum flame_kind {
        FLAME_ALL,
        FLAME_PROCESS, /* what: its place in the log */
        FLAME_THREAD,  /* what: its place in the log */
        FLAME_FRAME,   /* what: the frame */
        FLAME_CALL,    /* what: the system call, a text */
        FLAME_FOLDED,  /* what is too small to be seen */
        FLAME_KIND_COUNT
};

/* Nodes follow their parents; the first is its own. */
struct flame_node {
        uint32_t parent, what, n_samples;
        uint8_t kind;     /* enum flame_kind */
        double seconds;   /* of threads, what is below it included */
        double running_s; /* of these, on a CPU or with the interpreter's lock */
};

struct flame_tree {
        size_t stretch; /* its place in the list of stretches; SIZE_MAX for the whole run */
        bool together;  /* of all threads: no level for processes and threads */
        size_t n;
        struct flame_node *nodes;
        size_t n_folded; /* nodes that are folded away */
};

struct flame_process {
        size_t process;   /* its place in the log */
        size_t n_threads; /* that were seen */
        double running_s; /* of all its threads */
        bool waits;       /* hardly anything ran: the lines are those its main thread waits in */
        size_t n;
        struct where_place places[WHERE_PLACES_MAX]; /* the largest share first */
};

/* The arrays are its own: see flame_finish. */
struct flame {
        const struct stack_log *log; /* borrowed */
        size_t n;
        struct flame_tree *trees; /* the whole run first, then that of its threads together */
        size_t n_left_out;        /* stretches without a tree */
        bool is_cut;              /* there was no room for some stacks */
        size_t n_processes;
        struct flame_process *processes; /* the busiest first */
        size_t n_more;                   /* processes beyond FLAME_PROCESSES_MAX */
};

void flame_finish(struct flame *f);
