/*
 * What the threads of some processes were in at one moment: of this machine, of many, or of a
 * recording. Names are interned in a table of its own, so equal stacks have equal ids whatever
 * machine they are of.
 */
#pragma once

#include "model/node.h"
#include "model/stack.h"
#include "model/value.h"

#define LOOK_GPUS_MAX 16        /* of a process */
#define LOOK_THREADS_MAX 262144 /* of all processes */
#define LOOK_PROCESSES_MAX 65536

/* A machine that was asked. */
struct look_host {
        char name[NODE_NAME_MAX]; /* "" for this one alone */
        char why[NODE_WORDS_MAX]; /* it could not be looked at; "" when it was */
        char hint[NODE_WORDS_MAX];
};

#define LOOK_PROBLEM_MAX 128
#define LOOK_SEEN_MAX 8

struct look_gpu {
        uint32_t host;
        char label[ENTITY_LABEL_MAX];
        struct value busy, sm;          /* ratios: kernels ran, SMs had work */
        struct value data;              /* ratio: memory or tensor cores worked; links count as 1 */
        struct value power;             /* watts */
        struct value temp;              /* degrees Celsius */
        struct value clock;             /* hertz, of the SMs */
        struct value lost;              /* 1: it does not answer */
        struct value xid;               /* the newest fatal XID */
        char problem[LOOK_PROBLEM_MAX]; /* the worst problem in words; "" for none */
        const char *class_name;         /* as in JSON; NULL when unknown */
        const char *limiter;            /* likewise */
};

/*
 * LOOK_FIGURE(id, name): what a process did while it was watched, and what it has; SI units, rates
 * a second. minor: page faults without I/O; major: with I/O; io: bytes of reads and writes; disk:
 * those of them that reached storage; swap: bytes that are swapped out.
 */
#define LOOK_FIGURES(LOOK_FIGURE)                                                                  \
        LOOK_FIGURE(CPU, "cpu_cores")                                                              \
        LOOK_FIGURE(CHILDREN, "ended_children_cpu_cores")                                          \
        LOOK_FIGURE(MINOR, "minor_faults")                                                         \
        LOOK_FIGURE(MAJOR, "major_faults")                                                         \
        LOOK_FIGURE(IO, "io_bytes")                                                                \
        LOOK_FIGURE(DISK, "disk_bytes")                                                            \
        LOOK_FIGURE(SWAP, "swap_bytes")                                                            \
        LOOK_FIGURE(MEMORY, "memory_bytes")

enum look_figure {
#define LOOK_FIGURE(id, name) LOOK_##id,
        LOOK_FIGURES(LOOK_FIGURE)
#undef LOOK_FIGURE
            LOOK_FIGURE_COUNT
};

/* Whether a process may go on at all, by the kernel. */
enum look_halt {
        LOOK_HALT_UNKNOWN,
        LOOK_GOES_ON,
        LOOK_STOPPED, /* by a signal */
        LOOK_TRACED,  /* by a debugger */
        LOOK_HALT_COUNT
};

struct look_process {
        struct stack_process is;
        uint32_t host;
        struct value rank;
        struct value world;     /* how many ranks its job has */
        struct value local;     /* how many of them this machine has */
        struct value watched_s; /* how long it was watched; missing: one look */
        struct value figures[LOOK_FIGURE_COUNT];
        uint8_t halt;                 /* enum look_halt */
        int32_t tracer;               /* the debugger's pid; 0: none */
        uint32_t gpus[LOOK_GPUS_MAX]; /* places in the list of GPUs */
        uint8_t n_gpus;
        bool leads; /* it holds a GPU, or nothing in the list started it */
        size_t first_thread, n_threads;
};

struct look_thread {
        uint32_t process;
        int32_t tid;
        uint32_t name, stack, call, channel; /* as in struct stack_sample */
        uint8_t state;                       /* enum stack_state */
        bool holds_gil, is_main;
        /* What follows is known of threads that were watched. */
        uint32_t target;     /* text: what the descriptor of its call is: a path, "socket", … */
        uint32_t looks;      /* how often it was read */
        uint32_t places;     /* how many stacks it was in, LOOK_SEEN_MAX and more count as that */
        uint32_t steady;     /* of stack: the innermost function that it was in at all looks */
        uint64_t waits_at;   /* the address it waits at in a futex; 0: none */
        struct value busy;   /* of one core */
        struct value ready;  /* ratio: it ran, or waited for a CPU */
        struct value wakes;  /* a second */
        struct value idle_s; /* since it last ran */
};

/* All zeros to begin with, but for the table. */
struct stack_look {
        struct stack_table *table; /* owned */
        struct look_host *hosts;
        struct look_gpu *gpus;
        struct look_process *processes; /* threads of one stand together, in its order */
        struct look_thread *threads;
        size_t n_hosts, cap_hosts, n_gpus, cap_gpus;
        size_t n_processes, cap_processes, n_threads, cap_threads;
        int64_t wall_ns;  /* when it was */
        bool is_recorded; /* of a recording: what took most of a second, not one instant */
};

/* 0 or -ENOMEM; finish it either way. */
int stack_look_init(struct stack_look *l);
void stack_look_finish(struct stack_look *l);
/* Each gives the new entry, zeroed but for its place; NULL when there are too many or memory is
 * short. Threads belong to the process that was added last. Valid until the next call. */
struct look_host *stack_look_add_host(struct stack_look *l, const char *name);
struct look_gpu *stack_look_add_gpu(struct stack_look *l, uint32_t host, const char *label);
struct look_process *stack_look_add_process(struct stack_look *l, uint32_t host,
                                            const struct stack_process *is);
struct look_thread *stack_look_add_thread(struct stack_look *l);
/* The place of a host's GPU; SIZE_MAX when it is not there. */
size_t stack_look_find_gpu(const struct stack_look *l, uint32_t host, const char *label);
void stack_look_hold_gpu(struct look_process *p, size_t gpu);
/* Once all are there: says which processes lead, and sorts the threads of each: the first, those
 * with a GIL, those that run. */
void stack_look_settle(struct stack_look *l);
/* The process's first thread; NULL when it was not read. */
const struct look_thread *stack_look_main(const struct stack_look *l, const struct look_process *p);
/* "cpu_cores", …; "goes_on", "stopped", "traced", "unknown". */
const char *look_figure_name(enum look_figure figure);
const char *look_halt_name(enum look_halt halt);
/* Whether a process's frames were read. */
bool stack_look_is_read(const struct look_process *p);

/* Processes that lead and whose first threads are in the same place. */
struct look_group {
        struct stack_place place; /* of the first of them */
        uint8_t state;
        size_t n;
        uint32_t *processes; /* their places; by rank where they have ranks */
};

/* The largest first. free each list of processes and the groups. 0 or -ENOMEM. */
int stack_look_group(const struct stack_look *l, struct look_group **ret, size_t *ret_n);
void stack_look_free_groups(struct look_group *groups, size_t n);
