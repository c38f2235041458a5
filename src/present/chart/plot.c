#include "present/chart/plot.h"

#include "base/attr.h"
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FIRST_WIDTH_NS NS_PER_MS
#define SLOTS_COUNTED 256
#define OVERLAY_ZERO_NS 1 /* no date */

_Static_assert(BOTTLENECK_MIXED + 1 == PLOT_BOTTLENECKS, "a strip has a count for each");

void plot_init(struct plot *p, const struct plot_options *options, int64_t zero_ns)
{
        *p = (struct plot){.options = *options, .zero_ns = zero_ns, .width_ns = FIRST_WIDTH_NS};
        p->n_panels = options->choices.n;
        for (size_t i = 0; i < p->n_panels; i++) {
                struct plot_panel *panel = &p->panels[i];
                panel->choice = options->choices.list[i];
                panel->each = panel->choice.manner == MANNER_EACH ||
                              (panel->choice.manner == MANNER_ANY && options->per_gpu &&
                               panel->choice.subject == SUBJECT_METRIC);
                panel->limited = choice_limit(&panel->choice, &panel->limit_choice);
        }
}

void plot_finish(struct plot *p)
{
        for (size_t i = 0; i < p->n_panels; i++) {
                free(p->panels[i].all);
                free(p->panels[i].limit);
                for (size_t k = 0; k < PLOT_GPUS_MAX; k++)
                        free(p->panels[i].gpus[k]);
        }
        for (size_t k = 0; k < p->n_gpus; k++)
                free(p->gpus[k].strip);
        *p = (struct plot){0};
}

/* ---- time ---- */

static void halve_strip(struct strip *s)
{
        for (size_t i = 0; i < CURVE_BUCKETS / 2; i++) {
                for (size_t k = 0; k < PLOT_BOTTLENECKS; k++) {
                        unsigned both = (unsigned)s->n[2 * i][k] + s->n[2 * i + 1][k];
                        s->n[i][k] = (uint16_t)MIN(both, UINT16_MAX);
                }
        }
        memset(s->n + CURVE_BUCKETS / 2, 0, sizeof(s->n) / 2);
}

static void halve_resolution(struct plot *p)
{
        for (size_t i = 0; i < p->n_panels; i++) {
                struct plot_panel *panel = &p->panels[i];
                if (panel->all)
                        curve_halve(panel->all);
                if (panel->limit)
                        curve_halve(panel->limit);
                for (size_t k = 0; k < PLOT_GPUS_MAX; k++) {
                        if (panel->gpus[k])
                                curve_halve(panel->gpus[k]);
                }
        }
        for (size_t k = 0; k < p->n_gpus; k++) {
                if (p->gpus[k].strip)
                        halve_strip(p->gpus[k].strip);
        }
        p->width_ns *= 2;
}

/* No run is of another century; so differences of times always fit. */
#define WALL_MAX (INT64_MAX / 2)

/* The bucket of a moment; false when it lies outside of what is drawn. */
static bool plot_place_of(struct plot *p, int64_t wall_ns, size_t *ret)
{
        if (wall_ns < p->options.from_ns || wall_ns > p->options.to_ns || wall_ns < -WALL_MAX ||
            wall_ns > WALL_MAX)
                return false;
        if (!p->started) {
                bool known = p->zero_ns > 0 && p->zero_ns <= wall_ns;
                p->zero_ns = known ? p->zero_ns : wall_ns;
                p->start_ns = MAX(p->options.from_ns, p->zero_ns);
                p->started = true;
        }
        /* A clock that was set back: that part cannot be placed. */
        if (wall_ns < p->start_ns)
                return false;
        while ((wall_ns - p->start_ns) / p->width_ns >= CURVE_BUCKETS)
                halve_resolution(p);
        p->end_ns = MAX(p->end_ns, wall_ns);
        *ret = (size_t)((wall_ns - p->start_ns) / p->width_ns);
        return true;
}

/* ---- values ---- */

static struct curve *curve_at(struct plot *p, struct curve **at)
{
        if (UNLIKELY(!*at)) {
                *at = calloc(1, sizeof(**at));
                p->failed |= !*at;
        }
        return *at;
}

static void count_slot(struct plot *p, uint32_t slot)
{
        uint64_t bit = (uint64_t)1 << slot % 64;
        if (slot >= SLOTS_COUNTED || p->seen[slot / 64] & bit)
                return;
        p->seen[slot / 64] |= bit;
        p->n_slots++;
}

/* PLOT_GPUS_MAX when there are too many. */
static size_t gpu_for(struct plot *p, const struct entity *e, size_t hint)
{
        if (LIKELY(hint < p->n_gpus && p->gpus[hint].slot == e->slot))
                return hint;
        for (size_t i = 0; i < p->n_gpus; i++) {
                if (p->gpus[i].slot == e->slot)
                        return i;
        }
        count_slot(p, e->slot);
        if (p->n_gpus == PLOT_GPUS_MAX)
                return PLOT_GPUS_MAX;
        struct plot_gpu *g = &p->gpus[p->n_gpus];
        *g = (struct plot_gpu){.slot = e->slot, .strip = calloc(1, sizeof(*g->strip))};
        p->failed |= !g->strip;
        snprintf(g->label, sizeof(g->label), "%s", e->label);
        snprintf(g->host, sizeof(g->host), "%s", e->text[ENTITY_TEXT_HOST]);
        snprintf(g->id, sizeof(g->id), "%s", gpu_identity_of(e).id);
        snprintf(g->model, sizeof(g->model), "%s", e->text[ENTITY_TEXT_MODEL]);
        return p->n_gpus++;
}

static void add_metric(struct plot *p, struct plot_panel *panel, const struct sample *s, size_t gpu,
                       size_t at)
{
        struct value v = s->m[panel->choice.what];
        struct curve *c = curve_at(p, &panel->all);
        if (c)
                curve_add(c, at, v);
        if (panel->limited && (c = curve_at(p, &panel->limit)))
                curve_add(c, at, s->m[panel->limit_choice.what]);
        if (panel->each && gpu < PLOT_GPUS_MAX && (c = curve_at(p, &panel->gpus[gpu])))
                curve_add(c, at, v);
}

bool plot_begin_run(struct plot *p, const char *name, int64_t zero_ns, int64_t from_ns,
                    int64_t to_ns)
{
        if (p->n_gpus == PLOT_GPUS_MAX)
                return false;
        for (size_t i = 0; i < p->n_panels; i++)
                p->panels[i].each = p->panels[i].choice.subject == SUBJECT_METRIC;
        struct plot_gpu *g = &p->gpus[p->n_gpus];
        *g = (struct plot_gpu){.slot = (uint32_t)p->n_gpus};
        snprintf(g->label, sizeof(g->label), "%s", name);
        p->n_slots = ++p->n_gpus;
        p->overlay = true;
        p->options.from_ns = from_ns;
        p->options.to_ns = to_ns;
        p->run_zero_ns = MAX(zero_ns, from_ns);
        p->zero_ns = OVERLAY_ZERO_NS;
        p->clock = (struct phase_clock){0};
        return true;
}

/* Runs over each other share an axis that begins with each of them. False: not drawn. */
static bool lay_over(struct plot *p, int64_t *moment, int64_t *end)
{
        if (*end < -WALL_MAX || *end > WALL_MAX || *moment < p->options.from_ns ||
            *moment > p->options.to_ns)
                return false;
        if (p->run_zero_ns <= 0)
                p->run_zero_ns = *moment;
        int64_t shift = OVERLAY_ZERO_NS - p->run_zero_ns;
        *moment += shift;
        *end = MAX(*end + shift, *moment);
        return true;
}

/* The bucket of a frame; false when it is not drawn. */
static bool place_frame(struct plot *p, const struct frame *f, size_t *ret)
{
        int64_t moment = phase_moment(&p->clock, f), end = f->wall_ns;
        const struct plot_options asked = p->options;
        if (f->wall_ns < -WALL_MAX || (p->overlay && !lay_over(p, &moment, &end)))
                return false;
        if (p->overlay)
                p->options.from_ns = INT64_MIN, p->options.to_ns = INT64_MAX;
        bool present = plot_place_of(p, moment, ret);
        p->options = asked;
        /* A sample stands in the middle of its time, the run lasts to its end. */
        if (present)
                p->end_ns = MAX(p->end_ns, p->overlay ? end : MIN(end, asked.to_ns));
        return present;
}

int plot_add_frame(struct plot *p, const struct frame *f)
{
        size_t at;
        if (!place_frame(p, f, &at))
                return 0;
        p->ticks++;
        for (size_t i = 0; i < f->n; i++) {
                const struct row *row = &f->rows[i];
                size_t gpu = p->overlay ? p->n_gpus - 1 : gpu_for(p, row->sample.who, i);
                for (size_t k = 0; k < p->n_panels; k++) {
                        if (p->panels[k].choice.subject == SUBJECT_METRIC &&
                            !p->panels[k].from_level)
                                add_metric(p, &p->panels[k], &row->sample, gpu, at);
                }
                if (gpu == PLOT_GPUS_MAX || !p->gpus[gpu].strip)
                        continue;
                uint16_t *n =
                    &p->gpus[gpu].strip->n[at][workload_bottleneck(row->verdict.workload)];
                *n = (uint16_t)MIN(*n + 1, UINT16_MAX);
        }
        return p->failed ? -ENOMEM : 0;
}

void plot_name_gpus(struct plot *p, const struct naming *naming)
{
        for (size_t i = 0; i < p->n_gpus; i++) {
                struct plot_gpu *g = &p->gpus[i];
                char label[ENTITY_LABEL_MAX];
                memcpy(label, g->label, sizeof(label));
                naming_put(naming, (struct gpu_identity){g->host, label, g->id}, g->label,
                           sizeof(g->label));
        }
}

/* ---- the host ---- */

/* What the user asked for, else the first present, in the order of reports. */
static const struct level_state *level_of(struct plot *p, const struct host *h)
{
        static const enum level order[] = {LEVEL_PROCESS, LEVEL_SLURM, LEVEL_SYSTEM, LEVEL_CGROUP,
                                           LEVEL_USER};
        for (size_t i = 0; p->options.level == LEVEL_COUNT && i < ARRAY_LEN(order); i++) {
                if (h->levels[order[i]].present)
                        p->options.level = order[i];
        }
        if (p->options.level == LEVEL_COUNT || !h->levels[p->options.level].present)
                return NULL;
        return &h->levels[p->options.level];
}

static struct value host_value(const struct choice *c, const struct host *h,
                               const struct level_state *l)
{
        if (c->subject == SUBJECT_SYSTEM)
                return h->system[c->what];
        return l ? l->f[c->what] : value_missing(STATE_NONE);
}

/* Cores are known of the whole machine; the mean is the level's share where it has one. */
static void add_cores(struct curve *c, size_t at, const struct host *h, const struct level_state *l)
{
        struct value mean = l ? l->f[FIGURE_CPU_SHARE] : value_missing(STATE_NONE);
        struct value min = h->system[SYSTEM_CPU_MIN], max = h->system[SYSTEM_CPU_MAX];
        bool whole = l == &h->levels[LEVEL_SYSTEM] && value_is_set(min) && value_is_set(max);
        if (value_is_set(mean) && whole)
                curve_add_range(c, at, MIN(min.v, mean.v), mean.v, MAX(max.v, mean.v));
        else
                curve_add(c, at, mean);
}

/* Cores beyond the lines there can be are in the range around all of them. */
static void add_each_core(struct plot *p, struct plot_panel *panel, size_t at, const struct host *h)
{
        panel->n_cores = MAX(panel->n_cores, MIN(h->n_cores, (size_t)PLOT_GPUS_MAX));
        for (size_t i = 0; i < MIN(h->n_cores, (size_t)PLOT_GPUS_MAX); i++) {
                struct curve *c = curve_at(p, &panel->gpus[i]);
                if (c)
                        curve_add(c, at, h->cores[i].util);
        }
}

/* A GPU's metrics that are also known of a level; missing for all others. */
static struct value level_gpu_value(enum metric metric, const struct level_gpu *g)
{
        if (metric == METRIC_GPU_UTIL)
                return g->util;
        if (metric == METRIC_MEM_COPY_UTIL)
                return g->mem_copy_util;
        return metric == METRIC_FB_USED ? g->memory : value_missing(STATE_NONE);
}

/* What all do on the GPUs gives way to what the level does. */
static void begin_level(struct plot_panel *panel)
{
        panel->from_level = true;
        if (panel->all)
                *panel->all = (struct curve){0};
        for (size_t i = 0; i < PLOT_GPUS_MAX; i++) {
                if (panel->gpus[i])
                        *panel->gpus[i] = (struct curve){0};
        }
}

static struct curve *curve_of_label(struct plot *p, struct plot_panel *panel, const char *label)
{
        for (size_t i = 0; panel->each && i < p->n_gpus; i++) {
                if (strcmp(p->gpus[i].label, label) == 0)
                        return curve_at(p, &panel->gpus[i]);
        }
        return NULL;
}

static void add_level_gpus(struct plot *p, struct plot_panel *panel, const struct host *h,
                           const struct level_state *l, size_t at)
{
        for (size_t i = 0; i < h->n_gpus; i++) {
                struct value v = level_gpu_value((enum metric)panel->choice.what, &l->gpus[i]);
                if (!panel->from_level && !value_is_set(v))
                        continue;
                if (!panel->from_level)
                        begin_level(panel);
                struct curve *all = curve_at(p, &panel->all);
                struct curve *one = curve_of_label(p, panel, h->gpus[i]);
                if (all)
                        curve_add(all, at, v);
                if (one)
                        curve_add(one, at, v);
        }
}

static bool of_host(enum subject subject)
{
        return subject != SUBJECT_METRIC && subject != SUBJECT_USER;
}

int plot_add_host(struct plot *p, const struct host *h)
{
        size_t at;
        if (h->wall_ns < -WALL_MAX || !plot_place_of(p, phase_moment_of_host(h), &at))
                return 0;
        const struct level_state *l = level_of(p, h);
        p->host_ticks++;
        for (size_t k = 0; p->options.level_gpus && l && k < p->n_panels; k++) {
                if (p->panels[k].choice.subject == SUBJECT_METRIC)
                        add_level_gpus(p, &p->panels[k], h, l, at);
        }
        for (size_t k = 0; k < p->n_panels; k++) {
                struct plot_panel *panel = &p->panels[k];
                struct curve *c;
                if (!of_host(panel->choice.subject) || !(c = curve_at(p, &panel->all)))
                        continue;
                if (panel->choice.subject == SUBJECT_CORES && panel->each) {
                        add_cores(c, at, h, &h->levels[LEVEL_SYSTEM]);
                        add_each_core(p, panel, at, h);
                } else if (panel->choice.subject == SUBJECT_CORES)
                        add_cores(c, at, h, l);
                else
                        curve_add(c, at, host_value(&panel->choice, h, l));
                if (panel->limited && (c = curve_at(p, &panel->limit)))
                        curve_add(c, at, host_value(&panel->limit_choice, h, l));
        }
        return p->failed ? -ENOMEM : 0;
}

int plot_add_user(struct plot *p, int64_t wall_ns, size_t which, double v)
{
        size_t at;
        /* Numbers before the first tick and after the last have no place on the axis. */
        if (!p->started || wall_ns > p->end_ns || !plot_place_of(p, wall_ns, &at))
                return 0;
        for (size_t k = 0; k < p->n_panels; k++) {
                struct plot_panel *panel = &p->panels[k];
                struct curve *c;
                if (panel->choice.subject != SUBJECT_USER || panel->choice.what != which)
                        continue;
                if ((c = curve_at(p, &panel->all)))
                        curve_add(c, at, value_ok(v));
        }
        return p->failed ? -ENOMEM : 0;
}
