/* Which rank this is: the environments that launchers make, one row each. */
#include "app/rank.h"
#include "base/attr.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static const char *const *environment; /* name, value, …, NULL */

static const char *env(const char *name)
{
        for (size_t i = 0; environment[i]; i += 2) {
                if (strcmp(environment[i], name) == 0)
                        return environment[i + 1];
        }
        return NULL;
}

#define NONE (-1)

static const struct {
        const char *why;
        const char *env[24];
        const char *launcher; /* NULL: none */
        double rank, local, node, world;
        const char *job;
        bool many;
} rows[] = {
    {"a shell", {"HOME", "/root"}, NULL, NONE, NONE, NONE, NONE, "", false},
    {"srun",
     {"SLURM_PROCID", "5", "SLURM_LOCALID", "1", "SLURM_NODEID", "2", "SLURM_STEP_NUM_TASKS", "16",
      "SLURM_JOB_ID", "4711", "SLURM_STEP_ID", "0"},
     "slurm",
     5,
     1,
     2,
     16,
     "4711.0",
     true},
    {"a batch script is no task of a step",
     {"SLURM_PROCID", "0", "SLURM_LOCALID", "0", "SLURM_JOB_ID", "4711", "SLURM_NTASKS", "16"},
     NULL,
     NONE,
     NONE,
     NONE,
     NONE,
     "",
     false},
    {"srun -n1: a rank that is alone",
     {"SLURM_PROCID", "0", "SLURM_STEP_NUM_TASKS", "1", "SLURM_JOB_ID", "4", "SLURM_STEP_ID", "2"},
     "slurm",
     0,
     NONE,
     NONE,
     1,
     "4.2",
     false},
    {"torchrun with a named run",
     {"RANK", "3", "LOCAL_RANK", "3", "WORLD_SIZE", "8", "GROUP_RANK", "0", "TORCHELASTIC_RUN_ID",
      "exp/7", "MASTER_ADDR", "n0", "MASTER_PORT", "29500"},
     "torchrun",
     3,
     3,
     0,
     8,
     "exp_7",
     true},
    {"torchrun without: where its ranks meet",
     {"RANK", "1", "LOCAL_RANK", "1", "WORLD_SIZE", "2", "TORCHELASTIC_RUN_ID", "none",
      "MASTER_ADDR", "n0", "MASTER_PORT", "29500"},
     "torchrun",
     1,
     1,
     NONE,
     2,
     "n0.29500",
     true},
    {"torchrun below srun, a task a node: torchrun's ranks",
     {"RANK", "9", "LOCAL_RANK", "1", "WORLD_SIZE", "16", "GROUP_RANK", "1", "TORCHELASTIC_RUN_ID",
      "none", "SLURM_PROCID", "1", "SLURM_STEP_NUM_TASKS", "2", "SLURM_JOB_ID", "8",
      "SLURM_STEP_ID", "3"},
     "torchrun",
     9,
     1,
     1,
     16,
     "8.3",
     true},
    {"mpirun of Open MPI in a Slurm job",
     {"OMPI_COMM_WORLD_RANK", "2", "OMPI_COMM_WORLD_LOCAL_RANK", "0", "OMPI_COMM_WORLD_SIZE", "4",
      "PMIX_NAMESPACE", "prterun-n0-77@1", "SLURM_PROCID", "0", "SLURM_STEP_NUM_TASKS", "2"},
     "openmpi",
     2,
     0,
     NONE,
     4,
     "prterun-n0-77_1",
     true},
    {"mpiexec of MPICH",
     {"PMI_RANK", "1", "PMI_SIZE", "2", "MPI_LOCALRANKID", "1"},
     "pmi",
     1,
     1,
     NONE,
     2,
     "",
     true},
    {"MVAPICH",
     {"MV2_COMM_WORLD_RANK", "6", "MV2_COMM_WORLD_LOCAL_RANK", "2", "MV2_COMM_WORLD_SIZE", "8"},
     "mvapich",
     6,
     2,
     NONE,
     8,
     "",
     true},
    {"srun --mpi=pmix: Slurm knows the rest",
     {"PMIX_RANK", "1", "PMIX_NAMESPACE", "slurm.pmix.9.0", "SLURM_PROCID", "1", "SLURM_LOCALID",
      "1", "SLURM_NODEID", "0", "SLURM_STEP_NUM_TASKS", "2", "SLURM_JOB_ID", "9"},
     "pmix",
     1,
     1,
     0,
     2,
     "slurm.pmix.9.0",
     true},
    {"a rank that is no number is none",
     {"PMI_RANK", "-1"},
     NULL,
     NONE,
     NONE,
     NONE,
     NONE,
     "",
     false},
    {"RANK of something else is none", {"RANK", "gold"}, NULL, NONE, NONE, NONE, NONE, "", false},
    {"RANK without a world is none", {"RANK", "2"}, NULL, NONE, NONE, NONE, NONE, "", false},
    {"a job's name leads nowhere",
     {"PMIX_RANK", "0", "PMIX_NAMESPACE", "../../etc/x y"},
     "pmix",
     0,
     NONE,
     NONE,
     NONE,
     "_._.._etc_x_y",
     true},
};

static void check(struct value v, double expected)
{
        assert_int_equal(value_is_set(v), expected != NONE);
        if (expected != NONE)
                assert_true(v.v == expected);
}

static void environments(void **state UNUSED)
{
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                environment = rows[i].env;
                struct rank_facts r = rank_facts(env);
                print_message("%s\n", rows[i].why);
                assert_int_equal(r.launcher != NULL, rows[i].launcher != NULL);
                if (r.launcher)
                        assert_string_equal(r.launcher, rows[i].launcher);
                check(r.rank, rows[i].rank);
                check(r.local_rank, rows[i].local);
                check(r.node_rank, rows[i].node);
                check(r.world, rows[i].world);
                assert_string_equal(r.job, rows[i].job);
                assert_int_equal(rank_is_one_of_many(&r), rows[i].many);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(environments)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
