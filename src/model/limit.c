#include "model/limit.h"

#include <string.h>

static const struct ceiling_info ceilings[CEILING_COUNT] = {
#define CEILING(id, name, unit, kind, help) {name, UNIT_##unit, CEILING_##kind, help},
#include "model/ceilings.def"
#undef CEILING
};

#define REASONS(...)                                                                               \
        {                                                                                          \
                __VA_ARGS__                                                                        \
        }
#define LIMITER(id, name, group, stage, holds, fills, inputs, reasons, brief, words, present,      \
                past, rule, general, torch, jax)                                                   \
        {name,                                                                                     \
         LIMITER_GROUP_##group,                                                                    \
         LIMITER_STAGE_##stage,                                                                    \
         fills,                                                                                    \
         inputs,                                                                                   \
         reasons,                                                                                  \
         brief,                                                                                    \
         words,                                                                                    \
         present,                                                                                  \
         past,                                                                                     \
         rule,                                                                                     \
         general,                                                                                  \
         torch,                                                                                    \
         jax},
static const struct limiter_info limiters[LIMITER_COUNT] = {
#include "model/limiters.def"
};
#undef REASONS

/* A row without words does not compile. */
#define LIMITER(id, name, group, stage, holds, fills, inputs, reasons, brief, words, present,      \
                past, rule, general, torch, jax)                                                   \
        _Static_assert(sizeof(name) > 1 && sizeof(brief) > 1 && sizeof(words) > 1 &&               \
                           sizeof(rule) > 1 && sizeof(general) > 1,                                \
                       name ": a limiter needs all its words");
#include "model/limiters.def"

/* Each limiter but unknown has one turn. */
#define TURN(id) +1
_Static_assert(0
#include "model/limiters.def"
                   == LIMITER_COUNT - 1,
               "a limiter has no turn, or two");
#define TURN(id) | 1u << LIMITER_##id
_Static_assert((0u
#include "model/limiters.def"
                ) == (1u << LIMITER_COUNT) - 2,
               "a limiter has no turn, or two");

const struct ceiling_info *ceiling_info(enum ceiling ceiling)
{
        return &ceilings[ceiling];
}

const struct limiter_info *limiter_info(enum limiter limiter)
{
        return &limiters[limiter];
}

const char *limiter_name(enum limiter limiter)
{
        return limiters[limiter].name;
}

const char *limiter_words(enum limiter limiter)
{
        return limiters[limiter].words;
}

const char *limiter_brief(enum limiter limiter)
{
        return limiters[limiter].brief;
}

enum limiter_group limiter_group(enum limiter limiter)
{
        return limiters[limiter].group;
}

enum limiter_side limiter_side(enum limiter limiter)
{
        static const enum limiter_side sides[LIMITER_GROUP_COUNT] = {
            [LIMITER_GROUP_UNKNOWN] = LIMITER_SIDE_NONE,
            [LIMITER_GROUP_IDLE] = LIMITER_SIDE_NONE,
            [LIMITER_GROUP_HOST] = LIMITER_SIDE_HOST,
            [LIMITER_GROUP_COPY] = LIMITER_SIDE_COPY,
            [LIMITER_GROUP_TENSOR] = LIMITER_SIDE_DEVICE,
            [LIMITER_GROUP_COMPUTE] = LIMITER_SIDE_DEVICE,
            [LIMITER_GROUP_MEMORY] = LIMITER_SIDE_DEVICE,
            [LIMITER_GROUP_KERNEL] = LIMITER_SIDE_DEVICE,
        };
        return sides[limiters[limiter].group];
}

enum limiter limiter_find(const char *name)
{
        enum limiter l = 0;
        while (l < LIMITER_COUNT && strcmp(limiters[l].name, name) != 0)
                l++;
        return l;
}

const char *limiter_rule(enum limiter limiter)
{
        return limiters[limiter].rule;
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
