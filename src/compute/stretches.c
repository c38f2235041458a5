#include "compute/stretches.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BUCKETS_FIRST 64
#define WIDTH_NS (NS_PER_S / 4)
#define GAP_FACTOR 10 /* a longer pause than that many ticks is not counted as the tick's */

static struct stretch_track *track_of(struct stretches *s, const struct entity *e, size_t hint)
{
        if (LIKELY(hint < s->n && s->tracks[hint].slot == e->slot))
                return &s->tracks[hint];
        for (size_t i = 0; i < s->n; i++) {
                if (s->tracks[i].slot == e->slot)
                        return &s->tracks[i];
        }
        return NULL;
}

static void add_bucket(struct stretch_bucket *to, const struct stretch_bucket *from)
{
        to->seconds += from->seconds;
        to->square += from->square;
        to->active += from->active;
        for (size_t i = 0; i < FLOPS_PIPE_COUNT; i++) {
                to->pipes[i].lo += from->pipes[i].lo;
                to->pipes[i].hi += from->pipes[i].hi;
                to->pipes[i].seconds += from->pipes[i].seconds;
        }
        for (size_t i = 0; i < CEILING_COUNT; i++) {
                to->sum[i] += from->sum[i];
                to->weight[i] += from->weight[i];
        }
        for (size_t i = 0; i < STRETCH_HOST_COUNT; i++) {
                to->gap[i] += from->gap[i];
                to->gap_weight[i] += from->gap_weight[i];
        }
}

/* Two buckets become one, in all tracks. */
static void halve_buckets(struct stretches *s)
{
        for (size_t k = 0; k < s->n; k++) {
                struct stretch_bucket *b = s->tracks[k].buckets;
                for (size_t i = 0; i < s->n_buckets / 2; i++) {
                        struct stretch_bucket both = b[2 * i];
                        add_bucket(&both, &b[2 * i + 1]);
                        b[i] = both;
                }
                memset(b + s->n_buckets / 2, 0, s->n_buckets / 2 * sizeof(*b));
        }
        s->width_ns *= 2;
        s->open_ns = INT64_MAX;
}

/* Another number of buckets for each GPU. False when there is no memory for more: then there are as
 * many as before. Fewer are always had: what is not given back stays unused. */
static bool resize_tracks(struct stretches *s, size_t n)
{
        for (size_t i = 0; i < s->n; i++) {
                struct stretch_bucket *b = realloc(s->tracks[i].buckets, n * sizeof(*b));
                if (!b && n > s->n_buckets)
                        return false;
                s->tracks[i].buckets = b ? b : s->tracks[i].buckets;
                if (n > s->n_buckets)
                        memset(b + s->n_buckets, 0, (n - s->n_buckets) * sizeof(*b));
        }
        s->n_buckets = n;
        return true;
}

/* Each GPU may have half as many buckets from now on. */
static void share_out(struct stretches *s)
{
        s->most /= 2;
        if (s->n_buckets <= s->most)
                return;
        if ((s->last_ns - s->first_ns) / s->width_ns >= (int64_t)s->most)
                halve_buckets(s);
        resize_tracks(s, s->most);
}

/* The bucket of a time; makes room for it. Nearly always that of the row before. */
static size_t bucket_for_time(struct stretches *s, int64_t mono_ns)
{
        if (LIKELY(mono_ns >= s->open_ns && mono_ns - s->open_ns < s->width_ns))
                return s->open;
        while ((mono_ns - s->first_ns) / s->width_ns >= (int64_t)s->n_buckets) {
                if (s->n_buckets >= s->most || !resize_tracks(s, 2 * s->n_buckets))
                        halve_buckets(s);
        }
        int64_t at = (mono_ns - s->first_ns) / s->width_ns;
        s->open = at < 0 ? 0 : (size_t)at;
        s->open_ns = s->first_ns + (int64_t)s->open * s->width_ns;
        return s->open;
}

static struct stretch_track *track_new(struct stretches *s, const struct entity *e)
{
        if ((s->n + 1) * s->most > STRETCH_BUCKETS_ALL)
                share_out(s);
        if (!LIST_ONE_MORE(s->tracks, s->n))
                return NULL;
        struct stretch_track *t = &s->tracks[s->n];
        *t = (struct stretch_track){.slot = e->slot,
                                    .use = FIRST_USE_START,
                                    .peak = peak_find(e->text[ENTITY_TEXT_MODEL]),
                                    .buckets = calloc(s->n_buckets, sizeof(*t->buckets))};
        if (!t->buckets)
                return NULL;
        snprintf(t->label, sizeof(t->label), "%s", e->label);
        memcpy(t->host, e->text[ENTITY_TEXT_HOST], sizeof(t->host));
        snprintf(t->id, sizeof(t->id), "%s", gpu_identity_of(e).id);
        s->n++;
        return t;
}

/* Each ceiling's bit, so that sums of all of them are vectors. */
static const uint64_t bits[CEILING_COUNT] = {
#define CEILING(id, name, unit, kind, help) CEILING_BIT(id),
#include "model/ceilings.def"
#undef CEILING
};

/* A ceiling that is not there is 0. */
static void add_tick(struct stretch_bucket *b, const struct ceilings *c, float seconds)
{
        float engine = c->v[CEILING_ENGINE];
        float gap = seconds * (engine < 1 ? 1 - engine : 0);
        b->seconds += seconds;
        b->square += seconds * engine * engine;
        b->active += ceilings_active(c) ? seconds : 0;
        for (size_t i = 0; i < CEILING_COUNT; i++) {
                b->sum[i] += seconds * c->v[i];
                b->weight[i] += c->present & bits[i] ? seconds : 0;
        }
        for (size_t i = 0; i < STRETCH_HOST_COUNT; i++) {
                b->gap[i] += gap * c->v[STRETCH_HOST_FIRST + i];
                b->gap_weight[i] += c->present & bits[STRETCH_HOST_FIRST + i] ? gap : 0;
        }
}

static void add_pipes(struct stretch_bucket *b, const struct sample *s, float seconds)
{
        struct pipe_rate rates[FLOPS_PIPE_COUNT];
        pipe_rates(s, rates);
        for (enum flops_pipe p = 0; p < FLOPS_PIPE_COUNT; p++) {
                b->pipes[p].lo += (float)rates[p].lo * seconds;
                b->pipes[p].hi += (float)rates[p].hi * seconds;
                b->pipes[p].seconds += rates[p].known ? seconds : 0;
        }
}

#define STALLS_JOIN_S 5.0 /* GPUs of one job stall, and continue, so close to each other */

static void note_stall(struct stretches *s, size_t gpu, double begin_s, double end_s)
{
        struct stretch_stall *at = NULL;
        for (size_t i = s->n_stalls; i-- > 0 && !at;) {
                if (begin_s <= s->stalls[i].end_s + STALLS_JOIN_S)
                        at = &s->stalls[i];
        }
        if (!at) {
                if (s->n_stalls == STALLS_MAX)
                        return;
                at = &s->stalls[s->n_stalls++];
                *at = (struct stretch_stall){.begin_s = begin_s};
        }
        at->begin_s = MIN(at->begin_s, begin_s);
        at->end_s = MAX(at->end_s, end_s);
        gpu_set_add(&at->gpus, gpu);
}

/* The rule for live sources. */
static void watch_stall(struct stretches *s, struct stretch_track *t, const struct frame *f,
                        const struct row *row)
{
        if (row->sample.who->kind != ENTITY_GPU || row_is_stale(row))
                return;
        struct value stalled =
            stall_add(&t->stall, &row->sample, t->has_evidence ? &t->evidence : NULL, f->mono_ns);
        double end_s = clock_to_seconds(f->mono_ns - s->first_ns);
        if (value_or(stalled, 0) > 0)
                note_stall(s, (size_t)(t - s->tracks), MAX(end_s - stalled.v, 0), end_s);
}

/* How long a tick was. Nobody knows what happened in a long pause. */
static double passed_since(struct stretch_track *t, int64_t mono_ns)
{
        double passed = t->seen ? clock_to_seconds(mono_ns - t->mono_ns) : 0;
        passed = passed > 0 ? passed : 0;
        if (t->typical_s > 0 && passed > GAP_FACTOR * t->typical_s)
                passed = t->typical_s;
        t->typical_s = t->typical_s > 0 ? 0.9 * t->typical_s + 0.1 * passed : passed;
        t->seen = true;
        t->mono_ns = mono_ns;
        return passed;
}

static void stretches_add_row(struct stretches *s, struct stretch_track *t, const struct frame *f,
                              const struct row *row)
{
        struct ceilings now;
        struct value clock = row->sample.m[METRIC_SM_CLOCK_MAX];
        struct value power = row->sample.m[METRIC_POWER_LIMIT];
        ceilings_take(&row->sample, t->peak, &now);
        if (t->has_evidence)
                ceilings_add_host(&t->evidence, &now);
        watch_stall(s, t, f, row);
        t->clock_max = value_or(clock, t->clock_max);
        t->power_limit = value_or(power, t->power_limit);
        t->link = MAX(t->link, link_speed(&row->sample, t->peak));
        t->at_rest = value_or(row->sample.m[METRIC_POWER_AT_REST], t->at_rest);
        double passed = passed_since(t, f->mono_ns);
        int64_t middle = f->mono_ns - clock_from_seconds(passed / 2);
        first_use_add(&t->use, &now, middle);
        floor_learn(&t->floor, &now, passed);
        t->counted = t->counted || (now.present & CEILINGS_PROFILING);
        if (passed <= 0)
                return;
        size_t at = bucket_for_time(s, middle);
        add_tick(&t->buckets[at], &now, (float)passed);
        if (s->has_flops || s->phase_flops)
                add_pipes(&t->buckets[at], &row->sample, (float)passed);
}

int stretches_add(struct stretches *s, const struct frame *f)
{
        if (!s->begun) {
                s->first_ns = f->mono_ns;
                s->open_ns = INT64_MAX;
                s->first_wall_ns = f->wall_ns;
                s->width_ns = WIDTH_NS;
                s->n_buckets = BUCKETS_FIRST;
                s->most = STRETCH_BUCKETS;
                s->begun = true;
        }
        s->last_ns = MAX(s->last_ns, f->mono_ns);
        size_t left_out = 0;
        for (size_t i = 0; i < f->n; i++) {
                const struct entity *e = f->rows[i].sample.who;
                struct stretch_track *t = track_of(s, e, i);
                if (!t && s->n == STRETCH_GPUS_MAX) {
                        left_out++;
                        continue;
                }
                if (!t)
                        t = track_new(s, e);
                if (!t)
                        return -ENOMEM;
                stretches_add_row(s, t, f, &f->rows[i]);
        }
        s->left_out = MAX(s->left_out, left_out);
        return 0;
}

void stretches_see_host(struct stretches *s, const struct host *host,
                        const struct process_list *processes)
{
        for (size_t i = 0; i < s->n; i++) {
                struct stretch_track *t = &s->tracks[i];
                evidence_take(host, t->label, processes, &t->evidence);
                t->has_evidence = true;
                enum framework framework = evidence_framework(&t->evidence);
                s->framework = framework ? framework : s->framework;
        }
}

void stretches_finish(struct stretches *s)
{
        for (size_t i = 0; i < s->n; i++)
                free(s->tracks[i].buckets);
        free(s->tracks);
        *s = (struct stretches){0};
}
