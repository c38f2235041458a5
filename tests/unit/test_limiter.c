/* Ceilings, limiters and peaks, as tables: each row has a reason. */
#include "compute/compute.h"
#include "test.h"

#include <math.h>
#include <string.h>

struct given {
        const char *why;
        enum limiter limiter;
        enum held_by held;
        double engine, sm, tensor, dram, fp32, pcie; /* below 0: missing */
        double clock, power;
        double main, thread, children, io, storage;
        double uneven;
        unsigned flags;
};

#define FRESH 1u    /* the GPU was never used */
#define PEERS 2u    /* there are other GPUs */
#define CAPPED 4u   /* the power limit holds the clocks */
#define QUIET 8u    /* for a minute */
#define BUILDS 16u  /* work has not begun */
#define EMPTY 32u   /* no memory, no process */
#define SHORT 64u   /* nothing ran for six seconds */
#define SELDOM 128u /* the power limit holds the clocks a third of the time */
#define BEFORE 256u /* and will begin later */
#define N -1.0

static const struct given rows[] = {
    {"a GEMM at the power limit", LIMITER_COMPUTE_TENSOR, HELD_BY_POWER, .99, .96, .93, .16, 0, 0,
     .75, .99, 1, 1, 0, 0, 0, 0, CAPPED},
    {"a GEMM on zeros with locked clocks", LIMITER_COMPUTE_TENSOR, HELD_BY_LOCKED, .99, .96, .93,
     .16, 0, 0, .6, .5, 1, 1, 0, 0, 0, 0, 0},
    {"two GEMMs share the GPU", LIMITER_COMPUTE_TENSOR, HELD_BY_NOTHING, 1, .88, .81, .16, 0, 0, 1,
     .9, 2, 1, 0, 0, 0, 0, 0},
    {"a copy in device memory, every SM active", LIMITER_MEMORY_BANDWIDTH, HELD_BY_NOTHING, .99,
     .99, 0, .88, 0, 0, 1, .6, 1, 1, 0, 0, 0, 0, 0},
    {"matrix-vector products", LIMITER_MEMORY_BANDWIDTH, HELD_BY_NOTHING, 1, .84, .03, .85, 0, 0, 1,
     .88, 1, 1, 0, 0, 0, 0, 0},
    {"random gather", LIMITER_MEMORY_ACCESS, HELD_BY_NOTHING, .97, .97, 0, .55, 0, 0, 1, .5, 1, 1,
     0, 0, 0, 0, 0},
    {"an FP32 GEMM", LIMITER_COMPUTE_FP32, HELD_BY_NOTHING, .99, .97, 0, .1, .9, 0, 1, .8, 1, 1, 0,
     0, 0, 0, 0},
    {"a GEMM in a bad layout", LIMITER_KERNEL, HELD_BY_NOTHING, .99, .96, .13, .1, .05, 0, 1, .49,
     1, 1, 0, 0, 0, 0, 0},
    {"a small network in a CUDA graph", LIMITER_PARALLELISM, HELD_BY_NOTHING, 1, .02, 0, 0, 0, 0, 1,
     .2, 1, 1, 0, 0, 0, 0, 0},
    {"the same, eager", LIMITER_LAUNCH, HELD_BY_NOTHING, .14, .01, 0, 0, 0, 0, 1, .2, 1, 1, 0, 0, 0,
     0, 0},
    {"larger kernels with gaps, one thread never rests", LIMITER_LAUNCH, HELD_BY_NOTHING, .6, .5,
     .2, .3, 0, 0, 1, .4, 1, 1, 0, 0, 0, .05, 0},
    {"the same in bursts: the thread does something else between", LIMITER_HOST_CODE,
     HELD_BY_NOTHING, .6, .5, .2, .3, 0, 0, 1, .4, 1, 1, 0, 0, 0, .4, 0},
    {"loader workers compute", LIMITER_HOST_INPUT, HELD_BY_NOTHING, .002, 0, 0, 0, 0, 0, 1, .2, .3,
     .2, 9.1, 0, 0, 0, 0},
    {"loader workers compute and the GPU works by turns", LIMITER_HOST_INPUT, HELD_BY_NOTHING, .5,
     .45, .4, .1, 0, 0, 1, .5, .3, .2, 9.1, .2, 1e6, .4, 0},
    {"threads of a process whose main thread is not known apart", LIMITER_HOST_CODE,
     HELD_BY_NOTHING, .1, .1, 0, 0, 0, 0, 1, .2, 4, .9, 0, 0, 0, .2, 0},
    {"compilers as children of a process that is busier", LIMITER_HOST_CODE, HELD_BY_NOTHING, .01,
     .01, 0, 0, 0, 0, 1, .2, 2.9, .5, 1.4, 0, 0, 0, 0},
    {"small kernels, launched by threads that take turns", LIMITER_LAUNCH, HELD_BY_NOTHING, .08,
     .001, 0, 0, 0, 0, 1, .2, .92, .53, 0, 0, 0, .03, 0},
    {"cold files", LIMITER_HOST_STORAGE, HELD_BY_NOTHING, .02, .01, 0, 0, 0, .03, 1, .2, .3, .2, 2,
     3, 2.4e9, 0, 0},
    {"a checkpoint that is synced", LIMITER_HOST_STORAGE, HELD_BY_NOTHING, 0, 0, 0, 0, 0, 0, 1, .2,
     .5, .5, 0, .6, 8e8, 0, 0},
    {"NumPy in the main thread", LIMITER_HOST_CODE, HELD_BY_NOTHING, .001, .001, 0, 0, 0, 0, 1, .2,
     1, 1, 0, 0, 0, 0, 0},
    {"Python threads that take turns on one core", LIMITER_HOST_CODE, HELD_BY_NOTHING, .01, .01, 0,
     0, 0, 0, 1, .2, 1, .3, 0, 0, 0, 0, 0},
    {"answers now and then", LIMITER_HOST_WAITING, HELD_BY_NOTHING, .11, .09, .05, .02, 0, 0, 1, .2,
     .15, .15, 0, 0, 0, .3, 0},
    {"memory held, asleep", LIMITER_IDLE_ALLOCATED, HELD_BY_NOTHING, 0, 0, 0, 0, 0, 0, 1, .2, 0, 0,
     0, 0, 0, 0, QUIET},
    {"the same for a moment", LIMITER_HOST_WAITING, HELD_BY_NOTHING, 0, 0, 0, 0, 0, 0, 1, .2, 0, 0,
     0, 0, 0, 0, 0},
    {"nobody", LIMITER_IDLE, HELD_BY_NOTHING, 0, 0, 0, 0, 0, 0, .2, .1, N, N, N, N, N, 0, EMPTY},
    {"imports", LIMITER_HOST_STARTING, HELD_BY_NOTHING, 0, 0, 0, 0, 0, 0, .2, .1, 1, 1, 0, 0, 0, 0,
     FRESH | EMPTY | BUILDS},
    {"compilers run before the first work", LIMITER_HOST_STARTING, HELD_BY_NOTHING, 0, 0, 0, 0, 0,
     0, 1, .2, 1, 1, 8, 0, 0, 0, BUILDS},
    {"weights are built on one core before the first work", LIMITER_HOST_CODE, HELD_BY_NOTHING, 0,
     0, 0, 0, 0, 0, 1, .2, 1, 1, 0, 0, 0, 0, BUILDS},
    {"the same, and work begins later", LIMITER_HOST_STARTING, HELD_BY_NOTHING, .01, .01, 0, 0, 0,
     0, 1, .2, 1, 1, 0, 0, 0, 0, BUILDS | BEFORE},
    {"copies before the work", LIMITER_COPY_HOST, HELD_BY_NOTHING, 0, 0, 0, 0, 0, .11, 1, .2, 1, 1,
     0, 0, 0, 0, BUILDS | BEFORE},
    {"asleep before the work", LIMITER_HOST_WAITING, HELD_BY_NOTHING, 0, 0, 0, 0, 0, 0, 1, .2, 0, 0,
     0, 0, 0, 0, BUILDS | BEFORE},
    {"pinned copies", LIMITER_COPY_LINK, HELD_BY_NOTHING, .03, .03, 0, .03, 0, .93, 1, .2, 1, 1, 0,
     0, 0, 0, 0},
    {"copies and kernels by turns", LIMITER_COPY_LINK, HELD_BY_NOTHING, .5, .48, .3, .1, 0, .44, 1,
     .4, 1, 1, 0, 0, 0, .4, 0},
    {"pageable copies", LIMITER_COPY_HOST, HELD_BY_NOTHING, 0, 0, 0, 0, 0, .11, 1, .2, 1, 1, 0, 0,
     0, 0, 0},
    {"pageable copies and kernels by turns, faster than ticks", LIMITER_COPY_HOST, HELD_BY_NOTHING,
     .6, .55, .36, .18, 0, .05, 1, .6, 1, 1, 0, 0, 0, .02, 0},
    {"the same with small kernels", LIMITER_COPY_HOST, HELD_BY_NOTHING, .18, .06, .01, .02, 0, .1,
     1, .2, 1, 1, 0, 0, 0, .02, 0},
    {"small batches are copied between launches", LIMITER_LAUNCH, HELD_BY_NOTHING, .5, .2, .03, .06,
     .04, .006, 1, .3, 1.1, 1, 1.5, 0, 0, .02, 0},
    {"an optimizer on all cores and kernels by turns, faster than ticks", LIMITER_HOST_CODE,
     HELD_BY_NOTHING, .3, .28, .2, .1, 0, 0, 1, .4, 7.5, 1, 0, 0, 0, .02, 0},
    {"files are read between small kernels", LIMITER_HOST_STORAGE, HELD_BY_NOTHING, .18, .06, .01,
     .02, 0, 0, 1, .2, .7, .7, 0, .3, 6e8, .02, 0},
    {"a kernel that spins while other GPUs are behind", LIMITER_COLLECTIVE, HELD_BY_NOTHING, 1, .95,
     0, .01, .01, 0, 1, .3, 1, 1, 0, 0, 0, 0, PEERS},
    {"no counters, busy", LIMITER_UNKNOWN, HELD_BY_NOTHING, 1, N, N, N, N, N, 1, .5, 1, 1, 0, 0, 0,
     0, 0},
    {"no host, memory held, for long", LIMITER_IDLE_ALLOCATED, HELD_BY_NOTHING, 0, 0, 0, 0, 0, 0, 1,
     .2, N, N, N, N, N, 0, QUIET},
    {"no host, memory held", LIMITER_UNKNOWN, HELD_BY_NOTHING, 0, 0, 0, 0, 0, 0, 1, .2, N, N, N, N,
     N, 0, 0},
    {"no host, small kernels at an even pace", LIMITER_LAUNCH, HELD_BY_NOTHING, .33, .11, 0, .1, 0,
     0, 1, .2, N, N, N, N, N, .05, 0},
    {"no host, bursts", LIMITER_UNKNOWN, HELD_BY_NOTHING, .5, .4, .3, .1, 0, 0, 1, .2, N, N, N, N,
     N, .4, 0},
    {"memory held, a kernel now and then", LIMITER_HOST_WAITING, HELD_BY_NOTHING, .02, .01, 0, 0, 0,
     0, 1, .2, 0, 0, 0, 0, 0, 0, QUIET},
    {"memory held, nothing for six seconds", LIMITER_IDLE_ALLOCATED, HELD_BY_NOTHING, 0, 0, 0, 0, 0,
     0, 1, .2, 0, 0, 0, 0, 0, 0, SHORT},
    {"a GEMM with small gaps", LIMITER_COMPUTE_TENSOR, HELD_BY_NOTHING, .85, .8, .75, .1, 0, 0, 1,
     .8, 1, 1, 0, 0, 0, .05, 0},
    {"tensor cores busy two thirds of the time", LIMITER_COMPUTE_TENSOR, HELD_BY_NOTHING, 1, .9,
     .66, .1, 0, 0, 1, .8, 1, 1, 0, 0, 0, 0, 0},
    {"one loader worker, nearly a core", LIMITER_HOST_INPUT, HELD_BY_NOTHING, .1, .1, 0, 0, 0, 0, 1,
     .2, .1, .1, .9, 0, 0, .3, 0},
    {"half a thread waits for storage", LIMITER_HOST_STORAGE, HELD_BY_NOTHING, .1, .1, 0, 0, 0, 0,
     1, .2, .1, .1, 0, .5, 5e6, .3, 0},
    {"half a thread waits, and nothing goes to storage", LIMITER_HOST_WAITING, HELD_BY_NOTHING, .1,
     .1, 0, 0, 0, 0, 1, .2, .1, .1, 0, .5, 0, .3, 0},
    {"a thread works or is in the driver", LIMITER_HOST_CODE, HELD_BY_NOTHING, 0, 0, 0, .09, 0, 0,
     1, .2, .5, .5, 0, .4, 0, 0, 0},
    {"memory fairly busy, the clocks held down", LIMITER_KERNEL, HELD_BY_POWER, .95, .93, 0, .58,
     .31, 0, .77, .99, .1, .1, 0, 0, 0, 0, CAPPED},
    {"the same at full clock", LIMITER_MEMORY_BANDWIDTH, HELD_BY_NOTHING, .95, .93, 0, .58, .31, 0,
     1, .9, .1, .1, 0, 0, 0, 0, 0},
    {"memory near full, the clocks held down", LIMITER_MEMORY_BANDWIDTH, HELD_BY_POWER, .99, .98, 0,
     .82, .25, 0, .94, .99, .1, .1, 0, 0, 0, 0, CAPPED},
    {"kernels that fill half of the SMs, unevenly", LIMITER_LAUNCH, HELD_BY_NOTHING, .715, .375, 0,
     0, 0, 0, 1, .2, .97, .98, 0, 0, 1e7, .38, 0},
    {"clocks held a third of the time", LIMITER_COMPUTE_TENSOR, HELD_BY_NOTHING, .99, .96, .93, .16,
     0, 0, .8, .9, 1, 1, 0, 0, 0, 0, SELDOM},
    {"a kernel that uses nothing, and no other GPU", LIMITER_KERNEL, HELD_BY_NOTHING, 1, .95, 0,
     .01, .01, 0, 1, .3, 1, 1, 0, 0, 0, 0, 0},
    {"nothing at all", LIMITER_UNKNOWN, HELD_BY_NOTHING, N, N, N, N, N, N, N, N, N, N, N, N, N, 0,
     0},
};

static void put(struct ceilings *c, enum ceiling at, double v)
{
        if (v >= 0)
                ceiling_set(c, at, v);
}

static struct ceilings ceilings_given(const struct given *g)
{
        struct ceilings c = {0};
        put(&c, CEILING_ENGINE, g->engine);
        put(&c, CEILING_SM, g->sm);
        put(&c, CEILING_TENSOR, g->tensor);
        put(&c, CEILING_DRAM, g->dram);
        put(&c, CEILING_FP32, g->fp32);
        put(&c, CEILING_PCIE_IN, g->pcie);
        put(&c, CEILING_PCIE_OUT, g->pcie < 0 ? N : 0);
        put(&c, CEILING_CLOCK, g->clock);
        put(&c, CEILING_POWER, g->power);
        put(&c, CEILING_HELD_POWER, g->flags & SELDOM ? 0.33 : (g->flags & CAPPED) != 0);
        put(&c, CEILING_HELD_THERMAL, 0);
        put(&c, CEILING_MEMORY, g->flags & EMPTY ? 0 : 1e9);
        put(&c, CEILING_HOLDERS, g->flags & EMPTY ? 0 : strstr(g->why, "two") ? 2 : 1);
        put(&c, CEILING_CPU_MAIN, g->main);
        put(&c, CEILING_CPU_THREAD, g->thread);
        put(&c, CEILING_CPU_CHILDREN, g->children);
        put(&c, CEILING_IO_WAIT, g->io);
        put(&c, CEILING_STORAGE, g->storage);
        return c;
}

static void rules(void **state UNUSED)
{
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct ceilings c = ceilings_given(&rows[i]);
                const struct situation s = {.touched = !(rows[i].flags & FRESH),
                                            .worked = !(rows[i].flags & BUILDS),
                                            .before = rows[i].flags & BEFORE,
                                            .peers = rows[i].flags & PEERS,
                                            .quiet_s = rows[i].flags & QUIET   ? 60
                                                       : rows[i].flags & SHORT ? 6
                                                                               : 0,
                                            .uneven = rows[i].uneven};
                struct limit l = limiter_decide(&c, &s, true);
                if (l.limiter != rows[i].limiter || l.held_by != rows[i].held)
                        fail_msg("%s: %s, held by %s", rows[i].why,
                                 limiter_name((enum limiter)l.limiter),
                                 held_by_words((enum held_by)l.held_by));
                if (l.limiter == LIMITER_UNKNOWN && l.missing == 0)
                        fail_msg("%s: it does not say what is missing", rows[i].why);
                assert_int_equal(l.missing & c.present, 0);
        }
}

/* Threads of a process: its own code, or loaders that the main thread waits for. */
static void main_threads(void **state UNUSED)
{
        static const struct {
                const char *why;
                enum limiter limiter;
                double engine, main, first, thread, holders, quiet_s;
        } given[] = {
            {"eight threads decode, the main thread waits for them", LIMITER_HOST_INPUT, .1, 7.6,
             .04, .95, 1, 0},
            {"five threads compile, and the GPU gets nothing", LIMITER_HOST_CODE, 0, 5, .1, .95, 1,
             20},
            {"OpenMP: the main thread works like the others", LIMITER_HOST_CODE, .1, 7.9, .98, .99,
             1, 0},
            {"a CPU optimizer by turns with kernels", LIMITER_HOST_CODE, .3, 8, .9, .95, 1, 0},
            {"one thread that fetches ahead", LIMITER_HOST_INPUT, .1, .9, .02, .88, 1, 0},
            {"threads decode; the main thread spins while kernels run", LIMITER_HOST_INPUT, .4, 4.4,
             .45, .98, 1, 0},
            {"a thread for the backward pass takes turns with the main thread", LIMITER_HOST_CODE,
             .5, 1, .35, .65, 1, 0},
            {"two processes, each with loader threads", LIMITER_HOST_INPUT, .1, 4, .1, .9, 2, 0},
            {"all rest", LIMITER_HOST_WAITING, .1, .2, .05, .1, 1, 0},
            {"the main thread is not known", LIMITER_HOST_CODE, .1, 7.6, N, .95, 1, 0},
        };
        for (size_t i = 0; i < ARRAY_LEN(given); i++) {
                const struct situation s = {
                    .touched = true, .worked = true, .uneven = .4, .quiet_s = given[i].quiet_s};
                struct ceilings c = ceilings_given(&rows[0]);
                put(&c, CEILING_ENGINE, given[i].engine);
                put(&c, CEILING_SM, given[i].engine * .9);
                put(&c, CEILING_TENSOR, given[i].engine * .5);
                put(&c, CEILING_DRAM, given[i].engine * .3);
                put(&c, CEILING_CPU_MAIN, given[i].main);
                put(&c, CEILING_CPU_THREAD, given[i].thread);
                put(&c, CEILING_CPU_FIRST, given[i].first);
                put(&c, CEILING_HOLDERS, given[i].holders);
                struct limit l = limiter_decide(&c, &s, false);
                if (l.limiter != given[i].limiter)
                        fail_msg("%s: %s", given[i].why, limiter_name((enum limiter)l.limiter));
        }
}

/* Ticks that are longer than bursts: what waits for kernels spins in PyTorch, and rests in JAX. */
static void gaps_that_no_tick_shows(void **state UNUSED)
{
        static const struct {
                const char *why;
                enum limiter limiter;
                enum framework framework;
                double engine, pcie, main, thread, first, uneven;
        } given[] = {
            {"PyTorch spins while kernels run and sleeps between", LIMITER_HOST_WAITING,
             FRAMEWORK_TORCH, .7, 0, .7, .7, .7, .05},
            {"the same, and it works between", LIMITER_LAUNCH, FRAMEWORK_TORCH, .7, 0, 1, 1, 1,
             .05},
            {"bursts that ticks show are taken as they are", LIMITER_HOST_CODE, FRAMEWORK_TORCH, .7,
             0, .7, .7, .7, .4},
            {"JAX rests while kernels run and computes between", LIMITER_HOST_CODE, FRAMEWORK_JAX,
             .55, 0, .47, .45, .45, .05},
            {"the same on several cores", LIMITER_HOST_CODE, FRAMEWORK_JAX, .68, 0, 3.9, .35, .32,
             .05},
            {"JAX answers requests", LIMITER_HOST_WAITING, FRAMEWORK_JAX, .6, 0, .1, .1, .1, .05},
            {"JAX copies between", LIMITER_COPY_HOST, FRAMEWORK_JAX, .68, .04, .33, .3, .05, .05},
            {"JAX launches all the time", LIMITER_LAUNCH, FRAMEWORK_JAX, .69, 0, 1.2, 1, 1, .05},
            {"nobody knows whether it spins", LIMITER_HOST_CODE, FRAMEWORK_NONE, .7, 0, .7, .7, .7,
             .05},
        };
        for (size_t i = 0; i < ARRAY_LEN(given); i++) {
                const struct situation s = {.touched = true,
                                            .worked = true,
                                            .uneven = given[i].uneven,
                                            .framework = given[i].framework};
                struct ceilings c = ceilings_given(&rows[0]);
                put(&c, CEILING_ENGINE, given[i].engine);
                put(&c, CEILING_SM, given[i].engine * .9);
                put(&c, CEILING_TENSOR, given[i].engine * .5);
                put(&c, CEILING_DRAM, given[i].engine * .3);
                put(&c, CEILING_PCIE_IN, given[i].pcie);
                put(&c, CEILING_CPU_MAIN, given[i].main);
                put(&c, CEILING_CPU_THREAD, given[i].thread);
                put(&c, CEILING_CPU_FIRST, given[i].first);
                struct limit l = limiter_decide(&c, &s, false);
                if (l.limiter != given[i].limiter)
                        fail_msg("%s: %s", given[i].why, limiter_name((enum limiter)l.limiter));
        }
}

/* What others take of the CPUs is no rest of the program. */
static void programs_that_lack_cpus(void **state UNUSED)
{
        static const struct {
                const char *why;
                enum limiter limiter;
                double engine, main, first, queued;
                bool lacks;
        } given[] = {
            {"half a core, and nobody is in its way", LIMITER_HOST_WAITING, .1, .5, .5, .02, false},
            {"nothing is known of others", LIMITER_HOST_WAITING, .1, .5, .5, N, false},
            {"half a core, and ready to run all the time", LIMITER_HOST_CODE, .1, .5, .5, .5, true},
            {"and a little less", LIMITER_HOST_CODE, .1, .5, .5, .45, false},
            {"hardly ever on a CPU", LIMITER_HOST_CODE, .1, .1, .1, .85, true},
            {"it waits a little, and rests most of the time", LIMITER_HOST_WAITING, .1, .2, .2, .2,
             true},
            {"its main thread waits for a CPU beside another that works", LIMITER_HOST_CODE, .1, 1,
             .05, .5, true},
            {"the main thread rests, and another works", LIMITER_HOST_INPUT, .1, 1, .05, .01,
             false},
            {"small kernels at an even pace", LIMITER_LAUNCH, .3, .5, .5, .5, true},
        };
        for (size_t i = 0; i < ARRAY_LEN(given); i++) {
                const struct situation s = {.touched = true,
                                            .worked = true,
                                            .uneven = i + 1 == ARRAY_LEN(given) ? .05 : .4};
                struct ceilings c = ceilings_given(&rows[0]);
                put(&c, CEILING_ENGINE, given[i].engine);
                put(&c, CEILING_SM, given[i].engine * (i + 1 == ARRAY_LEN(given) ? .2 : .9));
                put(&c, CEILING_TENSOR, given[i].engine * .1);
                put(&c, CEILING_DRAM, given[i].engine * .1);
                put(&c, CEILING_CPU_MAIN, given[i].main);
                put(&c, CEILING_CPU_THREAD, MIN(given[i].main, .8));
                put(&c, CEILING_CPU_FIRST, given[i].first);
                put(&c, CEILING_CPU_QUEUED, given[i].queued);
                struct limit l = limiter_decide(&c, &s, false);
                if (l.limiter != given[i].limiter)
                        fail_msg("%s: %s", given[i].why, limiter_name((enum limiter)l.limiter));
                bool reported = strstr(limiter_try((enum limiter)l.limiter, &c, FRAMEWORK_NONE),
                                       "ask for more cores");
                if (l.limiter != LIMITER_HOST_WAITING && reported != given[i].lacks)
                        fail_msg("%s: advice", given[i].why);
        }
}

/* Video and JPEG engines: the same with and without counters; those that are not known are not
 * suspected. */
static void video_engines(void **state UNUSED)
{
        static const struct {
                const char *why;
                enum limiter limiter;
                double engine, decoder, encoder, jpeg;
                const char *advice;
        } given[] = {
            {"a decoder that is nearly full", LIMITER_CODEC, .1, .95, 0, 0, "decoders of more"},
            {"an encoder", LIMITER_CODEC, .1, .2, .95, 0, "encoders of more"},
            {"a JPEG decoder", LIMITER_CODEC, .1, .2, 0, .95, "pictures"},
            {"a decoder alone is known", LIMITER_CODEC, .1, .95, N, N, "decoders of more"},
            {"it is just full", LIMITER_CODEC, .1, .8, 0, 0, "decoders of more"},
            {"it is not quite full", LIMITER_HOST_WAITING, .1, .79, 0, 0, ""},
            {"two that are half full are not one that is", LIMITER_HOST_WAITING, .1, .5, .5, 0, ""},
            {"it rests", LIMITER_HOST_WAITING, .1, 0, 0, 0, ""},
            {"nothing of it is known", LIMITER_HOST_WAITING, .1, N, N, N, ""},
            {"no kernel runs", LIMITER_CODEC, 0, .95, 0, 0, "decoders of more"},
            {"kernels run a little less", LIMITER_CODEC, .9, .92, 0, 0, "decoders of more"},
            {"kernels run as long", LIMITER_KERNEL, .9, .9, 0, 0, ""},
            {"kernels run longer", LIMITER_KERNEL, .97, .92, 0, 0, ""},
        };
        for (size_t i = 0; i < 2 * ARRAY_LEN(given); i++) {
                bool driver = i % 2;
                size_t k = i / 2;
                const struct situation s = {.touched = true,
                                            .worked = true,
                                            .seconds = 10,
                                            .floor = {.lo = .1F, .hi = .15F, .from = FLOOR_RUN},
                                            .basis = driver ? BASIS_DRIVER : BASIS_COUNTERS};
                struct ceilings c = ceilings_given(&rows[7]);
                put(&c, CEILING_ENGINE, given[k].engine);
                put(&c, CEILING_SM, given[k].engine * .97);
                put(&c, CEILING_TENSOR, 0);
                put(&c, CEILING_DRAM, 0);
                put(&c, CEILING_POWER, given[k].limiter == LIMITER_KERNEL ? .9 : .1);
                put(&c, CEILING_CPU_MAIN, .1);
                put(&c, CEILING_CPU_THREAD, .1);
                put(&c, CEILING_DECODER, given[k].decoder);
                put(&c, CEILING_ENCODER, given[k].encoder);
                put(&c, CEILING_JPEG, given[k].jpeg);
                if (driver) {
                        c.present &= ~CEILINGS_PROFILING;
                        put(&c, CEILING_CONTROLLER, given[k].engine * .15);
                        put(&c, CEILING_PCIE_IN, 0);
                }
                struct limit l = limiter_decide(&c, &s, true);
                if (l.limiter != given[k].limiter)
                        fail_msg("%s, %s: %s", given[k].why, basis_name(s.basis),
                                 limiter_name((enum limiter)l.limiter));
                if (given[k].advice[0])
                        assert_non_null(strstr(limiter_try(LIMITER_CODEC, &c, FRAMEWORK_TORCH),
                                               given[k].advice));
        }
}

/* A GPU that decodes is not idle, however few kernels run, and has begun its work. */
static void decoding_is_work(void **state UNUSED)
{
        for (int decodes = 0; decodes < 2; decodes++) {
                struct limit_window w = {0};
                struct limit l = {0};
                for (int i = 0; i < 80; i++) {
                        struct ceilings c = ceilings_given(&rows[22]);
                        put(&c, CEILING_DECODER, decodes * .4);
                        l = limit_window_add(&w, &c, (int64_t)i * 100000000,
                                             &(struct limit_from_context){0});
                }
                assert_int_equal(l.limiter,
                                 decodes ? LIMITER_HOST_WAITING : LIMITER_IDLE_ALLOCATED);
                assert_int_equal(w.use.worked_ns != INT64_MAX, decodes);
        }
        for (int decodes = 0; decodes < 2; decodes++) {
                const struct situation s = {.touched = true, .worked = true, .quiet_s = 60};
                struct ceilings c = {0};
                put(&c, CEILING_ENGINE, 0);
                put(&c, CEILING_PCIE_IN, 0);
                put(&c, CEILING_PCIE_OUT, 0);
                put(&c, CEILING_MEMORY, 0);
                put(&c, CEILING_HOLDERS, 0);
                put(&c, CEILING_DECODER, decodes * .4);
                assert_int_equal(limiter_decide(&c, &s, false).limiter == LIMITER_IDLE, !decodes);
        }
}

static void speeds_of_links(void **state UNUSED)
{
        static const struct {
                double gen, lanes, bytes_per_s;
        } cases[] = {{1, 1, 0.25e9},    {2, 16, 8e9},      {3, 16, 15.76e9},
                     {4, 16, 31.504e9}, {5, 16, 63.008e9}, {6, 16, 121.008e9},
                     {0, 16, 0},        {7, 16, 0},        {4, 0, 0}};
        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                assert_float_equal(pcie_bytes_per_s(cases[i].gen, cases[i].lanes),
                                   cases[i].bytes_per_s, 1e6);
}

/* A clock that still rises is not locked; one that stays is. */
static void clocks_that_move(void **state UNUSED)
{
        for (int rising = 0; rising < 2; rising++) {
                struct limit_window w = {0};
                struct limit l = {0};
                for (int i = 0; i < 8; i++) {
                        struct ceilings c = ceilings_given(&rows[1]);
                        ceiling_set(&c, CEILING_CLOCK, rising ? 0.3 + 0.04 * i : 0.6);
                        l = limit_window_add(&w, &c, (int64_t)i * 100000000,
                                             &(struct limit_from_context){0});
                }
                assert_int_equal(l.held_by, rising ? HELD_BY_NOTHING : HELD_BY_LOCKED);
        }
}

/* A second after the work has changed, the limiter is the new one's. */
static void limits_follow_within_a_second(void **state UNUSED)
{
        struct limit_window w = {0};
        struct limit l = {0};
        struct ceilings before = ceilings_given(&rows[0]), after = ceilings_given(&rows[3]);
        for (int i = 0; i < 60; i++)
                l = limit_window_add(&w, i < 40 ? &before : &after, (int64_t)i * 100000000,
                                     &(struct limit_from_context){0});
        assert_int_equal(l.limiter, LIMITER_MEMORY_BANDWIDTH);
}

/* The margin names a change that really changes the limiter. */
static void margins(void **state UNUSED)
{
        const struct situation s = {.touched = true, .worked = true};
        struct ceilings c = ceilings_given(&rows[0]);
        struct limit l = limiter_decide(&c, &s, true);
        assert_int_not_equal(l.other, l.limiter);
        ceiling_set(&c, (enum ceiling)l.at, (double)(c.v[l.at] + l.change));
        assert_int_equal(limiter_decide(&c, &s, false).limiter, l.other);
}

/* Without profiling counters: what the driver gives of a GPU whose power at rest is 16 to 18 %. */
static void by_the_driver(void **state UNUSED)
{
        static const struct {
                const char *why;
                enum limiter limiter, or_else; /* or_else: of an unknown one */
                double engine, controller, power, clock, held_power, pcie, cpu, first;
        } cases[] = {
            {"memory as good as full", LIMITER_MEMORY_BANDWIDTH, 0, .99, .98, .9, 1, 0, 0, 1, 1},
            {"the same of a card that shows less", LIMITER_MEMORY_BANDWIDTH, 0, .99, .72, .9, 1, 0,
             0, 1, 1},
            {"held a little by the power limit", LIMITER_MEMORY_BANDWIDTH, 0, .99, .99, .95, .9, 1,
             0, 1, 1},
            {"held much: traffic may follow the SMs' clock", LIMITER_UNKNOWN, LIMITER_KERNEL, .97,
             .8, .95, .77, 1, 0, 1, 1},
            {"held much, and as good as full", LIMITER_MEMORY_ACCESS, 0, .97, .95, .95, .77, 1, 0,
             1, 1},
            {"held, with half of the traffic: either", LIMITER_UNKNOWN, LIMITER_KERNEL, .99, .55,
             .9, .9, 1, 0, 1, 1},
            {"a random gather", LIMITER_MEMORY_ACCESS, 0, .98, .55, .7, 1, 0, 0, 1, 1},
            {"matrix products at the power limit", LIMITER_COMPUTE_TENSOR, 0, .99, .24, .95, .75, 1,
             0, 1, 1},
            {"the same with locked clocks: nobody knows which unit", LIMITER_KERNEL, 0, .99, .24,
             .8, .75, 0, 0, 1, 1},
            {"arithmetic at full clock", LIMITER_KERNEL, 0, .99, .06, .6, 1, 0, 0, 1, 1},
            {"the same where nobody sees copies", LIMITER_UNKNOWN, LIMITER_KERNEL, .99, .06, .35, 1,
             0, N, 1, 1},
            {"a kernel of one thread", LIMITER_PARALLELISM, 0, 1, 0, .177, 1, 0, 0, 1, 1},
            {"traffic without power or copies", LIMITER_UNKNOWN, LIMITER_KERNEL, 1, .11, .2, 1, 0,
             0, .6, .6},
            {"copies at the link's speed", LIMITER_COPY_LINK, 0, .97, .02, .19, 1, 0, .9, 1, 1},
            {"copies beside kernels", LIMITER_COPY_LINK, 0, .99, .13, .6, 1, 0, .9, 1, 1},
            {"copies that nobody sees", LIMITER_COPY_LINK, 0, .97, .03, .19, 1, 0, N, 1, 1},
            {"copies of pageable memory", LIMITER_COPY_HOST, 0, .16, 0, .18, 1, 0, .12, 1, 1},
            {"many small kernels", LIMITER_LAUNCH, 0, .14, 0, .18, 1, 0, 0, 1, 1},
            {"large kernels in bursts", LIMITER_HOST_CODE, 0, .4, .15, .5, 1, 0, 0, .95, .95},
            {"nothing runs, a thread works", LIMITER_HOST_CODE, 0, .005, 0, .175, 1, 0, 0, 1, 1},
            {"nothing runs, the host rests", LIMITER_HOST_WAITING, 0, .005, 0, .175, 1, 0, 0, .05,
             .05},
            {"utilization that power contradicts", LIMITER_UNKNOWN, LIMITER_HOST_WAITING, 0, .02,
             .6, 1, 0, 0, 1, 1},
            {"no traffic, and a power that nobody knows the limit of", LIMITER_UNKNOWN,
             LIMITER_KERNEL, .95, 0, N, 1, 0, 0, 1, 1},
            {"nothing but utilization", LIMITER_UNKNOWN, LIMITER_MEMORY_BANDWIDTH, .99, N, N, N, N,
             N, N, N},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct ceilings c = {0};
                const struct situation s = {.touched = true,
                                            .worked = true,
                                            .basis = BASIS_DRIVER,
                                            .floor = {.16F, .18F, FLOOR_RUN}};
                const struct {
                        enum ceiling at;
                        double v;
                } given[] = {{CEILING_ENGINE, cases[i].engine},
                             {CEILING_CONTROLLER, cases[i].engine * cases[i].controller},
                             {CEILING_POWER, cases[i].power},
                             {CEILING_CLOCK, cases[i].clock},
                             {CEILING_HELD_POWER, cases[i].held_power},
                             {CEILING_PCIE_IN, cases[i].pcie},
                             {CEILING_PCIE_OUT, cases[i].pcie >= 0 ? 0.01 : N},
                             {CEILING_CPU_CHILDREN, cases[i].cpu >= 0 ? 0 : N},
                             {CEILING_HOLDERS, 1},
                             {CEILING_IO_WAIT, cases[i].cpu >= 0 ? 0 : N},
                             {CEILING_STORAGE, cases[i].cpu >= 0 ? 0 : N},
                             {CEILING_CPU_MAIN, cases[i].cpu},
                             {CEILING_CPU_THREAD, cases[i].first},
                             {CEILING_CPU_FIRST, cases[i].first}};
                for (size_t k = 0; k < ARRAY_LEN(given); k++) {
                        if (given[k].v >= 0)
                                ceiling_set(&c, given[k].at, given[k].v);
                }
                struct limit l = limiter_decide(&c, &s, false);
                if (l.limiter != cases[i].limiter || l.or_else != cases[i].or_else ||
                    l.basis != BASIS_DRIVER)
                        fail_msg("%s: %s, or %s", cases[i].why,
                                 limiter_name((enum limiter)l.limiter),
                                 limiter_name((enum limiter)l.or_else));
        }
}

/* The power at rest: of time in which nothing ran, the power was settled and the clock the highest.
 */
static void power_at_rest(void **state UNUSED)
{
        static const struct {
                const char *why;
                enum floor_from from;
                double rest; /* in the middle of what is known */
                struct {
                        int ticks;
                        double engine, clock, power, to;
                } parts[4];
        } cases[] = {
            {"idle at full clock", FLOOR_RUN, .18, {{20, 0, 1, .18, .18}}},
            {"idle at low clocks only",
             FLOOR_IDLE,
             .176,
             {{20, 0, .2, .11, .11}, {5, 1, 1, .6, .6}}},
            {"it falls for a while", FLOOR_RUN, .18, {{10, 0, 1, .3, .19}, {15, 0, 1, .18, .18}}},
            {"work that utilization shows late",
             FLOOR_UNKNOWN,
             .245,
             {{6, 0, 1, .6, .6}, {20, 1, 1, .6, .6}}},
            {"a higher clock is the one that counts",
             FLOOR_RUN,
             .18,
             {{20, 0, .5, .12, .12}, {20, 0, 1, .18, .18}}},
            {"never idle", FLOOR_UNKNOWN, .245, {{30, .9, 1, .5, .5}}},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct floor_learner l = {0};
                for (size_t p = 0; p < ARRAY_LEN(cases[i].parts); p++) {
                        for (int t = 0; t < cases[i].parts[p].ticks; t++) {
                                struct ceilings c = {0};
                                double share = (double)t / cases[i].parts[p].ticks;
                                ceiling_set(&c, CEILING_ENGINE, cases[i].parts[p].engine);
                                ceiling_set(&c, CEILING_CLOCK, cases[i].parts[p].clock);
                                ceiling_set(
                                    &c, CEILING_POWER,
                                    cases[i].parts[p].power +
                                        share * (cases[i].parts[p].to - cases[i].parts[p].power));
                                floor_learn(&l, &c, 0.1);
                        }
                }
                struct power_floor f = floor_known(&l, NULL, 700, 0);
                double middle = (double)(f.lo + f.hi) / 2;
                if (f.from != cases[i].from || middle < cases[i].rest - .005 ||
                    middle > cases[i].rest + .005)
                        fail_msg("%s: %.3f, %s", cases[i].why, middle,
                                 floor_from_name((enum floor_from)f.from));
        }
}

/* Without the bytes over PCIe: what tells copies from kernels, and start-up from work. */
static void unseen_copies(void **state UNUSED)
{
        static const struct {
                const char *why;
                enum limiter limiter, or_else;
                double engine, controller, power, cpu, children;
                struct situation s;
        } cases[] = {
            {"traffic that may be copies",
             LIMITER_COPY_LINK,
             0,
             .99,
             .01,
             .19,
             1,
             0,
             {.worked = true}},
            {"less than the link brings",
             LIMITER_PARALLELISM,
             0,
             .99,
             .01,
             .19,
             1,
             0,
             {.worked = true, .link_traffic = .0131}},
            {"a link that is fast for the memory",
             LIMITER_COPY_LINK,
             0,
             .99,
             .2,
             .19,
             1,
             0,
             {.worked = true, .link_traffic = .105}},
            {"the same without that",
             LIMITER_UNKNOWN,
             LIMITER_KERNEL,
             .99,
             .2,
             .19,
             1,
             0,
             {.worked = true}},
            {"power that leaves copies no time",
             LIMITER_KERNEL,
             0,
             .99,
             .1,
             .85,
             1,
             0,
             {.worked = true}},
            {"power that leaves them some",
             LIMITER_UNKNOWN,
             LIMITER_KERNEL,
             .99,
             .1,
             .6,
             1,
             0,
             {.worked = true}},
            {"JAX rests: it copies nothing",
             LIMITER_KERNEL,
             0,
             .99,
             .07,
             .42,
             .05,
             0,
             {.worked = true, .framework = FRAMEWORK_JAX}},
            {"others may copy and rest",
             LIMITER_UNKNOWN,
             LIMITER_KERNEL,
             .99,
             .07,
             .42,
             .05,
             0,
             {.worked = true}},
            {"many cores do not only copy",
             LIMITER_HOST_CODE,
             0,
             .16,
             0,
             .2,
             11,
             0,
             {.worked = true}},
            {"power of the work before, in a long time",
             LIMITER_HOST_CODE,
             0,
             .005,
             0,
             .3,
             1,
             0,
             {.worked = true, .seconds = 10}},
            {"more power than a second that was missed can cause",
             LIMITER_UNKNOWN,
             LIMITER_KERNEL,
             .005,
             0,
             .6,
             .05,
             0,
             {.worked = true, .seconds = 10}},
            {"small kernels, or one that spins until other GPUs are there",
             LIMITER_UNKNOWN,
             LIMITER_PARALLELISM,
             .99,
             0,
             .19,
             1,
             0,
             {.worked = true, .peers_used = true}},
            {"small kernels beside GPUs that rest",
             LIMITER_PARALLELISM,
             0,
             .99,
             0,
             .19,
             1,
             0,
             {.worked = true, .peers = true}},
            {"much traffic is no collective's",
             LIMITER_MEMORY_BANDWIDTH,
             0,
             .99,
             .9,
             .7,
             1,
             0,
             {.worked = true, .peers_used = true}},
            {"in a second it may be work",
             LIMITER_UNKNOWN,
             LIMITER_COPY_HOST,
             .005,
             0,
             .3,
             1,
             0,
             {.worked = true, .seconds = 1}},
            {"children of a program that may have started",
             LIMITER_UNKNOWN,
             LIMITER_HOST_INPUT,
             0,
             0,
             .175,
             .1,
             4,
             {.worked = false}},
            {"of one that is over", LIMITER_HOST_INPUT, 0, 0, 0, .175, .1, 4, {.ended = true}},
            {"that has work before it",
             LIMITER_HOST_STARTING,
             0,
             0,
             0,
             .175,
             .1,
             4,
             {.before = true}},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct ceilings c = {0};
                struct situation s = cases[i].s;
                s.touched = true;
                s.basis = BASIS_DRIVER;
                s.floor = (struct power_floor){.16F, .18F, FLOOR_RUN};
                ceiling_set(&c, CEILING_ENGINE, cases[i].engine);
                ceiling_set(&c, CEILING_CONTROLLER, cases[i].engine * cases[i].controller);
                ceiling_set(&c, CEILING_POWER, cases[i].power);
                ceiling_set(&c, CEILING_CLOCK, 1);
                ceiling_set(&c, CEILING_HELD_POWER, 0);
                ceiling_set(&c, CEILING_HOLDERS, 1);
                ceiling_set(&c, CEILING_IO_WAIT, 0);
                ceiling_set(&c, CEILING_STORAGE, 0);
                ceiling_set(&c, CEILING_CPU_CHILDREN, cases[i].children);
                ceiling_set(&c, CEILING_CPU_MAIN, cases[i].cpu);
                struct limit l = limiter_decide(&c, &s, false);
                if (l.limiter != cases[i].limiter || l.or_else != cases[i].or_else)
                        fail_msg("%s: %s, or %s", cases[i].why,
                                 limiter_name((enum limiter)l.limiter),
                                 limiter_name((enum limiter)l.or_else));
        }
}

/* Advice follows the evidence: what it says, and what it must not say. */
static void advice_follows_the_evidence(void **state UNUSED)
{
        static const struct {
                const char *why;
                enum limiter limiter;
                double cpu, children_cores, children, storage, written; /* N: not known */
                const char *says, *not ;
        } cases[] = {
            {"only reads", LIMITER_HOST_STORAGE, N, N, N, 2e9, 1e7, "read ahead", "checkpoint"},
            {"only writes", LIMITER_HOST_STORAGE, N, N, N, 6e9, 6e9, "async_save", "read"},
            {"12 KiB read beside 0.7 GB written", LIMITER_HOST_STORAGE, N, N, N, 7e8, 7e8 - 12288,
             "async_save", "read"},
            {"both", LIMITER_HOST_STORAGE, N, N, N, 1e9, 4e8,
             "read ahead in larger shards, and write", "num_workers"},
            {"nobody knows which way", LIMITER_HOST_STORAGE, N, N, N, 1e9, N,
             "find out what is read and written", "async_save"},
            {"threads wait, nothing moves", LIMITER_HOST_STORAGE, N, N, N, 0, 0,
             "find out what is read and written", "shards"},
            {"eight workers on eight CPUs", LIMITER_HOST_INPUT, .98, 7.6, 8, 0, 0,
             "more workers do not help", "num_workers"},
            {"four workers on 16 CPUs", LIMITER_HOST_INPUT, .3, 3.9, 4, 0, 0,
             "where those there are always busy", "do not help"},
            {"between: nobody knows whether more would help", LIMITER_HOST_INPUT, .7, 7, 8, 0, 0,
             "do less work for each sample", "CPUs are free"},
            {"threads of the program", LIMITER_HOST_INPUT, .2, 0, 0, 0, 0,
             "threads of the program itself", "num_workers"},
            {"a parent that feeds, and a helper", LIMITER_HOST_INPUT, .07, 1, 2, 0, 0,
             "one process prepares", "num_workers"},
            {"nothing is known of processes", LIMITER_HOST_INPUT, N, N, N, N, N,
             "prepare the next batch", "CPUs are free"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct ceilings c = {0};
                const struct {
                        enum ceiling at;
                        double v;
                } given[] = {{CEILING_CPU, cases[i].cpu},
                             {CEILING_CPU_CHILDREN, cases[i].children_cores},
                             {CEILING_CHILDREN, cases[i].children},
                             {CEILING_STORAGE, cases[i].storage},
                             {CEILING_WRITTEN, cases[i].written}};
                for (size_t k = 0; k < ARRAY_LEN(given); k++) {
                        if (given[k].v >= 0)
                                ceiling_set(&c, given[k].at, given[k].v);
                }
                const char *text = limiter_try(cases[i].limiter, &c, FRAMEWORK_TORCH);
                if (!strstr(text, cases[i].says) || strstr(text, cases[i].not ))
                        fail_msg("%s: %s", cases[i].why, text);
        }
}

/* More workers are never the advice where there are none, or where they cannot help. */
static void workers_are_counted(void **state UNUSED)
{
        static const struct {
                const char *why;
                double workers, children_cores, cpu;
                const char *says, *not ;
                double share, cpus;
        } cases[] = {
            {"all busy, half of the CPUs free", 8, 7.8, .5, "every worker is busy", "num_workers",
             .975, 16.6},
            {"all busy, no CPU left", 8, 7.8, .97, "more workers do not help", "every", .975, 8.56},
            {"half busy", 8, 4, .3, "find out what they wait for", "every", .5, 15},
            {"one of several helpers", 1, 1, .1, "one process prepares", "more workers", 1, 15},
            {"a process of many threads", 1, 4, .3, "every worker is busy", "num_workers", 4, 15},
            {"none that works", 0, .06, .05, "threads of the program", "more workers", 0, 11.2},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct ceilings c = {0};
                ceiling_set(&c, CEILING_WORKERS, cases[i].workers);
                ceiling_set(&c, CEILING_CHILDREN, 12);
                ceiling_set(&c, CEILING_CPU_MAIN, .5);
                ceiling_set(&c, CEILING_CPU_CHILDREN, cases[i].children_cores);
                ceiling_set(&c, CEILING_CPU, cases[i].cpu);
                const char *text = limiter_try(LIMITER_HOST_INPUT, &c, FRAMEWORK_TORCH);
                if (!strstr(text, cases[i].says) || strstr(text, cases[i].not ))
                        fail_msg("%s: %s", cases[i].why, text);
                if (fabs(limit_worker_share(&c) - cases[i].share) > 1e-3 ||
                    fabs(limit_allowed_cpus(&c) - cases[i].cpus) > .01 * cases[i].cpus)
                        fail_msg("%s: %g of %g CPUs", cases[i].why, limit_worker_share(&c),
                                 limit_allowed_cpus(&c));
        }
}

/* Every limiter has words, a rule, something to try; names are unique. */
static void tables(void **state UNUSED)
{
        const struct ceilings none = {0};
        for (enum limiter i = 0; i < LIMITER_COUNT; i++) {
                assert_true(limiter_words(i)[0] && limiter_rule(i, BASIS_COUNTERS)[0] &&
                            limiter_rule(i, BASIS_DRIVER)[0]);
                assert_true(limiter_try(i, &none, FRAMEWORK_TORCH)[0] &&
                            limiter_try(i, &none, FRAMEWORK_NONE)[0]);
                assert_int_equal(limiter_find(limiter_name(i)), i);
        }
        for (enum ceiling i = 0; i < CEILING_COUNT; i++) {
                for (enum ceiling k = i + 1; k < CEILING_COUNT; k++)
                        assert_string_not_equal(ceiling_info(i)->name, ceiling_info(k)->name);
        }
}

/* Kernels that move data between GPUs are a collective's; copies without kernels are copies. */
static void between_gpus(void **state UNUSED)
{
        static const struct {
                const char *why;
                double engine, sm, dram, pcie, nvlink, power;
                bool peers;
                enum limiter want;
        } cases[] = {
            {"an all-reduce over NVLink", 1, .2, .08, 0, .4, .35, true, LIMITER_COLLECTIVE},
            {"the same, slowed by one of the GPUs", 1, .97, .02, 0, .03, .3, true,
             LIMITER_COLLECTIVE},
            {"peer copies of the copy engines", .02, 0, .2, 0, .7, .3, true, LIMITER_COPY_LINK},
            {"kernels that read the host's memory", 1, .9, .1, .8, 0, .3, true, LIMITER_COPY_LINK},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct ceilings c = {0};
                for (enum ceiling k = CEILING_TENSOR; k <= CEILING_INT; k++)
                        ceiling_set(&c, k, 0.01);
                ceiling_set(&c, CEILING_ENGINE, cases[i].engine);
                ceiling_set(&c, CEILING_SM, cases[i].sm);
                ceiling_set(&c, CEILING_DRAM, cases[i].dram);
                ceiling_set(&c, CEILING_PCIE_IN, cases[i].pcie);
                ceiling_set(&c, CEILING_PCIE_OUT, 0);
                ceiling_set(&c, CEILING_NVLINK_IN, cases[i].nvlink);
                ceiling_set(&c, CEILING_NVLINK_OUT, cases[i].nvlink);
                ceiling_set(&c, CEILING_POWER, cases[i].power);
                ceiling_set(&c, CEILING_CLOCK, 1);
                ceiling_set(&c, CEILING_MEMORY, 2e10);
                ceiling_set(&c, CEILING_CPU_MAIN, 1);
                ceiling_set(&c, CEILING_CPU_THREAD, 1);
                ceiling_set(&c, CEILING_CPU_CHILDREN, 0);
                struct situation s = {.touched = true, .worked = true, .peers = cases[i].peers};
                struct limit l = limiter_decide(&c, &s, false);
                if (l.limiter != cases[i].want)
                        fail_msg("%s: %s", cases[i].why, limiter_name((enum limiter)l.limiter));
        }
}

/* What goes over a link or the network, and the cores that move it. Below 0: not known. */
static void what_moves(void **state UNUSED)
{
        static const struct {
                const char *why;
                double in, out, network, main, first, children;
                enum limiter want;
        } cases[] = {
            {"pinned copies there and back, by turns", .41, .44, 0, 1, 1, 0, LIMITER_COPY_LINK},
            {"pageable copies there and back", .18, .2, 0, 1, 1, 0, LIMITER_COPY_HOST},
            {"a fast copy in one direction, and little back", .5, .1, 0, 1, 1, 0,
             LIMITER_COPY_HOST},
            {"ranks that meet over the network, in threads of their own", .02, .02, 2e9, 2, .3, .2,
             LIMITER_HOST_NETWORK},
            {"the same over a slow network", 0, 0, 1e8, .2, .2, 0, LIMITER_HOST_NETWORK},
            {"workers that decode what they fetch", 0, 0, 1e8, .3, .3, 6, LIMITER_HOST_INPUT},
            {"a thread that computes beside some traffic", 0, 0, 1e8, 1, 1, 0, LIMITER_HOST_CODE},
            {"traffic, and nobody tells the CPU time", 0, 0, 2e9, -1, -1, -1, LIMITER_UNKNOWN},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct ceilings c = {0};
                for (enum ceiling k = CEILING_ENGINE; k <= CEILING_DRAM; k++)
                        ceiling_set(&c, k, 0.04);
                ceiling_set(&c, CEILING_PCIE_IN, cases[i].in);
                ceiling_set(&c, CEILING_PCIE_OUT, cases[i].out);
                ceiling_set(&c, CEILING_MEMORY, 2e10);
                ceiling_set(&c, CEILING_NETWORK, cases[i].network);
                ceiling_set(&c, CEILING_IO_WAIT, 0);
                ceiling_set(&c, CEILING_STORAGE, 0);
                if (cases[i].main >= 0) {
                        ceiling_set(&c, CEILING_CPU_MAIN, cases[i].main);
                        ceiling_set(&c, CEILING_CPU_FIRST, cases[i].first);
                        ceiling_set(&c, CEILING_CPU_CHILDREN, cases[i].children);
                }
                struct situation s = {.touched = true, .worked = true, .uneven = 0.4};
                struct limit l = limiter_decide(&c, &s, false);
                if (l.limiter != cases[i].want)
                        fail_msg("%s: %s", cases[i].why, limiter_name((enum limiter)l.limiter));
        }
}

/* SMs × FLOP a clock × clock is what the data sheet says, within its rounding. */
static void data_sheets(void **state UNUSED)
{
        const struct peak *p;
        for (size_t i = 0; (p = peak_at(i)); i++) {
                double product = peak_flops(p, FLOPS_FP16);
                if (product < 0.985 * p->sheet_tensor || product > 1.015 * p->sheet_tensor ||
                    p->rest_lo > p->rest_hi || !p->source[0] || p->memory <= 0)
                        fail_msg("%s: %.1f TFLOP/s, the sheet says %.1f", p->model, product / 1e12,
                                 p->sheet_tensor / 1e12);
        }
        assert_int_equal((int)(peak_flops(peak_find("NVIDIA H200"), FLOPS_FP8) / 1e12), 1978);
        assert_int_equal((int)(peak_flops(peak_find("NVIDIA H200"), FLOPS_FP64) / 1e12), 33);
        static const struct {
                const char *why, *name, *model; /* NULL: unknown */
        } names[] = {
            {"a kernel's list has brackets", "Intel DG2 [Arc A770]", "Arc A770"},
            {"the form is not another model", "AMD Instinct MI300X OAM", "MI300X"},
            {"nor is the size", "Tesla V100-SXM2-16GB", "V100-SXM2"},
            {"the maker says more", "NVIDIA GeForce RTX 4070 Ti SUPER", "RTX 4070 Ti SUPER"},
            {"a laptop's has fewer SMs", "NVIDIA GeForce RTX 4090 Laptop GPU", NULL},
            {"and so have these", "NVIDIA GeForce RTX 3080 Ti Mobile", NULL},
            {"an older one", "NVIDIA GeForce RTX 2080 with Max-Q Design", NULL},
            {"two of a list", "AMD Aldebaran [Instinct MI250X/MI250]", NULL},
            {"a slice is not the GPU", "NVIDIA H200 MIG 3g.71gb", NULL},
            {"a virtual one", "NVIDIA L40S-48Q", NULL},
            {"another maker's suffix", "NVIDIA A10G", NULL},
        };
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                p = peak_find(names[i].name);
                if (!p != !names[i].model || (p && strcmp(p->model, names[i].model) != 0))
                        fail_msg("%s: %s is %s", names[i].why, names[i].name,
                                 p ? p->model : "unknown");
        }
        assert_null(peak_find(""));
        assert_string_equal(peak_find("NVIDIA L4")->model, "NVIDIA L4");
        assert_string_equal(peak_find("NVIDIA GH200 480GB")->model, "GH200");
        assert_string_equal(peak_find("NVIDIA GH200 144G HBM3e")->model, "GH200 144G HBM3e");
        assert_string_equal(peak_find("NVIDIA A100-SXM4-80GB")->model, "A100-SXM4-80GB");
}

/* Measured on an H200: BF16 at 1519 MHz as NVML tells it, 1376 as it is. */
static void rates(void **state UNUSED)
{
        struct entity e = {0};
        struct sample s = {.who = &e};
        const struct peak *h200 = peak_find("NVIDIA H200");
        assert_false(flops_of(&s, h200, FLOPS_BF16).known);
        s.m[METRIC_TENSOR_ACTIVE] = value_ok(0.93);
        s.m[METRIC_SM_CLOCK] = value_ok(1519e6);
        struct flops f = flops_of(&s, h200, FLOPS_BF16);
        double truth = 0.93 * 132 * 4096 * 1376e6;
        assert_true(f.known && f.lo <= truth && truth <= f.hi && f.hi / f.lo < 1.12);
        assert_false(flops_of(&s, NULL, FLOPS_BF16).known);
        assert_false(flops_of(&s, peak_find("Tesla V100-SXM2-16GB"), FLOPS_FP8).known);
        s.m[METRIC_SM_CLOCK_EFFECTIVE] = value_ok(1376e6);
        f = flops_of(&s, h200, FLOPS_BF16);
        assert_true(f.hi / f.lo < 1.06 && f.lo <= truth && truth <= f.hi);
        s.m[METRIC_SM_CLOCK_EFFECTIVE] = value_missing(STATE_NONE);
        s.m[METRIC_THROTTLE_REASONS] = value_ok(2);
        f = flops_of(&s, h200, FLOPS_BF16);
        assert_true(f.hi / f.lo < 1.06); /* locked clocks are as they are told */
        struct flops_rates all;
        flops_take(&s, h200, &all);
        assert_false(flops_rate(&all, FLOPS_FP32).known); /* that pipe was not measured */
        assert_true(flops_rate(&all, FLOPS_FP8).hi > 1.99 * f.hi);
        assert_false(flops_rate(&all, FLOPS_COUNT).known);
        assert_false(flops_rate(&all, FLOPS_INT8).known); /* depends on the instructions */
        assert_int_equal(flops_find("bf16"), FLOPS_BF16);
        assert_int_equal(flops_find("bf17"), FLOPS_COUNT);
}

/* What programs counted on an H200 while the counters said so (cuBLAS). */
static void measured_rates(void **state UNUSED)
{
        static const struct {
                enum flops_type type;
                double activity, hz; /* of the type's pipe; NVML's clock */
                double reasons;
                double counted; /* TFLOP/s */
        } cases[] = {
            {FLOPS_BF16, 0.930, 1495e6, 4, 662},
            {FLOPS_FP8, 0.887, 1385e6, 4, 1194},
            {FLOPS_TF32, 0.925, 1430e6, 4, 342},
            {FLOPS_FP32, 0.763, 1980e6, 0, 51.1},
            {FLOPS_BF16, 0.927, 1519e6, 4, 680},
            {FLOPS_TF32, 0.93, 1590e6, 4, 363},
            {FLOPS_BF16, 0.93, 1762e6, 0, 804}, /* zeros: less power, no limit reached */
            /* At 10 Hz, with free clocks. */
            {FLOPS_BF16, 0.9223, 1454e6, 4, 652.6},
            {FLOPS_FP16, 0.9239, 1382e6, 4, 628.1},
            {FLOPS_TF32, 0.9163, 1502e6, 4, 338.3},
            {FLOPS_FP8, 0.8801, 1334e6, 4, 1170.9},
            {FLOPS_FP64_TENSOR, 0.931, 1821e6, 4, 57.1},
            {FLOPS_FP32, 0.7638, 1980e6, 0, 51.1},
            /* At 10 Hz, locked to 1200 MHz, which the driver gives no reason for. */
            {FLOPS_BF16, 0.9231, 1200e6, 0, 586.8},
            {FLOPS_FP16, 0.9235, 1200e6, 0, 586.7},
            {FLOPS_TF32, 0.9189, 1200e6, 0, 297.1},
            {FLOPS_FP8, 0.8904, 1200e6, 0, 1141.1},
            {FLOPS_FP64_TENSOR, 0.9368, 1200e6, 0, 38.0},
            {FLOPS_FP32, 0.7765, 1200e6, 0, 31.5},
        };
        const struct peak *h200 = peak_find("NVIDIA H200");
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct sample s = {0};
                enum metric pipe =
                    cases[i].type == FLOPS_FP32 ? METRIC_FP32_ACTIVE : METRIC_TENSOR_ACTIVE;
                s.m[pipe] = value_ok(cases[i].activity);
                s.m[METRIC_SM_CLOCK] = value_ok(cases[i].hz);
                s.m[METRIC_THROTTLE_REASONS] = value_ok(cases[i].reasons);
                struct flops f = flops_of(&s, h200, cases[i].type);
                double counted = cases[i].counted * 1e12;
                if (!f.known || counted < f.lo || counted > f.hi || f.hi > 1.12 * f.lo)
                        fail_msg("%s: %.0f to %.0f, counted %.0f", flops_name(cases[i].type),
                                 f.lo / 1e12, f.hi / 1e12, cases[i].counted);
        }
}

/* The unit of the count is not documented: only what lies near NVML's clock is taken. */
static void clocks(void **state UNUSED)
{
        const struct peak *h200 = peak_find("NVIDIA H200");
        const struct {
                const char *why;
                double cycles, nvml;
                const struct peak *peak;
                double want; /* 0: unknown */
        } counts[] = {
            {"of one SM", 1376e6, 1519e6, h200, 1376e6},
            {"of all SMs", 132 * 1376e6, 1519e6, h200, 1376e6},
            {"of all SMs of a model that is not known", 132 * 1376e6, 1519e6, NULL, 0},
            {"of one SM of a model that is not known", 1376e6, 1519e6, NULL, 1376e6},
            {"a rounding above NVML's clock", 1985e6, 1980e6, h200, 1985e6},
            {"ten times as much: a rate taken for a count", 13760e6, 1519e6, h200, 0},
            {"clocks that were gated", 700e6, 1519e6, h200, 0},
            {"half of the SMs, as of a slice", 66 * 1376e6, 1519e6, h200, 0},
            {"nothing to compare with", 1376e6, 0, h200, 0},
        };
        for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
                struct value nvml =
                    counts[i].nvml > 0 ? value_ok(counts[i].nvml) : value_missing(STATE_NONE);
                struct value v = effective_clock(value_ok(counts[i].cycles), nvml, counts[i].peak);
                if (value_is_set(v) != (counts[i].want > 0) ||
                    (value_is_set(v) && fabs(v.v - counts[i].want) > 1))
                        fail_msg("%s: %.0f", counts[i].why, value_is_set(v) ? v.v : -1.0);
        }
        assert_int_equal(
            effective_clock(value_missing(STATE_UNSUPPORTED), value_ok(1e9), h200).state,
            STATE_UNSUPPORTED);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(rules),
            cmocka_unit_test(margins),
            cmocka_unit_test(programs_that_lack_cpus),
            cmocka_unit_test(video_engines),
            cmocka_unit_test(decoding_is_work),
            cmocka_unit_test(by_the_driver),
            cmocka_unit_test(unseen_copies),
            cmocka_unit_test(power_at_rest),
            cmocka_unit_test(advice_follows_the_evidence),
            cmocka_unit_test(workers_are_counted),
            cmocka_unit_test(tables),
            cmocka_unit_test(data_sheets),
            cmocka_unit_test(between_gpus),
            cmocka_unit_test(what_moves),
            cmocka_unit_test(rates),
            cmocka_unit_test(measured_rates),
            cmocka_unit_test(clocks),
            cmocka_unit_test(main_threads),
            cmocka_unit_test(gaps_that_no_tick_shows),
            cmocka_unit_test(speeds_of_links),
            cmocka_unit_test(clocks_that_move),
            cmocka_unit_test(limits_follow_within_a_second),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
