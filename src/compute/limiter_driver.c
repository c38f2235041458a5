/*
 * What limits a GPU of which nobody reads profiling counters. Utilization says how long it was
 * busy, the memory controller's share of that how much it moved, power above that at rest how much
 * it computed, and the clock with its reasons whether that was too much. None is exact: cards
 * differ in what a share means, so each rule keeps clear of what the next one would say, and where
 * two could hold it cannot be decided.
 */
#include "compute/limiter_driver.h"

/* Shares of the memory controller, of the time the GPU is busy. */
#define TRAFFIC_NOTHING 0.005 /* kernels that wait for themselves */
#define TRAFFIC_NONE 0.005    /* not even copies at the link's speed, on any card */
#define TRAFFIC_LINKS 6       /* times what a full link brings: more than copies alone cause */
#define TRAFFIC_SMALL 0.03    /* kernels that fill the SMs cause more, or draw power */
#define TRAFFIC_LAUNCHED 0.08 /* small kernels that run for a part of the time; copies alone */
#define TRAFFIC_COPIES 0.15   /* more than copies over a link cause */
#define TRAFFIC_UNITS 0.04    /* operands of matrix products come from memory */
#define TRAFFIC_SOME 0.3      /* memory is what most kernels wait for */
#define TRAFFIC_NEAR 0.5      /* the same, where the clock is held down and traffic with it */
#define TRAFFIC_WHOLE 0.9     /* as good as full on any */
#define CLOCK_HARDLY_HELD 0.85
#define TRAFFIC_FULL 0.7 /* of a saturated memory cards show 70 to 100 % */
/* Power above that at rest, of the limit. */
#define DRAW_ERROR 0.01   /* what it is known to */
#define DRAW_WHOLE 0.6    /* kernels that fill the GPU all the time, and leave copies none */
#define DRAW_NONE 0.05    /* below: the SMs are nearly empty */
#define DRAW_COPIES 0.2   /* more than copies cost */
#define DRAW_HEAVY 0.25   /* what tensor cores draw at least where the limit holds the clock */
#define DRAW_SMALL 0.1    /* small kernels, of the time they run */
#define DRAW_LARGE 0.15   /* and kernels that are not */
#define DRAW_LEAST 0.025  /* less cannot be distinguished from rest */
#define DRAW_MORE 0.05    /* beyond the share of the time that the GPU is busy */
#define LAG_S 1.0         /* by so much utilization is late */
#define BUSY_COPYING 0.25 /* link, of the busy time: it is copies that keep the GPU busy */

/* Power above that at rest, of the time the GPU is busy. */
static struct range draw_while_busy(const struct view *v)
{
        return range_divide(v->draw, view_now(v, CEILING_ENGINE));
}

/* Whether there is more power or traffic than can come from the time the GPU is said to be busy. */
static bool exceeds_work(const struct view *v, double traffic)
{
        return v->draw.lo > v->engine.hi + DRAW_MORE || traffic > v->engine.hi + TRAFFIC_NONE;
}

void view_add_driver(struct view *v)
{
        struct range engine = view_now(v, CEILING_ENGINE), power = view_now(v, CEILING_POWER);
        const struct power_floor *floor = &v->s->floor;
        double lo = (double)floor->lo, hi = floor->hi > 0 ? (double)floor->hi : 1;
        v->driver = true;
        v->engine = engine;
        v->sees_copies = v->present & CEILINGS_PCIE;
        v->draw = (struct range){MAX(power.lo - hi - DRAW_ERROR, 0), power.hi - lo + DRAW_ERROR};
        /* Utilization lags by up to a second. */
        double traffic = view_has(v, CEILING_CONTROLLER) ? view_now(v, CEILING_CONTROLLER).lo : 0;
        double late = v->s->seconds > 0 ? LAG_S / v->s->seconds : 1;
        if (exceeds_work(v, traffic))
                v->engine.hi = MIN(engine.lo + late, 1);
        /* Where even that does not explain it, utilization says nothing. */
        if (exceeds_work(v, traffic))
                v->engine.hi = 1;
        engine = v->engine;
        v->controller = range_divide(view_now(v, CEILING_CONTROLLER), engine);
        /* Traffic costs power, too: of hardly any, memory is not busy. */
        if (!view_has(v, CEILING_CONTROLLER) && draw_while_busy(v).hi < DRAW_NONE)
                v->controller.hi = TRAFFIC_COPIES;
        /* Kernels run for a part of the engine's time that nobody knows. */
        v->idle_link.lo = v->link.lo;
}

static enum truth clock_is_full(const struct view *v)
{
        return at_least(view_now(v, CEILING_CLOCK), LIMIT_CLOCK_FULL);
}

static enum truth held_by_power(const struct view *v)
{
        bool known = view_has(v, CEILING_HELD_POWER);
        return known ? at_least(view_now(v, CEILING_HELD_POWER), LIMIT_HELD_SHARE) : NO;
}

/* ---- copies ---- */

/* What goes over the link goes through device memory: so much of its time at least. */
static double link_traffic(const struct view *v)
{
        return MAX(TRAFFIC_NONE, v->s->link_traffic);
}

/* JAX moves data with threads of its own: where they rest, nothing is copied. */
static bool jax_rests(const struct view *v)
{
        return v->s->framework == FRAMEWORK_JAX && view_has(v, CEILING_CPU_MAIN) &&
               view_now(v, CEILING_CPU_MAIN).hi < LIMIT_SOME;
}

/*
 * Copies at the link's speed are memory traffic, too, of a few percent; so much is seen where
 * kernels run beside them. Those leave the GPU busy all the time, and its clock to itself.
 */
static bool may_copy(const struct view *v)
{
        if (draw_while_busy(v).lo >= DRAW_WHOLE || jax_rests(v))
                return false;
        bool whole = at_least(view_now(v, CEILING_ENGINE), LIMIT_ENGINE_FULL) == YES;
        bool alone = draw_while_busy(v).lo < DRAW_COPIES;
        bool beside = whole && held_by_power(v) != YES;
        return v->controller.hi >= link_traffic(v) && v->controller.lo < TRAFFIC_SOME &&
               (alone || beside);
}

/* Without the bytes over PCIe: traffic that costs no power is copies; small kernels have neither.
 */
static enum truth looks_like_copies(const struct view *v)
{
        struct range engine = view_now(v, CEILING_ENGINE);
        enum truth quiet = below(draw_while_busy(v), DRAW_NONE);
        double most = MAX(TRAFFIC_LAUNCHED, TRAFFIC_LINKS * v->s->link_traffic);
        enum truth moves =
            both(at_least(v->controller, link_traffic(v)), below(v->controller, most));
        if (at_least(engine, LIMIT_ENGINE_FULL) == YES && both(quiet, moves) == YES)
                return YES;
        return both(at_least(engine, LIMIT_SOME), may_copy(v) ? MAYBE : NO);
}

enum truth likely_copying(const struct view *v)
{
        struct range copies = range_divide(v->link, view_now(v, CEILING_ENGINE));
        enum truth used = at_least(v->link, LIMIT_SOME);
        if (!v->sees_copies)
                return looks_like_copies(v);
        enum truth light =
            both(below(v->controller, TRAFFIC_COPIES), below(draw_while_busy(v), DRAW_COPIES));
        enum truth near = both(at_least(copies, LIMIT_NEAR), below(v->controller, TRAFFIC_NEAR));
        return both(used, either(near, light));
}

enum truth likely_copying_slowly(const struct view *v)
{
        if (v->sees_copies)
                return both(at_least(v->link, LIMIT_COPIES), view_core_busy_in_gaps(v));
        struct range engine = view_now(v, CEILING_ENGINE);
        /* One or two threads copy; what keeps more cores busy is work of the program. */
        bool many = view_now(v, CEILING_CPU_MAIN).lo >= LIMIT_MANY;
        bool may = !many && engine.hi >= LIMIT_ENGINE_LOW && draw_while_busy(v).lo < DRAW_LARGE &&
                   v->controller.lo < TRAFFIC_COPIES;
        return both(view_core_busy_in_gaps(v), may ? MAYBE : NO);
}

/* ---- kernels that do not fill the GPU ---- */

/* Kernels that cost little power and move little, for the time they run. Where the power at rest is
 * not known well enough, they are small if they move next to nothing. */
static enum truth kernels_are_small(const struct view *v)
{
        double engine = view_now(v, CEILING_ENGINE).hi;
        if (v->draw.lo >= MAX(DRAW_LARGE * engine, DRAW_LEAST))
                return NO;
        bool weak = v->draw.hi < MAX(DRAW_SMALL * engine, DRAW_LEAST);
        bool hardly = view_has(v, CEILING_POWER) && v->controller.hi < TRAFFIC_UNITS;
        return weak                                  ? below(v->controller, TRAFFIC_LAUNCHED)
               : hardly                              ? YES
               : v->controller.lo < TRAFFIC_LAUNCHED ? MAYBE
                                                     : NO;
}

/* Launches come from JAX's main thread; what another one does all the time is copying. */
static enum truth main_thread_launches(const struct view *v)
{
        if (v->sees_copies || v->s->framework != FRAMEWORK_JAX || !view_has(v, CEILING_CPU_FIRST))
                return YES;
        return either(at_least(view_now(v, CEILING_CPU_FIRST), LIMIT_CORE), MAYBE);
}

enum truth likely_launching(const struct view *v)
{
        struct range copies = range_divide(v->link, view_now(v, CEILING_ENGINE));
        bool copying = v->sees_copies && v->link.lo >= LIMIT_COPIES && copies.lo >= BUSY_COPYING;
        if (copying || view_gaps_filled(v) || view_network_moves(v) == YES)
                return NO;
        enum truth between = at_least(view_now(v, CEILING_ENGINE), LIMIT_ENGINE_LOW);
        return both(both(between, view_core_busy(v)),
                    both(kernels_are_small(v), main_thread_launches(v)));
}

enum truth likely_small_kernels(const struct view *v)
{
        struct range draw = draw_while_busy(v);
        enum truth weak = draw.hi < DRAW_NONE ? YES : draw.lo >= DRAW_SMALL ? NO : MAYBE;
        if (weak == MAYBE && view_has(v, CEILING_POWER) && v->controller.hi < TRAFFIC_NOTHING)
                return YES;
        /* More traffic than small kernels cause, and less power than others need: nobody knows. */
        bool between = draw.lo < DRAW_NONE && v->controller.lo < TRAFFIC_COPIES;
        return both(weak, between ? either(below(v->controller, TRAFFIC_SMALL), MAYBE)
                                  : below(v->controller, TRAFFIC_SMALL));
}

/* A collective's kernels spin until the slowest GPU comes: that looks like kernels which do little.
 */
enum truth may_wait_for_others(const struct view *v)
{
        bool light = draw_while_busy(v).lo < DRAW_HEAVY && v->controller.lo < TRAFFIC_COPIES;
        return v->s->peers_used && light ? MAYBE : NO;
}

/* ---- kernels that do ---- */

/*
 * Where the clock is low, traffic that follows the SMs' clock looks like memory that is full: only
 * what is as good as full, at a clock that is hardly held, is not.
 */
enum truth likely_filling_memory(const struct view *v)
{
        enum truth full = at_least(v->controller, TRAFFIC_FULL);
        enum truth clock = clock_is_full(v);
        if (clock == YES)
                return full;
        bool hardly = at_least(view_now(v, CEILING_CLOCK), CLOCK_HARDLY_HELD) == YES &&
                      held_by_power(v) == YES;
        return hardly && v->controller.lo >= TRAFFIC_WHOLE ? YES : both(full, clock);
}

enum truth likely_memory(const struct view *v)
{
        enum truth some = at_least(v->controller, TRAFFIC_SOME);
        bool hardly = at_least(view_now(v, CEILING_CLOCK), CLOCK_HARDLY_HELD) == YES;
        enum truth full = at_least(v->controller, hardly ? TRAFFIC_FULL : TRAFFIC_WHOLE);
        enum truth much = both(at_least(v->controller, TRAFFIC_NEAR), MAYBE);
        return clock_is_full(v) == YES ? some : either(full, much);
}

/* At the power limit, with operands that come from memory: matrix products. */
enum truth likely_tensor(const struct view *v)
{
        enum truth held = both(held_by_power(v), truth_not(clock_is_full(v)));
        enum truth operands =
            both(at_least(v->controller, TRAFFIC_UNITS), below(v->controller, TRAFFIC_NEAR));
        return both(both(held, operands), at_least(draw_while_busy(v), DRAW_HEAVY));
}

/* What is left draws power: the SMs work. */
enum truth likely_kernel(const struct view *v)
{
        return at_least(draw_while_busy(v), DRAW_NONE) == YES ? YES : MAYBE;
}
