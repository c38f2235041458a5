#include "life/pace.h"

#include "base/attr.h"
#include "base/clock.h"
#include "life/thread.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>

void pace_init(struct pace *p, double speed)
{
        *p = (struct pace){.speed = speed, .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
}

void pace_finish(struct pace *p)
{
        closep(&p->wake);
        p->wake = -1;
}

bool pace_wait(struct pace *p, int64_t wall_ns)
{
        if (p->speed <= 0)
                return true;
        if (!p->started) {
                p->started_mono_ns = clock_mono_ns();
                p->first_wall_ns = wall_ns;
                p->started = true;
        }
        int64_t due =
            p->started_mono_ns + (int64_t)((double)(wall_ns - p->first_wall_ns) / p->speed);
        for (int64_t left; (left = due - clock_mono_ns()) > 0;) {
                struct timespec ts = {left / NS_PER_S, left % NS_PER_S};
                struct pollfd fd = {.fd = p->wake, .events = POLLIN};
                if (ppoll(&fd, 1, &ts, NULL) > 0)
                        return false;
        }
        return true;
}

void pace_interrupt(struct pace *p)
{
        life_wake(p->wake);
}
