/* From the frames of a session to what is compared. */
#include "base/attr.h"
#include "base/clock.h"
#include "base/list.h"
#include "compute/ranks/ranks.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUSY 0.5  /* of a tick: it counts for clocks and links */
#define IDLE 0.05 /* less is none */
#define WORKS 0.2
#define HELD_BYTES 3e8 /* a context takes more; an idle GPU's driver less */
#define MIB 1048576.0
#define SAVE_RATE 20e6 /* bytes a second; logs are less */
#define SAVE_BYTES 1e8

static struct job_gpu *gpu_of(struct job_fold *fold, const struct entity *e)
{
        for (size_t i = 0; i < fold->n; i++) {
                if (fold->gpus[i].slot == e->slot)
                        return &fold->gpus[i];
        }
        if (fold->n == JOB_FOLD_GPUS)
                return NULL;
        struct job_gpu *g = &fold->gpus[fold->n++];
        g->slot = e->slot;
        snprintf(g->label, sizeof(g->label), "%s", e->label);
        return g;
}

/* Errors that cost time: corrected ones in great number, replaced rows, packets sent again. */
static void add_errors(struct job_gpu *g, const struct value *m)
{
        static const enum metric errors[] = {
            METRIC_ECC_SBE_VOLATILE,       METRIC_ECC_DBE_VOLATILE, METRIC_REMAPPED_CORRECTABLE,
            METRIC_REMAPPED_UNCORRECTABLE, METRIC_RETIRED_SBE,      METRIC_RETIRED_DBE};
        double sum = 0;
        bool any = false;
        for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
                any |= value_is_set(m[errors[i]]);
                sum += value_or(m[errors[i]], 0);
        }
        g->remap |= value_or(m[METRIC_REMAP_PENDING], 0) > 0 ||
                    value_or(m[METRIC_REMAP_FAILURE], 0) > 0 ||
                    value_or(m[METRIC_MEMORY_UNREPAIRABLE], 0) > 0;
        if (!any)
                return;
        if (!g->has_errors)
                g->errors_first = sum;
        g->has_errors = true;
        g->errors_last = sum;
}

static void add_busy(struct job_gpu *g, const struct value *m)
{
        struct value gen = m[METRIC_PCIE_GEN], lanes = m[METRIC_PCIE_WIDTH];
        uint64_t bits = (uint64_t)value_or(m[METRIC_THROTTLE_REASONS], 0);
        g->busy++;
        if (value_is_set(m[METRIC_SM_CLOCK])) {
                g->clock += m[METRIC_SM_CLOCK].v;
                g->clocks++;
        }
        if (value_is_set(gen) && value_is_set(lanes)) {
                g->generation += gen.v;
                g->lanes += lanes.v;
                g->links++;
        }
        if (value_is_set(m[METRIC_POWER_LIMIT])) {
                g->limit += m[METRIC_POWER_LIMIT].v;
                g->limits++;
        }
        for (size_t i = 0; i < JOB_BITS_MAX; i++)
                g->bits[i] += (bits >> i) & 1;
}

static int64_t pause_length(const struct job_pause *p)
{
        return p->end_ns - p->begin_ns;
}

/* The longest are kept. */
static void add_pause(struct job_pause *list, size_t *n, struct job_pause p)
{
        size_t at = *n;
        if (at == JOB_PAUSES_MAX) {
                at = 0;
                for (size_t i = 1; i < JOB_PAUSES_MAX; i++)
                        at = pause_length(&list[i]) < pause_length(&list[at]) ? i : at;
                if (pause_length(&list[at]) >= pause_length(&p))
                        return;
        } else {
                ++*n;
        }
        list[at] = p;
}

/* A checkpoint or a result: much is written for some time. */
static void add_write(struct job_gpu *g, struct value rate, int64_t now_ns, int64_t before_ns)
{
        if (value_or(rate, 0) >= SAVE_RATE && before_ns) {
                g->save.begin_ns = g->save.begin_ns ? g->save.begin_ns : before_ns;
                g->save.end_ns = now_ns;
                g->saved += rate.v * clock_to_seconds(now_ns - before_ns);
                return;
        }
        if (g->saved >= SAVE_BYTES)
                add_pause(g->saves, &g->n_saves, g->save);
        g->save = (struct job_pause){0};
        g->saved = 0;
}

static void add_time(struct job_gpu *g, double engine, int64_t now_ns, int64_t before_ns)
{
        if (engine >= IDLE) {
                g->first_ns = g->first_ns ? g->first_ns : now_ns;
                g->last_ns = now_ns;
        }
        if (engine < IDLE && g->n_work > 0 && g->idle_since_ns == 0)
                g->idle_since_ns = before_ns;
        if (engine < WORKS)
                return;
        g->n_work++;
        if (g->idle_since_ns)
                add_pause(g->pauses, &g->n_pauses, (struct job_pause){g->idle_since_ns, before_ns});
        g->idle_since_ns = 0;
}

static void add_pid(struct job_gpu *g, int32_t pid)
{
        for (size_t i = 0; i < g->n_pids; i++) {
                if (g->pids[i] == pid)
                        return;
        }
        if (g->n_pids < JOB_PIDS_MAX)
                g->pids[g->n_pids++] = pid;
}

static void fold_add_row(struct job_fold *fold, const struct row *row, const struct frame *f)
{
        const struct value *m = row->sample.m;
        struct job_gpu *g = gpu_of(fold, row->sample.who);
        struct value engine =
            value_is_set(m[METRIC_GR_ACTIVE]) ? m[METRIC_GR_ACTIVE] : m[METRIC_GPU_UTIL];
        if (!g)
                return;
        g->ticks++;
        if (!g->held_ns && value_or(m[METRIC_FB_USED], 0) > HELD_BYTES)
                g->held_ns = f->wall_ns;
        add_errors(g, m);
        if (!value_is_set(engine))
                return;
        if (engine.v >= BUSY)
                add_busy(g, m);
        add_time(g, engine.v, f->wall_ns, fold->tick_ns ? fold->tick_ns : f->wall_ns);
}

void job_fold_frame(struct job_fold *fold, const struct frame *f)
{
        for (size_t i = 0; i < f->n; i++)
                fold_add_row(fold, &f->rows[i], f);
        /* Processes of a recording have the label of their GPU, and no slot. */
        for (size_t i = 0; i < f->processes.n; i++) {
                const struct process *p = &f->processes.list[i];
                for (size_t k = 0; !p->child && k < fold->n; k++) {
                        if (strcmp(fold->gpus[k].label, p->gpu) != 0)
                                continue;
                        add_pid(&fold->gpus[k], p->pid);
                        fold->gpus[k].holders++;
                }
        }
        fold->tick_ns = f->wall_ns;
}

/* Every second point is left out when there are too many: each has all of the time before it. */
static void thin_out(struct job_own *own)
{
        for (size_t i = 0; i < JOB_CPU_POINTS / 2; i++) {
                own->at_ns[i] = own->at_ns[2 * i];
                own->cpu_s[i] = own->cpu_s[2 * i];
        }
        own->n = JOB_CPU_POINTS / 2;
        own->fold = 2 * MAX(own->fold, (size_t)1);
}

static void add_cpu(struct job_own *own, double cores, int64_t now_ns)
{
        if (own->last_ns)
                own->cpu += cores * clock_to_seconds(now_ns - own->last_ns);
        own->last_ns = now_ns;
        if (++own->part < own->fold)
                return;
        if (own->n == JOB_CPU_POINTS)
                thin_out(own);
        own->at_ns[own->n] = now_ns;
        own->cpu_s[own->n++] = own->cpu;
        own->part = 0;
}

static void add_memory(struct job_own *own, double bytes, int64_t now_ns)
{
        for (size_t i = 0; i < JOB_GROWTH_MAX && bytes >= MIB * pow(2, (double)i / 2); i++) {
                if (!own->grown_ns[i])
                        own->grown_ns[i] = now_ns;
        }
}

static void add_writes(struct job_fold *fold, const struct host *h)
{
        for (size_t i = 0; i < h->n_gpus; i++) {
                for (size_t k = 0; k < fold->n; k++) {
                        if (strcmp(fold->gpus[k].label, h->gpus[i]) == 0)
                                add_write(&fold->gpus[k], h->evidence[i].e[EVIDENCE_WRITE],
                                          h->wall_ns, fold->host_ns);
                }
        }
        fold->host_ns = h->wall_ns;
}

void job_fold_host(struct job_fold *fold, const struct host *h)
{
        const struct level_state *own = &h->levels[LEVEL_PROCESS];
        add_writes(fold, h);
        if (!own->asked || !own->present)
                return;
        if (value_is_set(own->f[FIGURE_CPU]))
                add_cpu(&fold->own, own->f[FIGURE_CPU].v, h->wall_ns);
        add_memory(&fold->own, value_or(own->f[FIGURE_RSS], 0), h->wall_ns);
        for (size_t i = 0; i < h->n_gpus; i++) {
                const struct level_gpu *use = &own->gpus[i];
                for (size_t k = 0; value_or(use->memory, 0) > 0 && k < fold->n; k++) {
                        struct job_gpu *g = &fold->gpus[k];
                        if (strcmp(g->label, h->gpus[i]) != 0)
                                continue;
                        g->own++;
                        g->own_ns = g->own_ns ? g->own_ns : h->wall_ns;
                }
        }
}

/* ---- curves ---- */

static float mean_of(const struct stretch_bucket *b, enum ceiling c)
{
        return b->weight[c] > 0 ? b->sum[c] / b->weight[c] : NAN;
}

static float add_up(float sum, float v)
{
        if (isnan(v))
                return sum;
        return isnan(sum) ? v : sum + v;
}

static float work_of(const struct stretch_bucket *b)
{
        static const enum ceiling parts[] = {CEILING_TENSOR, CEILING_FP64, CEILING_FP32,
                                             CEILING_FP16,   CEILING_INT,  CEILING_DRAM};
        float sum = NAN;
        for (size_t i = 0; i < ARRAY_LEN(parts); i++)
                sum = add_up(sum, mean_of(b, parts[i]));
        return sum;
}

/* While no kernels ran. */
static float mean_in_gaps(const struct stretch_bucket *b, enum ceiling c)
{
        size_t i = c - STRETCH_HOST_FIRST;
        return b->gap_weight[i] > 0 ? b->gap[i] / b->gap_weight[i] : NAN;
}

/* A worker that loads data may be the one that is waited for. */
static float thread_in_gaps(const struct stretch_bucket *b)
{
        float thread = mean_in_gaps(b, CEILING_CPU_THREAD);
        float children = mean_in_gaps(b, CEILING_CPU_CHILDREN);
        return children > thread ? MIN(children, 1) : thread;
}

static void take_bucket(const struct stretch_track *t, const struct stretch_bucket *b, float *to)
{
        float in = mean_of(b, CEILING_PCIE_IN), out = mean_of(b, CEILING_PCIE_OUT);
        to[JOB_ENGINE] = mean_of(b, CEILING_ENGINE);
        to[JOB_SM] = mean_of(b, CEILING_SM);
        to[JOB_WORK] = work_of(b);
        to[JOB_POWER] = mean_of(b, CEILING_POWER) * (float)t->power_limit;
        to[JOB_CLOCK] = mean_of(b, CEILING_CLOCK);
        to[JOB_LINK] = isnan(in) || out > in ? out : in;
        to[JOB_HOLDERS] = mean_of(b, CEILING_HOLDERS);
        to[JOB_THREAD] = mean_of(b, CEILING_CPU_THREAD);
        to[JOB_GAP_THREAD] = thread_in_gaps(b);
        to[JOB_CPU] = add_up(mean_of(b, CEILING_CPU_MAIN), mean_of(b, CEILING_CPU_CHILDREN));
        to[JOB_IO_WAIT] = mean_of(b, CEILING_IO_WAIT);
        to[JOB_STORAGE] = mean_of(b, CEILING_STORAGE);
}

int job_take_track(const struct stretches *s, const char *label, struct job_rank *ret)
{
        const struct stretch_track *t = NULL;
        struct job_track *to = &ret->track;
        float v[JOB_FIGURE_COUNT];
        for (size_t i = 0; i < s->n && !t; i++)
                t = strcmp(s->tracks[i].label, label) == 0 ? &s->tracks[i] : NULL;
        if (!t)
                return 0;
        to->start_ns = s->first_wall_ns;
        to->width_ns = s->width_ns;
        to->n = MIN((size_t)((s->last_ns - s->first_ns) / s->width_ns) + 1, s->n_buckets);
        ret->clock_max = t->clock_max > 0 ? value_ok(t->clock_max) : value_missing(STATE_NONE);
        if (t->use.worked_ns != INT64_MAX)
                ret->use.work_ns = s->first_wall_ns + (t->use.worked_ns - s->first_ns);
        for (size_t i = 0; i < JOB_FIGURE_COUNT; i++) {
                to->v[i] = malloc(to->n * sizeof(float));
                if (!to->v[i])
                        return -ENOMEM;
        }
        for (size_t k = 0; k < to->n; k++) {
                take_bucket(t, &t->buckets[k], v);
                for (size_t i = 0; i < JOB_FIGURE_COUNT; i++)
                        to->v[i][k] = v[i];
        }
        return 0;
}

/* ---- steps ---- */

static struct job_series *series_for(struct job_rank *r, const char *name)
{
        for (size_t i = 0; i < r->n_series; i++) {
                if (strcmp(r->series[i].name, name) == 0)
                        return &r->series[i];
        }
        if (r->n_series == JOB_SERIES_MAX)
                return NULL;
        struct job_series *s = &r->series[r->n_series];
        *s = (struct job_series){.fold = 1};
        snprintf(s->name, sizeof(s->name), "%s", name);
        r->n_series++;
        return s;
}

static void fold_steps(struct job_series *s)
{
        for (size_t i = 0; i < s->n / 2; i++) {
                s->begin_s[i] = s->begin_s[2 * i];
                s->seconds[i] = s->seconds[2 * i] + s->seconds[2 * i + 1];
        }
        s->n /= 2;
        s->fold *= 2;
}

int job_add_step(struct job_rank *r, const char *name, double begin_s, double seconds)
{
        struct job_series *s = series_for(r, name);
        if (!s)
                return 0;
        if (s->n > 0 && s->part < s->fold) {
                s->seconds[s->n - 1] += (float)seconds;
                s->part++;
                return 0;
        }
        if ((s->n & (s->n - 1)) == 0 && s->n < JOB_STEPS_MAX && s->fold == 1) {
                size_t room = s->n ? 2 * s->n : 1;
                if (!list_resize(&s->begin_s, room, sizeof(*s->begin_s)) ||
                    !list_resize(&s->seconds, room, sizeof(*s->seconds)))
                        return -ENOMEM;
        }
        if (s->n == JOB_STEPS_MAX)
                fold_steps(s);
        s->begin_s[s->n] = begin_s;
        s->seconds[s->n++] = (float)seconds;
        s->part = 1;
        return 0;
}
