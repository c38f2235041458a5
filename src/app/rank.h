/* Which rank of a job this process is: what launchers put into the environment. */
#pragma once

#include "model/value.h"

#include <stdbool.h>
#include <stddef.h>

#define RANK_JOB_MAX 96

struct rank_facts {
        const char *launcher; /* "torchrun", "openmpi", …; NULL: not started by one */
        struct value rank, local_rank, node_rank, world;
        char job[RANK_JOB_MAX]; /* what all ranks of the job have in common; a file's name at most,
                                   empty when that is not known */
};

typedef const char *rank_env(const char *name);

/*
 * The innermost launcher that says which rank this is; a launcher NULL when none does. Numbers that
 * make no sense are missing.
 */
struct rank_facts rank_facts(rank_env *env);
/* The same of another environment. A text that env gives is valid until the second call after it.
 */
typedef const char *rank_env_of(void *arg, const char *name);
struct rank_facts rank_facts_of(rank_env_of *env, void *arg);
/* Whether there are, or may be, other ranks. */
bool rank_is_one_of_many(const struct rank_facts *r);
