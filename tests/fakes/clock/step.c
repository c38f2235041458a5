/*
 * A wall clock that is set while a program runs: preloaded, it adds STEP_SECONDS to the time once
 * the monotonic clock, which goes on as it is, has come to STEP_AT.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
        struct timespec ts;
        syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
        int r = (int)syscall(SYS_clock_gettime, id, ts);
        const char *at = getenv("STEP_AT"), *by = getenv("STEP_SECONDS");
        if (r == 0 && id == CLOCK_REALTIME && at && by && now_s() >= atof(at))
                ts->tv_sec += atol(by);
        return r;
}
