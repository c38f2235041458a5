#include "session/steps.h"

#include "base/clock.h"

#include <string.h>

static bool is_same_loop(const struct mark *a, const struct mark *b)
{
        return a->pid == b->pid && strcmp(a->name, b->name) == 0 && strcmp(a->host, b->host) == 0;
}

bool step_walk_length(struct step_walk *w, const struct mark *m, double *ret_seconds)
{
        size_t i = 0;
        if (m->type != MARK_STEP)
                return false;
        while (i < w->n && !is_same_loop(w->last[i], m))
                i++;
        const struct mark *before = i < w->n ? w->last[i] : NULL;
        if (i < STEP_WALKERS_MAX) {
                w->last[i] = m;
                w->n = i < w->n ? w->n : i + 1;
        }
        if (m->has_seconds)
                return *ret_seconds = m->seconds, true;
        if (!before || m->wall_ns <= before->wall_ns)
                return false;
        *ret_seconds = clock_to_seconds(m->wall_ns - before->wall_ns);
        return true;
}
