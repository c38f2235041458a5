/* The numbers behind the page's charts, bounded however long the run is and however many GPUs. */
#include "base/attr.h"
#include "base/clock.h"
#include "base/quote.h"
#include "present/chart/axis.h"
#include "present/chart/choose.h"
#include "present/document/page.h"
#include "present/format.h"
#include "present/report/page.h"
#include "present/report/parts.h"
#include "present/report/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define GPUS_EACH 8             /* more are drawn as mean and range; each can still be chosen */
#define CURVE_POINTS (12 << 11) /* of all GPUs' curves in a chart, together */
#define GAP_TICKS 4
#define LEVEL_CHARTS 3
#define CURVES_LEVEL 2

/* How many points there are, and how many become one in the curves of single GPUs. */
struct fold {
        size_t n, by;
};

static struct fold fold_of(const struct traces *t)
{
        struct fold f = {.n = (size_t)((t->end_ns - t->start_ns) / MAX(t->width_ns, 1)) + 1,
                         .by = 1};
        f.n = MIN(f.n, (size_t)TRACE_POINTS);
        while (t->n > GPUS_EACH && t->n * (f.n / f.by) > CURVE_POINTS)
                f.by *= 2;
        f.n = (f.n + f.by - 1) / f.by * f.by;
        return f;
}

/* ---- curves ---- */

enum part { PART_MEAN, PART_MIN, PART_MAX };

static double part_of(const struct bucket *p, enum part part)
{
        if (p->n == 0 || part == PART_MEAN)
                return bucket_mean(p);
        return (double)(part == PART_MIN ? p->min : p->max);
}

static void put_points(struct jsonw *j, const struct bucket *points, struct fold f, enum part part,
                       const struct value_axis *axis)
{
        static const char *const names[] = {"mean", "min", "max"};
        jsonw_begin(j, names[part]);
        strbuf_putc(j->out, '"');
        for (size_t i = 0; i < f.n; i += f.by) {
                struct bucket p = buckets_join(points + i, MIN(f.by, TRACE_POINTS - i));
                page_put_point(j->out, part_of(&p, part) * axis->factor, axis->high);
        }
        strbuf_putc(j->out, '"');
}

static bool has_range(const struct bucket *points)
{
        for (size_t i = 0; i < TRACE_POINTS; i++) {
                if (points[i].n > 1 && points[i].max > points[i].min)
                        return true;
        }
        return false;
}

static void put_curve(struct jsonw *j, const char *name, const struct bucket *points, struct fold f,
                      bool range, const struct value_axis *axis)
{
        jsonw_object(j, NULL);
        page_put_text(j, "name", name);
        put_points(j, points, f, PART_MEAN, axis);
        if (range && has_range(points)) {
                put_points(j, points, f, PART_MIN, axis);
                put_points(j, points, f, PART_MAX, axis);
        }
        jsonw_end(j);
}

/* Mean and range over all GPUs. */
static void put_all(struct jsonw *j, const struct traces *t, enum trace_metric m, struct fold f,
                    const struct value_axis *axis)
{
        struct bucket *all = calloc(TRACE_POINTS, sizeof(*all));
        if (!all)
                return;
        for (size_t i = 0; i < f.n && i < TRACE_POINTS; i++) {
                for (size_t g = 0; g < t->n; g++) {
                        bucket_join(&all[i], &t->gpus[g]->points[m][i]);
                }
        }
        jsonw_object(j, "all");
        f.by = 1;
        for (enum part p = PART_MEAN; p <= PART_MAX; p++)
                put_points(j, all, f, p, axis);
        jsonw_end(j);
        free(all);
}

/* ---- charts ---- */

static struct bucket whole_bucket(const struct bucket *points)
{
        return buckets_join(points, TRACE_POINTS);
}

static double limit_of(const struct traces *t, enum trace_metric m)
{
        double most = 0;
        for (size_t i = 0; i < t->n; i++)
                most = MAX(most, (double)t->gpus[i]->limits[m]);
        return most;
}

static void begin_chart(struct jsonw *j, const char *id, const char *title, bool chosen,
                        const struct value_axis *axis, const struct bucket *sum)
{
        char says[96];
        snprintf(says, sizeof(says), "mean %.3g %s, highest %.3g %s",
                 part_of(sum, PART_MEAN) * axis->factor, axis->unit,
                 (double)sum->max * axis->factor, axis->unit);
        page_begin_chart(j, &(struct page_chart){.id = id,
                                                 .title = title,
                                                 .unit = axis->unit,
                                                 .top = axis->high,
                                                 .chosen = chosen,
                                                 .says = says});
}

/* A line across a chart. */
static void put_limit(struct jsonw *j, const char *name, double v)
{
        jsonw_array(j, NULL);
        jsonw_text(j, NULL, name);
        page_put_short(j, NULL, v);
        jsonw_end(j);
}

static struct bucket metric_whole(const struct traces *t, enum trace_metric m)
{
        struct bucket sum = {0};
        for (size_t i = 0; i < t->n; i++) {
                struct bucket one = whole_bucket(t->gpus[i]->points[m]);
                bucket_join(&sum, &one);
        }
        return sum;
}

/* A link that nothing used says nothing. */
static bool metric_shown(const struct traces *t, enum trace_metric m)
{
        struct bucket sum = metric_whole(t, m);
        return sum.n > 0 && (sum.max > 0 || metric_info(trace_metric(m))->unit != UNIT_BYTES_PER_S);
}

static void put_metric(struct jsonw *j, const struct traces *t, enum trace_metric m, struct fold f)
{
        const struct metric_info *info = metric_info(trace_metric(m));
        struct choice c = {.subject = SUBJECT_METRIC, .what = (uint8_t)trace_metric(m)};
        struct bucket sum = metric_whole(t, m);
        double limit = limit_of(t, m), most = (double)sum.max;
        bool near = limit > 0 && most >= limit * LIMIT_NEAR;
        struct value_axis axis =
            value_axis_for(info->unit, 0, near ? MAX(most, limit) : most, true);
        char title[96], name[ENTITY_LABEL_MAX + 8];
        choice_title(&c, title, sizeof(title));
        begin_chart(j, info->name, title, true, &axis, &sum);
        jsonw_array(j, "limits");
        if (near)
                put_limit(j, "limit", limit * axis.factor);
        jsonw_end(j);
        jsonw_array(j, "curves");
        for (size_t i = 0; i < t->n; i++) {
                snprintf(name, sizeof(name), "GPU %s", t->gpus[i]->who.label);
                put_curve(j, name, t->gpus[i]->points[m], f, t->n <= GPUS_EACH, &axis);
        }
        jsonw_end(j);
        if (t->n > 1)
                put_all(j, t, m, f, &axis);
        jsonw_end(j);
}

/* Cores busy, memory, and both directions of I/O in one picture. */
static const struct {
        const char *id, *title;
        size_t n;
        struct {
                enum trace_figure figure;
                const char *name;
        } curves[CURVES_LEVEL];
} level_charts[LEVEL_CHARTS] = {
    {"cpu", "CPU cores busy", 1, {{TRACE_LEVEL_CPU, "cores"}}},
    {"memory", "Host memory", 1, {{TRACE_LEVEL_MEMORY, "memory"}}},
    {"io", "Storage I/O", 2, {{TRACE_LEVEL_READ, "read"}, {TRACE_LEVEL_WRITE, "write"}}}};

static struct bucket level_whole(const struct traces *t, size_t which)
{
        struct bucket sum = {0};
        for (size_t i = 0; i < level_charts[which].n; i++) {
                struct bucket both[] = {
                    sum, whole_bucket(t->level[level_charts[which].curves[i].figure])};
                sum = buckets_join(both, 2);
        }
        return sum;
}

static void put_level_limits(struct jsonw *j, const struct level_summary *l, size_t which,
                             const struct value_axis *axis)
{
        struct value limit = which == 0   ? l->cpus
                             : which == 1 ? l->memory_limit
                                          : value_missing(STATE_NONE);
        jsonw_array(j, "limits");
        if (value_is_set(limit))
                put_limit(j, "limit", limit.v * axis->factor);
        /* A program of one thread cannot pass this line. */
        if (which == 0)
                put_limit(j, "one core", 1);
        jsonw_end(j);
}

static void put_level(struct jsonw *j, const struct summary *s, const struct traces *t,
                      size_t which, struct fold f)
{
        struct bucket sum = level_whole(t, which);
        enum figure figure = trace_figure(level_charts[which].curves[0].figure);
        double most = MAX((double)sum.max, which == 0 ? 1.2 : 0);
        struct value_axis axis = value_axis_for(figure_info(figure)->unit, 0, most, true);
        f.by = 1;
        begin_chart(j, level_charts[which].id, level_charts[which].title, false, &axis, &sum);
        put_level_limits(j, &s->scopes[0].level, which, &axis);
        jsonw_array(j, "curves");
        for (size_t i = 0; i < level_charts[which].n; i++)
                put_curve(j, level_charts[which].curves[i].name,
                          t->level[level_charts[which].curves[i].figure], f, true, &axis);
        jsonw_end(j);
        jsonw_end(j);
}

const char *report_page_chart(const struct traces *t, size_t i)
{
        if (i < TRACE_COUNT)
                return metric_shown(t, (enum trace_metric)i)
                           ? metric_info(trace_metric((enum trace_metric)i))->name
                           : "";
        if (i - TRACE_COUNT >= LEVEL_CHARTS)
                return NULL;
        return level_whole(t, i - TRACE_COUNT).n > 0 ? level_charts[i - TRACE_COUNT].id : "";
}

/* ---- classes and stretches ---- */

const char *page_side(enum limiter l)
{
        static const char *const sides[LIMITER_GROUP_COUNT] = {
            [LIMITER_GROUP_UNKNOWN] = "none",   [LIMITER_GROUP_IDLE] = "idle",
            [LIMITER_GROUP_HOST] = "host",      [LIMITER_GROUP_COPY] = "copy",
            [LIMITER_GROUP_TENSOR] = "compute", [LIMITER_GROUP_COMPUTE] = "compute",
            [LIMITER_GROUP_MEMORY] = "memory",  [LIMITER_GROUP_KERNEL] = "compute",
        };
        return sides[limiter_group(l)];
}

static unsigned class_at(const struct trace_gpu *g, size_t from, size_t n)
{
        unsigned sum[TRACE_CLASSES] = {0}, best = TRACE_CLASSES;
        for (size_t i = from; i < from + n && i < TRACE_POINTS; i++) {
                for (unsigned k = 0; k < TRACE_CLASSES; k++)
                        sum[k] += g->classes[i][k];
        }
        for (unsigned k = 0; k < TRACE_CLASSES; k++) {
                if (sum[k] > 0 && (best == TRACE_CLASSES || sum[k] > sum[best]))
                        best = k;
        }
        return best;
}

/* Runs of one class: [from, to, class]. A class lasts until the next tick, but not across a gap. */
static void put_classes(struct jsonw *j, const struct traces *t, const struct trace_gpu *g,
                        struct fold f, double gap_s)
{
        double step = clock_to_seconds(t->width_ns) * (double)f.by, since = 0, last = 0;
        unsigned now = TRACE_CLASSES;
        for (size_t i = 0; i <= f.n; i += f.by) {
                double at = (double)(i / f.by) * step;
                unsigned what = i < f.n ? class_at(g, i, f.by) : TRACE_CLASSES;
                if (what == TRACE_CLASSES && i < f.n && at - last <= MAX(gap_s, step))
                        continue;
                if (what < TRACE_CLASSES)
                        last = at;
                if (what == now)
                        continue;
                if (now < TRACE_CLASSES) {
                        jsonw_array(j, NULL);
                        page_put_short(j, NULL, since);
                        page_put_short(j, NULL, at);
                        jsonw_count(j, NULL, now);
                        jsonw_end(j);
                }
                now = what;
                since = at;
        }
}

/* A class has the colour of the limiters that are most like it. */
static const char *class_side(enum bottleneck b)
{
        static const char *const sides[TRACE_CLASSES] = {
            [BOTTLENECK_UNKNOWN] = "none",    [BOTTLENECK_IDLE] = "idle",
            [BOTTLENECK_COMPUTE] = "compute", [BOTTLENECK_MEMORY] = "memory",
            [BOTTLENECK_IO] = "copy",         [BOTTLENECK_MIXED] = "mixed"};
        return sides[b];
}

static void put_gpus(struct jsonw *j, const struct traces *t, struct fold f, double gap_s)
{
        jsonw_array(j, "gpus");
        for (size_t i = 0; i < t->n; i++) {
                char name[ENTITY_LABEL_MAX + 8];
                snprintf(name, sizeof(name), "GPU %s", t->gpus[i]->who.label);
                jsonw_object(j, NULL);
                page_put_text(j, "name", name);
                jsonw_array(j, "classes");
                put_classes(j, t, t->gpus[i], f, gap_s);
                jsonw_end(j);
                jsonw_end(j);
        }
        jsonw_end(j);
        jsonw_array(j, "classes");
        for (enum bottleneck b = 0; b < (enum bottleneck)TRACE_CLASSES; b++) {
                jsonw_array(j, NULL);
                jsonw_text(j, NULL, b == BOTTLENECK_IO ? "I/O" : bottleneck_name(b));
                jsonw_text(j, NULL, class_side(b));
                jsonw_end(j);
        }
        jsonw_end(j);
}

/* The place of a label among the curves. */
static size_t curve_of(const struct traces *t, const char *label)
{
        size_t i = 0;
        while (i < t->n && strcmp(t->gpus[i]->who.label, label) != 0)
                i++;
        return i;
}

static void put_stretch(struct jsonw *j, const struct stretch_list *list, const struct stretch *s,
                        const struct traces *t)
{
        jsonw_array(j, NULL);
        page_put_short(j, NULL, s->begin_s);
        page_put_short(j, NULL, s->end_s);
        jsonw_array(j, NULL);
        for (size_t k = 0; k < list->n_gpus; k++) {
                size_t at = gpu_set_has(&s->gpus, k) ? curve_of(t, list->gpus[k].label) : t->n;
                if (at < t->n)
                        jsonw_count(j, NULL, at);
        }
        jsonw_end(j);
        page_put_text(j, NULL, limiter_name((enum limiter)s->limit.limiter));
        page_put_text(j, NULL, held_by_words((enum held_by)s->limit.held_by));
        jsonw_end(j);
}

/* Those that occur. hatch distinguishes limiters of one colour. */
static void put_limiters(struct jsonw *j, const struct stretch_list *list)
{
        bool occurs[LIMITER_COUNT] = {false};
        unsigned hatches[LIMITER_GROUP_COUNT] = {0};
        for (size_t i = 0; i < list->n; i++)
                occurs[list->list[i].limit.limiter] = true;
        jsonw_object(j, "limiters");
        for (enum limiter l = 0; l < LIMITER_COUNT; l++) {
                enum limiter_group side = limiter_group(l);
                /* These share a colour. */
                if (side == LIMITER_GROUP_TENSOR || side == LIMITER_GROUP_KERNEL)
                        side = LIMITER_GROUP_COMPUTE;
                unsigned hatch = hatches[side]++;
                if (!occurs[l])
                        continue;
                jsonw_object(j, limiter_name(l));
                jsonw_text(j, "side", page_side(l));
                jsonw_count(j, "hatch", hatch);
                jsonw_text(j, "brief", limiter_brief(l));
                jsonw_text(j, "words", limiter_words(l));
                jsonw_end(j);
        }
        jsonw_end(j);
}

static void put_legend_entry(struct jsonw *j, const struct stretch_list *list,
                             const struct limit_finding *f)
{
        const struct limited limited = {
            .is_known = true, .limiter = f->limiter, .held_by = f->held_by, .basis = f->basis};
        const char *held = held_by_words(f->held_by);
        bool startup = f->before_work && f->limiter != LIMITER_HOST_STARTING;
        char share[FORMAT_MAX];
        struct strbuf brief = {0}, words = {0};
        report_put_limiter(&brief, &limited, true);
        strbuf_puts(&brief, startup ? ", before work" : "");
        strbuf_putf(&words, "%s%s%s%s", limiter_words(f->limiter),
                    held[0] ? ", clocks held by " : "", held,
                    startup ? ", before its work began" : "");
        jsonw_array(j, NULL);
        jsonw_text(j, NULL, limiter_name(f->limiter));
        jsonw_text(j, NULL, strbuf_str(&brief));
        jsonw_text(j, NULL, format_share(share, report_finding_share(list, f)));
        jsonw_text(j, NULL, strbuf_str(&words));
        jsonw_end(j);
        strbuf_finish(&brief);
        strbuf_finish(&words);
}

/* The findings with their shares of the run: [limiter, brief, share, words], the longest first. */
static void put_legend(struct jsonw *j, const struct stretch_list *list)
{
        bool done[FINDINGS_MAX] = {false};
        jsonw_array(j, "legend");
        for (size_t n = 0; n < list->n_findings; n++) {
                size_t longest = FINDINGS_MAX;
                for (size_t i = 0; i < list->n_findings; i++) {
                        if (!done[i] &&
                            (longest == FINDINGS_MAX ||
                             list->findings[i].seconds > list->findings[longest].seconds))
                                longest = i;
                }
                done[longest] = true;
                put_legend_entry(j, list, &list->findings[longest]);
        }
        jsonw_end(j);
}

static void put_stretches(struct jsonw *j, const struct summary *s, const struct traces *t)
{
        jsonw_array(j, "stretches");
        for (size_t i = 0; i < s->limits.n; i++)
                put_stretch(j, &s->limits, &s->limits.list[i], t);
        jsonw_end(j);
        put_limiters(j, &s->limits);
        put_legend(j, &s->limits);
}

/* ---- all of it ---- */

static double seconds_since_start(const struct traces *t, int64_t wall_ns)
{
        return clock_to_seconds(wall_ns - t->start_ns);
}

#define PHASES_MAX 2000 /* bands; more could not be distinguished */

static void put_marks(struct jsonw *j, const struct summary *s, const struct traces *t,
                      const struct report_view *v)
{
        jsonw_array(j, "phases");
        for (size_t i = 0; i < MIN(s->n_phases, (size_t)PHASES_MAX); i++) {
                jsonw_array(j, NULL);
                page_put_text(j, NULL, s->phases[i].name);
                page_put_short(j, NULL, seconds_since_start(t, s->phases[i].begin_ns));
                page_put_short(j, NULL, seconds_since_start(t, s->phases[i].end_ns));
                jsonw_end(j);
        }
        jsonw_end(j);
        jsonw_array(j, "events");
        for (size_t i = 0; i < MIN(v->n_events, (size_t)PHASES_MAX); i++) {
                jsonw_array(j, NULL);
                page_put_short(j, NULL, seconds_since_start(t, v->events[i].wall_ns));
                page_put_text(j, NULL, v->events[i].name);
                jsonw_end(j);
        }
        jsonw_end(j);
}

/* One a line, except for the first. */
static void put_charts(struct jsonw *j, const struct summary *s, const struct traces *t,
                       struct fold f)
{
        bool any = false;
        jsonw_array(j, "charts");
        for (size_t i = 0; i < TRACE_COUNT + LEVEL_CHARTS; i++) {
                bool metric = i < TRACE_COUNT;
                if (metric ? !metric_shown(t, (enum trace_metric)i)
                           : level_whole(t, i - TRACE_COUNT).n == 0)
                        continue;
                if (any)
                        jsonw_line(j);
                any = true;
                if (metric)
                        put_metric(j, t, (enum trace_metric)i, f);
                else
                        put_level(j, s, t, i - TRACE_COUNT, f);
        }
        jsonw_end(j);
}

void report_page_data(const struct summary *s, const struct traces *t, const struct report_view *v,
                      struct strbuf *out)
{
        struct jsonw j = {.out = out};
        struct fold f = fold_of(t);
        double seconds = MAX(clock_to_seconds(t->end_ns - t->start_ns), 1e-3);
        double step = clock_to_seconds(t->width_ns), tick = seconds / (double)MAX(s->ticks, 1);
        double gap = GAP_TICKS * MAX(tick, step);
        jsonw_object(&j, NULL);
        jsonw_short(&j, "seconds", seconds, 9);
        jsonw_short(&j, "seconds_all", step * (double)f.n, 9);
        jsonw_short(&j, "step", step, 9);
        page_put_short(&j, "gap", gap);
        /* A capture without times counts from 0: there is no clock to show. */
        jsonw_fixed(&j, "start", format_is_date(s->first_ns) ? clock_to_seconds(t->start_ns) : 0,
                    3);
        jsonw_bool(&j, "many", t->n > GPUS_EACH);
        put_marks(&j, s, t, v);
        put_gpus(&j, t, f, gap);
        put_stretches(&j, s, t);
        put_charts(&j, s, t, f);
        jsonw_end(&j);
}
