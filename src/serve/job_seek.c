#include "serve/job_seek.h"

#include "base/attr.h"
#include "base/num.h"
#include "read/host/cgroup.h"
#include "read/host/files.h"
#include "read/host/slurm.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PROCESSES_SEEN_MAX 65536

/* Yes, no, or not by its control group. */
enum told { TOLD_NO, TOLD_YES, TOLD_NOTHING };

static enum told by_group(const char *text, size_t n, const char *job)
{
        struct cgroup_paths paths;
        struct slurm_place place;
        if (cgroup_parse_paths(text, n, &paths) != 0)
                return TOLD_NOTHING;
        for (enum cgroup_kind k = 0; k < CGROUP_KINDS; k++) {
                if (slurm_find(paths.path[k], &place) && place.job[0])
                        return strcmp(place.job, job) == 0 ? TOLD_YES : TOLD_NO;
        }
        return TOLD_NOTHING;
}

static bool is_of_job(int root, const char *pid, const char *job, char *buf, size_t size)
{
        char path[64], found[SLURM_JOB_MAX];
        snprintf(path, sizeof(path), "/proc/%.20s/cgroup", pid);
        ssize_t n = files_read(root, path, buf, size);
        enum told told = n > 0 ? by_group(buf, (size_t)n, job) : TOLD_NOTHING;
        if (told != TOLD_NOTHING)
                return told == TOLD_YES;
        snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
        n = files_read(root, path, buf, size);
        return n > 0 && slurm_job_of_environ(buf, (size_t)n, found) && strcmp(found, job) == 0;
}

int32_t job_seek(int root, const char *job, char *buf, size_t size)
{
        int fd = openat(root, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
        int32_t any = 0, found = 0;
        size_t seen = 0;
        if (!dir)
                closep(&fd);
        for (struct dirent *e; dir && !found && (e = readdir(dir)) && seen < PROCESSES_SEEN_MAX;) {
                uint64_t pid;
                struct stat st;
                if (!num_parse_u64(e->d_name, strlen(e->d_name), &pid) || pid > INT32_MAX)
                        continue;
                seen++;
                if (!is_of_job(root, e->d_name, job, buf, size))
                        continue;
                any = (int32_t)pid;
                if (fstatat(dirfd(dir), e->d_name, &st, 0) == 0 && st.st_uid != 0)
                        found = (int32_t)pid;
        }
        if (dir)
                closedir(dir);
        return found ? found : any;
}
