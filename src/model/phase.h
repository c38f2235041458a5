/*
 * A part of a run that has a name. Phases nest and may come many times.
 *
 * One rule says which samples are a phase's, for reports, tables, plots, cells and --phase alike: a
 * sample is an average over the window before its time, and belongs to every phase that holds the
 * middle of that window. So of two phases that follow each other it counts for the one that has
 * more of it, once. A phase holds its first moment and not its last, which is the next one's first.
 */
#pragma once

#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PHASE_NAME_MAX 128

struct phase {
        char name[PHASE_NAME_MAX];
        int64_t begin_ns, end_ns; /* wall clock */
        bool open;                /* nobody ended it: the run did */
        const char *data;         /* the keys it was marked with, JSON; borrowed, NULL for none */
};

/* Whether it is known when it ended: of an open one that is when the run did. */
static inline bool phase_has_end(const struct phase *p)
{
        return !p->open || p->end_ns < CLOCK_FILE_MAX_NS;
}

/* One that ends before it begins, as a clock that was set back may report, never holds. */
static inline bool phase_holds(const struct phase *p, int64_t moment_ns)
{
        return p->begin_ns <= moment_ns && moment_ns < p->end_ns;
}

struct frame;
struct host;

/* The time of the tick before, for sources that do not say how long their window is. */
struct phase_clock {
        bool seen;
        int64_t mono_ns;
};

/* The middle of a frame's window, wall clock: the window that the source reports, else the time
 * since the frame before, at most a second. To be asked for every frame, in order. */
int64_t phase_moment(struct phase_clock *c, const struct frame *f);
/* The same of the host's figures, which know their window. */
int64_t phase_moment_of_host(const struct host *h);

/* Phases sorted by their beginning, and the order of their ends. */
struct phase_order {
        const struct phase *list; /* borrowed */
        size_t n;
        size_t *by_end;
};

/* 0 or -ENOMEM. */
int phase_order_init(struct phase_order *o, const struct phase *list, size_t n);
void phase_order_finish(struct phase_order *o);

/* Where time is. Moments that come in order look at each phase twice, however many there are and
 * however they are nested; those that go back look at what lies between again. */
struct phase_cursor {
        size_t begun, ended;
        size_t active; /* phases that hold the moment */
};

/* Moves to a moment and reports every phase that begins (+1) or ends (-1) to hold it on the way;
 * change may be NULL. */
typedef void phase_change(void *arg, size_t phase, int by);
void phase_cursor_move(struct phase_cursor *c, const struct phase_order *o, int64_t moment_ns,
                       phase_change *change, void *arg);
