/* How other hosts are reached: the program, the assay there, and which hosts they are. */
#pragma once

#include "model/node.h"
#include "read/nodes/command.h"
#include "read/nodes/hostlist.h"
#include "read/source.h"

struct reach_target {
        char target[HOSTLIST_NAME_MAX]; /* as it was named: user@host */
        char job[40];                   /* the Slurm job to go through; empty for none */
        char name[NODE_NAME_MAX]; /* the host without the user, unless two are then the same */
};

/* All zeros to begin with. */
struct reach {
        char program[4096]; /* ssh or srun, found */
        char remote[4096];  /* the assay to run there */
        bool is_ssh, is_srun;
        struct reach_target *targets; /* owned */
        size_t n;
};

/* The hosts, or the job, that a configuration names; wake ends a question to Slurm when it can be
 * read. 0 or a negative code with err; finish it either way. */
int reach_open(const struct source_config *config, int wake, struct reach *ret, struct err *err);
void reach_finish(struct reach *r);
/* The command that starts assay at a target; words: what follows its name there. False when it does
 * not fit. */
bool reach_command(const struct reach *r, const struct source_config *config, size_t target,
                   const char *const *words, size_t n_words, struct node_command *ret);
/* A job's variables are for its own steps: they would shape the one that srun starts. */
bool reach_hides(const char *variable);
