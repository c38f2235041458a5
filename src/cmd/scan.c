#include "cmd/scan.h"

#include "app/summarise.h"
#include "base/clock.h"
#include "cmd/command.h"
#include "life/worker.h"
#include "present/tui/words.h"
#include "session/session.h"

#include <limits.h>
#include <string.h>

#define PARTS_MAX 256
#define NAME_MAX_LEN 64

struct parts {
        struct ui_part list[PARTS_MAX];
        char names[PARTS_MAX][NAME_MAX_LEN];
        size_t n;
};

struct scan {
        struct crew crew;
        bool done; /* under the lock; what follows is not written after it */
        const struct config *config;
        char path[PATH_MAX];
        struct parts phases, findings;
        int64_t duration_ns;
};

static void free_scan(struct crew *crew)
{
        free((struct scan *)crew);
}

static void add_part(struct parts *p, const char *name, const char *more, int64_t begin_ns,
                     int64_t end_ns, uint8_t ink)
{
        if (p->n == PARTS_MAX || end_ns <= begin_ns)
                return;
        snprintf(p->names[p->n], sizeof(p->names[0]), "%.40s%s%.20s", name, *more ? ", " : "",
                 more);
        p->list[p->n] = (struct ui_part){p->names[p->n], MAX(begin_ns, (int64_t)0), end_ns, ink};
        p->n++;
}

static void take_phases(struct scan *s, const struct run_summary *r)
{
        int64_t first = r->stretches.first_wall_ns;
        for (size_t i = 0; i < r->in.n_phases; i++) {
                const struct phase *p = &r->in.phases[i];
                int64_t end = phase_has_end(p) ? p->end_ns - first : s->duration_ns;
                add_part(&s->phases, p->name, "", p->begin_ns - first, MIN(end, s->duration_ns),
                         INK_KEY);
        }
}

/* The same once more, without a gap, continues. */
static void join_last(struct parts *p)
{
        struct ui_part *last = p->n > 1 ? &p->list[p->n - 2] : NULL, *part = last ? last + 1 : NULL;
        if (!last || part->begin_ns > last->end_ns || strcmp(last->name, part->name) != 0)
                return;
        last->end_ns = MAX(last->end_ns, part->end_ns);
        p->n--;
}

/* Stretches of the first GPU: those of the others lie above one another. */
static void take_stretches(struct scan *s, const struct stretch_list *l)
{
        for (size_t i = 0; i < l->n; i++) {
                const struct stretch *at = &l->list[i];
                enum limiter limiter = (enum limiter)at->limit.limiter;
                const char *held = held_by_name((enum held_by)at->limit.held_by);
                if (!gpu_set_has(&at->gpus, 0))
                        continue;
                add_part(&s->findings, limiter_brief(limiter), held ? held : "",
                         clock_from_seconds(at->begin_s), clock_from_seconds(at->end_s),
                         words_limiter_ink(limiter));
                join_last(&s->findings);
        }
}

static void scan_work(void *arg)
{
        struct scan *s = arg;
        struct run_summary r = {0};
        struct err err = {0};
        if (run_summary_recorded(&r, s->config, s->path, &err) == 0) {
                s->duration_ns = clock_from_seconds(r.summary.limits.seconds);
                take_phases(s, &r);
                take_stretches(s, &r.summary.limits);
        }
        run_summary_finish(&r);
        crew_lock(&s->crew);
        s->done = true;
        crew_unlock(&s->crew);
}

struct scan *scan_start(const struct config *config, const char *path)
{
        size_t len = strlen(path);
        if (len >= PATH_MAX || !session_is_one(path))
                return NULL;
        struct scan *s = calloc(1, sizeof(*s));
        if (!s)
                return NULL;
        s->config = config;
        memcpy(s->path, path, len + 1);
        crew_init(&s->crew, free_scan);
        if (crew_start(&s->crew, scan_work, s) == 0)
                return s;
        crew_leave(&s->crew, 0);
        return NULL;
}

bool scan_reads(struct scan *s)
{
        crew_lock(&s->crew);
        bool done = s->done;
        crew_unlock(&s->crew);
        return !done;
}

void scan_fill(struct scan *s, struct ui_data *d)
{
        if (scan_reads(s))
                return;
        d->phases = s->phases.list;
        d->n_phases = s->phases.n;
        d->findings = s->findings.list;
        d->n_findings = s->findings.n;
        if (d->duration_ns == 0)
                d->duration_ns = s->duration_ns;
}

void scan_close(struct scan *s)
{
        if (s)
                crew_leave(&s->crew, 0);
}
