/*
 * What a monitor costs the program it runs in: CPU time and memory asked for, a tick.
 *   lib_bench SECONDS [NAME=VALUE…]   options of the monitor
 */
#include <assay/assay.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Every allocation of the process goes through here, the library's too. */
static atomic_ulong asked;

#ifdef __GLIBC__
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

__attribute__((visibility("default"))) void *malloc(size_t n)
{
        atomic_fetch_add(&asked, 1);
        return __libc_malloc(n);
}

__attribute__((visibility("default"))) void *calloc(size_t n, size_t size)
{
        atomic_fetch_add(&asked, 1);
        return __libc_calloc(n, size);
}

__attribute__((visibility("default"))) void *realloc(void *p, size_t n)
{
        atomic_fetch_add(&asked, 1);
        return __libc_realloc(p, n);
}
#endif

static double cpu_seconds(void)
{
        struct rusage u;
        getrusage(RUSAGE_SELF, &u);
        return (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec / 1e6 +
               (double)u.ru_stime.tv_sec + (double)u.ru_stime.tv_usec / 1e6;
}

static uint64_t ticks_of(assay_monitor *m)
{
        assay_frame *f = NULL;
        if (assay_monitor_latest(m, &f, NULL) != 1)
                return 0;
        uint64_t tick = assay_frame_tick(f);
        assay_frame_unref(f);
        return tick;
}

int main(int argc, char **argv)
{
        double seconds = argc > 1 ? strtod(argv[1], NULL) : 5;
        assay_options *o = assay_options_new();
        struct assay_error e = {0};
        assay_options_set(o, "history", "16", NULL);
        for (int i = 2; i < argc; i++) {
                char *value = strchr(argv[i], '=');
                if (value)
                        *value++ = '\0';
                if (assay_options_set(o, argv[i], value, &e) < 0)
                        return fprintf(stderr, "lib_bench: %s\n", e.message), 1;
        }
        assay_monitor *m = assay_monitor_new(o);
        assay_options_free(o);
        if (assay_monitor_start(m, &e) < 0)
                return fprintf(stderr, "lib_bench: %s\n", e.message), 1;
        /* The ring fills, and sources learn who is who. */
        sleep(3);
        uint64_t ticks = ticks_of(m);
        unsigned long before = atomic_load(&asked);
        double cpu = cpu_seconds();
        usleep((unsigned)(seconds * 1e6));
        cpu = cpu_seconds() - cpu;
        unsigned long allocations = atomic_load(&asked) - before;
        ticks = ticks_of(m) - ticks;
        printf("%.3f %llu %lu\n", cpu / seconds * 100, (unsigned long long)ticks, allocations);
        assay_monitor_free(m);
        return 0;
}
