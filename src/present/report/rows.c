/* One row a GPU and phase; of many GPUs a spread and those that differ. */
#include "base/attr.h"
#include "base/clock.h"
#include "base/tablew.h"
#include "base/text.h"
#include "present/format.h"
#include "present/report/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LIMITER_COLUMNS 15 /* "input pipeline" and a blank */
#define HELD_COLUMNS 7     /* ", power"; left out where names would be cut for it */
#define NAME_GOOD 20u
#define NAME_LEAST 12
#define WIDE 112 /* from here on there is room for PCIe and energy */

static const struct {
        enum metric metric;
        const char *title;
        int columns; /* with the blank before it */
        bool wide;
} means[] = {
    {METRIC_REAL_UTIL, "real", 5, false},   {METRIC_GPU_UTIL, "util", 5, false},
    {METRIC_SM_ACTIVE, "SM", 5, false},     {METRIC_TENSOR_ACTIVE, "tensor", 7, false},
    {METRIC_DRAM_ACTIVE, "DRAM", 5, false}, {METRIC_POWER, "W", 6, false},
    {METRIC_PCIE_RX, "PCIe", 7, true},
};

/* How the table is laid out: the same for all of its rows. */
struct layout {
        bool wide, limiters, held;
        size_t name;
        int label;
        size_t cells; /* columns of all of them */
};

/* ---- what limited it ---- */

void report_put_limiter(struct strbuf *out, const struct limited *l, bool with_held)
{
        const char *by = with_held ? held_by_name(l->held_by) : NULL;
        if (!l->is_known)
                strbuf_puts(out, "--");
        else
                strbuf_putf(out, "%s%s", limiter_doubt(l->limiter, l->basis),
                            limiter_brief(l->limiter));
        strbuf_putf(out, "%s%s", by ? ", " : "", by ? by : "");
}

bool report_any_likely(const struct stretch_list *list)
{
        for (size_t i = 0; i < list->n; i++) {
                if (list->list[i].limit.basis == BASIS_DRIVER)
                        return true;
        }
        return false;
}

static bool any_held(const struct stretch_list *list)
{
        for (size_t i = 0; i < list->n; i++) {
                if (list->list[i].limit.held_by != HELD_BY_NOTHING)
                        return true;
        }
        return false;
}

/* ---- cells ---- */

static void put_number(struct strbuf *out, size_t k, struct value v)
{
        char number[FORMAT_MAX];
        format_short(number, sizeof(number), metric_info(means[k].metric)->unit, v);
        tablew_put(out, number, means[k].columns);
}

static void put_limiter(struct strbuf *out, const struct layout *l, const struct limited *limited)
{
        if (!l->limiters)
                return;
        strbuf_puts(out, "  ");
        report_put_limiter(out, limited, l->held);
}

/* "GPU-CI 10" is longer than a number. */
static int label_columns(const struct scope *run)
{
        size_t most = 4;
        for (size_t i = 0; i < run->n; i++)
                most = MAX(most, text_columns(run->gpus[i]->who.label));
        return (int)most;
}

static struct layout layout_for(const struct summary *s, const struct report_view *v)
{
        struct layout l = {.wide = v->columns >= WIDE,
                           .limiters = s->limits.n > 0,
                           .label = label_columns(&s->scopes[0]),
                           .name = 7};
        for (size_t i = 1; i < s->n; i++) {
                l.name =
                    MAX(l.name, text_columns(s->scopes[i].name) + (s->scopes[i].times > 1 ? 6 : 0));
        }
        for (size_t k = 0; k < ARRAY_LEN(means); k++)
                l.cells += l.wide || !means[k].wide ? (size_t)means[k].columns : 0;
        size_t taken = 2 + 9 + 1 + (size_t)l.label + l.cells + (l.wide ? 9 : 0) +
                       (l.limiters ? LIMITER_COLUMNS + 1 : 0) +
                       (report_any_likely(&s->limits) ? REPORT_LIKELY_COLUMNS : 0);
        l.held =
            any_held(&s->limits) && v->columns >= taken + MIN(l.name, NAME_GOOD) + HELD_COLUMNS;
        taken += l.held ? HELD_COLUMNS : 0;
        size_t room = v->columns > taken + NAME_LEAST ? v->columns - taken : NAME_LEAST;
        l.name = MIN(l.name, room);
        return l;
}

static void put_titles(struct strbuf *out, const struct layout *l)
{
        strbuf_putf(out, "\n%-*s %8s %*s", (int)l->name + 2, "phases", "seconds", l->label, "GPU");
        for (size_t k = 0; k < ARRAY_LEN(means); k++) {
                if (l->wide || !means[k].wide)
                        tablew_put(out, means[k].title, means[k].columns);
        }
        strbuf_puts(out, l->wide ? "        J" : "");
        strbuf_puts(out, l->limiters ? "  limiter\n" : "\n");
}

/* "train", or "step ×12" for one that ran so many times. */
static void put_name(struct strbuf *out, const struct layout *l, const struct scope *scope)
{
        char times[32] = "";
        if (scope->times > 1)
                snprintf(times, sizeof(times), " ×%llu", (unsigned long long)scope->times);
        size_t tail = text_columns(times);
        size_t room = l->name > tail + 3 ? l->name - tail : 3;
        strbuf_puts(out, "  ");
        size_t took = text_put(out, scope->name[0] ? scope->name : "the run", room);
        strbuf_puts(out, times);
        strbuf_fill(out, ' ', l->name > took + tail ? l->name - took - tail : 0);
        strbuf_putf(out, " %8.1f", scope->seconds);
}

static void put_gpu_cells(struct strbuf *out, const struct layout *l, const struct gpu_summary *g)
{
        tablew_put(out, g->who.label, l->label + 1);
        for (size_t k = 0; k < ARRAY_LEN(means); k++) {
                if (l->wide || !means[k].wide)
                        put_number(out, k, spread_mean(&g->m[means[k].metric]));
        }
        if (l->wide && g->has_energy)
                strbuf_putf(out, " %8.0f", g->energy_j);
        else if (l->wide)
                strbuf_putf(out, " %8s", "--");
        put_limiter(out, l, &g->limited);
        strbuf_putc(out, '\n');
}

static void put_scope(struct strbuf *out, const struct layout *l, const struct scope *scope)
{
        for (size_t i = 0; i < scope->n; i++) {
                if (i == 0)
                        put_name(out, l, scope);
                else
                        strbuf_fill(out, ' ', l->name + 11);
                put_gpu_cells(out, l, scope->gpus[i]);
        }
        if (scope->n > 0)
                return;
        put_name(out, l, scope);
        strbuf_putf(out, " %*s\n", l->label, "--");
}

/* ---- many GPUs ---- */

struct mean_of {
        double v;
        const struct gpu_summary *gpu;
};

static int by_mean(const void *a, const void *b)
{
        const struct mean_of *x = a, *y = b;
        return x->v < y->v ? -1 : x->v > y->v;
}

/* The GPUs of a scope that have the metric, lowest mean first. Returns how many; ret has room. */
static size_t sort_means(const struct scope *scope, enum metric metric, struct mean_of *ret)
{
        size_t n = 0;
        for (size_t i = 0; i < scope->n; i++) {
                struct value v = spread_mean(&scope->gpus[i]->m[metric]);
                if (value_is_set(v))
                        ret[n++] = (struct mean_of){v.v, scope->gpus[i]};
        }
        qsort(ret, n, sizeof(*ret), by_mean);
        return n;
}

#define SPREAD_ROWS 3
static const char *const spread_names[SPREAD_ROWS] = {"low", "mid", "high"};

/* Each cell on its own: the lowest, the middle and the highest of the GPUs' means. */
static void put_scope_spread(struct strbuf *out, const struct layout *l, const struct scope *scope,
                             struct mean_of *room)
{
        for (size_t row = 0; row < SPREAD_ROWS; row++) {
                if (row == 0)
                        put_name(out, l, scope);
                else
                        strbuf_fill(out, ' ', l->name + 11);
                tablew_put(out, spread_names[row], l->label + 1);
                for (size_t k = 0; k < ARRAY_LEN(means); k++) {
                        if (!l->wide && means[k].wide)
                                continue;
                        size_t n = sort_means(scope, means[k].metric, room);
                        size_t at = row * (n - 1) / (SPREAD_ROWS - 1);
                        put_number(out, k, n ? value_ok(room[at].v) : value_missing(STATE_NONE));
                }
                if (l->wide)
                        strbuf_fill(out, ' ', 9);
                if (row == 0)
                        put_limiter(out, l, &scope->limited);
                strbuf_putc(out, '\n');
        }
}

#define OUTLIERS_MAX 6     /* GPUs */
#define OUTLIER_FAR 4.0    /* times the median distance from the median */
#define OUTLIER_LEAST 0.15 /* of the median: nearer ones are alike for people */

static double median_distance(const struct mean_of *m, size_t n, double middle)
{
        struct mean_of *d = calloc(n, sizeof(*d));
        double median = 0;
        for (size_t i = 0; d && i < n; i++)
                d[i].v = fabs(m[i].v - middle);
        if (d) {
                qsort(d, n, sizeof(*d), by_mean);
                median = d[n / 2].v;
        }
        free(d);
        return median;
}

static const enum metric compared[] = {METRIC_SM_ACTIVE, METRIC_GPU_UTIL, METRIC_POWER,
                                       METRIC_FB_USED,   METRIC_GPU_TEMP, METRIC_SM_CLOCK};

/* What is usual in a run, metric by metric. */
struct usual {
        double middle, far; /* farther from the middle than this differs */
        bool present;
};

static void find_usual(const struct scope *run, struct mean_of *room,
                       struct usual ret[ARRAY_LEN(compared)])
{
        for (size_t k = 0; k < ARRAY_LEN(compared); k++) {
                size_t n = sort_means(run, compared[k], room);
                double middle = n ? room[n / 2].v : 0;
                double distance = n ? median_distance(room, n, middle) : 0;
                ret[k] = (struct usual){
                    middle, MAX(OUTLIER_FAR * distance, OUTLIER_LEAST * fabs(middle)), n > 0};
        }
}

/* "sm_active 0.0 % (median 91.0 %), power …"; nothing for a GPU like the others. */
static void put_differences(struct strbuf *out, const struct gpu_summary *g,
                            const struct usual usual[ARRAY_LEN(compared)])
{
        for (size_t k = 0; k < ARRAY_LEN(compared); k++) {
                struct value v = spread_mean(&g->m[compared[k]]);
                char is[FORMAT_MAX], middle[FORMAT_MAX];
                if (!usual[k].present || !value_is_set(v) ||
                    fabs(v.v - usual[k].middle) <= usual[k].far)
                        continue;
                format_with_unit(is, sizeof(is), metric_info(compared[k])->unit, v);
                format_with_unit(middle, sizeof(middle), metric_info(compared[k])->unit,
                                 value_ok(usual[k].middle));
                strbuf_putf(out, "%s%s %s (median %s)", out->len ? ", " : "",
                            metric_info(compared[k])->name, is, middle);
        }
}

/* GPUs whose means are far from the others'. */
static void put_outliers(struct strbuf *out, const struct scope *run, struct mean_of *room,
                         size_t columns)
{
        struct usual usual[ARRAY_LEN(compared)];
        struct strbuf text = {0};
        size_t reported = 0, left = 0;
        find_usual(run, room, usual);
        for (size_t i = 0; i < run->n; i++) {
                strbuf_clear(&text);
                put_differences(&text, run->gpus[i], usual);
                if (text.len == 0)
                        continue;
                if (reported == OUTLIERS_MAX) {
                        left++;
                        continue;
                }
                strbuf_puts(out, reported++ ? "" : "\nGPUs that differ\n");
                strbuf_putf(out, "  GPU %s: ", run->gpus[i]->who.label);
                text_put_wrapped(out, strbuf_str(&text), 8 + strlen(run->gpus[i]->who.label),
                                 columns);
        }
        if (left > 0)
                strbuf_putf(out, "  and %zu more; --all shows every GPU\n", left);
        else if (reported == 0)
                strbuf_puts(out, "\nno GPU differs from the others by more than 15 %\n");
        strbuf_finish(&text);
}

void report_rows(const struct summary *s, const struct report_view *v, struct strbuf *out)
{
        const struct scope *run = &s->scopes[0];
        bool many = run->n > REPORT_GPUS_EACH && !v->all;
        struct layout l = layout_for(s, v);
        struct mean_of *room = calloc(run->n + 1, sizeof(*room));
        if (run->n == 0 && s->n < 2) {
                free(room);
                return;
        }
        put_titles(out, &l);
        for (size_t i = s->only_phases ? 1 : 0; i < s->n; i++) {
                if (many && room && s->scopes[i].n > 0)
                        put_scope_spread(out, &l, &s->scopes[i], room);
                else
                        put_scope(out, &l, &s->scopes[i]);
        }
        if (many && room)
                put_outliers(out, run, room, v->columns);
        free(room);
}

/* ---- each time, and events ---- */

void report_put_data(struct strbuf *out, const char *json)
{
        int depth = 0;
        bool string = false;
        for (const char *p = json ? json : ""; *p; p++) {
                if (*p == '"' && (p == json || p[-1] != '\\')) {
                        string = !string;
                        if (depth == 1)
                                continue;
                } else if (!string && (*p == '{' || *p == '[')) {
                        if (depth++ == 0)
                                continue;
                } else if (!string && (*p == '}' || *p == ']')) {
                        if (--depth == 0)
                                continue;
                } else if (!string && depth == 1 && (*p == ':' || *p == ',')) {
                        strbuf_puts(out, *p == ':' ? "=" : ", ");
                        continue;
                } else if (!string && *p == ' ') {
                        continue;
                }
                strbuf_putc(out, *p);
        }
}

static void put_moment(struct strbuf *out, const struct summary *s, int64_t wall_ns)
{
        strbuf_putf(out, "  %8.1f s  ", clock_to_seconds(wall_ns - s->first_ns));
}

static void put_marked(struct strbuf *out, const char *name, const char *data, size_t indent,
                       size_t columns)
{
        struct strbuf text = {0};
        text_put(&text, name, SIZE_MAX);
        if (data && data[0])
                strbuf_puts(&text, "  ");
        report_put_data(&text, data);
        text_put_wrapped(out, strbuf_str(&text), indent, columns);
        strbuf_finish(&text);
}

void report_each(const struct summary *s, const struct report_view *v, struct strbuf *out)
{
        if (s->n_phases == 0)
                return;
        strbuf_puts(out, "\n   begins at     seconds  phase\n");
        for (size_t i = 0; i < s->n_phases; i++) {
                const struct phase *p = &s->phases[i];
                put_moment(out, s, p->begin_ns);
                strbuf_putf(out, "%10.1f  ", clock_to_seconds(p->end_ns - p->begin_ns));
                put_marked(out, p->name, p->data, 26, v->columns);
        }
}

#define EVENTS_SHOWN 8

void report_events(const struct summary *s, const struct report_view *v, struct strbuf *out)
{
        size_t n = v->all ? v->n_events : MIN(v->n_events, (size_t)EVENTS_SHOWN);
        if (n == 0)
                return;
        strbuf_puts(out, "\nevents\n");
        for (size_t i = 0; i < n; i++) {
                put_moment(out, s, v->events[i].wall_ns);
                put_marked(out, v->events[i].name, v->events[i].data, 14, v->columns);
        }
        if (n < v->n_events)
                strbuf_putf(out, "  and %zu more; --all shows them\n", v->n_events - n);
}
