/* Which Slurm job a process belongs to: by its control group, else by its environment. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLURM_JOB_MAX 32

struct slurm_place {
        char job[SLURM_JOB_MAX]; /* "77"; "" when the folder has another kind of name (a SLUID) */
        size_t folder_len;       /* the path up to and with the job's folder */
};

/*
 * Finds the job's folder in a path of /proc/PID/cgroup:
 *   /slurm[_node]/uid_U/job_J/…  /…slurmstepd.scope/job_J/…  /…slurm.service/job_J/…
 * False when the path is not of a job.
 */
bool slurm_find(const char *path, struct slurm_place *ret);
/* SLURM_JOB_ID, or the older SLURM_JOBID, of an environment. */
bool slurm_job_of_environ(const char *buf, size_t n, char ret[SLURM_JOB_MAX]);
