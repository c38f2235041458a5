/*
 * A job of several ranks, each recorded by a session of its own (or several in one, a GPU each),
 * and what a comparison of the ranks says. docs/NODES.md explains the rules.
 */
#pragma once

#include "model/limit.h"
#include "model/line_profile.h"
#include "model/phase.h"
#include "model/throttle.h"
#include "model/value.h"

#define JOB_RANKS_MAX 4096
#define JOB_TEXT_MAX 96
#define JOB_BUCKETS_MAX 1024
#define JOB_SERIES_MAX 16
#define JOB_STEPS_MAX 8192 /* of a series; two become one beyond that */
#define JOB_PAUSES_MAX 64
#define JOB_PIDS_MAX 4
#define JOB_FINDINGS_MAX 4
#define JOB_BITS_MAX 16 /* reasons of throttling */
#define JOB_CPU_POINTS 256
#define JOB_GROWTH_MAX 48
#define JOB_NAMES_MAX 16 /* of nodes, where several machines have one */

/* JOB_FIGURE(id, name, unit, help): what is kept of a rank over time. */
#define JOB_FIGURES(JOB_FIGURE)                                                                    \
        JOB_FIGURE(ENGINE, "engine", RATIO, "time in which kernels ran")                           \
        JOB_FIGURE(SM, "sm", RATIO, "SMs with work")                                               \
        JOB_FIGURE(WORK, "work", NUMBER, "busy pipes and device memory, added up")                 \
        JOB_FIGURE(POWER, "power", WATTS, "power")                                                 \
        JOB_FIGURE(CLOCK, "clock", RATIO, "SM clock, of its maximum")                              \
        JOB_FIGURE(LINK, "link", RATIO, "busiest direction of PCIe, of the link's speed")          \
        JOB_FIGURE(HOLDERS, "holders", COUNT, "processes that hold the GPU")                       \
        JOB_FIGURE(THREAD, "thread", RATIO, "the busiest thread")                                  \
        JOB_FIGURE(GAP_THREAD, "gap_thread", RATIO,                                                \
                   "the busiest thread, or child processes, while no kernel ran")                  \
        JOB_FIGURE(CPU, "cpu", NUMBER, "cores busy in the rank's processes")                       \
        JOB_FIGURE(IO_WAIT, "io_wait", NUMBER, "threads that wait for storage")                    \
        JOB_FIGURE(STORAGE, "storage", BYTES_PER_S, "bytes read from and written to storage")

enum job_figure {
#define JOB_FIGURE(id, name, unit, help) JOB_##id,
        JOB_FIGURES(JOB_FIGURE)
#undef JOB_FIGURE
            JOB_FIGURE_COUNT
};

/* Curves over equal buckets of time; NAN where a value is missing. */
struct job_track {
        int64_t start_ns, width_ns; /* wall clock of the first bucket */
        size_t n;
        float *v[JOB_FIGURE_COUNT]; /* owned */
};

struct job_pause {
        int64_t begin_ns, end_ns;
};

/* What a GPU did, tick by tick, beyond what its curves report. */
struct job_gpu {
        uint32_t slot;
        char label[32];
        double ticks, busy;           /* ticks in all, and those in which kernels ran mostly */
        double clock, lanes, limit;   /* sums over busy ticks */
        double clocks, links, limits; /* how many ticks have one */
        double generation;
        double bits[JOB_BITS_MAX]; /* busy ticks with that reason of throttling */
        double errors_first, errors_last;
        bool has_errors, remap;
        int64_t held_ns;                    /* somebody first had memory on it */
        int64_t first_ns, work_ns, last_ns; /* first kernel, first sustained work, last kernel */
        int64_t own_ns;                     /* the rank's processes first used it */
        int64_t idle_since_ns;              /* 0 while it works */
        size_t n_work;                      /* busy ticks one after the other */
        size_t n_pauses;
        struct job_pause pauses[JOB_PAUSES_MAX]; /* the longest */
        size_t n_saves;
        struct job_pause saves[JOB_PAUSES_MAX]; /* when much was written to storage, likewise */
        struct job_pause save;                  /* the one in progress; 0: none */
        double saved;                           /* bytes of it */
        double holders;                         /* processes that hold it, added up over ticks */
        size_t n_pids;
        int32_t pids[JOB_PIDS_MAX]; /* of processes that hold it */
        double own;                 /* samples of the host in which the rank's processes use it */
};

/* What the rank's own processes did; a GPU that ranks share reports all of them. */
struct job_own {
        size_t n, fold, part; /* points; samples in each, and in the last */
        int64_t at_ns[JOB_CPU_POINTS];
        double cpu_s[JOB_CPU_POINTS];     /* CPU time until then */
        int64_t grown_ns[JOB_GROWTH_MAX]; /* when their memory first had 2^(i/2) MiB; 0: never */
        int64_t last_ns;                  /* the sample before */
        double cpu;                       /* CPU time in all */
};

/* Times of a kind of step. */
struct job_series {
        char name[PHASE_NAME_MAX];
        size_t n, fold, part; /* entries; steps in each, and in the last */
        double *begin_s;      /* since the job's start; owned */
        float *seconds;       /* owned */
};

struct job_finding {
        enum limiter limiter;
        enum held_by held_by;
        enum basis basis;
        bool before_work;
        double gpu_s, share; /* of the rank's time */
        double won_s;
        double longest_s; /* of its stretches */
        struct ceilings
            why; /* means of its longest stretch; of ranks joined, of the one with most */
        const struct where_rule *rule; /* the line that it names there; NULL for none */
        struct where_place place;
};

enum job_outlier { JOB_USUAL, JOB_LOW, JOB_HIGH };

/* One rank, or one GPU of a session that has several. */
struct job_rank {
        char file[256], node[64], gpu[32], launcher[16], job[JOB_TEXT_MAX], command[256];
        struct value rank, local_rank, node_rank, world;
        char label[32];            /* "3", "node02:1" */
        int64_t start_ns, stop_ns; /* of the session; stop 0: it was cut off */
        bool shared;               /* its GPU is another rank's too */
        char uuid[80];             /* of its GPU; may be empty */
        size_t machine;            /* of those that its node's name means; usually 0 */
        double clock_s; /* its node's clock is ahead by this much; its times were moved back */
        struct value seconds, exit_status, exit_signal, energy_j, peak_memory;
        struct value own_cpu; /* cores busy in the rank's own processes */
        struct job_gpu use;
        struct job_own own;
        struct job_track track;
        struct value clock_max;              /* Hz */
        struct value mean[JOB_FIGURE_COUNT]; /* over the time in which all ranks are present */
        enum job_outlier outlier[JOB_FIGURE_COUNT];
        size_t n_series;
        struct job_series series[JOB_SERIES_MAX];
        size_t n_findings;
        struct job_finding findings[JOB_FINDINGS_MAX];
        struct value step_s, late_s; /* a step's length; how late it is a step, both medians */
        double offset_s;             /* its clock is ahead by so much; taken out */
        struct line_profile lines;   /* after its start-up */
};

enum straggler_cause {
#define CAUSE(id, name, words, advice) CAUSE_##id,
#include "model/causes.def"
#undef CAUSE
        CAUSE_COUNT
};

/* A line in which a rank's main thread is for another share of the time than the others'. */
struct job_line {
        bool is_known;
        struct code_line own, inner;
        double own_share, peers_share;
};

/* A rank that holds the others up. */
struct straggler {
        size_t rank; /* place in the job's list */
        enum straggler_cause cause;
        bool by_marks;  /* steps say so; else counters */
        double late_s;  /* a step later than the others, or in all where there are no steps */
        double share;   /* of the time that the others lose, 0 to 1; 0 when not known */
        double cost_s;  /* seconds that the others lose in all */
        double begin_s; /* since the job's start: when it began */
        size_t times;   /* steps or pauses; 0 when it lasts */
        size_t of_steps;
        char step[PHASE_NAME_MAX];
        uint64_t reason;         /* CLOCK: bits of the reasons that its peers do not have */
        struct value own, peers; /* the figure that decided */
        struct value own_more, peers_more;
        struct job_line line, others_line; /* that it has more of, and that the others have */
};

#define STRAGGLERS_MAX 16

enum job_align { JOB_BY_WALL_CLOCK, JOB_BY_MARKS };

/* The findings of all ranks that report the same. */
struct job_joined {
        struct job_finding finding; /* sums */
        size_t n;                   /* ranks */
        size_t first;               /* the one that has most of it */
        uint8_t *has;               /* by rank; owned */
};

#define JOB_JOINED_MAX 32

struct job {
        size_t n, room;
        struct job_rank *ranks; /* owned; by rank, then node and GPU */
        int64_t start_ns, end_ns;
        double world;     /* ranks that there should be; 0 when not known */
        size_t n_missing; /* of those, without a file */
        size_t missing[16];
        enum job_align align;
        double moved_s;            /* the largest correction of a clock */
        char step[PHASE_NAME_MAX]; /* the steps that were compared; empty for none */
        double step_s;
        size_t n_steps;
        size_t n_shared_names; /* of nodes: each is the name of several machines */
        char shared_name[64];  /* one of them */
        size_t n_twice;        /* ranks that several files are */
        double twice;          /* one of them */
        size_t n_apart;        /* nodes whose clocks were hours off */
        double apart_s;        /* at most by so much */
        size_t n_stragglers;
        struct straggler stragglers[STRAGGLERS_MAX];
        size_t n_joined;
        struct job_joined joined[JOB_JOINED_MAX];
};

/* "clock", "link", …: as JSON has it. */
const char *cause_name(enum straggler_cause cause);
/* "its clock is below the others'". */
const char *cause_words(enum straggler_cause cause);
/* What to do. */
const char *cause_try(enum straggler_cause cause);
/* The mean of a figure between two moments of the wall clock; NAN when there is none. */
double job_mean(const struct job_rank *r, enum job_figure figure, int64_t from_ns, int64_t to_ns);
/* Cores busy in its own processes between two moments; NAN when that is not known. */
double job_own_cpu(const struct job_rank *r, int64_t from_ns, int64_t to_ns);
void job_rank_finish(struct job_rank *r);
void job_finish(struct job *j);
