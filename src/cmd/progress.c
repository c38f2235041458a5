#include "cmd/progress.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define REPORT_EVERY_NS (NS_PER_S / 2)

void progress_tick(void *progress)
{
        struct progress *p = progress;
        int64_t now = clock_mono_ns();
        p->ticks++;
        if (p->reported_ns == 0)
                p->reported_ns = now;
        if (now - llabs(p->reported_ns) <= REPORT_EVERY_NS || !isatty(STDERR_FILENO))
                return;
        p->reported_ns = -now;
        fprintf(stderr, "\rassay: %llu ticks", (unsigned long long)p->ticks);
}

void progress_end(struct progress *p)
{
        if (p->reported_ns < 0)
                fputs("\r\033[K", stderr);
        p->reported_ns = 0;
}
