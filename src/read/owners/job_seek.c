#include "read/owners/job_seek.h"

#include "base/attr.h"
#include "read/host/cgroup.h"
#include "read/host/files.h"
#include "read/host/slurm.h"
#include "read/listing.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PROCESSES_SEEN_MAX 65536

/* Yes, no, or not by its control group. */
enum reported { SAYS_NO, SAYS_YES, SAYS_NOTHING };

static enum reported by_group(const char *text, size_t n, const char *job)
{
        struct cgroup_paths paths;
        struct slurm_place place;
        if (cgroup_parse_paths(text, n, &paths) != 0)
                return SAYS_NOTHING;
        for (enum cgroup_kind k = 0; k < CGROUP_KINDS; k++) {
                if (slurm_find(paths.path[k], &place) && place.job[0])
                        return strcmp(place.job, job) == 0 ? SAYS_YES : SAYS_NO;
        }
        return SAYS_NOTHING;
}

static bool is_of_job(int root, int32_t pid, const char *job, char *buf, size_t size)
{
        char path[64], found[SLURM_JOB_MAX];
        snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
        ssize_t n = files_read(root, path, buf, size);
        enum reported reported = n > 0 ? by_group(buf, (size_t)n, job) : SAYS_NOTHING;
        if (reported != SAYS_NOTHING)
                return reported == SAYS_YES;
        snprintf(path, sizeof(path), "/proc/%d/environ", pid);
        n = files_read(root, path, buf, size);
        return n > 0 && slurm_job_of_environ(buf, (size_t)n, found) && strcmp(found, job) == 0;
}

int32_t job_seek(int root, struct listing *listing, const char *job, char *buf, size_t size)
{
        struct listed_processes all = {0};
        int32_t any = 0, found = 0; /* found is not root's */
        if (listing && listing_take(listing, &all) < 0)
                all.n = 0;
        for (size_t i = 0; !found && i < MIN(all.n, (size_t)PROCESSES_SEEN_MAX); i++) {
                char path[32];
                struct stat st;
                snprintf(path, sizeof(path), "proc/%d", all.list[i].pid);
                if (!is_of_job(root, all.list[i].pid, job, buf, size))
                        continue;
                any = all.list[i].pid;
                if (fstatat(root, path, &st, 0) == 0 && st.st_uid != 0)
                        found = any;
        }
        listed_finish(&all);
        return found ? found : any;
}
