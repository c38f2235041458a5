/*
 * What was added up of one GPU while it was watched. Plain numbers without pointers: a state file
 * and a copy for readers are a memcpy. The rows are in integrals.def.
 */
#pragma once

#include "model/limit.h"
#include "model/metric.h"
#include "model/verdict.h"

enum integral {
#define INTEGRAL(id, name, how, metric, mask) INTEGRAL_##id,
#include "model/integrals.def"
#undef INTEGRAL
        INTEGRAL_COUNT
};

enum integral_how {
        INTEGRAL_HOW_OWN,
        INTEGRAL_HOW_TIMES,
        INTEGRAL_HOW_SCORE,
        INTEGRAL_HOW_BITS,
        INTEGRAL_HOW_GROWTH,
};

struct integral_info {
        const char *name;
        enum integral_how how;
        enum metric metric; /* METRIC_COUNT for none */
        uint64_t mask;
};

const struct integral_info *integral_info(enum integral integral);

/* Kinds of XID that are counted apart; more share the last place, as XID 0. */
#define INTEGRAL_XIDS_MAX 16

struct integral_xid {
        uint32_t xid;
        double n;
};

/* Adds count errors of a number to a list with room for INTEGRAL_XIDS_MAX. */
void integral_xids_add(struct integral_xid *list, size_t *n, uint32_t number, double count);

/* XIDs of the last minutes, in order; where there are more, the oldest are lost. */
#define XID_EVENTS_MAX 64
#define XID_WINDOW_S 300
struct xid_event {
        uint32_t xid;
        double n;
        int64_t mono_ns;
};
struct xid_events {
        bool counted; /* the source counts them: no value is no value */
        struct xid_event list[XID_EVENTS_MAX];
        size_t n;
};

/* Why a GPU that is held computes nothing. */
enum idle_reason {
#define IDLE_REASON(id, name, words) IDLE_##id,
#include "model/idle.def"
#undef IDLE_REASON
        IDLE_REASON_COUNT
};

/* "no_process". */
const char *idle_reason_name(enum idle_reason reason);
/* "no process uses the GPU". */
const char *idle_reason_words(enum idle_reason reason);
/* IDLE_REASON_COUNT when there is no such reason. */
enum idle_reason idle_reason_find(const char *name);

/*
 * What one holder after the other did with the GPU, by slots: an owner has a slot of its own, and
 * nobody else gets it until long after, so that what a slot grew by is one owner's however rarely
 * somebody looks. Who has it is in struct owner.
 */
#define HOLDING_SLOTS 8

struct holding {
        double held_s, observed_s;
        double idle_unobserved_s; /* without counters, and idle by what the driver reports */
        double real_s;            /* Real Utilization (0 to 1) × time */
        double process_s;         /* utilization by its own processes × time, of a shared GPU */
        double process_seen_s;    /* time in which that was known */
        double wasted_s[IDLE_REASON_COUNT];
};

struct integrals {
        int64_t created_ns; /* wall clock: all counters were 0 then; the keeper's to set */
        uint64_t present;   /* bits: the integral had something to add up at least once */
        double v[INTEGRAL_COUNT];
        double class_s[WORKLOAD_COUNT];
        double health_s[HEALTH_CRIT + 1];
        double limiter_s[LIMITER_COUNT];
        double finding_s[HEALTH_REASON_COUNT];
        double idle_s[IDLE_REASON_COUNT]; /* known to be idle, by reason */
        struct holding holdings[HOLDING_SLOTS];
        double growth_from[INTEGRAL_COUNT]; /* GROWTH: where the driver's counter stood */
        struct integral_xid xids[INTEGRAL_XIDS_MAX];
        size_t n_xids;
        double peak_memory; /* bytes, since it was last taken */
};
_Static_assert(INTEGRAL_COUNT <= 64, "there needs more bits");

static inline bool integral_is_set(const struct integrals *in, enum integral i)
{
        return in->present & (UINT64_C(1) << i);
}
