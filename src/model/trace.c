#include "model/trace.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/list.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define FIRST_WIDTH_NS (25 * NS_PER_MS)

_Static_assert(BOTTLENECK_MIXED + 1 == TRACE_CLASSES, "a bucket has a count for each");

enum metric trace_metric(enum trace_metric t)
{
        static const enum metric metrics[TRACE_COUNT] = {
#define BOTH(id) METRIC_##id,
#define LIVE(id)
#include "model/curves.def"
#undef BOTH
#undef LIVE
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

static void halve_classes(struct trace_gpu *g)
{
        for (size_t i = 0; i < TRACE_POINTS / 2; i++) {
                for (size_t k = 0; k < TRACE_CLASSES; k++)
                        g->classes[i][k] = (uint16_t)MIN(
                            g->classes[2 * i][k] + g->classes[2 * i + 1][k], UINT16_MAX);
        }
        memset(g->classes + TRACE_POINTS / 2, 0, sizeof(g->classes) / 2);
}

static size_t trace_place_of(struct traces *t, int64_t moment_ns)
{
        int64_t passed = MAX(moment_ns - t->start_ns, 0);
        while (passed / t->width_ns >= TRACE_POINTS) {
                for (size_t i = 0; i < t->n; i++) {
                        for (size_t k = 0; k < TRACE_COUNT; k++)
                                buckets_halve(t->gpus[i]->points[k], TRACE_POINTS);
                        halve_classes(t->gpus[i]);
                }
                for (size_t k = 0; k < TRACE_LEVEL_COUNT; k++)
                        buckets_halve(t->level[k], TRACE_POINTS);
                t->width_ns *= 2;
        }
        return (size_t)(passed / t->width_ns);
}

/* NULL when there are too many, or no memory. */
static struct trace_gpu *gpu_for(struct traces *t, const struct entity *e, size_t hint)
{
        if (hint < t->n && t->gpus[hint]->who.slot == e->slot)
                return t->gpus[hint];
        for (size_t i = 0; i < t->n; i++) {
                if (t->gpus[i]->who.slot == e->slot)
                        return t->gpus[i];
        }
        if (t->n == TRACE_GPUS_MAX) {
                /* Rows come and go: at least this one is left out. */
                t->left_out = MAX(t->left_out, hint >= t->n ? hint + 1 - t->n : 1);
                return NULL;
        }
        if (!LIST_ONE_MORE(t->gpus, t->n))
                return NULL;
        struct trace_gpu *g = calloc(1, sizeof(*g));
        if (!g)
                return NULL;
        g->who = *e;
        t->gpus[t->n++] = g;
        return g;
}

static void trace_start(struct traces *t, int64_t wall_ns)
{
        if (t->started)
                return;
        t->start_ns = t->end_ns = wall_ns;
        t->width_ns = FIRST_WIDTH_NS;
        t->started = true;
}

static void trace_add(struct bucket *b, struct value v)
{
        if (value_is_set(v))
                bucket_add(b, v.v);
}

/* What bounds a metric; METRIC_COUNT for nothing. */
static enum metric limit_of(enum trace_metric m)
{
        if (m == TRACE_FB_USED)
                return METRIC_FB_TOTAL;
        if (m == TRACE_POWER)
                return METRIC_POWER_LIMIT;
        if (m == TRACE_SM_CLOCK)
                return METRIC_SM_CLOCK_MAX;
        return m == TRACE_GPU_TEMP ? METRIC_TEMP_SLOWDOWN : METRIC_COUNT;
}

static void trace_add_row(struct trace_gpu *g, const struct row *row, size_t at)
{
        const struct value *m = row->sample.m;
        uint16_t *class = &g->classes[at][workload_bottleneck(row->verdict.workload)];
        *class = (uint16_t)MIN(*class + 1, UINT16_MAX);
        for (enum trace_metric k = 0; k < TRACE_COUNT; k++) {
                enum metric limit = limit_of(k);
                trace_add(&g->points[k][at], m[trace_metric(k)]);
                if (limit < METRIC_COUNT && value_is_set(m[limit]))
                        g->limits[k] = MAX(g->limits[k], (float)m[limit].v);
        }
}

int traces_add(struct traces *t, const struct frame *f)
{
        trace_start(t, f->wall_ns);
        size_t at = trace_place_of(t, phase_moment(&t->clock, f));
        t->end_ns = MAX(f->wall_ns, t->start_ns);
        for (size_t i = 0; i < f->n; i++) {
                struct trace_gpu *g = gpu_for(t, f->rows[i].sample.who, i);
                if (g)
                        trace_add_row(g, &f->rows[i], at);
        }
        return 0;
}

void traces_add_level(struct traces *t, const struct host *host, enum level level)
{
        const struct value *f = host->levels[level].f;
        trace_start(t, host->wall_ns);
        size_t at = trace_place_of(t, phase_moment_of_host(host));
        t->end_ns = MAX(host->wall_ns, t->end_ns);
        if (value_is_set(f[FIGURE_PROCESSES]) && f[FIGURE_PROCESSES].v == 0)
                return; /* the last has ended */
        for (size_t k = 0; k < TRACE_LEVEL_COUNT; k++)
                trace_add(&t->level[k][at], f[trace_figure((enum trace_figure)k)]);
}

double traces_mean(const struct traces *t, enum trace_metric m, size_t at)
{
        double sum = 0, n = 0;
        for (size_t i = 0; i < t->n; i++) {
                const struct bucket *b = &t->gpus[i]->points[m][at];
                sum += b->n > 0 ? bucket_mean(b) : 0;
                n += b->n > 0;
        }
        return n > 0 ? sum / n : NAN;
}

void traces_name_gpus(struct traces *t, const struct naming *naming)
{
        for (size_t i = 0; i < t->n; i++) {
                struct entity *e = &t->gpus[i]->who;
                naming_put_entity(naming, e, e->label, sizeof(e->label));
        }
}
