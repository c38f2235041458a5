/*
 * Where in the program the time of a limiter goes: lines, with their share of exactly that time.
 * Which processes and threads count depends on the limiter; where.def says so.
 */
#pragma once

#include "model/limit.h"
#include "model/stack_log.h"

#define WHERE_PLACES_MAX 3
#define WHERE_PARTS_MAX 2
#define WHERE_RULES_MAX 3 /* of a limiter */
#define WHERE_FILE_MAX 256
#define WHERE_FUNCTION_MAX 128
#define WHERE_CALL_MAX 32

/* Whose threads count. */
enum where_who {
        WHERE_HOLDERS, /* of the processes that hold the GPU */
        WHERE_WORKERS, /* of those that work for a holder and hold no GPU */
        WHERE_ALL,     /* of both */
        WHERE_WHO_COUNT
};

/* Which of their samples count. */
enum where_doing {
        WHERE_ACTIVE,  /* threads that run, or hold the interpreter's lock */
        WHERE_BUSY,    /* the same, where they do not just wait for the GPU */
        WHERE_MAIN,    /* main threads, whatever they do */
        WHERE_FILES,   /* threads in a system call on files, or blocked in the kernel */
        WHERE_NETWORK, /* threads in a system call on the network */
        WHERE_JOINING, /* main threads that only wait for threads of their process */
        WHERE_THREADS, /* other threads, in the user's own code */
        WHERE_DOING_COUNT
};

struct where_rule {
        enum limiter limiter;
        enum where_who who;
        enum where_doing doing;
        const char *name;  /* for programs */
        const char *words; /* "of its CPU time in": between a share and a line */
        bool instead;      /* only where the rule before has too few samples */
};

struct code_line {
        char file[WHERE_FILE_MAX]; /* as the program names it; a long one loses its beginning */
        char function[WHERE_FUNCTION_MAX];
        uint32_t line;
        uint32_t whose; /* enum stack_whose */
};

struct where_place {
        struct code_line own;      /* the innermost line of the user's own code */
        struct code_line inner;    /* the line it is in; empty file when that is the same */
        struct code_line called;   /* what own calls: a library's entrance; empty file for none */
        char call[WHERE_CALL_MAX]; /* the system call it mostly waits in; "" for none */
        double share;              /* of the part's time */
        double seconds;            /* of threads */
        uint64_t n_samples;        /* samples it rests on */
};

struct where_part {
        const struct where_rule *rule;
        size_t n;
        struct where_place places[WHERE_PLACES_MAX]; /* the largest share first */
        double seconds;
        uint64_t n_samples;
        size_t processes; /* how many they were */
};

struct where {
        size_t n;
        struct where_part parts[WHERE_PARTS_MAX];
};

/* What stands in for main threads that only wait for others of their process. */
const struct where_rule *where_rule_of_threads(void);
/* The rules of a limiter, at most WHERE_RULES_MAX; how many. */
size_t where_rules(enum limiter limiter, const struct where_rule **ret);
/* What is known of a frame; an empty file for none. */
void where_fill_line(const struct stack_table *table, uint32_t frame, struct code_line *ret);
/* A file as people know it: their own by its name, a library's from its package on. Part of path.
 */
const char *where_short_file(const char *path, uint32_t whose);
