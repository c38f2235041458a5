#include "serve/job_seek.h"

#include "base/attr.h"
#include "read/host/cgroup.h"
#include "read/host/files.h"
#include "read/host/slurm.h"
#include "read/numbered.h"

#include <fcntl.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PROCESSES_SEEN_MAX 65536
#define DENTS_MAX (16 * 1024)

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

struct seek {
        int root, proc;
        const char *job;
        char *buf;
        size_t size, seen;
        int32_t any, found; /* found is not root's */
};

static void seek_at(void *arg, const struct numbered *entry)
{
        struct seek *s = arg;
        struct stat st;
        if (s->found || s->seen == PROCESSES_SEEN_MAX)
                return;
        s->seen++;
        if (!is_of_job(s->root, entry->name, s->job, s->buf, s->size))
                return;
        s->any = entry->number;
        if (fstatat(s->proc, entry->name, &st, 0) == 0 && st.st_uid != 0)
                s->found = entry->number;
}

int32_t job_seek(int root, const char *job, char *buf, size_t size)
{
        alignas(max_align_t) char dents[DENTS_MAX];
        CLEANUP(closep) int proc = openat(root, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct seek s = {.root = root, .proc = proc, .job = job, .buf = buf, .size = size};
        if (proc >= 0)
                numbered_each(proc, dents, sizeof(dents), seek_at, &s);
        return s.found ? s.found : s.any;
}
