#include "read/host/system.h"

#include "base/attr.h"
#include "read/host/energy.h"
#include "read/host/files.h"
#include "read/host/procfs.h"
#include "read/host/sysfiles.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX (160 * 1024) /* the cpu lines of 1,024 cores, or the disks of a large machine */
#define DEVICES_MAX 512

enum file { STAT, MEMINFO, LOADAVG, PSI_CPU, PSI_MEMORY, PSI_IO, DISKS, NETWORK, FILES };

static const char *const paths[FILES] = {
    [STAT] = "/proc/stat",
    [MEMINFO] = "/proc/meminfo",
    [LOADAVG] = "/proc/loadavg",
    [PSI_CPU] = "/proc/pressure/cpu",
    [PSI_MEMORY] = "/proc/pressure/memory",
    [PSI_IO] = "/proc/pressure/io",
    [DISKS] = "/proc/diskstats",
    [NETWORK] = "/proc/net/dev",
};

/* Whether a device is a real one, remembered because asking costs a path walk. */
struct device {
        char name[DEVICE_NAME_MAX];
        bool real;
};

struct devices {
        const char *folder; /* whose NAME/device only a real device has */
        struct device list[DEVICES_MAX];
        size_t n;
};

struct system_reader {
        int root;
        int fds[FILES]; /* -1: not open yet, or not there */
        struct devices disks, interfaces;
        struct energy_reader *energy;
        struct cpu_times cores[HOST_CORES_MAX];
        char text[TEXT_MAX];
};

int system_open(int root, struct system_reader **ret)
{
        struct system_reader *s = calloc(1, sizeof(*s));
        if (!s)
                return -ENOMEM;
        s->root = root;
        s->disks.folder = "/sys/block";
        s->interfaces.folder = "/sys/class/net";
        for (size_t i = 0; i < FILES; i++)
                s->fds[i] = -1;
        int r = energy_open(root, &s->energy);
        if (r < 0) {
                system_close(s);
                return r;
        }
        *ret = s;
        return 0;
}

void system_close(struct system_reader *s)
{
        if (!s)
                return;
        for (size_t i = 0; i < FILES; i++)
                closep(&s->fds[i]);
        energy_close(s->energy);
        free(s);
}

static ssize_t read_file(struct system_reader *s, enum file file)
{
        if (s->fds[file] < 0)
                s->fds[file] = files_open(s->root, paths[file]);
        if (s->fds[file] < 0)
                return s->fds[file];
        ssize_t n = files_reread(s->fds[file], s->text, sizeof(s->text));
        return n == 0 ? -ENODATA : n;
}

static void set_missing(struct value *to, size_t n, ssize_t error)
{
        for (size_t i = 0; i < n; i++)
                to[i] = error == -EBADMSG ? value_missing(STATE_ERROR) : files_missing(error);
}

enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL };

static double sum_of(const struct cpu_times *t)
{
        double sum = 0;
        for (size_t i = 0; i < CPU_TIMES; i++)
                sum += (double)t->t[i];
        return sum;
}

/* Time stolen by the hypervisor is not ours, and waiting for I/O is idling. */
static double busy_of(const struct cpu_times *t)
{
        return sum_of(t) - (double)t->t[IDLE] - (double)t->t[IOWAIT] - (double)t->t[STEAL];
}

static void read_cpu(struct system_reader *s, double hz, struct host *ret)
{
        struct cpu_times total;
        struct level_state *level = &ret->levels[LEVEL_SYSTEM];
        ret->n_cores = 0;
        ssize_t n = read_file(s, STAT);
        if (n > 0)
                n = sysfiles_stat(s->text, (size_t)n, &total, s->cores, HOST_CORES_MAX,
                                  &ret->n_cores);
        if (n < 0) {
                set_missing(&ret->system[SYSTEM_USER_TIME], CPU_TIMES, n);
                set_missing(&level->f[FIGURE_CPU_TIME], 1, n);
                set_missing(&level->f[FIGURE_CPUS], 1, n);
                set_missing(&ret->system[SYSTEM_CPUS_ONLINE], 1, n);
                return;
        }
        for (size_t i = 0; i < CPU_TIMES; i++)
                ret->system[SYSTEM_USER_TIME + i] = value_ok((double)total.t[i] / hz);
        size_t online = 0;
        for (size_t i = 0; i < ret->n_cores; i++) {
                ret->cores[i] = (struct host_core){.busy_s = busy_of(&s->cores[i]) / hz,
                                                   .total_s = sum_of(&s->cores[i]) / hz};
                online += ret->cores[i].total_s > 0;
        }
        level->f[FIGURE_CPU_TIME] = value_ok(busy_of(&total) / hz);
        level->f[FIGURE_CPUS] = ret->system[SYSTEM_CPUS_ONLINE] = value_ok((double)online);
}

static void read_memory(struct system_reader *s, struct host *ret)
{
        struct meminfo m;
        struct value *v = ret->system;
        static const enum system_figure all[] = {SYSTEM_MEM_TOTAL, SYSTEM_MEM_AVAILABLE,
                                                 SYSTEM_SWAP_TOTAL, SYSTEM_SWAP_FREE};
        ssize_t n = read_file(s, MEMINFO);
        if (n > 0)
                n = sysfiles_meminfo(s->text, (size_t)n, &m);
        if (n < 0) {
                for (size_t i = 0; i < ARRAY_LEN(all); i++)
                        set_missing(&v[all[i]], 1, n);
                return;
        }
        v[SYSTEM_MEM_TOTAL] = value_ok((double)m.total);
        v[SYSTEM_MEM_AVAILABLE] = value_ok((double)m.available);
        v[SYSTEM_SWAP_TOTAL] = value_ok((double)m.swap_total);
        v[SYSTEM_SWAP_FREE] = value_ok((double)m.swap_free);
}

static void read_load(struct system_reader *s, struct host *ret)
{
        struct loadavg l;
        struct value *threads = &ret->levels[LEVEL_SYSTEM].f[FIGURE_THREADS];
        ssize_t n = read_file(s, LOADAVG);
        if (n > 0)
                n = sysfiles_loadavg(s->text, (size_t)n, &l);
        if (n < 0) {
                set_missing(&ret->system[SYSTEM_LOAD_1], 3, n);
                set_missing(threads, 1, n);
                return;
        }
        ret->system[SYSTEM_LOAD_1] = value_ok(l.one);
        ret->system[SYSTEM_LOAD_5] = value_ok(l.five);
        ret->system[SYSTEM_LOAD_15] = value_ok(l.fifteen);
        *threads = value_ok((double)l.threads);
}

/* full may be NULL. */
static void read_pressure(struct system_reader *s, enum file file, struct value *some,
                          struct value *full)
{
        struct pressure p = {0};
        ssize_t n = read_file(s, file);
        if (n > 0)
                n = sysfiles_pressure(s->text, (size_t)n, &p);
        *some = n < 0 ? files_missing(n) : value_ok((double)p.some / 1e6);
        if (full)
                *full = n < 0 ? files_missing(n) : value_ok((double)p.full / 1e6);
}

static bool is_real(int root, struct devices *d, const char *name)
{
        char path[DEVICE_NAME_MAX + 64];
        for (size_t i = 0; i < d->n; i++) {
                if (strcmp(d->list[i].name, name) == 0)
                        return d->list[i].real;
        }
        if (d->n == DEVICES_MAX || strchr(name, '/'))
                return false;
        struct device *new = &d->list[d->n++];
        snprintf(new->name, sizeof(new->name), "%s", name);
        snprintf(path, sizeof(path), "%s/%s/device", d->folder, name);
        new->real = files_exist(root, path);
        return new->real;
}

struct sums {
        int root;
        struct devices *devices;
        struct device_io real, other; /* of the real devices, and of those that are not */
        size_t n_real;
        uint64_t loopback;
};

static void add_to(struct device_io *sum, const struct device_io *d)
{
        sum->in += d->in;
        sum->out += d->out;
        sum->in_ops += d->in_ops;
        sum->out_ops += d->out_ops;
}

static void add_device(const struct device_io *d, void *arg)
{
        struct sums *s = arg;
        if (strcmp(d->name, "lo") == 0) {
                s->loopback = d->out;
                return;
        }
        bool real = is_real(s->root, s->devices, d->name);
        add_to(real ? &s->real : &s->other, d);
        s->n_real += real;
}

/* Partitions, mapped and loop devices repeat what their disk does: only disks count. */
static void read_disks(struct system_reader *s, struct host *ret)
{
        struct value *f = ret->levels[LEVEL_SYSTEM].f;
        struct sums sums = {.root = s->root, .devices = &s->disks};
        ssize_t n = read_file(s, DISKS);
        if (n < 0) {
                set_missing(&f[FIGURE_READ_TOTAL], 4, n);
                return;
        }
        sysfiles_diskstats(s->text, (size_t)n, add_device, &sums);
        f[FIGURE_READ_TOTAL] = value_ok((double)sums.real.in);
        f[FIGURE_WRITE_TOTAL] = value_ok((double)sums.real.out);
        f[FIGURE_READ_COUNT_TOTAL] = value_ok((double)sums.real.in_ops);
        f[FIGURE_WRITE_COUNT_TOTAL] = value_ok((double)sums.real.out_ops);
}

/* Bridges and bonds repeat their cards. A container has only virtual interfaces: then those count.
 */
static void read_network(struct system_reader *s, struct host *ret)
{
        struct sums sums = {.root = s->root, .devices = &s->interfaces};
        ssize_t n = read_file(s, NETWORK);
        if (n < 0) {
                set_missing(&ret->system[SYSTEM_NET_RX_TOTAL], 3, n);
                return;
        }
        sysfiles_netdev(s->text, (size_t)n, add_device, &sums);
        const struct device_io *sum = sums.n_real > 0 ? &sums.real : &sums.other;
        ret->system[SYSTEM_NET_RX_TOTAL] = value_ok((double)sum->in);
        ret->system[SYSTEM_NET_TX_TOTAL] = value_ok((double)sum->out);
        ret->system[SYSTEM_NET_LOOPBACK_TOTAL] = value_ok((double)sums.loopback);
}

void system_read(struct system_reader *s, uint64_t clock_ticks, struct host *ret)
{
        struct value *v = ret->system;
        read_cpu(s, (double)clock_ticks, ret);
        read_memory(s, ret);
        read_load(s, ret);
        read_pressure(s, PSI_CPU, &v[SYSTEM_PSI_CPU_TIME], NULL);
        read_pressure(s, PSI_MEMORY, &v[SYSTEM_PSI_MEMORY_TIME], &v[SYSTEM_PSI_MEMORY_FULL_TIME]);
        read_pressure(s, PSI_IO, &v[SYSTEM_PSI_IO_TIME], &v[SYSTEM_PSI_IO_FULL_TIME]);
        read_disks(s, ret);
        read_network(s, ret);
        energy_read(s->energy, ret->mono_ns, v);
}
