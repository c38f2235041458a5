#include "read/host/target.h"

#include "base/attr.h"
#include "base/num.h"
#include "read/host/files.h"
#include "read/host/users.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX (128 * 1024)

static ssize_t read_of(int root, const struct target *t, const char *name, char *buf, size_t size)
{
        char path[64];
        snprintf(path, sizeof(path), "%s/%s", t->dir, name);
        return files_read(root, path, buf, size);
}

static void set_absent(struct target *t, enum level level, const char *why)
{
        snprintf(t->why[level], HOST_TEXT_MAX, "%s", why);
}

static int find_user(int root, const struct host_config *config, struct target *t, char *text,
                     struct err *err)
{
        struct proc_status st;
        if (config->user) {
                if (!users_find(root, config->root[0] == '\0', config->user, &t->scan.uid)) {
                        err_set(err, ERR_USAGE, "--user: there is no user '%s'", config->user);
                        return err_hint(err, "give a name that 'getent passwd' knows, or a uid");
                }
                t->scan.has_uid = true;
        } else {
                ssize_t n = read_of(root, t, "status", text, TEXT_MAX);
                if (n <= 0 || procfs_status(text, (size_t)n, &st) < 0) {
                        set_absent(t, LEVEL_USER, "the target's owner cannot be read");
                        return 0;
                }
                t->scan.uid = st.uid;
                t->scan.has_uid = true;
        }
        users_name(config->root[0] == '\0', t->scan.uid, t->name[LEVEL_USER], HOST_TEXT_MAX);
        return 0;
}

/* The first hierarchy that knows of a job. */
static bool job_from_groups(struct target *t)
{
        for (enum cgroup_kind k = 0; k < CGROUP_KINDS; k++) {
                struct slurm_place place;
                if (!slurm_find(t->paths.path[k], &place))
                        continue;
                memcpy(t->scan.job, place.job, sizeof(place.job));
                snprintf(t->scan.job_folder, CGROUP_PATH_MAX, "%.*s", (int)place.folder_len,
                         t->paths.path[k]);
                return true;
        }
        return false;
}

static void find_job(int root, const struct host_config *config, struct target *t, char *text)
{
        if (config->job) {
                snprintf(t->scan.job, sizeof(t->scan.job), "%s", config->job);
        } else {
                bool found = job_from_groups(t);
                if (t->scan.job[0] == '\0') {
                        ssize_t n = read_of(root, t, "environ", text, TEXT_MAX);
                        found |= n > 0 && slurm_job_of_environ(text, (size_t)n, t->scan.job);
                }
                if (!found)
                        set_absent(t, LEVEL_SLURM,
                                   config->pid ? "the process is in no Slurm job"
                                               : "not inside a Slurm job, and no --job was given");
        }
        snprintf(t->name[LEVEL_SLURM], HOST_TEXT_MAX, "%s", t->scan.job);
}

/* A folder below a mount, or a path in any hierarchy that has it. */
static bool find_group_by_name(int root, struct target *t, const char *name)
{
        char folder[768];
        size_t best = 0;
        for (enum cgroup_kind k = 0; k < CGROUP_KINDS; k++) {
                const char *point = t->mounts.at[k].point;
                size_t n = strlen(point);
                if (n > best && strncmp(name, point, n) == 0 && name[n] == '/') {
                        best = n;
                        t->scan.group_kind = k;
                }
        }
        snprintf(t->scan.group, CGROUP_PATH_MAX, "%s%s", name[0] == '/' ? "" : "/", name + best);
        size_t len = strlen(t->scan.group);
        while (len > 1 && t->scan.group[len - 1] == '/')
                t->scan.group[--len] = '\0';
        if (best > 0)
                return files_exist(root, name);
        for (enum cgroup_kind k = 0; k < CGROUP_KINDS; k++) {
                if (cgroup_folder(&t->mounts, k, t->scan.group, folder, sizeof(folder)) &&
                    files_exist(root, folder)) {
                        t->scan.group_kind = k;
                        return true;
                }
        }
        return false;
}

/* Inside a container the group's own path is "/", yet it has what a machine's root group has not.
 */
static bool is_container_root(int root, const struct target *t)
{
        char folder[768], path[800];
        if (strcmp(t->paths.path[CGROUP_UNIFIED], "/") != 0 ||
            !cgroup_folder(&t->mounts, CGROUP_UNIFIED, "/", folder, sizeof(folder)))
                return false;
        snprintf(path, sizeof(path), "%s/memory.current", folder);
        return files_exist(root, path);
}

static int find_group(int root, const struct host_config *config, struct target *t, struct err *err)
{
        t->scan.group_kind = CGROUP_KINDS;
        if (config->cgroup) {
                if (!find_group_by_name(root, t, config->cgroup)) {
                        err_set(err, ERR_USAGE, "--cgroup: there is no control group '%s'",
                                config->cgroup);
                        return err_hint(err, "give a path as in /proc/PID/cgroup, or a folder "
                                             "below /sys/fs/cgroup");
                }
        } else {
                t->scan.group_kind = cgroup_main(&t->paths);
                if (t->scan.group_kind == CGROUP_KINDS && is_container_root(root, t))
                        t->scan.group_kind = CGROUP_UNIFIED;
                if (t->scan.group_kind == CGROUP_KINDS) {
                        set_absent(t, LEVEL_CGROUP, "the target is in no control group of its own");
                        return 0;
                }
                memcpy(t->scan.group, t->paths.path[t->scan.group_kind], CGROUP_PATH_MAX);
        }
        /* Version 1: a hierarchy counts for the level when it has the group under the same path. */
        for (enum cgroup_kind k = 0; k < CGROUP_KINDS; k++) {
                char folder[768];
                if (k == t->scan.group_kind ||
                    (strcmp(t->scan.group, "/") != 0 &&
                     cgroup_folder(&t->mounts, k, t->scan.group, folder, sizeof(folder)) &&
                     files_exist(root, folder)))
                        memcpy(t->group.path[k], t->scan.group, CGROUP_PATH_MAX);
        }
        snprintf(t->name[LEVEL_CGROUP], HOST_TEXT_MAX, "%.*s", HOST_TEXT_MAX - 1, t->scan.group);
        return 0;
}

static void leave_out_unwanted(unsigned levels, struct target *t)
{
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (!(levels & LEVEL_BIT(l)))
                        set_absent(t, l, "not asked for");
        }
        if (t->scan.pid == 0 && t->why[LEVEL_PROCESS][0] == '\0')
                set_absent(t, LEVEL_PROCESS, "no --pid was given");
}

static void name_host(int root, struct target *t)
{
        char *name = t->name[LEVEL_SYSTEM];
        ssize_t n = files_read(root, "/proc/sys/kernel/hostname", name, HOST_TEXT_MAX - 1);
        name[n > 0 ? strcspn(name, "\n") : 0] = '\0';
}

int target_find(int root, const struct host_config *config, struct target *ret, struct err *err)
{
        CLEANUP(freep) char *text = malloc(TEXT_MAX);
        if (!text)
                return err_set(err, -ENOMEM, "out of memory");
        *ret = (struct target){.scan = {.pid = config->pid}};
        snprintf(ret->dir, sizeof(ret->dir), config->pid ? "/proc/%d" : "/proc/self", config->pid);
        ssize_t n = files_read(root, "/proc/self/mountinfo", text, TEXT_MAX);
        if (n > 0)
                cgroup_parse_mounts(text, (size_t)n, &ret->mounts);
        n = read_of(root, ret, "cgroup", text, TEXT_MAX);
        if (n > 0)
                cgroup_parse_paths(text, (size_t)n, &ret->paths);
        int r = find_user(root, config, ret, text, err);
        if (r == 0)
                r = find_group(root, config, ret, err);
        if (r < 0)
                return r;
        find_job(root, config, ret, text);
        name_host(root, ret);
        leave_out_unwanted(config->levels, ret);
        return 0;
}

static struct value first_set(struct value a, struct value b)
{
        return value_is_set(a) ? a : b;
}

/* RLIMIT_AS of the target, when it has one. */
static struct value address_limit(int root, const struct target *t)
{
        char buf[4096];
        uint64_t limit;
        ssize_t n = t->scan.pid ? read_of(root, t, "limits", buf, sizeof(buf)) : -ENOENT;
        if (n <= 0 || procfs_limits(buf, (size_t)n, &limit) < 0 || limit == UINT64_MAX)
                return value_missing(STATE_NONE);
        return value_ok((double)limit);
}

static struct value affinity_of(int root, const struct target *t)
{
        char buf[4096];
        struct proc_status st;
        ssize_t n = read_of(root, t, "status", buf, sizeof(buf));
        if (n < 0)
                return files_missing(n);
        if (procfs_status(buf, (size_t)n, &st) < 0 || st.cpus == 0)
                return value_missing(STATE_ERROR);
        return value_ok(st.cpus);
}

static struct value slice_limit(int root, const struct target *t)
{
        struct cgroup_paths slice = {0};
        struct cgroup_counters c;
        static const enum cgroup_kind kinds[] = {CGROUP_UNIFIED, CGROUP_MEMORY};
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
                snprintf(slice.path[kinds[i]], CGROUP_PATH_MAX, "/user.slice/user-%u.slice",
                         t->scan.uid);
        cgroup_read(root, &t->mounts, &slice, &c);
        return c.memory_limit;
}

static struct value cpus_of(const struct cgroup_counters *c, struct value fallback)
{
        struct value v = first_set(c->cpuset, fallback);
        return value_is_set(c->quota) && (!value_is_set(v) || c->quota.v < v.v) ? c->quota : v;
}

void target_read_limits(int root, const struct target *t, const struct cgroup_paths *job,
                        const struct host *host, struct target_limits *ret)
{
        struct cgroup_counters all, group, of_job = {0};
        struct value ram = host->system[SYSTEM_MEM_TOTAL];
        struct value online = host->system[SYSTEM_CPUS_ONLINE];
        cgroup_read(root, &t->mounts, &t->paths, &all);
        cgroup_read(root, &t->mounts, &t->group, &group);
        if (job)
                cgroup_read(root, &t->mounts, job, &of_job);
        *ret = (struct target_limits){.affinity = affinity_of(root, t), .quota = all.quota};
        ret->memory[LEVEL_PROCESS] =
            first_set(address_limit(root, t), first_set(all.memory_limit, ram));
        ret->memory[LEVEL_USER] = first_set(slice_limit(root, t), ram);
        ret->memory[LEVEL_SLURM] = first_set(of_job.memory_limit, ram);
        ret->memory[LEVEL_CGROUP] = first_set(group.memory_limit, ram);
        ret->memory[LEVEL_SYSTEM] = ram;
        ret->cpus[LEVEL_PROCESS] = first_set(ret->affinity, online);
        ret->cpus[LEVEL_USER] = ret->cpus[LEVEL_SYSTEM] = online;
        ret->cpus[LEVEL_SLURM] = cpus_of(&of_job, online);
        ret->cpus[LEVEL_CGROUP] = cpus_of(&group, online);
}
