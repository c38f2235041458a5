/*
 * Two sides of a comparison, each one run or several repeats of it, and what follows: what differs
 * between them, by how much with which certainty, and why. docs/DIFF.md explains the rules.
 */
#pragma once

#include "model/line_profile.h"
#include "model/phase.h"
#include "model/speed.h"
#include "model/stretch.h"
#include "model/trace.h"
#include "model/unit.h"

#define DIFF_RUNS_MAX 32   /* of one side */
#define DIFF_SERIES_MAX 64 /* names of a run */
#define DIFF_TEXT_MAX 160
#define DIFF_WINDOWS_MAX TRACE_POINTS

/* What the numbers of a series are. */
enum diff_kind { DIFF_PHASE, DIFF_USER };

/* One number a time that something came: how long a phase took, what a metric of the user's was. */
struct diff_series {
        char name[PHASE_NAME_MAX];
        enum diff_kind kind;
        struct speed_name speed; /* what its name says; times of a known unit are in seconds */
        double energy;           /* joules in the phases of that name; negative when not known */
        size_t n, room;
        double *v;
};

/* Means over windows of equal length and over all GPUs. */
struct diff_windows {
        size_t n;
        size_t steps_from, steps_n; /* those that lie between the first step and the last */
        double span_s;              /* from the first to the end of the last, with gaps */
        float v[DIFF_WINDOWS_MAX];
};

/* A share of the time with its standard error, which is negative when nothing reports it. */
struct diff_share {
        double mean, se, df;
        size_t n;
};

struct diff_stretch {
        enum limiter limiter;
        bool before_work;
        double seconds;
};

#define DIFF_STRETCHES_MAX 128

/* One recording in the numbers that a comparison needs. */
struct diff_run {
        char name[256];
        char command[1024], model[80], driver[80], mig[80], source[128];
        char model_short[32]; /* as CSV has it */
        size_t gpus;
        size_t busy, woken; /* GPUs that worked for a good part of the time; that worked at all */
        uint64_t print;     /* by what each GPU did, in any order */
        bool unwatched;     /* a program's own log, which says nothing of GPUs */
        int64_t start_ns;
        struct value interval_s;
        bool exact;       /* the command's own time, not that of the first and last sample */
        double seconds;   /* of the run */
        bool has_seconds; /* nobody cut it short */
        char ended[64];   /* how it ended when that was not well; empty otherwise */
        uint64_t ticks;
        double observed;          /* share of the time that was observed, of the GPU seen least */
        char lost[32];            /* a GPU that was absent all the time; empty for none */
        double startup_s;         /* before the first sustained work */
        struct value energy_j;    /* of all GPUs */
        struct value peak_memory; /* bytes, of the GPU that had most */
        struct value throttled;   /* share of the time */
        struct value power_limit, clock, clock_max; /* W; Hz while it worked */
        struct value engine; /* share of the time in which kernels ran, after the start-up */
        struct value children, storage, io_wait; /* what the host did then */
        /* Shares of the GPU-seconds after the start-up; they add up to 1, or are all 0. */
        struct diff_share limiter[LIMITER_COUNT];
        enum basis basis;  /* what most of that rests on */
        enum held_by held; /* what held the clocks down for most of the time */
        struct diff_windows windows[TRACE_COUNT]; /* after the start-up */
        size_t ranks;                             /* files that it was made of */
        size_t n_stretches;                       /* one after the other, of one limiter each */
        struct diff_stretch stretches[DIFF_STRETCHES_MAX];
        struct line_profile lines; /* among the steps, else after the start-up; empty: not known */
        size_t n_series;
        struct diff_series series[DIFF_SERIES_MAX];
};

struct diff_side {
        size_t n;
        struct diff_run *runs; /* owned by their maker */
};

enum diff_word { DIFF_LESS, DIFF_MORE, DIFF_SAME, DIFF_INCONCLUSIVE };

/* Where a row's noise comes from. */
enum diff_method {
        DIFF_BY_NOTHING,
        DIFF_BY_IDENTITY, /* both sides are the same recording */
        DIFF_BY_REPEATS,
        DIFF_BY_STEPS,
        DIFF_BY_WINDOWS,
        DIFF_BY_PEAK,       /* a maximum, which repeats without noise */
        DIFF_BY_ASSUMPTION, /* once a side: what runs usually differ by */
};

/* What the verdict may come from, best first. */
enum diff_evidence {
        DIFF_EVIDENCE_NONE,
        DIFF_EVIDENCE_STEPS,
        DIFF_EVIDENCE_NUMBERS, /* the user's own, that mean a time or a rate */
        DIFF_EVIDENCE_PHASE,   /* one that takes a good part of the run and is not a warm-up */
        DIFF_EVIDENCE_RUN,     /* its length, or that of the work in it */
};

/* Which way is better. */
enum diff_better { DIFF_BETTER_UNKNOWN, DIFF_LESS_IS_FASTER, DIFF_MORE_IS_FASTER };

/* How a change is reported. */
enum diff_scale {
        DIFF_RELATIVE, /* new / base - 1 */
        DIFF_ABSOLUTE, /* new - base, of shares */
};

struct diff_row {
        char name[PHASE_NAME_MAX + 32];
        enum unit unit;
        enum diff_scale scale;
        enum diff_better better;
        enum diff_evidence evidence; /* NONE: the verdict never comes from it */
        bool is_phase;               /* belongs to the table of phases */
        bool is_limiter;             /* the share of the time that a limiter had: */
        enum limiter limiter;
        struct value base, now;
        bool has_interval;
        bool is_wide;             /* inconclusive for the width of its interval alone */
        double change, low, high; /* 95 % */
        enum diff_word word;
        enum diff_method method;
        size_t n_base, n_now;    /* numbers behind it: runs, steps or windows */
        char why[DIFF_TEXT_MAX]; /* why it is inconclusive; empty otherwise */
};

/* What would forbid a verdict and may be allowed: bits. DIFF_ALLOW(id, name) */
#define DIFF_ALLOWS(DIFF_ALLOW)                                                                    \
        DIFF_ALLOW(GPUS, "gpus")                                                                   \
        DIFF_ALLOW(MODEL, "model")                                                                 \
        DIFF_ALLOW(MIG, "mig")                                                                     \
        DIFF_ALLOW(COVERAGE, "coverage")                                                           \
        DIFF_ALLOW(EXIT, "exit")                                                                   \
        DIFF_ALLOW(RANKS, "ranks")

enum diff_allow {
#define DIFF_ALLOW(id, name) DIFF_ALLOW_##id,
        DIFF_ALLOWS(DIFF_ALLOW)
#undef DIFF_ALLOW
            DIFF_ALLOW_COUNT,
        DIFF_ALLOW_NONE = DIFF_ALLOW_COUNT
};

/* NULL for NONE. */
const char *diff_allow_name(enum diff_allow allow);

enum diff_check_kind {
#define DIFF_CHECK(id, words, of, allow, why) DIFF_CHECK_##id,
#include "model/diff_checks.def"
#undef DIFF_CHECK
        DIFF_CHECK_COUNT
};

/* What stands on each side. */
enum diff_check_of {
        DIFF_OF_ONE,
        DIFF_OF_LIST,
        DIFF_OF_TEXTS,
        DIFF_OF_COUNTS,
        DIFF_OF_W,
        DIFF_OF_MHZ,
        DIFF_OF_S,
};

struct diff_check_info {
        const char *words;
        enum diff_check_of of;
        enum diff_allow allow;
        const char *why;
};

const struct diff_check_info *diff_check_info(enum diff_check_kind kind);

/* Something that differs between the sides besides the result. */
struct diff_check {
        enum diff_check_kind kind;
        bool is_new;   /* ONE and LIST: of NEW, not of BASE */
        bool is_grave; /* both sides report it, so it forbids a verdict unless it is allowed */
        bool forbids;  /* no verdict is given */
        bool allowed;  /* it would forbid one, and the user allows it */
        /* As recorded: texts, or names with commas; of ONE, its own side's. Empty: not known. */
        char base[DIFF_TEXT_MAX], now[DIFF_TEXT_MAX];
        struct value base_v, now_v; /* counts and numbers, in SI units; a share of COVERAGE */
};

enum diff_cause_kind {
        DIFF_CAUSE_NONE,
        DIFF_CAUSE_POWER_LIMIT,
        DIFF_CAUSE_CLOCK,
        DIFF_CAUSE_LIMITER,
        DIFF_CAUSE_STARTUP,
        DIFF_CAUSE_KERNELS, /* they take longer, or less time */
        DIFF_CAUSE_GAPS,    /* the time between kernels did, and no limiter says why */
        DIFF_CAUSE_PHASE,   /* a phase did, and nothing reports the GPUs */
        DIFF_CAUSE_LINE,    /* a line of the program did, and nothing else is known */
};

#define DIFF_LINES_MAX 2

/* A line of the program that took a good part of the change. */
struct diff_line {
        struct code_line own, inner;  /* line 0: all of the function, whose lines differ */
        bool of_workers;              /* CPU time of workers; else time of main threads */
        double base, now;             /* seconds of what the main row counts */
        double error;                 /* of their difference, 95 % */
        double share_base, share_now; /* of the main threads' time */
        uint64_t looks_base, looks_now;
};

struct diff_cause {
        enum diff_cause_kind kind;
        enum limiter limiter; /* whose time moved; UNKNOWN for none */
        enum limiter other;   /* what limits most on the side where it does not */
        double base, now;     /* its share, or W, Hz, s */
        double explains;      /* of the change, 0 to 1 */
        struct value engine_base, engine_now;
        /* The figure in two: seconds in which kernels ran, and the rest. Missing when not known. */
        struct value kernels_base, kernels_now, gaps_base, gaps_now;
        char part[PHASE_NAME_MAX];  /* the phase that grew or shrank with it; empty for none */
        double part_base, part_now; /* seconds each time */
        size_t n_lines;
        struct diff_line lines[DIFF_LINES_MAX];
};

enum diff_gate_of { DIFF_GATE_TIME, DIFF_GATE_ENERGY, DIFF_GATE_MEMORY, DIFF_GATE_COUNT };
enum diff_gate_result { DIFF_GATE_WITHIN, DIFF_GATE_BEYOND, DIFF_GATE_OPEN };

struct diff_gate {
        enum diff_gate_of of;
        bool relative; /* of the base; otherwise in the row's own unit */
        double most;
        size_t row; /* the row that it examines; SIZE_MAX when there is none */
        enum diff_gate_result result;
};

/* Parts of the run in order, matched by what limits them. */
struct diff_part {
        enum limiter limiter;
        bool before_work;
        double base_s, now_s; /* negative: not on that side */
};

#define DIFF_ROWS_MAX 160
#define DIFF_CHECKS_MAX 48
#define DIFF_PARTS_MAX 24

struct diff {
        enum diff_word word;
        bool comparable;
        bool identical;
        enum basis basis;        /* scope of the limit: the driver when either side has it */
        char why[DIFF_TEXT_MAX]; /* why there is no verdict; empty otherwise */
        size_t main;             /* the row that the verdict comes from; SIZE_MAX for none */
        size_t opposed; /* a row that says the opposite, so there is no verdict; SIZE_MAX: none */
        size_t n_rows;
        struct diff_row rows[DIFF_ROWS_MAX];
        size_t n_checks;
        struct diff_check checks[DIFF_CHECKS_MAX];
        size_t n_parts;
        struct diff_part parts[DIFF_PARTS_MAX];
        struct diff_cause cause;
        size_t n_gates;
        struct diff_gate gates[DIFF_GATE_COUNT];
};

/* The word of the verdict: "faster", "slower", "no difference", "inconclusive". */
const char *diff_word_name(enum diff_word word);
/* The same of a row, with "lower" and "higher" where neither is better. */
const char *diff_row_word_name(const struct diff_row *row);
/* A row's word as that of a time: a rate that is higher is a time that is less. */
enum diff_word diff_row_speed(const struct diff_row *row);
/* A rate as the time of one: what of its numbers is relative is turned around, and what is not is
 * divided by. Other rows as they are. */
struct diff_row diff_row_as_time(const struct diff_row *row);
/* Whether a row has the unit of a gate: a rate has no seconds. */
bool diff_gate_fits(const struct diff_gate *gate, const struct diff_row *row);
/* "steps", "numbers", "phase", "run"; "none". */
const char *diff_evidence_name(enum diff_evidence evidence);
/* "repeats", "steps", "windows", …: as JSON has it. */
const char *diff_method_name(enum diff_method method);
const char *diff_gate_name(enum diff_gate_of of);
