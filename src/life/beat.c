#include "life/beat.h"

#include "base/clock.h"

void beat_start(struct beat *b, int64_t now_ns, int64_t interval_ns)
{
        *b = (struct beat){.start_ns = now_ns, .interval_ns = interval_ns};
}

static int64_t beat_due(const struct beat *b)
{
        return b->start_ns + (int64_t)b->next * b->interval_ns;
}

int64_t beat_remaining(const struct beat *b, int64_t now_ns)
{
        int64_t left = beat_due(b) - now_ns;
        return left > 0 ? left : 0;
}

uint64_t beat_take(struct beat *b, int64_t now_ns)
{
        bool late;
        uint64_t skipped = clock_skipped(now_ns - beat_due(b), b->interval_ns, &late);
        uint64_t number = b->next + skipped;
        b->missed += skipped;
        b->taken++;
        b->asked = b->taken + b->missed;
        b->next = number + 1;
        b->late += late;
        return number;
}
