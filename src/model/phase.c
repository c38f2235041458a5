#include "model/phase.h"

#include "base/attr.h"
#include "base/clock.h"
#include "model/frame.h"
#include "model/host.h"

#include <errno.h>
#include <stdlib.h>

/* what a driver averages over at most, unless the source reports */
#define WINDOW_MAX_NS NS_PER_S

int64_t phase_moment(struct phase_clock *c, const struct frame *f)
{
        int64_t since = c->seen ? MIN(f->mono_ns - c->mono_ns, WINDOW_MAX_NS) : 0;
        *c = (struct phase_clock){true, f->mono_ns};
        return clock_bounded(f->wall_ns) - MAX(f->window_ns > 0 ? f->window_ns : since, 0) / 2;
}

int64_t phase_moment_of_host(const struct host *h)
{
        return clock_bounded(h->wall_ns) - MAX(h->interval_ns, 0) / 2;
}

/* ---- many phases ---- */

struct ending {
        int64_t end_ns;
        size_t phase;
};

static int compare_ends(const void *a, const void *b)
{
        const struct ending *x = a, *y = b;
        return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static int64_t end_of(const struct phase *p)
{
        return MAX(p->end_ns, p->begin_ns);
}

int phase_order_init(struct phase_order *o, const struct phase *list, size_t n)
{
        CLEANUP(freep) struct ending *ends = calloc(n + 1, sizeof(*ends));
        *o = (struct phase_order){list, n, calloc(n + 1, sizeof(*o->by_end))};
        if (!ends || !o->by_end)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                ends[i] = (struct ending){end_of(&list[i]), i};
        qsort(ends, n, sizeof(*ends), compare_ends);
        for (size_t i = 0; i < n; i++)
                o->by_end[i] = ends[i].phase;
        return 0;
}

void phase_order_finish(struct phase_order *o)
{
        free(o->by_end);
        *o = (struct phase_order){0};
}

static void notify_change(struct phase_cursor *c, size_t phase, int by, phase_change *change,
                          void *arg)
{
        c->active += (size_t)by;
        if (change)
                change(arg, phase, by);
}

/* Ends are taken back before beginnings, so that no count is ever below 0. */
static void move_back(struct phase_cursor *c, const struct phase_order *o, int64_t moment_ns,
                      phase_change *change, void *arg)
{
        for (; c->ended > 0 && end_of(&o->list[o->by_end[c->ended - 1]]) > moment_ns; c->ended--)
                notify_change(c, o->by_end[c->ended - 1], 1, change, arg);
        for (; c->begun > 0 && o->list[c->begun - 1].begin_ns > moment_ns; c->begun--)
                notify_change(c, c->begun - 1, -1, change, arg);
}

void phase_cursor_move(struct phase_cursor *c, const struct phase_order *o, int64_t moment_ns,
                       phase_change *change, void *arg)
{
        move_back(c, o, moment_ns, change, arg);
        for (; c->begun < o->n && o->list[c->begun].begin_ns <= moment_ns; c->begun++)
                notify_change(c, c->begun, 1, change, arg);
        for (; c->ended < o->n && end_of(&o->list[o->by_end[c->ended]]) <= moment_ns; c->ended++)
                notify_change(c, o->by_end[c->ended], -1, change, arg);
}
