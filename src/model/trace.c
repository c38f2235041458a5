#include "model/trace.h"

#include "base/attr.h"
#include "base/clock.h"

#include <errno.h>
#include <string.h>

#define FIRST_WIDTH_NS (50 * NS_PER_MS)
#define TRACE_GPUS_MAX 64 /* more curves than this nobody can tell apart */

enum metric trace_metric(enum trace_metric t)
{
        static const enum metric metrics[TRACE_COUNT] = {
#define TRACE(id) METRIC_##id,
            TRACE_METRICS(TRACE)
#undef TRACE
        };
        return metrics[t];
}

enum figure trace_figure(enum trace_figure t)
{
        static const enum figure figures[TRACE_LEVEL_COUNT] = {
#define TRACE(id) FIGURE_##id,
            TRACE_FIGURES(TRACE)
#undef TRACE
        };
        return figures[t];
}

void traces_finish(struct traces *t)
{
        for (size_t i = 0; i < t->n; i++)
                free(t->gpus[i]);
        free(t->gpus);
        *t = (struct traces){0};
}

static void halve(struct trace_point *p)
{
        for (size_t i = 0; i < TRACE_POINTS / 2; i++) {
                const struct trace_point a = p[2 * i], b = p[2 * i + 1];
                bool first = b.n == 0 || (a.n > 0 && a.max > b.max);
                p[i] = (struct trace_point){a.sum + b.sum, first ? a.max : b.max, a.n + b.n};
        }
        memset(p + TRACE_POINTS / 2, 0, TRACE_POINTS / 2 * sizeof(*p));
}

static size_t place_of(struct traces *t, int64_t wall_ns)
{
        int64_t passed = MAX(wall_ns - t->start_ns, 0);
        while (passed / t->width_ns >= TRACE_POINTS) {
                for (size_t i = 0; i < t->n; i++) {
                        for (size_t k = 0; k < TRACE_COUNT; k++)
                                halve(t->gpus[i]->points[k]);
                }
                for (size_t k = 0; k < TRACE_LEVEL_COUNT; k++)
                        halve(t->level[k]);
                t->width_ns *= 2;
        }
        return (size_t)(passed / t->width_ns);
}

static struct trace_gpu *gpu_for(struct traces *t, const struct entity *e)
{
        for (size_t i = 0; i < t->n; i++) {
                if (t->gpus[i]->who.slot == e->slot)
                        return t->gpus[i];
        }
        if (t->n == TRACE_GPUS_MAX)
                return NULL;
        struct trace_gpu **more = realloc(t->gpus, (t->n + 1) * sizeof(*more));
        if (!more)
                return NULL;
        t->gpus = more;
        struct trace_gpu *g = calloc(1, sizeof(*g));
        if (!g)
                return NULL;
        g->who = *e;
        t->gpus[t->n++] = g;
        return g;
}

static void start(struct traces *t, int64_t wall_ns)
{
        if (t->started)
                return;
        t->start_ns = t->end_ns = wall_ns;
        t->width_ns = FIRST_WIDTH_NS;
        t->started = true;
}

static void add(struct trace_point *p, struct value v)
{
        if (!value_there(v))
                return;
        p->max = p->n == 0 || (float)v.v > p->max ? (float)v.v : p->max;
        p->sum += (float)v.v;
        p->n++;
}

int traces_add(struct traces *t, const struct frame *f)
{
        start(t, f->wall_ns);
        size_t at = place_of(t, f->wall_ns);
        t->end_ns = MAX(f->wall_ns, t->start_ns);
        for (size_t i = 0; i < f->n; i++) {
                struct trace_gpu *g = gpu_for(t, f->rows[i].sample.who);
                for (size_t k = 0; g && k < TRACE_COUNT; k++) {
                        add(&g->points[k][at],
                            f->rows[i].sample.m[trace_metric((enum trace_metric)k)]);
                }
        }
        return 0;
}

void traces_add_level(struct traces *t, const struct host *host, enum level level)
{
        const struct value *f = host->levels[level].f;
        start(t, host->wall_ns);
        size_t at = place_of(t, host->wall_ns);
        t->end_ns = MAX(host->wall_ns, t->end_ns);
        if (value_there(f[FIGURE_PROCESSES]) && f[FIGURE_PROCESSES].v == 0)
                return; /* the last has ended */
        for (size_t k = 0; k < TRACE_LEVEL_COUNT; k++)
                add(&t->level[k][at], f[trace_figure((enum trace_figure)k)]);
}
