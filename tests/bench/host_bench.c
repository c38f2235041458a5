/*
 * What the process scanner costs: microseconds of CPU a process and tick, every process read.
 *   host_bench [ticks] [milliseconds between]
 */
#include "base/clock.h"
#include "read/host/files.h"
#include "read/host/scanner.h"

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double cpu_seconds(void)
{
        struct rusage u;
        getrusage(RUSAGE_SELF, &u);
        return (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec / 1e6 +
               (double)u.ru_stime.tv_sec + (double)u.ru_stime.tv_usec / 1e6;
}

static int64_t boot_ns(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_BOOTTIME, &ts);
        return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

int main(int argc, char **argv)
{
        int ticks = argc > 1 ? atoi(argv[1]) : 20, pause_ms = argc > 2 ? atoi(argv[2]) : 50;
        struct err err = {0};
        struct scanner *s;
        struct rlimit limit;
        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        struct scan_config config = {
            .root = files_open_root(""),
            .levels = LEVEL_BIT(LEVEL_USER) | LEVEL_BIT(LEVEL_SYSTEM),
            .target = {.has_uid = true, .uid = getuid(), .group_kind = CGROUP_KINDS},
            .all = true,
            .fd_budget = (size_t)limit.rlim_cur - 64};
        if (scanner_open(&config, &s, &err) < 0) {
                fprintf(stderr, "host_bench: %s\n", err.msg);
                return 1;
        }
        /* The first ticks open descriptors and learn who is who. */
        for (int i = 0; i < 4; i++)
                scanner_tick(s, boot_ns());
        double begin = cpu_seconds(), processes = 0;
        for (int i = 0; i < ticks; i++) {
                scanner_tick(s, boot_ns());
                processes += (double)scanner_listed(s);
                usleep((unsigned)pause_ms * 1000);
        }
        double used = cpu_seconds() - begin;
        printf("%.3f us a process and tick, %.0f processes\n", used / processes * 1e6,
               processes / ticks);
        scanner_close(s);
        return 0;
}
