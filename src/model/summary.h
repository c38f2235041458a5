/*
 * A run in numbers: per GPU and per phase, in bounded memory however long the run is. Means, minima
 * and maxima are exact. Percentiles come from a histogram of 32 steps an octave that keeps the mean
 * of each step: values that come again and again are given exactly, others within 3 %.
 */
#pragma once

#include "base/attr.h"
#include "base/num.h"
#include "model/frame.h"
#include "model/host.h"
#include "model/integral.h"
#include "model/phase.h"
#include "model/stretch.h"

#include <string.h>

struct step {
        double sum;
        uint64_t n;
};

struct spread {
        uint64_t n;
        double sum, min, max;
        uint64_t below; /* values of 0 and less */
        uint16_t first; /* step of steps[0] */
        uint16_t steps_n;
        struct step *steps;
};

/* 32 steps an octave are the exponent and five bits of a double. */
#define SPREAD_SHIFT 47
#define SPREAD_FIRST ((uint64_t)(1023 - 30) << 5) /* 2^-30; smaller values count as this step */
#define SPREAD_STEPS (80 << 5)                    /* up to 2^50 */

static inline unsigned spread_step(double v)
{
        uint64_t at = num_bits(v) >> SPREAD_SHIFT;
        at = at < SPREAD_FIRST ? 0 : at - SPREAD_FIRST;
        return at < SPREAD_STEPS ? (unsigned)at : SPREAD_STEPS - 1;
}

/* Makes room for a step. False when memory is short. */
bool spread_reach(struct spread *s, unsigned step);

/* Adds a value to all but the percentiles, which are missing then. In the header because a report
 * does this some ten million times. */
static inline void spread_count(struct spread *s, double v)
{
        s->min = s->n == 0 || v < s->min ? v : s->min;
        s->max = s->n == 0 || v > s->max ? v : s->max;
        s->n++;
        s->sum += v;
}

static inline void spread_add(struct spread *s, double v)
{
        spread_count(s, v);
        if (!(v > 0)) {
                s->below++;
                return;
        }
        unsigned step = spread_step(v);
        if (UNLIKELY(step - s->first >= s->steps_n) && !spread_reach(s, step))
                return;
        s->steps[step - s->first].n++;
        s->steps[step - s->first].sum += v;
}

void spread_finish(struct spread *s);
struct value spread_mean(const struct spread *s);
/* q from 0 to 1. */
struct value spread_quantile(const struct spread *s, double q);
struct value spread_max(const struct spread *s);
struct value spread_min(const struct spread *s);

enum tag {
        TAG_ALLOCATED_UNUSED,
        TAG_CPU_BOUND,
        TAG_MEMORY_BOUND,
        TAG_GPU_UTIL_BOUND,
        TAG_GPU_MEMORY_BOUND,
        TAG_NORMAL,
        TAG_COUNT
};

struct tag_score {
        enum tag tag;
        double score;
};

/* One GPU in the whole run or in the phases of one name. */
/* Cycles in which a pipe of each SM worked, at least and at most, and the time that is known of. */
struct pipe_work {
        double lo, hi, seconds;
};

struct gpu_summary {
        struct entity who;
        uint64_t samples;
        double seconds;
        struct spread m[METRIC_COUNT];
        double class_s[WORKLOAD_COUNT];
        enum workload newest; /* the class of the newest tick: all there is where no time passed */
        double health_s[HEALTH_CRIT + 1];
        uint32_t findings;                           /* all that were seen */
        struct integral_xid xids[INTEGRAL_XIDS_MAX]; /* a count of 0 is unknown */
        size_t n_xids;
        double energy_j;  /* from the counter, else from power × time */
        double pending_j; /* power × time that the counter has not confirmed yet */
        bool has_energy;
        double throttle_s, throttle_power_s, throttle_heat_s;
        bool has_throttle;
        struct pipe_work pipes[FLOPS_PIPE_COUNT];
        struct flops_rated flops; /* of the type that was declared for the scope */
        struct limited limited;
        bool worked;                  /* it was not idle all the time */
        double lead_s, tail_s;        /* idle before its first work, and since its last */
        double idle_s;                /* known to be idle: by row_use(), by stretches */
        double idle_allocated_s;      /* of that, while somebody held it */
        uint64_t allocated_unused;    /* samples with memory in use and utilization at most 5 % */
        uint64_t allocated_unused_of; /* samples in which both were known */
};

/* What a level's processes did on one GPU, as the driver reports. */
struct level_gpu_summary {
        double util, memory;             /* sums of ratios and bytes */
        uint64_t n_util, n_memory;       /* samples that have one */
        uint64_t allocated_unused, both; /* samples with memory and no work; that know both */
};

/* What the machine used, and in how much of the time that is known; of the level system alone. */
struct machine_energy {
        double cpu_j, cpu_s;   /* of its processors */
        double node_j, node_s; /* of all of it, by its power meter */
};

/* What the chosen level did in one scope, and the machine around it. */
struct level_summary {
        uint64_t samples;
        struct spread cpu, cpu_share;       /* cores; of the CPUs it may use */
        struct spread memory, memory_share; /* bytes; of its limit */
        bool memory_bound;                  /* memory has upper bounds only */
        struct spread read, write;          /* bytes a second */
        struct spread processes;
        struct spread usr, idle;                 /* of all CPU time of the machine */
        struct spread io_wait;                   /* cores of the machine that wait for I/O */
        struct value cpus, memory_limit;         /* as of the last sample */
        double cpu_s, read_bytes, written_bytes; /* rates × time */
        struct machine_energy energy;
        size_t n_gpus;
        struct level_gpu_summary gpus[HOST_GPUS_MAX];
};

/* The whole run, or all phases of one name. */
struct scope {
        char name[PHASE_NAME_MAX]; /* empty for the whole run */
        uint64_t times;            /* phases of that name */
        double seconds;            /* of the phases, or of the run */
        bool open;                 /* one of them was never ended */
        uint64_t ticks;
        size_t n;
        struct gpu_summary **gpus;    /* in order of appearance */
        struct gpu_summary **by_slot; /* the same; NULL for those that did not appear */
        size_t n_slots;
        struct limited limited; /* all its GPUs together */
        struct level_summary level;
        struct tag_score tags[TAG_COUNT];
        size_t n_tags;
};

/* Phases beyond this many names share one scope. */
#define SCOPES_MAX 64

/* The phases that hold a moment, as time passes. */
struct scope_cursor {
        struct phase_cursor at;
        size_t active[SCOPES_MAX]; /* of them, by scope */
};

/* Frames and hosts may be added on two threads: they share nothing that changes. */
struct summary {
        struct scope *scopes; /* [0] is the whole run */
        size_t n;
        const struct phase *phases;
        uint8_t *scope_of; /* by phase */
        size_t n_phases;
        struct phase_order order;
        struct phase_clock clock;
        struct scope_cursor frames, hosts;
        enum level level; /* whose figures the scopes have */
        char level_name[HOST_TEXT_MAX];
        bool only_phases; /* the whole is what lies inside the phases */
        bool asks_flops;  /* somebody says what the work is made of; before the first frame */
        bool means_only;  /* nobody asks for percentiles of GPUs; likewise */
        uint64_t ticks;
        int64_t first_ns, last_ns; /* wall clock of the ticks */
        struct before *before;     /* by entity slot */
        size_t n_before;
        struct stretch_list limits; /* what limited the GPUs, when; the list is owned */
};

const char *tag_name(enum tag tag);
void level_summary_finish(struct level_summary *l);

/* A number of the user's own, over the run. */
struct user_metric {
        char name[PHASE_NAME_MAX];
        uint64_t n;
        double sum, min, max, last;
};

/* What a report reports besides the summary. Text may be empty; numbers may be missing. */
struct run_facts {
        char input[256]; /* the file */
        char command[1024], host[128], user[64], source[128];
        char os[160], slurm_job[64];
        int64_t start_ns, stop_ns; /* wall clock; 0 when not known */
        struct value interval_s, exit_status, exit_signal;
        struct value cpu_user_s, cpu_system_s, max_rss, command_s, cpus, memory_limit;
        struct value system_cpus, pid, uid;
        struct value flops_per_step;
        struct value rank, local_rank, node_rank, world; /* of a job that a launcher started */
        char launcher[16], job[96];
        uint64_t asked, taken, late, missed, dropped;
        struct user_metric *metrics;
        size_t n_metrics;
        struct spread cpu_usr, cpu_idle; /* ratios of all CPU time */
        struct spread mem_copy_util;     /* when another file says it better than the samples */
};
