/* A loop in C without any Python: what ctypes calls, and what calls back through it. */
#include <time.h>

static double now(void)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void loop_run(void (*callback)(void), double seconds, double pause);

void loop_run(void (*callback)(void), double seconds, double pause)
{
        struct timespec t = {(time_t)pause, (long)((pause - (double)(time_t)pause) * 1e9)};
        for (double end = now() + seconds; now() < end;) {
                callback();
                nanosleep(&t, NULL);
        }
}
