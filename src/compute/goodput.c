#include "compute/goodput.h"

#include "base/attr.h"
#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAME_TIME 0.5 /* runs that overlap for more of the shorter one are ranks of one */

/* Evaluation and checkpoints: apart from one another, in order of time. */
struct apart {
        int64_t begin_ns, end_ns;
        enum goodput part;
};

struct painter {
        struct ledger *l;
        struct apart *apart;
        size_t n, at;
        int64_t now_ns; /* what lies before it is in the ledger */
};

/* Phases come in order of their beginning; of two that overlap the later one begins a new part. */
static size_t find_apart(const struct phase *phases, size_t n, struct apart *ret)
{
        size_t found = 0;
        for (size_t i = 0; i < n; i++) {
                enum goodput part = goodput_of_phase(phases[i].name);
                struct apart *last = found > 0 ? &ret[found - 1] : NULL;
                struct apart a = {phases[i].begin_ns, phases[i].end_ns, part};
                if (part == GOODPUT_COUNT)
                        continue;
                if (last && a.begin_ns < last->end_ns) {
                        if (last->part == part || a.end_ns <= last->end_ns) {
                                last->end_ns = MAX(last->end_ns, a.end_ns);
                                continue;
                        }
                        a.begin_ns = last->end_ns;
                }
                if (a.end_ns > a.begin_ns)
                        ret[found++] = a;
        }
        return found;
}

/* Enters the time up to a moment as a part, without what is apart. Gives the seconds of the part.
 */
static double paint_until(struct painter *p, int64_t to_ns, enum goodput part)
{
        double own = 0;
        to_ns = MIN(to_ns, p->l->end_ns);
        while (p->now_ns < to_ns) {
                while (p->at < p->n && p->apart[p->at].end_ns <= p->now_ns)
                        p->at++;
                const struct apart *a = p->at < p->n ? &p->apart[p->at] : NULL;
                bool inside = a && a->begin_ns <= p->now_ns;
                int64_t next = inside ? MIN(a->end_ns, to_ns) : a ? MIN(a->begin_ns, to_ns) : to_ns;
                double s = clock_to_seconds(next - p->now_ns);
                p->l->seconds[inside ? a->part : part] += s;
                own += inside ? 0 : s;
                p->now_ns = next;
        }
        return own;
}

/* A step with the own time of a slow one stalled for as long as it exceeds the others. */
static void paint_step(struct painter *p, const struct step_series *s, const struct run_step *step,
                       double usual)
{
        paint_until(p, step->begin_ns, p->l->n_steps == 0 ? GOODPUT_START_UP : GOODPUT_OTHER);
        if (!isnan(step->waited))
                paint_until(p, step->begin_ns + clock_from_seconds(step->waited), GOODPUT_WAITING);
        double own = paint_until(p, step->end_ns, GOODPUT_PRODUCTIVE);
        if (s->n >= STEP_SLOW_LEAST && own > STEP_SLOW * usual) {
                p->l->seconds[GOODPUT_PRODUCTIVE] -= own - usual;
                p->l->seconds[GOODPUT_STALLED] += own - usual;
        }
        p->l->n_steps++;
}

/* The steps after the last checkpoint of a run that failed are in none. */
static void lose_steps(struct ledger *l, const struct step_series *s, const struct apart *apart,
                       size_t n)
{
        int64_t saved = l->begin_ns;
        double lost = 0;
        for (size_t i = 0; i < n; i++) {
                if (apart[i].part == GOODPUT_CHECKPOINT && apart[i].end_ns <= l->end_ns)
                        saved = MAX(saved, apart[i].end_ns);
        }
        for (size_t i = s->n; i > 0 && s->list[i - 1].end_ns > saved; i--) {
                const struct run_step *step = &s->list[i - 1];
                double waited = isnan(step->waited) ? 0 : step->waited;
                lost += MIN(step->seconds - waited, s->p50);
                l->n_lost++;
        }
        lost = MIN(lost, l->seconds[GOODPUT_PRODUCTIVE]);
        l->seconds[GOODPUT_LOST] += lost;
        l->seconds[GOODPUT_PRODUCTIVE] -= lost;
}

static void measure_steps(struct painter *p, const struct step_series *s)
{
        double waited = isnan(s->waited_usual) ? 0 : s->waited_usual;
        for (size_t i = 0; i < s->n; i++)
                paint_step(p, s, &s->list[i], MAX(s->p50 - waited, 0));
        paint_until(p, p->l->end_ns, GOODPUT_OTHER);
        p->l->has_steps = true;
        p->l->has_waiting = !isnan(s->waited);
        if (p->l->is_failed && p->l->has_checkpoints)
                lose_steps(p->l, s, p->apart, p->n);
}

/* Without steps: before sustained work is start-up; of the rest, what limits the GPUs says. */
static enum goodput part_of_limiter(enum limiter limiter)
{
        if (limiter == LIMITER_HOST_INPUT)
                return GOODPUT_WAITING;
        if (limiter == LIMITER_HOST_STARTING)
                return GOODPUT_START_UP;
        if (limiter_group(limiter) == LIMITER_GROUP_IDLE)
                return GOODPUT_STALLED;
        return limiter == LIMITER_UNKNOWN ? GOODPUT_OTHER : GOODPUT_PRODUCTIVE;
}

static void measure_limits(struct painter *p, const struct stretch_list *limits, int64_t first_ns)
{
        double gpu_s[GOODPUT_COUNT] = {0}, all = 0, start = 0;
        for (size_t i = 0; i < limits->n; i++) {
                const struct stretch *s = &limits->list[i];
                double v = (s->end_s - s->begin_s) * stretch_gpus(s);
                if (s->before_work) {
                        start = MAX(start, s->end_s);
                        continue;
                }
                gpu_s[part_of_limiter((enum limiter)s->limit.limiter)] += v;
                all += v;
        }
        paint_until(p, first_ns + clock_from_seconds(start),
                    all > 0 ? GOODPUT_START_UP : GOODPUT_OTHER);
        double rest = paint_until(p, p->l->end_ns, GOODPUT_OTHER);
        for (enum goodput g = 0; all > 0 && g < GOODPUT_COUNT; g++) {
                p->l->seconds[g] += rest * gpu_s[g] / all;
                p->l->seconds[GOODPUT_OTHER] -= rest * gpu_s[g] / all;
        }
        p->l->seconds[GOODPUT_OTHER] = MAX(p->l->seconds[GOODPUT_OTHER], 0);
        p->l->has_waiting = all > 0;
}

int goodput_measure(struct ledger *l, const struct step_series *steps, const struct phase *phases,
                    size_t n_phases, const struct stretch_list *limits, int64_t first_ns)
{
        struct painter p = {.l = l, .now_ns = l->begin_ns};
        p.apart = calloc(n_phases + 1, sizeof(*p.apart));
        if (!p.apart)
                return -ENOMEM;
        p.n = find_apart(phases, n_phases, p.apart);
        for (size_t i = 0; i < p.n; i++)
                l->has_checkpoints |= p.apart[i].part == GOODPUT_CHECKPOINT;
        if (steps && steps->n > 0)
                measure_steps(&p, steps);
        else
                measure_limits(&p, limits, first_ns);
        free(p.apart);
        return 0;
}

/* ---- the runs of a job ---- */

static int compare_ledgers(const void *a, const void *b)
{
        const struct ledger *x = a, *y = b;
        if (x->begin_ns != y->begin_ns)
                return x->begin_ns < y->begin_ns ? -1 : 1;
        return strcmp(x->file, y->file);
}

static bool is_of_same_time(const struct ledger *a, const struct ledger *b)
{
        int64_t both = MIN(a->end_ns, b->end_ns) - MAX(a->begin_ns, b->begin_ns);
        int64_t least = MIN(a->end_ns - a->begin_ns, b->end_ns - b->begin_ns);
        return both > 0 && (double)both > SAME_TIME * (double)least;
}

static void add_to_all(struct ledger *all, const struct ledger *one)
{
        for (enum goodput g = 0; g < GOODPUT_COUNT; g++)
                all->seconds[g] += one->seconds[g];
        all->n_steps += one->n_steps;
        all->n_lost += one->n_lost;
        all->n_repeated += one->n_repeated;
        all->has_steps |= one->has_steps;
        all->has_waiting |= one->has_waiting;
        all->has_checkpoints |= one->has_checkpoints;
        all->is_failed |= one->is_failed;
        all->end_ns = MAX(all->end_ns, one->end_ns);
}

void goodput_join(struct goodput_list *l)
{
        size_t n = 0, lost = 0;
        if (l->n > 1)
                qsort(l->list, l->n, sizeof(*l->list), compare_ledgers);
        for (size_t i = 0; i < l->n; i++) {
                if (n > 0 && is_of_same_time(&l->list[n - 1], &l->list[i]))
                        l->n_ranks++;
                else
                        l->list[n++] = l->list[i];
        }
        l->n = n;
        l->all = n > 0 ? (struct ledger){.begin_ns = l->list[0].begin_ns} : (struct ledger){0};
        l->all.end_ns = l->all.begin_ns;
        for (size_t i = 0; i < n; i++) {
                struct ledger *one = &l->list[i];
                double gap = clock_to_seconds(one->begin_ns - l->all.end_ns);
                l->all.seconds[GOODPUT_DOWN] += MAX(gap, 0);
                one->n_repeated = MIN(lost, one->n_steps);
                lost = lost - one->n_repeated + one->n_lost;
                add_to_all(&l->all, one);
        }
}
