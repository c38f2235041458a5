#include "model/limit.h"

#include <string.h>

static const struct ceiling_info ceilings[CEILING_COUNT] = {
#define CEILING(id, name, unit, kind, help) {name, UNIT_##unit, CEILING_##kind, help},
#include "model/ceilings.def"
#undef CEILING
};

static const struct {
        const char *name;
        enum limiter_side side;
        const char *words, *general, *torch, *jax;
} limiters[LIMITER_COUNT] = {
#define LIMITER(id, name, side, words, general, torch, jax)                                        \
        {name, LIMITER_SIDE_##side, words, general, torch, jax},
#include "model/limiters.def"
#undef LIMITER
};

const struct ceiling_info *ceiling_info(enum ceiling ceiling)
{
        return &ceilings[ceiling];
}

const char *limiter_name(enum limiter limiter)
{
        return limiters[limiter].name;
}

const char *limiter_words(enum limiter limiter)
{
        return limiters[limiter].words;
}

enum limiter_side limiter_side(enum limiter limiter)
{
        return limiters[limiter].side;
}

enum limiter limiter_find(const char *name)
{
        enum limiter l = 0;
        while (l < LIMITER_COUNT && strcmp(limiters[l].name, name) != 0)
                l++;
        return l;
}

const char *limiter_try(enum limiter limiter, enum framework framework)
{
        const char *own = "";
        if (framework == FRAMEWORK_TORCH)
                own = limiters[limiter].torch;
        else if (framework == FRAMEWORK_JAX)
                own = limiters[limiter].jax;
        return own[0] ? own : limiters[limiter].general;
}

const char *limiter_rule(enum limiter limiter)
{
        static const char *const rules[LIMITER_COUNT] = {
            [LIMITER_UNKNOWN] = "a rule needs counters that are missing",
            [LIMITER_IDLE] = "engine below 0.5 %, no memory held, no process",
            [LIMITER_IDLE_ALLOCATED] =
                "engine below 0.5 % and the host quiet, memory held, for 5 s",
            [LIMITER_HOST_STARTING] =
                "a program runs and has not used the GPU yet, or loads and compiles before its "
                "first work",
            [LIMITER_HOST_INPUT] = "engine below 80 %; children keep half a core busy, and more "
                                   "than a process that is busy itself",
            [LIMITER_HOST_STORAGE] =
                "engine below 80 %; threads wait for storage, or much is read or written",
            [LIMITER_HOST_NETWORK] =
                "engine below 80 %; much network traffic for the cores that are busy",
            [LIMITER_HOST_CODE] = "engine below 80 %; the process keeps a core busy",
            [LIMITER_HOST_WAITING] = "engine below 80 %; the host is quiet",
            [LIMITER_LAUNCH] = "engine 5 to 80 %, SMs less than half of it, a thread near 100 %",
            [LIMITER_PARALLELISM] = "engine from 80 %, SMs below 70 % of it, memory not near full",
            [LIMITER_COPY_LINK] = "the link near its speed while no kernel runs",
            [LIMITER_COPY_HOST] = "engine below 80 %; copies well below the link, a thread busy",
            [LIMITER_MEMORY_BANDWIDTH] = "engine from 80 %; device memory from 60 % and above "
                                         "every pipe",
            [LIMITER_MEMORY_ACCESS] =
                "engine from 80 %; SMs full, pipes below 25 %, device memory from 25 %",
            [LIMITER_COMPUTE_TENSOR] = "engine from 80 %; the tensor pipe from 60 %, the highest",
            [LIMITER_COMPUTE_FP64] = "engine from 80 %; the FP64 pipe from 60 %, the highest",
            [LIMITER_COMPUTE_FP32] = "engine from 80 %; the FP32 pipe from 60 %, the highest",
            [LIMITER_COMPUTE_FP16] = "engine from 80 %; the FP16 pipe from 60 %, the highest",
            [LIMITER_COMPUTE_INT] = "engine from 80 %; the integer pipe from 60 %, the highest",
            [LIMITER_KERNEL] = "engine from 80 %; SMs from 70 %, every pipe and memory below 60 %",
            [LIMITER_COLLECTIVE] =
                "engine from 80 %; pipes and memory below 5 %, and NVLink in use or low power "
                "beside other GPUs",
        };
        return rules[limiter];
}

const char *held_by_name(enum held_by held)
{
        static const char *const names[] = {[HELD_BY_NOTHING] = NULL,
                                            [HELD_BY_POWER] = "power",
                                            [HELD_BY_THERMAL] = "thermal",
                                            [HELD_BY_LOCKED] = "clock.locked"};
        return names[held];
}

const char *held_by_words(enum held_by held)
{
        static const char *const words[] = {[HELD_BY_NOTHING] = "",
                                            [HELD_BY_POWER] = "the power limit",
                                            [HELD_BY_THERMAL] = "heat",
                                            [HELD_BY_LOCKED] = "a locked clock"};
        return words[held];
}
