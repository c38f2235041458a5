/*
 * What limits a GPU: the ceilings it is measured by, the limiter that follows, and what holds its
 * clocks down. A class (verdict.h) says what a GPU looks like; a limiter says what would have to
 * change for the program to go faster. docs/LIMITS.md explains each.
 */
#pragma once

#include "model/host.h"
#include "model/unit.h"
#include "model/value.h"

enum ceiling {
#define CEILING(id, name, unit, kind, help) CEILING_##id,
#include "model/ceilings.def"
#undef CEILING
        CEILING_COUNT
};

enum ceiling_kind { CEILING_DEVICE, CEILING_HELD, CEILING_HOST, CEILING_DRIVER };

/* What a verdict rests on: profiling counters, or what the driver gives without them. */
enum basis { BASIS_COUNTERS, BASIS_DRIVER };

struct ceiling_info {
        const char *name;
        enum unit unit;
        enum ceiling_kind kind;
        const char *help;
};

#define CEILING_BIT(id) (UINT64_C(1) << CEILING_##id)
#define CEILING_AT(at) (UINT64_C(1) << (at))
_Static_assert(CEILING_COUNT <= 64, "a set of ceilings needs more bits");

/* Values and which of them are present. Small, because every row of every frame has them. */
struct ceilings {
        uint64_t present; /* one bit an enum ceiling */
        float v[CEILING_COUNT];
};

/* Sets of ceilings. */
#define CEILINGS_PCIE (CEILING_BIT(PCIE_IN) | CEILING_BIT(PCIE_OUT) | CEILING_BIT(PCIE_RATE))
#define CEILINGS_LINKS (CEILINGS_PCIE | CEILING_BIT(NVLINK_IN) | CEILING_BIT(NVLINK_OUT))
#define CEILINGS_PIPES                                                                             \
        (CEILING_BIT(TENSOR) | CEILING_BIT(FP64) | CEILING_BIT(FP32) | CEILING_BIT(FP16) |         \
         CEILING_BIT(INT))
#define CEILINGS_DEVICE (CEILING_BIT(ENGINE) | CEILING_BIT(SM) | CEILING_BIT(DRAM) | CEILINGS_PIPES)
/* Any of these is a profiling counter. */
#define CEILINGS_PROFILING                                                                         \
        (CEILING_BIT(SM) | CEILING_BIT(OCCUPANCY) | CEILING_BIT(DRAM) | CEILINGS_PIPES)
/* What the driver gives of a GPU's work without them. */
#define CEILINGS_DRIVER                                                                            \
        (CEILING_BIT(ENGINE) | CEILING_BIT(CONTROLLER) | CEILING_BIT(POWER) | CEILING_BIT(CLOCK))
/* Units beside the SMs that turn pictures and video into bytes and back. */
#define CEILINGS_CODEC (CEILING_BIT(DECODER) | CEILING_BIT(ENCODER) | CEILING_BIT(JPEG))
#define CEILINGS_CPU                                                                               \
        (CEILING_BIT(CPU_MAIN) | CEILING_BIT(CPU_THREAD) | CEILING_BIT(CPU_FIRST) |                \
         CEILING_BIT(CPU_CHILDREN) | CEILING_BIT(CPU_QUEUED))

enum limiter {
#define LIMITER(id, ...) LIMITER_##id,
#include "model/limiters.def"
        LIMITER_COUNT
};
_Static_assert(LIMITER_COUNT < 32, "a set of limiters needs more bits");

/* What has to move: nothing, the host, copies, or the GPU's own work. */
enum limiter_side { LIMITER_SIDE_NONE, LIMITER_SIDE_HOST, LIMITER_SIDE_COPY, LIMITER_SIDE_DEVICE };

/* The same in more detail: what a picture has a colour for. */
enum limiter_group {
        LIMITER_GROUP_UNKNOWN,
        LIMITER_GROUP_IDLE,
        LIMITER_GROUP_HOST,
        LIMITER_GROUP_COPY,
        LIMITER_GROUP_TENSOR,
        LIMITER_GROUP_COMPUTE,
        LIMITER_GROUP_MEMORY,
        LIMITER_GROUP_KERNEL,
        LIMITER_GROUP_COUNT
};

/* When a limiter's rule is tried: always, while the GPU has time left, or while it is busy. */
enum limiter_stage { LIMITER_STAGE_ANY, LIMITER_STAGE_HOST, LIMITER_STAGE_GPU };

/* What would be full without the limiter: an enum ceiling, or one of these. */
enum limiter_fills {
        FILLS_NOTHING = CEILING_COUNT,
        FILLS_BUSIEST, /* the busiest unit */
        FILLS_UNKNOWN  /* the engine, as far as it is known */
};

#define LIMITER_REASONS_MAX 5

/* What differs with and without profiling counters. */
struct limiter_sight {
        uint64_t inputs; /* a bit an enum ceiling */
        enum ceiling reasons[LIMITER_REASONS_MAX];
        const char *words, *rule;
};

/* A row of limiters.def, which explains the columns. */
struct limiter_info {
        const char *name;
        enum limiter_group group;
        enum limiter_stage stage;
        uint8_t fills; /* enum ceiling or enum limiter_fills */
        const char *brief, *present, *past, *general, *torch, *jax;
};

/* What holds the clocks down; the second word on limiters of the device. */
enum held_by { HELD_BY_NOTHING, HELD_BY_POWER, HELD_BY_THERMAL, HELD_BY_LOCKED };

/* What more than the rules ask; the other thresholds are in compute/limiter.h. */
#define LIMIT_ENGINE_NONE_DRIVER 0.015 /* the driver's utilization: as good as nothing ran */
#define LIMIT_HELD_BYTES 1e8           /* device memory beyond what the driver takes */

/* What of the evidence is reported; the limits of the rules themselves are in compute/limiter.h. */
#define LIMIT_GAIN_MIN                                                                             \
        0.05 /* cores, threads, shares of the host: less says nothing beside others */
#define LIMIT_BYTES_MIN 1e6  /* the same in bytes a second */
#define LIMIT_TURNS 0.75     /* cores: the busiest thread of a process whose threads take turns */
#define LIMIT_TURNS_MORE 0.1 /* cores: what all of them have beyond it */

#define LIMIT_QUEUED 0.5 /* of the time, waiting for a CPU: what others leave matters most */

#define LIMIT_WORKERS_LEAST 0.5 /* workers, on the mean of a stretch: below there are none */
#define LIMIT_WORKERS_FULL 0.75 /* of a core: workers that do more are never idle for long */

/* Where the power that a GPU draws at rest is known from. */
enum floor_from { FLOOR_UNKNOWN, FLOOR_MODEL, FLOOR_IDLE, FLOOR_KEPT, FLOOR_RUN };

/* Power at full clocks while nothing runs, as shares of the limit: an interval. */
struct power_floor {
        float lo, hi;
        uint8_t from; /* enum floor_from */
};

/* The limiter of one entity over about a second, with the reasons. */
struct limit {
        uint8_t limiter;   /* enum limiter */
        uint8_t held_by;   /* enum held_by */
        uint8_t basis;     /* enum basis */
        uint8_t undecided; /* when unknown: the first limiter whose rule cannot be decided */
        uint8_t or_else;   /* when unknown without counters: what it is if not that; else unknown */
        uint8_t other;     /* the limiter that is nearest; the limiter itself when none is */
        uint8_t at;        /* enum ceiling that would have to move for it */
        float change;      /* by so much */
        uint64_t inputs;   /* ceilings that the rule examined and present */
        uint64_t missing;  /* ceilings that it needed and that are not */
        struct power_floor floor; /* metrics that decide a verdict when there are no counters */
        struct ceilings ceilings;
};

/* "run", "kept", "idle", "model", "unknown". */
const char *floor_from_name(enum floor_from from);
const struct ceiling_info *ceiling_info(enum ceiling ceiling);
/* A ceiling as a value: missing when it is absent. */
static inline struct value ceiling_value(const struct ceilings *c, enum ceiling at)
{
        return c->present & CEILING_AT(at) ? value_ok((double)c->v[at]) : value_missing(STATE_NONE);
}

/* The busiest of the video and JPEG engines; 0 where none is known. */
double ceilings_codec(const struct ceilings *c);

static inline void ceiling_set(struct ceilings *c, enum ceiling at, double v)
{
        c->v[at] = (float)v;
        c->present |= CEILING_AT(at);
}

const struct limiter_info *limiter_info(enum limiter limiter);
/* "compute.tensor". */
const char *limiter_name(enum limiter limiter);
/* "the tensor cores". */
const char *limiter_words(enum limiter limiter);
/* Text after "limited by", or a phrase of its own: "the tensor cores", "idle, no program uses it".
 */
const char *limiter_phrase(enum limiter limiter);
/* "tensor cores": at most LIMITER_BRIEF_W columns. */
const char *limiter_brief(enum limiter limiter);
#define LIMITER_BRIEF_W 14
enum limiter_side limiter_side(enum limiter limiter);
enum limiter_group limiter_group(enum limiter limiter);
/* LIMITER_COUNT when there is no such limiter. */
enum limiter limiter_find(const char *name);
/* What a rule examines, the numbers a finding shows, and the words: without profiling counters less
 * can be distinguished. */
const struct limiter_sight *limiter_sight(enum limiter limiter, enum basis basis);
/* The rule in words, as docs/LIMITS.md states it. */
const char *limiter_rule(enum limiter limiter, enum basis basis);
/* "limited by", "likely limited by". */
const char *limiter_lead(enum basis basis);
/* Before its short form in a table: "likely " or nothing. */
const char *limiter_doubt(enum limiter limiter, enum basis basis);
/* "counters", "driver". */
const char *basis_name(enum basis basis);
/* "profiling counters", "the driver alone: likely". */
const char *basis_words(enum basis basis);
/* What would make a likely limiter sure; "" on counters. */
const char *basis_sure(enum basis basis);
/* What to try, by the evidence (its means over the time in question) and in the framework's words
 * where there are any. */
const char *limiter_try(enum limiter limiter, const struct ceilings *evidence,
                        enum framework framework);
/* Whether a thread waits for a CPU most of the time, so that no line is to blame. */
bool limit_lacks_cpus(const struct ceilings *c);
/* How busy each of the workers is, in cores; 0: there are none, or nobody counted them. */
double limit_worker_share(const struct ceilings *c);
/* CPUs that the program may use (affinity, cgroup); 0: unknown. */
double limit_allowed_cpus(const struct ceilings *c);
/* "power", "thermal", "clock.locked"; NULL for nothing. */
const char *held_by_name(enum held_by held);
/* "the power limit", "heat", "a locked clock"; "" for nothing. */
const char *held_by_words(enum held_by held);
