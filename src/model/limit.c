#include "model/limit.h"

#include <string.h>

static const struct ceiling_info ceilings[CEILING_COUNT] = {
#define CEILING(id, name, unit, kind, help) {name, UNIT_##unit, CEILING_##kind, help},
#include "model/ceilings.def"
#undef CEILING
};

static const struct limiter_info limiters[LIMITER_COUNT] = {
#define LIMITER(id, name, group, stage, holds, fills, inputs, reasons, brief, words, present,      \
                past, rule, general, torch, jax)                                                   \
        {name,                                                                                     \
         LIMITER_GROUP_##group,                                                                    \
         LIMITER_STAGE_##stage,                                                                    \
         fills,                                                                                    \
         brief,                                                                                    \
         present,                                                                                  \
         past,                                                                                     \
         general,                                                                                  \
         torch,                                                                                    \
         jax},
#include "model/limiters.def"
};

#define REASONS(...)                                                                               \
        {                                                                                          \
                __VA_ARGS__                                                                        \
        }
static const struct limiter_sight counted[LIMITER_COUNT] = {
#define LIMITER(id, name, group, stage, holds, fills, inputs, reasons, brief, words, present,      \
                past, rule, general, torch, jax)                                                   \
        {inputs, reasons, words, rule},
#include "model/limiters.def"
};

/* No words: as with counters. */
static const struct limiter_sight likely[LIMITER_COUNT] = {
#define WITHOUT_COUNTERS(id, holds, inputs, reasons, words, rule)                                  \
        [LIMITER_##id] = {inputs, reasons, words, rule},
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

double ceilings_codec(const struct ceilings *c)
{
        double most = 0;
        for (enum ceiling i = CEILING_DECODER; i <= CEILING_JPEG; i++)
                most =
                    c->present & CEILING_AT(i) && (double)c->v[i] > most ? (double)c->v[i] : most;
        return most;
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
        return counted[limiter].words;
}

const char *limiter_phrase(enum limiter limiter)
{
        const char *present = limiter_info(limiter)->present;
        return present[0] ? present : limiter_words(limiter);
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

const struct limiter_sight *limiter_sight(enum limiter limiter, enum basis basis)
{
        bool own = basis == BASIS_DRIVER && likely[limiter].words;
        return own ? &likely[limiter] : &counted[limiter];
}

const char *limiter_rule(enum limiter limiter, enum basis basis)
{
        return limiter_sight(limiter, basis)->rule;
}

const char *limiter_lead(enum basis basis)
{
        return basis == BASIS_DRIVER ? "likely limited by" : "limited by";
}

const char *limiter_doubt(enum limiter limiter, enum basis basis)
{
        /* What has no cause is seen without counters, too. */
        bool plain = limiters[limiter].present[0] || limiters[limiter].past[0];
        return basis == BASIS_DRIVER && !plain ? "likely " : "";
}

const char *basis_name(enum basis basis)
{
        return basis == BASIS_DRIVER ? "driver" : "counters";
}

const char *basis_words(enum basis basis)
{
        return basis == BASIS_DRIVER ? "the driver alone: likely" : "profiling counters";
}

const char *floor_from_name(enum floor_from from)
{
        static const char *const names[] = {
            [FLOOR_UNKNOWN] = "unknown", [FLOOR_MODEL] = "model", [FLOOR_IDLE] = "idle",
            [FLOOR_KEPT] = "kept",       [FLOOR_RUN] = "run",
        };
        return names[from];
}

const char *basis_sure(enum basis basis)
{
        return basis == BASIS_DRIVER
                   ? "likely: decided without profiling counters, from utilization, the memory "
                     "controller, power and clocks; 'assay doctor' says which counters would make "
                     "it sure, and who can allow them"
                   : "";
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
