#include "app/rank.h"

#include "base/attr.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 10000000L

/*
 * Launchers, the innermost first: torchrun below srun sets its own variables beside Slurm's. A row
 * counts when rank is present, and also, where one is named, is. Slurm is the last.
 */
static const struct launcher {
        const char *name, *rank, *local_rank, *world, *node_rank;
        const char *also;   /* says that the rank is this launcher's */
        const char *job[2]; /* joined where both are present */
} launchers[] = {
    {"torchrun",
     "RANK",
     "LOCAL_RANK",
     "WORLD_SIZE",
     "GROUP_RANK",
     "WORLD_SIZE",
     {"TORCHELASTIC_RUN_ID", NULL}},
    {"openmpi",
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_SIZE",
     NULL,
     NULL,
     {"PMIX_NAMESPACE", NULL}},
    {"mvapich",
     "MV2_COMM_WORLD_RANK",
     "MV2_COMM_WORLD_LOCAL_RANK",
     "MV2_COMM_WORLD_SIZE",
     NULL,
     NULL,
     {NULL, NULL}},
    {"pmi", "PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", NULL, NULL, {NULL, NULL}},
    {"pmix", "PMIX_RANK", NULL, NULL, NULL, NULL, {"PMIX_NAMESPACE", NULL}},
    /* The batch script itself is task 0 of no step. */
    {"slurm",
     "SLURM_PROCID",
     "SLURM_LOCALID",
     "SLURM_STEP_NUM_TASKS",
     "SLURM_NODEID",
     "SLURM_STEP_NUM_TASKS",
     {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
};

/* Where variables are looked up. */
struct rank_from {
        rank_env_of *env;
        void *arg;
};

static const char *rank_text_of(const struct rank_from *from, const char *name)
{
        return name ? from->env(from->arg, name) : NULL;
}

static struct value rank_number_of(const struct rank_from *from, const char *name)
{
        const char *text = rank_text_of(from, name);
        char *end = NULL;
        long v = text && isdigit((unsigned char)text[0]) ? strtol(text, &end, 10) : -1;
        if (v < 0 || v > NUMBER_MAX || !end || *end)
                return value_missing(STATE_NONE);
        return value_ok((double)v);
}

/* What may stand in a file's name of any text; "" of none. */
static void rank_file_name(const char *text, char *buf, size_t size)
{
        size_t n = 0;
        for (; text && *text && n + 1 < size; text++) {
                bool fine = isalnum((unsigned char)*text) || *text == '_' || *text == '-' ||
                            (*text == '.' && n > 0);
                buf[n++] = (char)(fine ? *text : '_');
        }
        buf[n] = '\0';
}

/* torchrun says "none" unless somebody names the run; then the address where ranks meet is it. */
static void name_job(const struct rank_from *env, const struct launcher *l, struct rank_facts *ret)
{
        static const char *const fall_back[][2] = {{"SLURM_JOB_ID", "SLURM_STEP_ID"},
                                                   {"MASTER_ADDR", "MASTER_PORT"}};
        char text[2 * RANK_JOB_MAX] = "";
        const char *const *names = l->job;
        for (size_t i = 0; i <= ARRAY_LEN(fall_back); i++) {
                const char *a = rank_text_of(env, names[0]);
                const char *b = rank_text_of(env, names[1]);
                if (a && a[0] && strcmp(a, "none") != 0) {
                        snprintf(text, sizeof(text), "%s%s%s", a, b ? "." : "", b ? b : "");
                        break;
                }
                if (i < ARRAY_LEN(fall_back))
                        names = fall_back[i];
        }
        rank_file_name(text, ret->job, sizeof(ret->job));
}

static void rank_fill(struct value *v, struct value with)
{
        *v = value_is_set(*v) ? *v : with;
}

/* Slurm starts the ranks of other launchers too: where both report the same ranks, Slurm's facts
 * are more complete. */
static void add_slurm(const struct rank_from *env, struct rank_facts *ret)
{
        const struct launcher *l = &launchers[ARRAY_LEN(launchers) - 1];
        struct value rank = rank_number_of(env, l->rank), world = rank_number_of(env, l->world);
        if (!value_is_set(rank) || !value_is_set(world) || rank.v != ret->rank.v ||
            (value_is_set(ret->world) && ret->world.v != world.v))
                return;
        rank_fill(&ret->local_rank, rank_number_of(env, l->local_rank));
        rank_fill(&ret->node_rank, rank_number_of(env, l->node_rank));
        rank_fill(&ret->world, world);
}

struct rank_facts rank_facts_of(rank_env_of *of, void *arg)
{
        const struct rank_from from = {of, arg}, *env = &from;
        struct rank_facts ret = {0};
        for (size_t i = 0; i < ARRAY_LEN(launchers); i++) {
                const struct launcher *l = &launchers[i];
                struct value rank = rank_number_of(env, l->rank);
                if (!value_is_set(rank) || (l->also && !rank_text_of(env, l->also)))
                        continue;
                ret.launcher = l->name;
                ret.rank = rank;
                ret.local_rank = rank_number_of(env, l->local_rank);
                ret.node_rank = rank_number_of(env, l->node_rank);
                ret.world = rank_number_of(env, l->world);
                add_slurm(env, &ret);
                name_job(env, l, &ret);
                return ret;
        }
        return ret;
}

struct own_env {
        rank_env *env;
};

static const char *read_own_env(void *arg, const char *name)
{
        return ((const struct own_env *)arg)->env(name);
}

struct rank_facts rank_facts(rank_env *env)
{
        struct own_env own = {env};
        return rank_facts_of(read_own_env, &own);
}

bool rank_is_one_of_many(const struct rank_facts *r)
{
        return r->launcher && (!value_is_set(r->world) || r->world.v > 1);
}
