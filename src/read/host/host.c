#include "read/host/host.h"

#include "base/attr.h"
#include "base/clock.h"
#include "read/host/files.h"
#include "read/host/pss.h"
#include "read/host/scanner.h"
#include "read/host/system.h"
#include "read/host/target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Limits and CPU sets change rarely. */
#define RESCAN_NS (10 * NS_PER_S)
/* Descriptors left for everything else in the program. */
#define FDS_SPARED 128

struct host_reader {
        int root;
        struct host_config config;
        struct target target;
        struct scanner *scanner;
        struct system_reader *system;
        struct pss *pss;
        struct evidence_reader *evidence;
        uint64_t ticks;
        int64_t checked_ns, last_ns;
        struct target_limits limits;
};

/* Half of what may be open, so that the program around us finds some too. */
static size_t fd_budget(void)
{
        struct rlimit limit;
        if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur <= 2 * FDS_SPARED)
                return FDS_SPARED / 2;
        rlim_t spare = MAX((rlim_t)FDS_SPARED, limit.rlim_cur / 4);
        return limit.rlim_cur == RLIM_INFINITY ? 65536 : (size_t)(limit.rlim_cur - spare);
}

static int open_parts(struct host_reader *h, struct err *err)
{
        bool real = !h->config.root || h->config.root[0] == '\0';
        struct scan_config sc = {.root = h->root,
                                 .listing = h->config.listing,
                                 .renews_listing = true,
                                 .levels = h->config.levels,
                                 .target = h->target.scan,
                                 .hear_forks = real,
                                 .reaper = real && h->config.reaps ? (int32_t)getpid() : 0,
                                 .fd_budget = fd_budget() - fd_budget() / 4};
        int r = scanner_open(&sc, &h->scanner, err);
        if (r < 0)
                return r;
        r = system_open(h->root, &h->system);
        if (r == 0)
                r = evidence_open(h->root, &h->target.mounts, fd_budget() / 4, &h->evidence);
        if (r == 0 && (h->config.pss || (h->config.levels & ~LEVEL_BIT((unsigned)LEVEL_SYSTEM))))
                r = pss_open(h->root, h->config.pss, &h->pss);
        return r < 0 ? err_set(err, r, "cannot start reading the host: %s", strerror(-r)) : 0;
}

int host_open(const struct host_config *config, struct host_reader **ret, struct err *err)
{
        struct host_reader *h = calloc(1, sizeof(*h));
        if (!h)
                return err_set(err, -ENOMEM, "out of memory");
        h->config = *config;
        h->root = files_open_root(config->root);
        int r;
        if (h->root < 0) {
                r = err_set(err, ERR_USAGE, "cannot open '%s': %s", config->root,
                            strerror(-h->root));
                err_hint(err, "--root names a folder that holds proc and sys");
        } else {
                r = target_find(h->root, config, &h->target, err);
        }
        if (r == 0)
                r = open_parts(h, err);
        if (r < 0) {
                host_close(h);
                return r;
        }
        *ret = h;
        return 0;
}

void host_close(struct host_reader *h)
{
        if (!h)
                return;
        pss_close(h->pss);
        evidence_close(h->evidence);
        scanner_close(h->scanner);
        system_close(h->system);
        closep(&h->root);
        free(h);
}

static void set_io(struct value *f, const struct scan_sum *sum)
{
        static const struct {
                enum figure figure;
                enum proc_io_field field;
        } map[] = {
            {FIGURE_READ_TOTAL, PROC_IO_READ},        {FIGURE_WRITE_TOTAL, PROC_IO_WRITE},
            {FIGURE_READ_COUNT_TOTAL, PROC_IO_SYSCR}, {FIGURE_WRITE_COUNT_TOTAL, PROC_IO_SYSCW},
            {FIGURE_READ_CHARS_TOTAL, PROC_IO_RCHAR}, {FIGURE_WRITE_CHARS_TOTAL, PROC_IO_WCHAR},
        };
        /* A sum over nobody's counters would be a zero that nobody measured. */
        bool none = sum->io_read == 0 && sum->io_unread > 0;
        for (size_t i = 0; i < ARRAY_LEN(map); i++)
                f[map[i].figure] =
                    none ? value_missing(STATE_DENIED) : value_ok((double)sum->io[map[i].field]);
        f[FIGURE_IO_UNREAD] = value_ok((double)sum->io_unread);
}

static void set_pss(const struct host_reader *h, struct value *f, const struct scan_sum *sum,
                    int64_t mono_ns)
{
        if (!h->pss || sum->pss_missing > 0) {
                f[FIGURE_PSS] = f[FIGURE_USS] =
                    value_missing(h->config.pss ? STATE_BLANK : STATE_NONE);
                return;
        }
        f[FIGURE_PSS] = value_ok((double)sum->pss);
        f[FIGURE_USS] = value_ok((double)sum->uss);
        if (sum->pss_oldest_ns > 0)
                f[FIGURE_PSS].age_ms = f[FIGURE_USS].age_ms =
                    (uint32_t)((mono_ns - sum->pss_oldest_ns) / NS_PER_MS);
}

/* Pages of one process alone are counted once; a little that is not known yet does not matter. */
static bool is_bound(const struct scan_sum *sum)
{
        return sum->processes > 1 && (double)sum->unshared > 0.02 * (double)sum->memory;
}

static void set_sums(const struct host_reader *h, enum level level, struct level_state *ret,
                     int64_t mono_ns)
{
        const struct scan_sum *sum = scanner_sum(h->scanner, level);
        struct value *f = ret->f;
        f[FIGURE_CPU_TIME] = value_ok((double)sum->cpu / (double)scanner_clock_ticks(h->scanner));
        f[FIGURE_RSS] = value_ok((double)sum->rss);
        f[FIGURE_MEMORY] = value_ok((double)sum->memory);
        f[FIGURE_MEMORY_BOUND] = value_ok(is_bound(sum));
        f[FIGURE_PROCESSES] = value_ok((double)sum->processes);
        f[FIGURE_THREADS] = value_ok((double)sum->threads);
        set_io(f, sum);
        set_pss(h, f, sum, mono_ns);
        f[FIGURE_MEMORY_LIMIT] = h->limits.memory[level];
        f[FIGURE_CPUS] = h->limits.cpus[level];
}

static void prefer_value(struct value *to, struct value from)
{
        if (value_is_set(from))
                *to = from;
}

/* Where a control group counts, its counters are exact: they know every process it ever had. */
/* False when the group says nothing. */
static bool set_group(const struct host_reader *h, const struct cgroup_paths *paths,
                      struct level_state *ret)
{
        struct cgroup_counters c;
        cgroup_read(h->root, &h->target.mounts, paths, &c);
        prefer_value(&ret->f[FIGURE_CPU_TIME], c.cpu_s);
        prefer_value(&ret->f[FIGURE_MEMORY], c.memory);
        if (value_is_set(c.memory))
                ret->f[FIGURE_MEMORY_BOUND] = value_ok(0);
        prefer_value(&ret->f[FIGURE_MEMORY_PEAK], c.memory_peak);
        prefer_value(&ret->f[FIGURE_READ_TOTAL], c.read);
        prefer_value(&ret->f[FIGURE_WRITE_TOTAL], c.write);
        return value_is_set(c.cpu_s) || value_is_set(c.memory) || value_is_set(c.read) ||
               value_is_set(c.write);
}

/* A group that is gone has no processes and no files. It is absent, and not at rest. */
static void set_own_group(const struct host_reader *h, struct level_state *ret)
{
        if (set_group(h, &h->target.group, ret) ||
            scanner_sum(h->scanner, LEVEL_CGROUP)->processes > 0)
                return;
        ret->present = false;
        for (size_t i = 0; i < FIGURE_COUNT; i++)
                ret->f[i] = value_missing(STATE_NONE);
        snprintf(ret->why, sizeof(ret->why), "the control group was removed");
}

static void set_process(const struct host_reader *h, struct level_state *ret)
{
        const struct scan_process *p = scanner_find(h->scanner, h->target.scan.pid);
        if (p)
                snprintf(ret->name, sizeof(ret->name), "%d (%s)", p->pid, p->comm);
        else
                snprintf(ret->name, sizeof(ret->name), "%d, exited", h->target.scan.pid);
}

static void set_slurm(const struct host_reader *h, struct level_state *ret)
{
        const struct cgroup_paths *groups = scanner_job_groups(h->scanner);
        if (groups)
                set_group(h, groups, ret);
        if (scanner_sum(h->scanner, LEVEL_SLURM)->ever == 0) {
                ret->present = false;
                snprintf(ret->why, sizeof(ret->why), "no process of job %s is on this machine",
                         h->target.scan.job);
        }
}

static void set_level(const struct host_reader *h, enum level level, struct host *ret)
{
        struct level_state *l = &ret->levels[level];
        snprintf(l->name, sizeof(l->name), "%s", h->target.name[level]);
        snprintf(l->why, sizeof(l->why), "%s", h->target.why[level]);
        l->asked = h->config.levels & LEVEL_BIT(level);
        l->present = l->why[0] == '\0';
        if (!l->present || level == LEVEL_SYSTEM)
                return;
        set_sums(h, level, l, ret->mono_ns);
        switch (level) {
        case LEVEL_PROCESS:
                set_process(h, l);
                break;
        case LEVEL_SLURM:
                set_slurm(h, l);
                break;
        case LEVEL_CGROUP:
                set_own_group(h, l);
                break;
        case LEVEL_USER:
        case LEVEL_SYSTEM:
        case LEVEL_COUNT:
                break;
        }
}

/* The machine's own counters; the list of processes may be a part of the truth only. */
static void set_system(const struct host_reader *h, struct host *ret)
{
        struct value *f = ret->levels[LEVEL_SYSTEM].f;
        system_read(h->system, scanner_clock_ticks(h->scanner), ret);
        bool hidden = h->target.mounts.hidepid && geteuid() != 0;
        f[FIGURE_PROCESSES] =
            hidden ? value_missing(STATE_DENIED) : value_ok((double)scanner_listed(h->scanner));
        f[FIGURE_MEMORY_LIMIT] = ret->system[SYSTEM_MEM_TOTAL];
}

/*
 * Unless asked for, PSS is measured where several processes may share pages and no control group
 * reports: of the target's tree and its job. All of a user's processes would cost too much.
 */
static unsigned levels_to_measure(const struct host_reader *h)
{
        static const enum level some[] = {LEVEL_PROCESS, LEVEL_SLURM};
        unsigned levels = 0;
        if (h->config.pss)
                return h->config.levels;
        for (size_t i = 0; i < ARRAY_LEN(some); i++) {
                if (scanner_sum(h->scanner, some[i])->processes > 1)
                        levels |= LEVEL_BIT((unsigned)some[i]);
        }
        return levels & h->config.levels;
}

struct listing *host_listing(const struct host_reader *h)
{
        return scanner_listing(h->scanner);
}

int host_read(struct host_reader *h, struct host *ret, struct err *err)
{
        struct timespec boot;
        *ret = (struct host){.tick = h->ticks++, .wall_ns = clock_wall_ns()};
        clock_gettime(CLOCK_BOOTTIME, &boot);
        ret->mono_ns = clock_mono_ns();
        int r = scanner_tick(h->scanner, (int64_t)boot.tv_sec * NS_PER_S + boot.tv_nsec);
        if (r < 0)
                return err_set(err, r, "cannot read /proc: %s", strerror(-r));
        if (h->last_ns > 0)
                ret->n_busiest =
                    scanner_busiest(h->scanner, clock_to_seconds(ret->mono_ns - h->last_ns),
                                    ret->busiest, HOST_BUSIEST_MAX);
        h->last_ns = ret->mono_ns;
        if (h->pss)
                pss_tick(h->pss, h->scanner, levels_to_measure(h), ret->mono_ns);
        bool rescan = h->checked_ns == 0 || ret->mono_ns - h->checked_ns >= RESCAN_NS;
        /* The machine's files are read for its level, and for the limits that fall back on it. */
        if (rescan || (h->config.levels & LEVEL_BIT(LEVEL_SYSTEM)))
                set_system(h, ret);
        if (rescan) {
                h->checked_ns = ret->mono_ns;
                target_read_limits(h->root, &h->target, scanner_job_groups(h->scanner), ret,
                                   &h->limits);
        }
        ret->system[SYSTEM_CPUS_AFFINITY] = h->limits.affinity;
        ret->system[SYSTEM_CPUS_QUOTA] = h->limits.quota;
        for (enum level l = 0; l < LEVEL_COUNT; l++)
                set_level(h, l, ret);
        evidence_fill(h->evidence, h->scanner, h->target.scan.pid > 0, ret);
        return 0;
}

void host_hold(struct host_reader *h, size_t n_gpus, bool known, const struct host_holder *list,
               size_t n)
{
        evidence_hold(h->evidence, h->scanner, n_gpus, known, list, n);
}

size_t host_servers(const struct host_reader *h, struct host_server *list, size_t max)
{
        return scanner_servers(h->scanner, list, max);
}

unsigned host_levels_of(const struct host_reader *h, int32_t pid)
{
        const struct scan_process *p = scanner_find(h->scanner, pid);
        unsigned system = h->config.levels & LEVEL_BIT(LEVEL_SYSTEM);
        return p ? p->levels | system : system;
}
