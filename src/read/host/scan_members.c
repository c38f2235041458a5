/* Which levels a process belongs to. */
#include "read/host/cursor.h"
#include "read/host/files.h"
#include "read/host/forks.h"
#include "read/host/scanner_table.h"

#include <stdio.h>
#include <string.h>

/* Who a process is may change early in its life (setuid, a move to a cgroup) and rarely later. */
#define YOUNG_TICKS 3
#define READ_AGAIN 32
#define DEPTH_MAX 64

#define STATUS_MAX 4096
#define CGROUP_FILE_MAX 8192

static bool wants_level(const struct scanner *s, enum level level)
{
        return s->config.levels & LEVEL_BIT(level);
}

static void add_leader(struct scanner *s, int32_t pid, bool session)
{
        for (size_t i = 0; i < s->n_leaders; i++) {
                if (s->leaders[i].pid == pid && s->leaders[i].session == session)
                        return;
        }
        if (s->n_leaders < LEADERS_MAX)
                s->leaders[s->n_leaders++] = (struct scan_leader){pid, session};
}

/* A pid that is someone else's now leads nothing of ours. */
static void drop_leader(struct scanner *s, int32_t pid)
{
        for (size_t i = s->n_leaders; i-- > 0;) {
                if (s->leaders[i].pid == pid)
                        s->leaders[i] = s->leaders[--s->n_leaders];
        }
}

static bool led_by_us(const struct scanner *s, const struct scan_process *p)
{
        /* A pipeline's members share a group and a parent: they are the target's brothers. */
        bool brother = p->ppid == s->target_ppid;
        for (size_t i = 0; i < s->n_leaders; i++) {
                const struct scan_leader *l = &s->leaders[i];
                /* A new process with a leader's pid is a stranger that got the number. */
                if (l->pid == p->pid)
                        continue;
                if (l->session ? p->session == l->pid : p->pgrp == l->pid && !brother)
                        return true;
        }
        return false;
}

static bool is_target(const struct scanner *s, const struct scan_process *p)
{
        return p->pid == s->config.target.pid && p->start == s->target_start;
}

static struct scan_fork *fork_slot(struct scanner *s, int32_t pid)
{
        return &s->forks[(uint32_t)pid & (FORKS_MAX - 1)];
}

/* The event of a fork may be one tick older than the listing that shows the child. */
static bool was_forked_by_us(struct scanner *s, int32_t pid)
{
        const struct scan_fork *f = fork_slot(s, pid);
        return f->pid == pid && f->tick + 1 >= s->tick;
}

static void hear_fork(int32_t parent, int32_t child, void *arg)
{
        struct scanner *s = arg;
        const struct scan_process *p = table_find(s, parent);
        if ((p && (p->levels & LEVEL_BIT(LEVEL_PROCESS))) || parent == s->config.target.pid ||
            was_forked_by_us(s, parent))
                *fork_slot(s, child) = (struct scan_fork){child, s->tick};
}

void members_hear_forks(struct scanner *s)
{
        if (s->forks_fd >= 0)
                forks_read(s->forks_fd, hear_fork, s);
}

static bool younger_than_target(const struct scanner *s, const struct scan_process *p)
{
        return p->start > s->target_start ||
               (p->start == s->target_start && p->pid > s->config.target.pid);
}

/*
 * The target's parent may be the reaper of its orphans: they become children of the reaper's first
 * thread, as the target is, and are younger. What other threads of the reaper started is not
 * theirs.
 */
void members_take_orphans(struct scanner *s)
{
        char path[48];
        uint64_t pid;
        int32_t reaper = s->config.reaper;
        if (reaper == 0 || reaper != s->target_ppid)
                return;
        snprintf(path, sizeof(path), "%d/task/%d/children", reaper, reaper);
        ssize_t n = files_read(s->proc_fd, path, s->text, SCAN_TEXT);
        struct cursor c = cursor_of(s->text, n > 0 ? (size_t)n : 0);
        while (cursor_u64(&c, &pid) && pid <= INT32_MAX) {
                const struct scan_process *p = table_find(s, (int32_t)pid);
                if (p && p->fresh && younger_than_target(s, p))
                        *fork_slot(s, p->pid) = (struct scan_fork){p->pid, s->tick};
        }
}

/*
 * A new process is a descendant when it is the target, when an ancestor is a member, when the
 * kernel reported so, when it came to the reaper, or when its session or group was begun by one: so
 * it is found although its parent ended before it was seen. Pids go round, so a parent may come
 * later in the table: the walk goes up through fresh ones.
 */
static bool descends_from_target(struct scanner *s, const struct scan_process *p)
{
        const struct scan_process *q = p;
        for (unsigned depth = 0; q && depth < 256; depth++) {
                if (is_target(s, q) || (q->levels & LEVEL_BIT(LEVEL_PROCESS)))
                        return true;
                if (!q->fresh)
                        return false;
                if (was_forked_by_us(s, q->pid) || led_by_us(s, q))
                        return true;
                q = table_parent(s, q);
        }
        return false;
}

static bool is_in_group(const char *path, const char *group)
{
        size_t n = strlen(group);
        if (strcmp(group, "/") == 0)
                return path[0] == '/';
        return strncmp(path, group, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static ssize_t read_file(struct scanner *s, const struct scan_process *p, const char *name,
                         char *buf, size_t size)
{
        char path[48];
        snprintf(path, sizeof(path), "%d/%s", p->pid, name);
        return files_read(s->proc_fd, path, buf, size);
}

/* Remembers where the job's groups are, each cut at the job's folder. */
static void place_job(struct scanner *s, const struct cgroup_paths *paths)
{
        if (s->job_placed)
                return;
        for (enum cgroup_kind k = 0; k < CGROUP_KINDS; k++) {
                struct slurm_place place;
                if (!slurm_find(paths->path[k], &place))
                        continue;
                snprintf(s->job_groups.path[k], CGROUP_PATH_MAX, "%.*s", (int)place.folder_len,
                         paths->path[k]);
                s->job_placed = true;
        }
}

enum verdict_of { NOT_REPORTED, OURS, OTHERS };

/* What the control groups say of the job. */
static enum verdict_of job_by_groups(struct scanner *s, const struct cgroup_paths *paths)
{
        const struct scan_target *t = &s->config.target;
        for (enum cgroup_kind k = 0; k < CGROUP_KINDS; k++) {
                struct slurm_place place;
                if (!slurm_find(paths->path[k], &place))
                        continue;
                bool ours = place.job[0]
                                ? strcmp(place.job, t->job) == 0
                                : t->job_folder[0] && is_in_group(paths->path[k], t->job_folder);
                if (ours)
                        place_job(s, paths);
                return ours ? OURS : OTHERS;
        }
        return NOT_REPORTED;
}

static enum verdict_of job_by_environment(struct scanner *s, const struct scan_process *p)
{
        char job[SLURM_JOB_MAX];
        ssize_t n = read_file(s, p, "environ", s->text, SCAN_TEXT);
        if (n <= 0 || !slurm_job_of_environ(s->text, (size_t)n, job))
                return NOT_REPORTED;
        return strcmp(job, s->config.target.job) == 0 ? OURS : OTHERS;
}

static bool belongs_to_job(struct scanner *s, const struct scan_process *p,
                           const struct cgroup_paths *paths)
{
        enum verdict_of v = paths ? job_by_groups(s, paths) : NOT_REPORTED;
        if (v == NOT_REPORTED)
                v = job_by_environment(s, p);
        if (v != NOT_REPORTED)
                return v == OURS;
        /* A step that cleared its environment is still the job's child. */
        struct scan_process *q = table_parent(s, p);
        if (q && q->seen == s->tick && s->depth < DEPTH_MAX) {
                s->depth++;
                members_decide(s, q);
                s->depth--;
        }
        return p->in_job || (q && q->in_job);
}

static void read_groups(struct scanner *s, struct scan_process *p, unsigned *levels)
{
        struct cgroup_paths paths;
        const struct scan_target *t = &s->config.target;
        ssize_t n = read_file(s, p, "cgroup", s->text, CGROUP_FILE_MAX);
        bool known = n > 0 && cgroup_parse_paths(s->text, (size_t)n, &paths) == 0;
        if (wants_level(s, LEVEL_CGROUP) && t->group_kind < CGROUP_KINDS && known &&
            is_in_group(paths.path[t->group_kind], t->group))
                *levels |= LEVEL_BIT(LEVEL_CGROUP);
        if (wants_level(s, LEVEL_SLURM) && (t->job[0] || t->job_folder[0])) {
                p->in_job = belongs_to_job(s, p, known ? &paths : NULL);
                if (p->in_job)
                        *levels |= LEVEL_BIT(LEVEL_SLURM);
        }
}

static void read_process_owner(struct scanner *s, struct scan_process *p, unsigned *levels)
{
        char buf[STATUS_MAX];
        struct proc_status st;
        ssize_t n = read_file(s, p, "status", buf, sizeof(buf));
        if (n <= 0 || procfs_status(buf, (size_t)n, &st) < 0)
                return;
        p->uid = st.uid;
        if (st.uid == s->config.target.uid)
                *levels |= LEVEL_BIT(LEVEL_USER);
}

bool members_need_identity(const struct scanner *s)
{
        const struct scan_target *t = &s->config.target;
        return (wants_level(s, LEVEL_USER) && t->has_uid) ||
               (wants_level(s, LEVEL_SLURM) && (t->job[0] || t->job_folder[0])) ||
               (wants_level(s, LEVEL_CGROUP) && t->group_kind < CGROUP_KINDS);
}

static bool read_is_due(const struct scanner *s, const struct scan_process *p)
{
        return s->tick - p->born < YOUNG_TICKS || ((uint64_t)p->pid + s->tick) % READ_AGAIN == 0;
}

void members_decide(struct scanner *s, struct scan_process *p)
{
        const unsigned process = LEVEL_BIT(LEVEL_PROCESS);
        unsigned levels = p->levels & process;
        /* A child may have asked before its parent's turn. */
        if (p->decided_at == s->tick || p->denied)
                return;
        p->decided_at = s->tick;
        p->levels_before = p->levels;
        if (wants_level(s, LEVEL_PROCESS) && s->config.target.pid > 0) {
                if (p->fresh && descends_from_target(s, p))
                        levels |= process;
                if (p->fresh && !(levels & process))
                        drop_leader(s, p->pid);
                if ((levels & process) && p->session == p->pid)
                        add_leader(s, p->pid, true);
                if ((levels & process) && p->pgrp == p->pid)
                        add_leader(s, p->pid, false);
        }
        if (members_need_identity(s) && read_is_due(s, p)) {
                if (wants_level(s, LEVEL_USER) && s->config.target.has_uid)
                        read_process_owner(s, p, &levels);
                if (wants_level(s, LEVEL_SLURM) || wants_level(s, LEVEL_CGROUP))
                        read_groups(s, p, &levels);
        } else {
                levels |= p->levels;
        }
        p->levels = (uint8_t)levels;
        /* Who joins is counted from here, so here its counters must be known. */
        if ((levels & ~p->levels_before) && p->read_at != s->tick && scan_read_stat(s, p) < 0)
                p->seen = s->tick - 1;
        const struct scan_process *q = levels ? NULL : table_parent(s, p);
        p->beside = q && q->levels;
}
