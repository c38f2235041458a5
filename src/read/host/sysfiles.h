/* The machine's own files (/proc/stat, meminfo, …), from a buffer. Pure and bounded, as procfs.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPU_TIMES 8 /* user nice system idle iowait irq softirq steal */

struct cpu_times {
        uint64_t t[CPU_TIMES]; /* clock ticks */
};

/*
 * /proc/stat. cores[i] is CPU number i, all 0 when it is offline; *ret_n is the highest number plus
 * one. CPUs from max on are left out of cores.
 */
int sysfiles_stat(const char *buf, size_t n, struct cpu_times *ret_total, struct cpu_times *cores,
                  size_t max, size_t *ret_n);

/* /proc/meminfo, in bytes. available falls back to free + cached where the kernel has none. */
struct meminfo {
        uint64_t total, available, swap_total, swap_free;
};
int sysfiles_meminfo(const char *buf, size_t n, struct meminfo *ret);

/* /proc/loadavg. */
struct loadavg {
        double one, five, fifteen;
        uint64_t threads; /* of the whole machine */
};
int sysfiles_loadavg(const char *buf, size_t n, struct loadavg *ret);

/* A file of /proc/pressure: total stall times in microseconds. full is 0 where the kernel has none.
 */
struct pressure {
        uint64_t some, full;
};
int sysfiles_pressure(const char *buf, size_t n, struct pressure *ret);

/* A file of sysfs that is one whole number. 0 or -EBADMSG. */
int sysfiles_number(const char *buf, size_t n, uint64_t *ret);

#define DEVICE_NAME_MAX 64

/* One line of /proc/diskstats or /proc/net/dev. */
struct device_io {
        char name[DEVICE_NAME_MAX];
        uint64_t in, out;         /* bytes read or received, written or sent */
        uint64_t in_ops, out_ops; /* reads and writes, or packets */
};
/* Calls each() for every line that can be understood. */
void sysfiles_diskstats(const char *buf, size_t n,
                        void (*each)(const struct device_io *d, void *arg), void *arg);
void sysfiles_netdev(const char *buf, size_t n, void (*each)(const struct device_io *d, void *arg),
                     void *arg);
