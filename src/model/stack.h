/*
 * Stacks of running programs: what a thread was doing at an instant, down to the line. The same for
 * every language and every way of reading.
 *
 * A stack_table interns texts, frames and stacks, so a sample is a small struct of numbers. Stacks
 * form a tree: a node is a frame and the node of its caller. The id of the innermost frame's node
 * is the id of the stack, and equal stacks have equal ids, over all threads and processes.
 *
 * Who may do what: one thread, the one that reads stacks, interns. Any thread may read, without a
 * lock, what belongs to an id that it got from a sample: entries never move and never change once
 * their id is known to others, until stack_table_close. The lock or queue that hands a sample over
 * from thread to thread is what makes its entries visible.
 *
 * All memory is taken by stack_table_open, and touched only as it fills: interning never allocates.
 * Every name is hostile input: it is cut to STACK_NAME_MAX and what would do something to a
 * terminal is replaced when it is interned, so texts of a table can be shown as they are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STACK_NAME_MAX 512    /* bytes of a name, its NUL included; longer ones lose their middle */
#define STACK_DEPTH_MAX 256   /* frames kept of one stack, the innermost ones */
#define STACK_TEXTS_MAX 32768 /* different file names, function names, thread names, waits */
#define STACK_TEXT_BYTES (4u << 20) /* of all of them together */
#define STACK_FRAMES_MAX 65536      /* different (function, line) pairs */
#define STACK_NODES_MAX 262144      /* different stacks, their callers included */
#define STACK_PROCESSES_MAX 1024    /* described at a time */

/* Whose code a frame is. People act on their own. */
enum stack_whose {
        STACK_USER,        /* neither of the two below */
        STACK_LIBRARY,     /* installed: site-packages, dist-packages */
        STACK_INTERPRETER, /* the interpreter's own library, and what it generates */
        STACK_WHOSE_COUNT
};

/* A place in a program. Texts are ids of the table; 0 is the empty text. */
struct stack_frame {
        uint32_t file;     /* as the program names it: absolute, relative, "<string>" */
        uint32_t function; /* qualified ("Loader.__next__") where the version knows it */
        uint32_t first_line;
        uint32_t line;  /* 0: unknown */
        uint32_t whose; /* enum stack_whose */
};

/* The ids that every table has. */
enum {
        STACK_TEXT_NONE = 0,  /* "" */
        STACK_FRAME_NONE = 0, /* no frame: of node 0 alone */
        STACK_FRAME_CUT = 1,  /* stands for the callers beyond STACK_DEPTH_MAX */
        STACK_FRAME_FULL = 2, /* stands for frames that the full table could not take */
        STACK_EMPTY = 0,      /* the stack without frames: the thread runs no code with lines */
};

struct stack_node {
        uint32_t parent; /* the caller's node; STACK_EMPTY ends the stack */
        uint32_t frame;
        uint32_t depth; /* frames from the outermost to this one: 1 for a child of STACK_EMPTY */
};

/* What the kernel says of the thread. */
enum stack_state {
        STACK_STATE_UNKNOWN,
        STACK_RUNNING, /* on a CPU or ready for one */
        STACK_WAITING, /* asleep until something happens */
        STACK_BLOCKED, /* in a sleep that no signal ends: storage, page faults, drivers */
        STACK_STATE_COUNT
};

/*
 * One thread at one instant. pid and start_ticks together are who the process is, a reused pid is
 * another process. Shares are shares of stands_for_ns, not of the number of samples: threads that
 * are examined less often have larger ones, so sums stay unbiased whatever the rates were.
 */
struct stack_sample {
        int64_t mono_ns;       /* CLOCK_MONOTONIC when it was read */
        int64_t stands_for_ns; /* time of this thread that it represents: since its last snapshot */
        uint64_t start_ticks;  /* of the process, since boot, field 22 of /proc/PID/stat */
        int32_t pid;
        int32_t tid;       /* 0: unknown, as for interpreters that do not report */
        uint32_t thread;   /* text: the thread's name as the kernel has it */
        uint32_t stack;    /* node of the innermost frame; STACK_EMPTY: none with lines */
        uint32_t call;     /* text: the system call it is in; none when it runs, or unknown */
        uint32_t channel;  /* text: the kernel function it waits in; none likewise */
        uint8_t state;     /* enum stack_state */
        bool holds_gil;    /* of its interpreter, in this instant */
        bool is_main;      /* the process's first thread */
        bool has_no_lines; /* the process is known to run no code whose lines can be read */
};

/* Whether a process's stacks can be read, and why not. */
enum stack_access {
        STACK_PENDING,     /* not examined yet, or still starting */
        STACK_READABLE,    /* its frames are read */
        STACK_NO_RUNTIME,  /* no interpreter that is known: thread names and waits only */
        STACK_UNSUPPORTED, /* an interpreter or a build that cannot be read */
        STACK_DENIED,      /* the kernel does not allow it */
        STACK_FOREIGN,     /* another user's: not examined */
        STACK_GONE,        /* it has ended */
        STACK_ACCESS_COUNT
};

#define STACK_WHY_MAX 160
#define STACK_RUNTIME_MAX 32
#define STACK_COMMAND_MAX 256

/* A process that is, or was to be, read. A copy: the receiver's. Texts may be shown as they are. */
struct stack_process {
        int32_t pid, ppid;               /* ppid 0: unknown */
        uint64_t start_ticks;            /* as in the samples; 0: unknown, it was never seen */
        enum stack_access access;        /* the words are for people */
        char runtime[STACK_RUNTIME_MAX]; /* "CPython 3.11.7"; "" when unknown */
        char why[STACK_WHY_MAX];         /* why it is not STACK_READABLE; "" when it is */
        char command[STACK_COMMAND_MAX]; /* secrets masked; "" when unknown */
        uint32_t threads;                /* as the kernel counts them */
        uint64_t samples;                /* stacks that were taken, STACK_EMPTY ones included */
        uint64_t torn; /* stacks that were dropped because the program moved on meanwhile */
};

struct stack_table;

/* 0 or -ENOMEM. close(NULL) is fine. */
int stack_table_open(struct stack_table **ret);
void stack_table_close(struct stack_table *t);

/*
 * For the thread that reads stacks. Each gives the id of an equal entry when there is one. A full
 * table gives STACK_TEXT_NONE, STACK_FRAME_FULL, and for a node that of its deepest caller that
 * has room; stack_table_lost counts how often.
 */
uint32_t stack_intern_text(struct stack_table *t, const char *s, size_t n);
uint32_t stack_intern_frame(struct stack_table *t, const struct stack_frame *f);
/* The stack that calls frame from parent. Beyond STACK_DEPTH_MAX + 1 it is parent itself. */
uint32_t stack_intern_call(struct stack_table *t, uint32_t parent, uint32_t frame);
uint64_t stack_table_lost(const struct stack_table *t);

/* How many ids there are, for those that keep arrays beside the table: ids below it are valid. For
 * the thread that interns, or with what synchronises with it. */
struct stack_counts {
        uint32_t texts, frames, nodes;
};
struct stack_counts stack_table_counts(const struct stack_table *t);

/* Never NULL; an id that is out of range is that of the empty entry. */
const char *stack_text(const struct stack_table *t, uint32_t text);
const struct stack_frame *stack_frame(const struct stack_table *t, uint32_t frame);
const struct stack_node *stack_node(const struct stack_table *t, uint32_t stack);

#define STACK_PATH_MAX (STACK_DEPTH_MAX + 2)
/* The frames of a stack, its innermost first; how many. */
size_t stack_path(const struct stack_table *t, uint32_t stack, uint32_t ret[STACK_PATH_MAX]);

/*
 * The place that people act on: own is the node of the innermost frame of the user's code, inner
 * that of the innermost frame of all when it is another one. Of frames of one line (a comprehension
 * and its function) own is the outermost. When no frame is the user's, own is the outermost frame
 * of a library, else of the interpreter. called: the node of the frame that own's code called;
 * STACK_EMPTY where there is none. All STACK_EMPTY for the empty stack.
 */
struct stack_place {
        uint32_t own, inner, called;
};
struct stack_place stack_find_place(const struct stack_table *t, uint32_t stack);

/* The node of the frame of b that stands so many frames from the outermost; b itself where it has
 * no more. */
uint32_t stack_ancestor(const struct stack_table *t, uint32_t b, uint32_t depth);
/* The node of b's innermost frame whose function, and all that called it, are a's, too, in whatever
 * lines. STACK_EMPTY where not even the outermost is. */
uint32_t stack_common(const struct stack_table *t, uint32_t a, uint32_t b);

/* "running", "waiting", "blocked", "unknown". */
const char *stack_state_name(enum stack_state state);
/* "user", "library", "interpreter". */
const char *stack_whose_name(enum stack_whose whose);
/* "pending", "readable", "no_runtime", … as in JSON. */
const char *stack_access_name(enum stack_access access);
