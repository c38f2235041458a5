#include "read/host/slurm.h"

#include "read/host/cursor.h"
#include "read/host/procfs.h"

#include <ctype.h>

static bool ends_with(struct cursor c, const char *tail)
{
        size_t n = strlen(tail);
        return (size_t)(c.end - c.s) >= n && memcmp(c.end - n, tail, n) == 0;
}

static bool next_component(const char **s, struct cursor *ret)
{
        while (**s == '/')
                (*s)++;
        ret->s = *s;
        *s += strcspn(*s, "/");
        ret->end = *s;
        return ret->end > ret->s;
}

static bool all_digits(struct cursor c)
{
        if (c.s == c.end)
                return false;
        for (; c.s < c.end; c.s++) {
                if (!isdigit((unsigned char)*c.s))
                        return false;
        }
        return true;
}

/* The folder below which Slurm makes one folder a job. */
static bool is_parent_of_jobs(struct cursor c, bool below_slurm)
{
        return ends_with(c, "slurmstepd.scope") || cursor_is(c, "slurm.service") ||
               (below_slurm && cursor_starts(c, "uid_"));
}

bool slurm_find(const char *path, struct slurm_place *ret)
{
        const char *s = path;
        struct cursor c;
        bool below = false, own = false;
        while (next_component(&s, &c)) {
                if (own) {
                        struct cursor number = {c.s, c.end};
                        /* slurmd and stepd themselves sit in "system". */
                        if (cursor_is(c, "system") || cursor_is(c, "slurmd"))
                                return false;
                        *ret = (struct slurm_place){.folder_len = (size_t)(c.end - path)};
                        if (!cursor_starts(number, "job_"))
                                return true;
                        number.s += strlen("job_");
                        if (all_digits(number))
                                cursor_copy(number, ret->job, sizeof(ret->job));
                        return true;
                }
                own = is_parent_of_jobs(c, below);
                below = cursor_is(c, "slurm") || cursor_starts(c, "slurm_");
        }
        return false;
}

bool slurm_job_of_environ(const char *buf, size_t n, char ret[SLURM_JOB_MAX])
{
        return procfs_environ(buf, n, "SLURM_JOB_ID", ret, SLURM_JOB_MAX) ||
               procfs_environ(buf, n, "SLURM_JOBID", ret, SLURM_JOB_MAX);
}
