/*
 * Runs a command several times and tells what each run cost. Small itself, because the memory a
 * child is charged with starts at its parent's.
 *
 *     measure TIMES COMMAND…    → "measure: wall user system maxrss_kb" on stderr for each run
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double seconds(struct timeval t)
{
        return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
        int times = argc > 2 ? atoi(argv[1]) : 0;
        for (int i = 0; i < times; i++) {
                struct timespec a, b;
                struct rusage usage;
                int status;
                pid_t pid;
                clock_gettime(CLOCK_MONOTONIC, &a);
                if (posix_spawnp(&pid, argv[2], NULL, NULL, argv + 2, environ) != 0 ||
                    wait4(pid, &status, 0, &usage) < 0 || status != 0)
                        return 1;
                clock_gettime(CLOCK_MONOTONIC, &b);
                fprintf(stderr, "measure: %.6f %.6f %.6f %ld\n",
                        (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9,
                        seconds(usage.ru_utime), seconds(usage.ru_stime), usage.ru_maxrss);
        }
        return times == 0;
}
