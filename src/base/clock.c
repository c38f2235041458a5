#include "base/clock.h"

#include <math.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
        struct timespec ts;
        clock_gettime(id, &ts);
        return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

int64_t clock_mono_ns(void)
{
        return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_wall_ns(void)
{
        return read_clock(CLOCK_REALTIME);
}

uint64_t clock_skipped(int64_t behind_ns, int64_t interval_ns, bool *ret_late)
{
        int64_t skipped = behind_ns > 0 ? behind_ns / interval_ns : 0;
        *ret_late = behind_ns - skipped * interval_ns > interval_ns / 2;
        return (uint64_t)skipped;
}

int64_t clock_last_beat(int64_t due_ns, int64_t interval_ns, int64_t now_ns)
{
        bool late;
        return due_ns + (int64_t)clock_skipped(now_ns - due_ns, interval_ns, &late) * interval_ns;
}

int64_t clock_from_seconds(double seconds)
{
        double ns = seconds * 1e9;
        if (!(ns > -0x1p63))
                return INT64_MIN;
        return ns < 0x1p63 ? llround(ns) : INT64_MAX;
}

double clock_to_seconds(int64_t ns)
{
        return (double)ns / 1e9;
}
