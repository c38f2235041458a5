/*
 * The cascade of limiters. Each input is an interval (interval.h): the first rule that holds, or
 * that cannot be decided, ends it. Values of the device are taken relative to the engine's time, so
 * that work in bursts is decided by what the GPU does when it is busy, and the host by what it does
 * in the gaps.
 */
#include "compute/ceilings.h"
#include "compute/limiter_driver.h"
#include "compute/limiter_rules.h"

#include <math.h>

static struct range point_range(double v)
{
        return (struct range){v, v};
}

/* What a missing value may be at most. */
static const double most_of[CEILING_COUNT] = {
#define CEILING(id, name, unit, kind, help) UNIT_##unit == UNIT_RATIO ? 1 : INFINITY,
#include "model/ceilings.def"
#undef CEILING
};

static struct range range_of(const struct ceilings *c, enum ceiling at)
{
        if (c->present & CEILING_AT(at))
                return point_range((double)c->v[at]);
        return (struct range){0, most_of[at]};
}

struct range view_now(const struct view *v, enum ceiling at)
{
        return v->driver && at == CEILING_ENGINE ? v->engine : range_of(v->all, at);
}

/* Of the host, while no kernel ran, as far as ticks show it. */
static struct range seen_gap(const struct view *v, enum ceiling at)
{
        return range_of(v->gaps && v->gaps->present & CEILING_AT(at) ? v->gaps : v->all, at);
}

/* The time that a thread which waits for kernels is busy: JAX rests, others spin. */
static double spinning_share(const struct view *v)
{
        return v->s->framework == FRAMEWORK_JAX ? 0 : view_now(v, CEILING_ENGINE).hi;
}

/* The same; where ticks are longer than bursts, what is left beside waiting for kernels. */
static struct range gap_range(const struct view *v, enum ceiling at)
{
        struct range r = seen_gap(v, at);
        double rest = 1 - view_now(v, CEILING_ENGINE).hi,
               most = at == CEILING_CPU_MAIN ? INFINITY : 1;
        if (!v->mixed || (at != CEILING_CPU_MAIN && at != CEILING_CPU_THREAD))
                return r;
        return (struct range){MIN(MAX(r.lo - spinning_share(v), 0) / rest, most),
                              MIN(MAX(r.hi - spinning_share(v), 0) / rest, most)};
}

static struct range higher_range(struct range a, struct range b)
{
        return (struct range){MAX(a.lo, b.lo), MAX(a.hi, b.hi)};
}

static double divide_or(double a, double b, double otherwise)
{
        return b > 0 ? MIN(a / b, 1) : otherwise;
}

/* a of b, both of one time. */
struct range range_divide(struct range a, struct range b)
{
        return (struct range){divide_or(a.lo, b.hi, 0), divide_or(a.hi, b.lo, a.hi > 0)};
}

/* Of a link whose speed nobody reports, the bytes bound the share. */
static struct range pcie_share(const struct view *v)
{
        if (v->present & (CEILING_BIT(PCIE_IN) | CEILING_BIT(PCIE_OUT)) ||
            !(v->present & CEILING_BIT(PCIE_RATE)))
                return higher_range(view_now(v, CEILING_PCIE_IN), view_now(v, CEILING_PCIE_OUT));
        double rate = view_now(v, CEILING_PCIE_RATE).lo;
        return (struct range){MIN(rate / PCIE_FASTEST, 1), MIN(rate / PCIE_SLOWEST, 1)};
}

static struct range pcie_of(const struct view *v)
{
        struct range r = pcie_share(v);
        /* Without profiling counters the engine's time includes copies: they are no extra. */
        if (!(v->present & CEILING_BIT(SM)) && !(v->present & CEILINGS_PCIE))
                r = point_range(0);
        return r;
}

/* Links that the source does not report are absent. */
static struct range link_of(const struct view *v)
{
        struct range r = v->pcie;
        static const enum ceiling nvlink[] = {CEILING_NVLINK_IN, CEILING_NVLINK_OUT};
        for (size_t i = 0; i < ARRAY_LEN(nvlink); i++) {
                if (v->present & CEILING_AT(nvlink[i]))
                        r = higher_range(r, view_now(v, nvlink[i]));
        }
        return r;
}

/* FP16 and integer counters are rarely read: those that are missing are not asked for. */
static struct range pipe_of(const struct view *v)
{
        static const enum ceiling seldom[] = {CEILING_FP64, CEILING_FP16, CEILING_INT};
        struct range r = higher_range(view_now(v, CEILING_TENSOR), view_now(v, CEILING_FP32));
        for (size_t i = 0; i < ARRAY_LEN(seldom); i++) {
                if (v->present & CEILING_AT(seldom[i]))
                        r = higher_range(r, view_now(v, seldom[i]));
        }
        return r;
}

static struct range both_ways_of(const struct view *v)
{
        struct range in = view_now(v, CEILING_PCIE_IN), out = view_now(v, CEILING_PCIE_OUT);
        bool known = v->present & CEILING_BIT(PCIE_IN) && v->present & CEILING_BIT(PCIE_OUT);
        return known ? (struct range){in.lo + out.lo, in.hi + out.hi} : point_range(0);
}

static double n_holders(const struct view *v)
{
        double n = view_has(v, CEILING_HOLDERS) ? view_now(v, CEILING_HOLDERS).lo : 1;
        return MAX(n, 1);
}

static void make_view(const struct ceilings *c, const struct situation *s, struct view *ret)
{
        ret->all = c;
        ret->gaps = s->gaps;
        ret->present = c->present;
        ret->driver = false;
        ret->s = s;
        struct range engine = view_now(ret, CEILING_ENGINE);
        struct range rest = {1 - engine.hi, 1 - engine.lo};
        ret->busy_pipe = range_divide(pipe_of(ret), engine);
        ret->busy_dram = range_divide(view_now(ret, CEILING_DRAM), engine);
        ret->busy_sm = range_divide(view_now(ret, CEILING_SM), engine);
        ret->pcie = pcie_of(ret);
        ret->link = link_of(ret);
        ret->idle_link = range_divide(ret->link, rest);
        ret->both_ways = range_divide(both_ways_of(ret), rest);
        ret->mixed = s->uneven < LIMIT_UNEVEN && engine.hi < LIMIT_ENGINE_FULL &&
                     n_holders(ret) <= 1 &&
                     (s->framework == FRAMEWORK_TORCH || s->framework == FRAMEWORK_JAX);
        if (s->basis == BASIS_DRIVER)
                view_add_driver(ret);
}

/* ---- what rules are made of ---- */

static enum truth engine_from(const struct view *v, double threshold)
{
        return at_least(view_now(v, CEILING_ENGINE), threshold);
}

static enum truth host_limits(const struct view *v)
{
        return truth_not(engine_from(v, LIMIT_ENGINE_FULL));
}

static enum truth nothing_runs(const struct view *v)
{
        double none = v->driver ? LIMIT_ENGINE_NONE_DRIVER : LIMIT_ENGINE_NONE;
        bool codes = ceilings_codec(v->all) >= LIMIT_COPIES;
        return codes ? NO
                     : both(below(view_now(v, CEILING_ENGINE), none), below(v->link, LIMIT_COPIES));
}

typedef struct range range_f(const struct view *v, enum ceiling at); /* now or gap */

/* The busiest thread; where it is not known, at most a core of what each process uses. Threads are
 * examined less often than processes: in a gap a thread does no more than its process. */
static struct range thread_of(const struct view *v, range_f *of)
{
        struct range main = of(v, CEILING_CPU_MAIN), thread = of(v, CEILING_CPU_THREAD);
        if (view_has(v, CEILING_CPU_THREAD))
                return (struct range){MIN(thread.lo, main.hi), MIN(thread.hi, main.hi)};
        return (struct range){MIN(main.lo / n_holders(v), 1), MIN(main.hi / n_holders(v), 1)};
}

/* Whether bytes go to or from storage; where nothing reports it, they may. */
static bool storage_moves(const struct view *v)
{
        return !view_has(v, CEILING_STORAGE) ||
               gap_range(v, CEILING_STORAGE).lo >= LIMIT_STORAGE_ANY;
}

/* Threads of a process that wait in the kernel, and not for storage, beside one that works: calls
 * of the driver. */
static double in_driver(const struct view *v, range_f *of)
{
        bool known = view_has(v, CEILING_IO_WAIT) && !storage_moves(v);
        double n = n_holders(v), works = of(v, CEILING_CPU_MAIN).lo / n;
        return known && works >= LIMIT_SOME ? of(v, CEILING_IO_WAIT).lo / n : 0;
}

/* Time in which a thread was ready to run, but others had the CPUs. */
static double queued_share(const struct view *v, range_f *of)
{
        return view_has(v, CEILING_CPU_QUEUED) ? of(v, CEILING_CPU_QUEUED).lo : 0;
}

/* Threads that take turns, as Python's do, keep one core busy together; one that waits for a CPU
 * would if it had one. */
static enum truth core_busy(const struct view *v, range_f *of)
{
        struct range main = of(v, CEILING_CPU_MAIN);
        double least = LIMIT_CORE - in_driver(v, of) - queued_share(v, of), n = n_holders(v);
        return either(at_least(thread_of(v, of), least),
                      at_least((struct range){main.lo / n, main.hi / n}, least));
}

enum truth view_core_busy(const struct view *v)
{
        return core_busy(v, view_now);
}

enum truth view_core_busy_in_gaps(const struct view *v)
{
        return core_busy(v, gap_range);
}

static double n_cores_usable(const struct view *v)
{
        double main = gap_range(v, CEILING_CPU_MAIN).lo,
               children = gap_range(v, CEILING_CPU_CHILDREN).lo;
        return MAX(main, 0) + MAX(children, 0);
}

/* Children that load keep more cores busy than the process they load for, or that process rests. */
static enum truth children_load(const struct view *v)
{
        struct range main = gap_range(v, CEILING_CPU_MAIN),
                     children = gap_range(v, CEILING_CPU_CHILDREN);
        enum truth more = children.lo >= main.hi  ? YES
                          : children.hi < main.lo ? truth_not(view_core_busy_in_gaps(v))
                                                  : MAYBE;
        return both(at_least(children, LIMIT_CHILDREN), more);
}

/* One thread that never rests is code of the program (a compiler, a callback); several load. */
static bool one_thread(const struct view *v, double busy)
{
        double thread = view_has(v, CEILING_CPU_THREAD) ? seen_gap(v, CEILING_CPU_THREAD).lo : 0;
        return thread >= LIMIT_LAUNCHING && busy < thread + LIMIT_SOME;
}

/*
 * Threads that load work while the main thread rests: it does nothing, or not much besides waiting
 * for kernels while they run. Then the others must do more than take turns with it, as a thread
 * for the backward pass does. Where the main thread is not known, no thread is called a loader,
 * nor where the GPU gets nothing for long: compilers have threads, too.
 */
static enum truth threads_load(const struct view *v)
{
        double n = n_holders(v), rest = 1 - view_now(v, CEILING_ENGINE).hi;
        if (!view_has(v, CEILING_CPU_FIRST) || !view_has(v, CEILING_CPU_MAIN) ||
            v->s->quiet_s > LIMIT_IDLE_S)
                return NO;
        double still = seen_gap(v, CEILING_CPU_FIRST).lo / n + queued_share(v, seen_gap);
        double first = view_now(v, CEILING_CPU_FIRST).lo / n;
        double others = seen_gap(v, CEILING_CPU_MAIN).lo / n - still;
        if (one_thread(v, others))
                return NO;
        if (still < LIMIT_RESTS)
                return others >= LIMIT_CHILDREN ? YES : NO;
        bool waits = first < spinning_share(v) + LIMIT_SOME * rest;
        /* Whole cores work for a thread that rests, and what they make goes to the GPU. */
        bool served = first < LIMIT_CORE && others >= 2 && v->link.lo >= LIMIT_COPIES;
        return served || (waits && others >= LIMIT_LAUNCHING) ? YES : NO;
}

static enum truth is_loading(const struct view *v)
{
        return either(children_load(v), threads_load(v));
}

static enum truth is_storing(const struct view *v)
{
        struct range wait = gap_range(v, CEILING_IO_WAIT), bytes = gap_range(v, CEILING_STORAGE);
        double busy = n_cores_usable(v);
        bool one = view_has(v, CEILING_IO_WAIT) != view_has(v, CEILING_STORAGE);
        enum truth waits =
            storage_moves(v) ? at_least(wait, MAX(LIMIT_IO_WAIT, LIMIT_SOME * busy)) : NO;
        enum truth moves = at_least(bytes, MAX(LIMIT_STORAGE, LIMIT_STORAGE_CORE * busy));
        if (one)
                return view_has(v, CEILING_IO_WAIT) ? waits : moves;
        return either(waits, moves);
}

/* Moving bytes costs CPU time, too; more work on them keeps more cores busy. */
enum truth view_network_moves(const struct view *v)
{
        if (!view_has(v, CEILING_NETWORK))
                return NO;
        struct range bytes = gap_range(v, CEILING_NETWORK);
        enum truth only = view_has(v, CEILING_CPU_MAIN)
                              ? at_least(bytes, LIMIT_NETWORK_CORE * n_cores_usable(v))
                              : MAYBE;
        return both(at_least(bytes, LIMIT_NETWORK), only);
}

static enum truth is_held(const struct view *v)
{
        enum truth memory = at_least(view_now(v, CEILING_MEMORY), LIMIT_HELD_BYTES);
        if (!view_has(v, CEILING_HOLDERS))
                return memory;
        enum truth process = at_least(view_now(v, CEILING_HOLDERS), 0.5);
        /* Some memory without a process is the driver's; much is of a process that is not seen. */
        if (process == NO && !view_has(v, CEILING_CPU_MAIN))
                memory = at_least(view_now(v, CEILING_MEMORY), 10 * LIMIT_HELD_BYTES);
        return view_has(v, CEILING_MEMORY) ? either(memory, process) : process;
}

/* A program is watched, whether or not it holds the GPU. */
static enum truth has_program(const struct view *v)
{
        return view_has(v, CEILING_CPU_MAIN) ? YES : NO;
}

/* ---- the rules ---- */

static enum truth is_starting(const struct view *v)
{
        const struct situation *s = v->s;
        enum truth fresh = s->touched || s->elsewhere ? NO : nothing_runs(v);
        /* Before work begins, a host that is busy prepares it. */
        enum truth prepares =
            s->before ? either(view_core_busy_in_gaps(v), either(is_loading(v), is_storing(v)))
                      : children_load(v);
        enum truth idles =
            both(below(view_now(v, CEILING_ENGINE), LIMIT_SOME), below(v->link, LIMIT_COPIES));
        /* Work of a millisecond now and then does not show in the driver's utilization. A program
         * that ends without any other has not only started. */
        enum truth unseen = !v->driver || !s->touched || s->before ? YES : s->ended ? NO : MAYBE;
        enum truth begins = s->worked ? NO : both(both(idles, prepares), unseen);
        return both(has_program(v), either(fresh, begins));
}

static enum truth is_copying(const struct view *v)
{
        /* Copies that take turns in both directions leave each of them half of the time. */
        enum truth near =
            either(at_least(v->idle_link, LIMIT_NEAR), at_least(v->both_ways, LIMIT_BOTH_WAYS));
        enum truth waits = both(host_limits(v), both(at_least(v->link, LIMIT_SOME), near));
        enum truth light = both(below(v->busy_pipe, LIMIT_SOME), below(v->busy_dram, LIMIT_SOME));
        enum truth inside =
            either(both(at_least(v->pcie, LIMIT_NEAR),
                        both(below(v->busy_pipe, LIMIT_NEAR), below(v->busy_dram, LIMIT_NEAR))),
                   both(at_least(v->pcie, LIMIT_SOME), light));
        /* Kernels that move data over NVLink are a collective's. A link that nothing is known of is
         * not suspected while kernels run. */
        if (!(v->present & CEILINGS_PCIE))
                inside = NO;
        return either(waits, both(engine_from(v, LIMIT_ENGINE_FULL), inside));
}

/* Something else than launches is known to fill the gaps between kernels: copies, storage, or CPU
 * work on more cores than launching needs. */
bool view_gaps_filled(const struct view *v)
{
        return v->idle_link.lo >= LIMIT_FILLED || is_storing(v) == YES ||
               view_now(v, CEILING_CPU_MAIN).lo / n_holders(v) >= LIMIT_MANY;
}

static enum truth is_launching(const struct view *v)
{
        struct range thread = thread_of(v, view_now);
        /* Small kernels at an even pace come from a thread that launches them, seen or not. */
        bool even = v->s->uneven < LIMIT_UNEVEN;
        enum truth busy = view_has(v, CEILING_CPU_MAIN) || !even ? view_core_busy(v) : YES;
        enum truth small = both(below(v->busy_sm, LIMIT_SM_FULL), busy);
        enum truth steady = even ? engine_from(v, LIMIT_SOME) : NO;
        if (view_gaps_filled(v))
                return NO;
        return both(engine_from(v, LIMIT_ENGINE_LOW),
                    either(small, both(steady, at_least(thread, LIMIT_LAUNCHING))));
}

static enum truth is_collective(const struct view *v)
{
        struct range nvlink =
            higher_range(view_now(v, CEILING_NVLINK_IN), view_now(v, CEILING_NVLINK_OUT));
        enum truth talks = view_has(v, CEILING_NVLINK_IN) && view_has(v, CEILING_NVLINK_OUT)
                               ? both(at_least(nvlink, LIMIT_NOTHING / 2),
                                      both(below(v->busy_pipe, 2 * LIMIT_NOTHING),
                                           below(v->busy_dram, LIMIT_SOME)))
                               : NO;
        enum truth spins = both(
            both(below(v->busy_pipe, LIMIT_NOTHING), below(v->busy_dram, LIMIT_NOTHING)),
            both(at_least(v->busy_sm, LIMIT_SM_FULL), below(view_now(v, CEILING_POWER), 0.45)));
        return v->s->peers ? either(talks, spins) : NO;
}

static enum truth is_highest_pipe(const struct view *v, enum ceiling pipe)
{
        struct range own = range_divide(view_now(v, pipe), view_now(v, CEILING_ENGINE));
        if (!view_has(v, pipe))
                return pipe == CEILING_TENSOR || pipe == CEILING_FP32 ? at_least(own, LIMIT_NEAR)
                                                                      : NO;
        return own.lo >= v->busy_pipe.lo ? at_least(own, LIMIT_NEAR) : NO;
}

enum held_by limiter_held_by(const struct ceilings *c, enum limiter limiter)
{
        struct value clock = ceiling_value(c, CEILING_CLOCK);
        bool low = value_is_set(clock) && clock.v < LIMIT_CLOCK_FULL;
        bool follows = limiter != LIMITER_COLLECTIVE && limiter != LIMITER_CODEC;
        if (limiter_side(limiter) != LIMITER_SIDE_DEVICE || !follows || !low)
                return HELD_BY_NOTHING;
        if (!(c->present & CEILING_BIT(HELD_POWER)))
                return HELD_BY_NOTHING;
        if ((double)c->v[CEILING_HELD_THERMAL] >= LIMIT_HELD_SHARE)
                return HELD_BY_THERMAL;
        if ((double)c->v[CEILING_HELD_POWER] >= LIMIT_HELD_SHARE)
                return HELD_BY_POWER;
        bool steady = c->v[CEILING_HELD_POWER] + c->v[CEILING_HELD_THERMAL] == 0;
        return steady ? HELD_BY_LOCKED : HELD_BY_NOTHING;
}

/* Memory has a clock of its own: when it is not quite full and the SMs' clock is held down, it is
 * the SMs that it waits for. */
static enum truth fills_memory(const struct view *v)
{
        bool held = limiter_held_by(v->all, LIMITER_KERNEL) != HELD_BY_NOTHING;
        double near = held ? LIMIT_NEAR_HELD : LIMIT_NEAR;
        return v->busy_dram.lo >= v->busy_pipe.lo ? at_least(v->busy_dram, near) : NO;
}

static enum truth fills_tensor(const struct view *v)
{
        return is_highest_pipe(v, CEILING_TENSOR);
}

static enum truth fills_fp64(const struct view *v)
{
        return is_highest_pipe(v, CEILING_FP64);
}

static enum truth fills_fp32(const struct view *v)
{
        return is_highest_pipe(v, CEILING_FP32);
}

static enum truth fills_fp16(const struct view *v)
{
        return is_highest_pipe(v, CEILING_FP16);
}

static enum truth fills_int(const struct view *v)
{
        return is_highest_pipe(v, CEILING_INT);
}

static enum truth has_free_sms(const struct view *v)
{
        return below(v->busy_sm, LIMIT_SM_FULL);
}

static enum truth waits_for_memory(const struct view *v)
{
        return both(below(v->busy_pipe, LIMIT_SOME), at_least(v->busy_dram, LIMIT_SOME));
}

static enum truth is_unused(const struct view *v)
{
        return both(truth_not(is_held(v)), nothing_runs(v));
}

static enum truth is_held_unused(const struct view *v)
{
        enum truth unused = both(is_held(v), nothing_runs(v));
        /* Work that is too short for the driver's percents keeps a thread from resting. */
        if (v->driver && view_has(v, CEILING_CPU_THREAD) &&
            view_now(v, CEILING_CPU_THREAD).lo >= LIMIT_RESTS)
                unused = NO;
        return v->s->quiet_s >= LIMIT_IDLE_S ? unused : NO;
}

/* Utilization as it is given: power and traffic of the video engines are no sign of kernels. */
static enum truth fills_codec(const struct view *v)
{
        double codec = ceilings_codec(v->all);
        struct range engine = range_of(v->all, CEILING_ENGINE);
        if (codec < LIMIT_CODEC || engine.lo >= codec)
                return NO;
        return engine.hi < codec ? YES : MAYBE;
}

static enum truth is_copying_slowly(const struct view *v)
{
        return both(at_least(v->link, LIMIT_COPIES), view_core_busy_in_gaps(v));
}

static enum truth keeps_core_busy(const struct view *v)
{
        return view_core_busy_in_gaps(v);
}

/* The last rule of its stage: what no other one explains. */
static enum truth always_holds(const struct view *v UNUSED)
{
        return YES;
}

static enum truth never_holds(const struct view *v UNUSED)
{
        return NO;
}

static enum truth is_networking(const struct view *v)
{
        return view_network_moves(v);
}

/* ---- the cascade ---- */

/* Whether it is time for the rules of a stage. */
static enum truth stage_holds(enum limiter_stage stage, const struct view *v)
{
        switch (stage) {
        case LIMITER_STAGE_ANY:
                return YES;
        case LIMITER_STAGE_HOST:
                /* Memory that is held and not used is seen on the GPU alone. */
                return !view_has(v, CEILING_CPU_MAIN) && is_held_unused(v) == YES ? NO
                                                                                  : host_limits(v);
        case LIMITER_STAGE_GPU:
                return engine_from(v, LIMIT_ENGINE_FULL);
        }
        return NO;
}

static rule_f *const rules[LIMITER_COUNT] = {
#define LIMITER(id, name, group, stage, holds, ...) [LIMITER_##id] = holds,
#include "model/limiters.def"
};

/* Those that differ without profiling counters. */
static rule_f *const likely_rules[LIMITER_COUNT] = {
#define WITHOUT_COUNTERS(id, holds, ...) [LIMITER_##id] = holds,
#include "model/limiters.def"
};

static const enum limiter order[] = {
#define TURN(id) LIMITER_##id,
#include "model/limiters.def"
};

static enum truth rule_holds(enum limiter rule, const struct view *v)
{
        bool own = v->driver && likely_rules[rule];
        return own ? likely_rules[rule](v) : rules[rule](v);
}

/* The first after skip that holds or cannot be decided; skip is LIMITER_COUNT for none. */
static enum limiter first_rule(const struct view *v, enum limiter skip, enum truth *ret_truth)
{
        bool on = skip == LIMITER_COUNT;
        enum truth stages[LIMITER_STAGE_GPU + 1];
        for (enum limiter_stage s = LIMITER_STAGE_ANY; s <= LIMITER_STAGE_GPU; s++)
                stages[s] = stage_holds(s, v);
        for (size_t i = 0; i < ARRAY_LEN(order); i++) {
                enum truth stage = stages[limiter_info(order[i])->stage];
                *ret_truth = !on || stage == NO ? NO : both(stage, rule_holds(order[i], v));
                if (*ret_truth != NO)
                        return order[i];
                on = on || order[i] == skip;
        }
        *ret_truth = MAYBE;
        return LIMITER_HOST_STARTING;
}

enum limiter limiter_rule_for(const struct ceilings *c, const struct situation *s,
                              enum truth *ret_truth)
{
        struct view v;
        make_view(c, s, &v);
        return first_rule(&v, LIMITER_COUNT, ret_truth);
}

enum limiter limiter_rule_after(const struct ceilings *c, const struct situation *s,
                                enum limiter rule)
{
        struct view v;
        enum truth truth;
        make_view(c, s, &v);
        enum limiter next = first_rule(&v, rule, &truth);
        /* Who does not know how memory is waited for may as well wait for something else. */
        if (limiter_info(next)->group == LIMITER_GROUP_MEMORY &&
            limiter_info(rule)->group == LIMITER_GROUP_MEMORY)
                next = first_rule(&v, next, &truth);
        return next == order[0] ? LIMITER_UNKNOWN : next; /* that one comes after none */
}
