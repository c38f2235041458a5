/*
 * What the threads of some processes were in at one moment: of this machine, of many, or of a
 * recording. Names are interned in a table of its own, so equal stacks have equal ids whatever
 * machine they are of.
 */
#pragma once

#include "model/node.h"
#include "model/stack.h"
#include "model/value.h"

#define SNAPSHOT_GPUS_MAX 16        /* of a process */
#define SNAPSHOT_THREADS_MAX 262144 /* of all processes */
#define SNAPSHOT_PROCESSES_MAX 65536

/*
 * NODE_FIGURE(id, name): what a machine has and does; bytes, and bytes a second while it was
 * watched. io_stalled: share of that time in which all tasks waited for I/O.
 */
#define NODE_FIGURES(NODE_FIGURE)                                                                  \
        NODE_FIGURE(MEM_TOTAL, "mem_total")                                                        \
        NODE_FIGURE(MEM_AVAILABLE, "mem_available")                                                \
        NODE_FIGURE(SWAP_USED, "swap_used")                                                        \
        NODE_FIGURE(IO_STALLED, "io_stalled")                                                      \
        NODE_FIGURE(DISK_READ, "disk_read")                                                        \
        NODE_FIGURE(DISK_WRITTEN, "disk_written")                                                  \
        NODE_FIGURE(NET_RX, "net_rx")                                                              \
        NODE_FIGURE(NET_TX, "net_tx")

enum node_figure {
#define NODE_FIGURE(id, name) NODE_##id,
        NODE_FIGURES(NODE_FIGURE)
#undef NODE_FIGURE
            NODE_FIGURE_COUNT
};
const char *node_figure_name(enum node_figure figure);

/* A machine that was asked. */
struct snapshot_host {
        char name[NODE_NAME_MAX]; /* "" for this one alone */
        char why[NODE_WORDS_MAX]; /* it could not be examined; "" when it was */
        char hint[NODE_WORDS_MAX];
        struct value node[NODE_FIGURE_COUNT]; /* of one that was watched */
};

#define SNAPSHOT_PROBLEM_MAX 128
#define SNAPSHOT_SEEN_MAX 8

struct snapshot_gpu {
        uint32_t host;
        char label[ENTITY_LABEL_MAX];
        struct value busy, sm; /* ratios: kernels ran, SMs had work */
        struct value data;     /* ratio: memory or tensor cores worked; links count as 1 */
        struct value power;    /* watts */
        struct value temp;     /* degrees Celsius */
        struct value clock;    /* hertz, of the SMs */
        struct value lost;     /* 1: it does not answer */
        struct value xid;      /* the newest fatal XID */
        char problem[SNAPSHOT_PROBLEM_MAX]; /* the worst problem in words; "" for none */
        const char *class_name;             /* as in JSON; NULL when unknown */
        const char *limiter;                /* likewise */
};

/*
 * SNAPSHOT_FIGURE(id, name): what a process did while it was watched, and what it has; SI units,
 * rates a second. minor: page faults without I/O; major: with I/O; io: bytes of reads and writes;
 * disk: those of them that reached storage; swap: bytes that are swapped out.
 */
#define SNAPSHOT_FIGURES(SNAPSHOT_FIGURE)                                                          \
        SNAPSHOT_FIGURE(CPU, "cpu_cores")                                                          \
        SNAPSHOT_FIGURE(CHILDREN, "ended_children_cpu_cores")                                      \
        SNAPSHOT_FIGURE(MINOR, "minor_faults")                                                     \
        SNAPSHOT_FIGURE(MAJOR, "major_faults")                                                     \
        SNAPSHOT_FIGURE(IO, "io_bytes")                                                            \
        SNAPSHOT_FIGURE(DISK, "disk_bytes")                                                        \
        SNAPSHOT_FIGURE(SWAP, "swap_bytes")                                                        \
        SNAPSHOT_FIGURE(MEMORY, "memory_bytes")

enum snapshot_figure {
#define SNAPSHOT_FIGURE(id, name) SNAPSHOT_##id,
        SNAPSHOT_FIGURES(SNAPSHOT_FIGURE)
#undef SNAPSHOT_FIGURE
            SNAPSHOT_FIGURE_COUNT
};

/* Whether a process may continue at all, by the kernel. */
enum snapshot_halt {
        SNAPSHOT_HALT_UNKNOWN,
        SNAPSHOT_GOES_ON,
        SNAPSHOT_STOPPED, /* by a signal */
        SNAPSHOT_TRACED,  /* by a debugger */
        SNAPSHOT_HALT_COUNT
};

struct snapshot_process {
        struct stack_process is;
        uint32_t host;
        struct value rank;
        struct value world;     /* how many ranks its job has */
        struct value local;     /* how many of them this machine has */
        struct value watched_s; /* how long it was watched; missing: one snapshot */
        struct value figures[SNAPSHOT_FIGURE_COUNT];
        uint8_t halt;                     /* enum snapshot_halt */
        int32_t tracer;                   /* the debugger's pid; 0: none */
        uint32_t gpus[SNAPSHOT_GPUS_MAX]; /* places in the list of GPUs */
        uint8_t n_gpus;
        bool leads; /* it holds a GPU, or nothing in the list started it */
        size_t first_thread, n_threads;
};

struct snapshot_thread {
        uint32_t process;
        int32_t tid;
        uint32_t name, stack, call, channel; /* as in struct stack_sample */
        uint8_t state;                       /* enum stack_state */
        bool holds_gil, is_main;
        /* What follows is known of threads that were watched. */
        uint32_t target;    /* text: what the descriptor of its call is: a path, "socket", … */
        uint32_t n_samples; /* how often it was read */
        uint32_t places;   /* how many stacks it was in, SNAPSHOT_SEEN_MAX and more count as that */
        uint32_t steady;   /* of stack: the innermost function that it was in at all looks */
        uint64_t waits_at; /* the address it waits at in a futex; 0: none */
        struct value busy; /* of one core */
        struct value ready;  /* ratio: it ran, or waited for a CPU */
        struct value wakes;  /* a second */
        struct value idle_s; /* since it last ran */
};

/* All zeros to begin with, except for the table. */
struct stack_snapshot {
        struct stack_table *table; /* owned */
        struct snapshot_host *hosts;
        struct snapshot_gpu *gpus;
        struct snapshot_process *processes; /* threads of one stand together, in its order */
        struct snapshot_thread *threads;
        size_t n_hosts, cap_hosts, n_gpus, cap_gpus;
        size_t n_processes, cap_processes, n_threads, cap_threads;
        int64_t wall_ns;  /* when it was */
        bool is_recorded; /* of a recording: what took most of a second, not one instant */
};

/* 0 or -ENOMEM; finish it either way. */
int stack_snapshot_init(struct stack_snapshot *l);
void stack_snapshot_finish(struct stack_snapshot *l);
/* Each gives the new entry, zeroed except for its place; NULL when there are too many or memory is
 * short. Threads belong to the process that was added last. Valid until the next call. */
struct snapshot_host *stack_snapshot_add_host(struct stack_snapshot *l, const char *name);
struct snapshot_gpu *stack_snapshot_add_gpu(struct stack_snapshot *l, uint32_t host,
                                            const char *label);
struct snapshot_process *stack_snapshot_add_process(struct stack_snapshot *l, uint32_t host,
                                                    const struct stack_process *is);
struct snapshot_thread *stack_snapshot_add_thread(struct stack_snapshot *l);
/* The place of a host's GPU; SIZE_MAX when it is absent. */
size_t stack_snapshot_find_gpu(const struct stack_snapshot *l, uint32_t host, const char *label);
void stack_snapshot_hold_gpu(struct snapshot_process *p, size_t gpu);
/* Once all are present: says which processes lead, and sorts the threads of each: the first, those
 * with a GIL, those that run. */
void stack_snapshot_settle(struct stack_snapshot *l);
/* The process's first thread; NULL when it was not read. */
const struct snapshot_thread *stack_snapshot_main(const struct stack_snapshot *l,
                                                  const struct snapshot_process *p);
/* "cpu_cores", …; "goes_on", "stopped", "traced", "unknown". */
const char *snapshot_figure_name(enum snapshot_figure figure);
const char *snapshot_halt_name(enum snapshot_halt halt);
/* Whether anything is known of the machine itself. */
bool snapshot_knows_node(const struct snapshot_host *host);
/* Whether a process's frames were read. */
bool stack_snapshot_is_read(const struct snapshot_process *p);

/* Processes that lead and whose first threads are in the same place. */
struct snapshot_group {
        struct stack_place place; /* of the first of them */
        uint8_t state;
        size_t n;
        uint32_t *processes; /* their places; by rank where they have ranks */
};

/* The largest first. free each list of processes and the groups. 0 or -ENOMEM. */
int stack_snapshot_group(const struct stack_snapshot *l, struct snapshot_group **ret,
                         size_t *ret_n);
void stack_snapshot_free_groups(struct snapshot_group *groups, size_t n);
