#include "read/host/scanner.h"

#include "base/clock.h"
#include "base/list.h"
#include "read/host/files.h"
#include "read/host/forks.h"
#include "read/host/scanner_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static uint32_t bucket_of(int32_t pid)
{
        return (uint32_t)pid % SCAN_BUCKETS;
}

struct scan_process *table_find(struct scanner *s, int32_t pid)
{
        for (int32_t i = s->buckets[bucket_of(pid)]; i >= 0; i = s->procs[i].next) {
                if (s->procs[i].pid == pid)
                        return &s->procs[i];
        }
        return NULL;
}

static bool grow_table(struct scanner *s)
{
        size_t cap = s->cap ? s->cap * 2 : 512;
        if (cap > SCAN_MAX)
                return false;
        return LIST_RESERVE(s->procs, cap, s->cap);
}

struct scan_process *table_add(struct scanner *s, int32_t pid)
{
        int32_t i = s->free_slot;
        if (i >= 0)
                s->free_slot = s->procs[i].next;
        else if (s->n < s->cap || grow_table(s))
                i = (int32_t)s->n++;
        else
                return NULL;
        uint32_t b = bucket_of(pid);
        s->procs[i] = (struct scan_process){.pid = pid,
                                            .next = s->buckets[b],
                                            .born = s->tick,
                                            .fresh = true,
                                            .io_state = STATE_NONE,
                                            .stat_fd = -1,
                                            .io_fd = -1};
        s->buckets[b] = i;
        return &s->procs[i];
}

struct scan_process *table_parent(struct scanner *s, const struct scan_process *p)
{
        struct scan_process *q = p->ppid > 0 ? table_find(s, p->ppid) : NULL;
        return q && q->start <= p->start ? q : NULL;
}

void table_close_fds(struct scanner *s, struct scan_process *p)
{
        int *const fds[] = {&p->stat_fd, &p->io_fd};
        for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
                if (*fds[i] < 0)
                        continue;
                close(*fds[i]);
                *fds[i] = -1;
                s->open_fds--;
        }
}

void table_remove(struct scanner *s, struct scan_process *p)
{
        int32_t i = (int32_t)(p - s->procs);
        int32_t *link = &s->buckets[bucket_of(p->pid)];
        while (*link != i)
                link = &s->procs[*link].next;
        *link = p->next;
        table_close_fds(s, p);
        *p = (struct scan_process){.next = s->free_slot, .stat_fd = -1, .io_fd = -1};
        s->free_slot = i;
}

static void note_listed(struct scanner *s, const struct listed *entry)
{
        struct scan_process *p = table_find(s, entry->pid);
        if (!p && !(p = table_add(s, entry->pid)))
                return;
        p->seen = s->tick;
        if (p->ino != entry->inode && !p->fresh) {
                table_close_fds(s, p);
                p->denied = false;
                p->born = s->tick; /* asks for a new look at who it is */
        }
        p->ino = entry->inode;
}

static int list_processes(struct scanner *s)
{
        int r = s->config.renews_listing ? listing_renew(s->listing, &s->processes)
                                         : listing_take(s->listing, &s->processes);
        if (r < 0)
                return r;
        s->listed = s->processes.n;
        for (size_t i = 0; s->follows && i < s->processes.n; i++)
                note_listed(s, &s->processes.list[i]);
        return 0;
}

/*
 * A process that has used no CPU for a second is asleep, and a quarter of a second late is soon
 * enough to see it wake. One whose child is gone is read at once.
 */
#define ASLEEP_NS NS_PER_S
#define NAP_NS (240 * NS_PER_MS)

static bool may_sleep_on(const struct scanner *s, const struct scan_process *p)
{
        return s->now_ns - p->moved_ns > ASLEEP_NS && s->now_ns - p->read_ns < NAP_NS &&
               p->gone_cpu == 0 && p->gone_carry == 0;
}

/* Only the levels' own processes, and what helps to account for them, is read each tick. */
static bool is_watched(const struct scanner *s, const struct scan_process *p)
{
        return !p->denied && (p->levels || p->holds || p->serves || p->beside || s->config.all ||
                              p->born == s->tick);
}

/* A pid that changed hands: the old process is gone, the new one is fresh. */
static void change_hands(struct scanner *s, struct scan_process *p, uint64_t start_before,
                         const struct scan_process *before)
{
        if (p->fresh || p->start == start_before)
                return;
        struct scan_process old = *before;
        account_vanished(s, &old);
        p->fresh = true;
        p->born = s->tick;
        p->levels = p->levels_before = 0;
        p->holds = p->serves = p->groups_before = 0;
        p->beside = p->in_job = false;
        p->pss_at_ns = 0;
        p->gone_carry = p->surplus = 0;
        p->io_known_before = false;
        p->io_state = STATE_NONE;
}

static void read_process(struct scanner *s, struct scan_process *p)
{
        struct scan_process before = *p;
        int r = scan_read_stat(s, p);
        if (r == -EACCES || r == -EPERM) {
                p->denied = true;
                table_close_fds(s, p);
        } else if (r < 0) {
                p->seen = s->tick - 1;
                account_vanished(s, p);
        } else {
                change_hands(s, p, before.start, &before);
        }
}

static bool has_vanished(const struct scanner *s, const struct scan_process *p)
{
        return p->pid > 0 && p->seen != s->tick;
}

/* The order of the passes over the table is what makes the sums right. */
static void read_all(struct scanner *s)
{
        SCAN_EACH(s, p)
        {
                if (has_vanished(s, p))
                        account_vanished(s, p);
        }
        SCAN_EACH(s, p)
        {
                p->own_before = p->own;
                p->waited_before = p->waited;
                if (scan_alive(s, p) && is_watched(s, p) &&
                    (p->born == s->tick || !may_sleep_on(s, p)))
                        read_process(s, p);
        }
}

static void clean_up(struct scanner *s, struct scan_process *p)
{
        p->gone_cpu = 0;
        p->gone_io = (struct proc_io){0};
        p->fresh = false;
        if (has_vanished(s, p))
                table_remove(s, p);
        else if (p->pid > 0 && !is_watched(s, p))
                table_close_fds(s, p);
}

int scanner_tick(struct scanner *s, int64_t boot_ns)
{
        s->tick++;
        s->now_ns = boot_ns;
        account_begin(s);
        int r = list_processes(s);
        if (r < 0)
                return r;
        members_hear_forks(s);
        read_all(s);
        members_take_orphans(s);
        SCAN_EACH(s, p)
        {
                if (scan_alive(s, p))
                        members_decide(s, p);
        }
        groups_decide(s);
        SCAN_EACH(s, p)
        {
                if (scan_alive(s, p) && (p->levels || p->holds || p->serves))
                        scan_read_io(s, p);
        }
        SCAN_EACH(s, p)
        {
                if (scan_alive(s, p) && (p->levels || p->holds || p->serves))
                        account_process(s, p);
                clean_up(s, p);
        }
        s->last_boot_ticks =
            (uint64_t)boot_ns / (uint64_t)(NS_PER_S / (int64_t)s->config.clock_ticks);
        return 0;
}

static int find_target(struct scanner *s, struct err *err)
{
        char path[32], buf[1024];
        struct proc_stat st;
        snprintf(path, sizeof(path), "%d/stat", s->config.target.pid);
        ssize_t n = files_read(s->proc_fd, path, buf, sizeof(buf));
        if (n < 0 && n != -ENOENT && n != -ESRCH)
                return err_set(err, (int)n, "cannot look at process %d: %s", s->config.target.pid,
                               strerror((int)-n));
        if (n < 0 || procfs_stat(buf, (size_t)n, &st) < 0) {
                err_set(err, ERR_USAGE, "--pid: there is no process %d", s->config.target.pid);
                return err_hint(err, "'ps -e' lists those that are there; a container has its own "
                                     "numbers");
        }
        s->target_start = st.start;
        s->target_ppid = st.ppid;
        return 0;
}

int scanner_open(const struct scan_config *config, struct scanner **ret, struct err *err)
{
        struct scanner *s = calloc(1, sizeof(*s));
        if (!s)
                return err_set(err, -ENOMEM, "out of memory");
        s->config = *config;
        s->free_slot = -1;
        memset(s->buckets, 0xff, sizeof(s->buckets));
        if (s->config.clock_ticks == 0)
                s->config.clock_ticks = (uint64_t)sysconf(_SC_CLK_TCK);
        /* Without levels of processes there is nothing to do but to count. */
        s->follows = config->all ||
                     (config->target.pid > 0 && (config->levels & LEVEL_BIT(LEVEL_PROCESS))) ||
                     members_need_identity(s);
        s->page_size = config->page_size ? config->page_size : sysconf(_SC_PAGESIZE);
        s->text = malloc(SCAN_TEXT);
        s->proc_fd = files_open(config->root, "/proc");
        s->forks_fd = config->hear_forks && config->target.pid > 0 ? forks_open() : -1;
        s->listing = listing_share(config->listing);
        int r = s->listing || s->proc_fd < 0 ? 0 : listing_open(config->root, &s->listing);
        if (!s->text || r < 0) {
                r = err_set(err, -ENOMEM, "out of memory");
        } else if (s->proc_fd < 0) {
                r = err_set(err, s->proc_fd, "cannot open /proc: %s", strerror(-s->proc_fd));
                err_hint(err, "mount it, or point --root at a tree that has one");
        } else if (config->target.pid > 0) {
                r = find_target(s, err);
        }
        if (r < 0) {
                scanner_close(s);
                return r;
        }
        *ret = s;
        return 0;
}

void scanner_close(struct scanner *s)
{
        if (!s)
                return;
        for (size_t i = 0; i < s->n; i++)
                table_close_fds(s, &s->procs[i]);
        if (s->proc_fd >= 0)
                close(s->proc_fd);
        if (s->forks_fd >= 0)
                close(s->forks_fd);
        free(s->procs);
        listing_close(s->listing);
        listed_finish(&s->processes);
        free(s->text);
        free(s);
}

const struct scan_sum *scanner_sum(const struct scanner *s, enum level level)
{
        return &s->sums[level];
}

void scanner_set_holders(struct scanner *s, const struct scan_holder *holders, size_t n)
{
        s->n_holders = MIN(n, (size_t)SCAN_HOLDERS_MAX);
        memcpy(s->holders, holders, s->n_holders * sizeof(*holders));
        s->follows = s->follows || n > 0;
}

const struct scan_group *scanner_group(const struct scanner *s, size_t group)
{
        return &s->groups[group];
}

uint64_t scanner_listed(const struct scanner *s)
{
        return s->listed;
}

struct listing *scanner_listing(const struct scanner *s)
{
        return s->listing;
}

uint64_t scanner_clock_ticks(const struct scanner *s)
{
        return s->config.clock_ticks;
}

static bool is_busier(const struct host_process *a, const struct host_process *b)
{
        double x = value_or(a->cpu, -1), y = value_or(b->cpu, -1);
        return x != y ? x > y : a->memory > b->memory;
}

static struct value disk_rate(const struct scan_process *p, double seconds)
{
        const uint64_t *now = p->io.v, *before = p->io_before.v;
        if (p->io_state != STATE_OK || !p->io_known_before)
                return value_missing(STATE_NONE);
        return counter_rate(now[PROC_IO_READ] + now[PROC_IO_WRITE],
                            before[PROC_IO_READ] + before[PROC_IO_WRITE], seconds);
}

static struct host_process describe_process(const struct scanner *s, const struct scan_process *p,
                                            double seconds)
{
        struct host_process q = {.pid = p->pid, .threads = p->threads};
        q.cpu = counter_rate(p->own, p->own_before, seconds);
        q.cpu.v /= (double)s->config.clock_ticks;
        q.disk = disk_rate(p, seconds);
        q.memory = (double)p->rss_pages * (double)s->page_size;
        snprintf(q.command, sizeof(q.command), "%s", p->comm);
        return q;
}

size_t scanner_busiest(const struct scanner *s, double seconds, struct host_process *ret,
                       size_t max)
{
        size_t n = 0;
        for (const struct scan_process *p = s->procs; p && seconds > 0 && p < s->procs + s->n;
             p++) {
                if (p->pid <= 0 || p->seen != s->tick || !p->levels || p->born == s->tick)
                        continue;
                struct host_process q = describe_process(s, p, seconds);
                size_t at = n;
                while (at > 0 && is_busier(&q, &ret[at - 1]))
                        at--;
                if (at == max)
                        continue;
                n = MIN(n + 1, max);
                memmove(&ret[at + 1], &ret[at], (n - at - 1) * sizeof(*ret));
                ret[at] = q;
        }
        return n;
}

struct scan_process *scanner_find(struct scanner *s, int32_t pid)
{
        return table_find(s, pid);
}

struct scan_process *scanner_each(struct scanner *s, size_t *place)
{
        while (*place < s->n) {
                struct scan_process *p = &s->procs[(*place)++];
                if (p->pid > 0)
                        return p;
        }
        return NULL;
}

const struct cgroup_paths *scanner_job_groups(const struct scanner *s)
{
        return s->job_placed ? &s->job_groups : NULL;
}
