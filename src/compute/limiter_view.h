/* What the rules of limiters look at: ceilings as intervals, of the time that matters. */
#pragma once

#include "compute/interval.h"
#include "compute/limiter.h"

struct view {
        const struct ceilings *all;      /* means over all the time */
        const struct ceilings *gaps;     /* of the host, while no kernel ran; NULL: as all */
        struct range busy_pipe;          /* the highest pipe, of the engine's time */
        struct range busy_dram, busy_sm; /* of the engine's time */
        struct range pcie;               /* the busier direction */
        struct range link;               /* the busiest direction of the busiest link */
        struct range idle_link;          /* the same, of the time without kernels */
        struct range both_ways;          /* PCIe in and out added up, likewise */
        bool mixed;                      /* ticks are longer than bursts: gaps are not seen apart */
        uint64_t present;
        const struct situation *s;
        /* Without profiling counters. The engine's time includes copies then. */
        bool driver;
        struct range engine;     /* as far as power bears it out */
        bool sees_copies;        /* the bytes over PCIe are known */
        struct range controller; /* the memory controller, of the engine's time */
        struct range draw;       /* power above that at rest, of the limit, over all the time */
};

typedef enum truth rule_f(const struct view *v);

static inline bool view_has(const struct view *v, enum ceiling at)
{
        return v->present & CEILING_AT(at);
}

/* A ceiling over all the time; what is missing may be anything. */
struct range view_now(const struct view *v, enum ceiling at);
/* The part of a that b is, both of one time. */
struct range range_divide(struct range a, struct range b);
/* Whether a thread, or threads that take turns, keep a core busy: all the time, or while nothing
 * runs. */
enum truth view_core_busy(const struct view *v);
enum truth view_core_busy_in_gaps(const struct view *v);
/* Whether something else than launches is known to fill the gaps between kernels. */
bool view_gaps_filled(const struct view *v);
/* Whether much goes over the network for the cores that are busy. */
enum truth view_network_moves(const struct view *v);
