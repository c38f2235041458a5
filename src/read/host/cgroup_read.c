/* The files of one group. */
#include "read/host/cgroup.h"

#include "base/attr.h"
#include "read/host/files.h"
#include "read/host/procfs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FOLDER_MAX 768
#define FILE_MAX 8192

/* Version 1 writes "no limit" as the largest number of whole pages. */
#define NO_LIMIT ((uint64_t)1 << 60)

struct group {
        int root;
        const struct cgroup_mounts *mounts;
        const struct cgroup_paths *paths;
};

static ssize_t read_in(int root, const char *folder, const char *file, char buf[FILE_MAX])
{
        char path[FOLDER_MAX + 64];
        if (snprintf(path, sizeof(path), "%s/%s", folder, file) >= (int)sizeof(path))
                return -ENAMETOOLONG;
        return files_read(root, path, buf, FILE_MAX);
}

static bool folder_of(const struct group *g, enum cgroup_kind kind, char folder[FOLDER_MAX])
{
        return g->paths->path[kind][0] &&
               cgroup_folder(g->mounts, kind, g->paths->path[kind], folder, FOLDER_MAX);
}

static struct value read_one(const struct group *g, enum cgroup_kind kind, const char *file)
{
        char folder[FOLDER_MAX], buf[FILE_MAX];
        uint64_t v;
        if (!folder_of(g, kind, folder))
                return value_missing(STATE_UNSUPPORTED);
        ssize_t n = read_in(g->root, folder, file, buf);
        if (n < 0)
                return files_missing(n);
        return cgroup_parse_one(buf, (size_t)n, &v) ? value_ok((double)v)
                                                    : value_missing(STATE_ERROR);
}

/* Cuts a folder to its parent; false when that would leave the mount. */
static bool to_parent(char *folder, const char *point)
{
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < strlen(point))
                return false;
        *slash = '\0';
        return true;
}

/* The smallest limit on the way up. A group may use no more than those around it. */
static struct value tightest_limit(const struct group *g, enum cgroup_kind kind, const char *file)
{
        char folder[FOLDER_MAX], buf[FILE_MAX];
        uint64_t least = UINT64_MAX, v;
        if (!folder_of(g, kind, folder))
                return value_missing(STATE_UNSUPPORTED);
        do {
                ssize_t n = read_in(g->root, folder, file, buf);
                if (n > 0 && cgroup_parse_one(buf, (size_t)n, &v))
                        least = MIN(least, v);
        } while (to_parent(folder, g->mounts->at[kind].point));
        return least < NO_LIMIT ? value_ok((double)least) : value_missing(STATE_NONE);
}

static bool quota_in(const struct group *g, enum cgroup_kind kind, const char *folder, double *ret)
{
        char buf[FILE_MAX];
        if (kind == CGROUP_UNIFIED) {
                ssize_t n = read_in(g->root, folder, "cpu.max", buf);
                return n > 0 && cgroup_parse_cpu_max(buf, (size_t)n, ret) && *ret > 0;
        }
        uint64_t quota, period;
        ssize_t n = read_in(g->root, folder, "cpu.cfs_quota_us", buf);
        if (n <= 0 || !cgroup_parse_one(buf, (size_t)n, &quota)) /* -1 is not a quota */
                return false;
        n = read_in(g->root, folder, "cpu.cfs_period_us", buf);
        if (n <= 0 || !cgroup_parse_one(buf, (size_t)n, &period) || period == 0)
                return false;
        *ret = (double)quota / (double)period;
        return true;
}

static struct value read_quota(const struct group *g, enum cgroup_kind kind)
{
        char folder[FOLDER_MAX];
        double least = 0, v;
        if (!folder_of(g, kind, folder))
                return value_missing(STATE_NONE);
        do {
                if (quota_in(g, kind, folder, &v) && (least == 0 || v < least))
                        least = v;
        } while (to_parent(folder, g->mounts->at[kind].point));
        return least > 0 ? value_ok(least) : value_missing(STATE_NONE);
}

static struct value read_cpuset(const struct group *g)
{
        static const struct {
                enum cgroup_kind kind;
                const char *file;
        } places[] = {{CGROUP_UNIFIED, "cpuset.cpus.effective"},
                      {CGROUP_CPUSET, "cpuset.effective_cpus"}};
        for (size_t i = 0; i < ARRAY_LEN(places); i++) {
                char folder[FOLDER_MAX], buf[FILE_MAX];
                uint32_t count;
                if (!folder_of(g, places[i].kind, folder))
                        continue;
                ssize_t n = read_in(g->root, folder, places[i].file, buf);
                if (n > 0 && procfs_cpu_list(buf, (size_t)n, &count))
                        return value_ok(count);
        }
        return value_missing(STATE_UNSUPPORTED);
}

static struct value read_cpu(const struct group *g)
{
        char folder[FOLDER_MAX], buf[FILE_MAX];
        uint64_t us;
        if (folder_of(g, CGROUP_UNIFIED, folder)) {
                ssize_t n = read_in(g->root, folder, "cpu.stat", buf);
                if (n > 0 && cgroup_parse_key(buf, (size_t)n, "usage_usec", &us))
                        return value_ok((double)us / 1e6);
        }
        struct value ns = read_one(g, CGROUP_CPUACCT, "cpuacct.usage");
        if (value_is_set(ns))
                ns.v /= 1e9;
        return ns;
}

struct io_sum {
        int root;
        struct cgroup_io io;
};

/* A device-mapper or loop device passes its I/O on to a disk that is listed too. */
static bool is_disk(int root, uint64_t device)
{
        char path[96], disk[128];
        snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", (unsigned)(device >> 32),
                 (unsigned)device);
        snprintf(disk, sizeof(disk), "%s/device", path);
        return !files_exist(root, path) || files_exist(root, disk);
}

static void add_io(const struct cgroup_io *io, void *arg)
{
        struct io_sum *sum = arg;
        if (!is_disk(sum->root, io->device))
                return;
        sum->io.read += io->read;
        sum->io.write += io->write;
}

/* Only version 2 charges written-back pages to the group that wrote them; version 1 charges the
 * root, so its counters say nothing about ordinary writes and are not used. */
static void read_io(const struct group *g, struct cgroup_counters *ret)
{
        char folder[FOLDER_MAX], buf[FILE_MAX];
        struct io_sum sum = {.root = g->root};
        ret->read = ret->write = value_missing(STATE_UNSUPPORTED);
        if (!folder_of(g, CGROUP_UNIFIED, folder))
                return;
        ssize_t n = read_in(g->root, folder, "io.stat", buf);
        /* Devices that do not fit, and a number that is cut, would make the sum too small. */
        if (n < 0 || n == FILE_MAX)
                return;
        cgroup_parse_io(buf, (size_t)n, add_io, &sum);
        ret->read = value_ok((double)sum.io.read);
        ret->write = value_ok((double)sum.io.write);
}

/* Version 2 first; a hybrid machine has its controllers in version 1. */
static struct value first_set(struct value a, struct value b)
{
        return value_is_set(a) || b.state == STATE_UNSUPPORTED ? a : b;
}

void cgroup_read(int root, const struct cgroup_mounts *m, const struct cgroup_paths *p,
                 struct cgroup_counters *ret)
{
        struct group g = {root, m, p};
        *ret = (struct cgroup_counters){0};
        ret->cpu_s = read_cpu(&g);
        ret->memory = first_set(read_one(&g, CGROUP_UNIFIED, "memory.current"),
                                read_one(&g, CGROUP_MEMORY, "memory.usage_in_bytes"));
        ret->memory_peak = first_set(read_one(&g, CGROUP_UNIFIED, "memory.peak"),
                                     read_one(&g, CGROUP_MEMORY, "memory.max_usage_in_bytes"));
        ret->memory_limit = tightest_limit(&g, CGROUP_UNIFIED, "memory.max");
        if (!value_is_set(ret->memory_limit))
                ret->memory_limit = tightest_limit(&g, CGROUP_MEMORY, "memory.limit_in_bytes");
        ret->quota = read_quota(&g, CGROUP_UNIFIED);
        if (!value_is_set(ret->quota))
                ret->quota = read_quota(&g, CGROUP_CPU);
        ret->cpuset = read_cpuset(&g);
        read_io(&g, ret);
}
