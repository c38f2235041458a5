#include "compute/summary.h"

#include "base/attr.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/num.h"
#include "compute/peaks.h"
#include "compute/stretches.h"
#include "model/throttle.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define GAP_FACTOR 10 /* a longer pause than that many ticks is not counted as the tick's */

/* What the last tick of an entity said. */
struct before {
        bool seen;
        bool away; /* since then it was present without a new value */
        int64_t mono_ns;
        double typical_s; /* a tick's length */
        struct value energy, power;
        double xids;      /* the driver's count of errors */
        double pending_j; /* power × time since the counter last moved */
};

/* ---- making ---- */

static int scope_for(struct summary *s, const char *name)
{
        for (size_t i = 1; i < s->n; i++) {
                if (strcmp(s->scopes[i].name, name) == 0)
                        return (int)i;
        }
        bool last = s->n == SCOPES_MAX - 1;
        if (s->n == SCOPES_MAX)
                return SCOPES_MAX - 1;
        if (!LIST_ONE_MORE(s->scopes, s->n))
                return -ENOMEM;
        s->scopes[s->n] = (struct scope){0};
        snprintf(s->scopes[s->n].name, PHASE_NAME_MAX, "%s", last ? "(other phases)" : name);
        return (int)s->n++;
}

int summary_init(struct summary *s, const struct phase *phases, size_t n, bool only_phases)
{
        *s = (struct summary){.phases = phases, .n_phases = n, .only_phases = only_phases};
        int order = phase_order_init(&s->order, phases, n);
        s->scopes = calloc(1, sizeof(*s->scopes));
        s->scope_of = calloc(n + 1, sizeof(*s->scope_of));
        if (!s->scopes || !s->scope_of || order < 0)
                return -ENOMEM;
        s->n = 1;
        for (size_t i = 0; i < n; i++) {
                int at = scope_for(s, phases[i].name);
                if (at < 0)
                        return at;
                struct scope *scope = &s->scopes[at];
                s->scope_of[i] = (uint8_t)at;
                scope->times++;
                scope->open |= phases[i].open;
        }
        return 0;
}

void summary_time_phases(struct summary *s)
{
        for (size_t i = 1; i < s->n; i++)
                s->scopes[i].seconds = 0;
        for (size_t i = 0; i < s->n_phases; i++) {
                double seconds = clock_to_seconds(s->phases[i].end_ns - s->phases[i].begin_ns);
                s->scopes[s->scope_of[i]].seconds += seconds;
        }
        for (size_t i = 1; s->only_phases && i < s->n; i++)
                s->scopes[0].seconds += s->scopes[i].seconds;
}

static void finish_gpu(struct gpu_summary *g)
{
        for (size_t i = 0; g && i < METRIC_COUNT; i++)
                spread_finish(&g->m[i]);
        free(g);
}

void summary_finish(struct summary *s)
{
        for (size_t i = 0; i < s->n; i++) {
                for (size_t k = 0; k < s->scopes[i].n; k++)
                        finish_gpu(s->scopes[i].gpus[k]);
                free(s->scopes[i].gpus);
                free(s->scopes[i].by_slot);
                level_summary_finish(&s->scopes[i].level);
        }
        free(s->scopes);
        free(s->scope_of);
        phase_order_finish(&s->order);
        free(s->before);
        stretch_list_finish(&s->limits);
        *s = (struct summary){0};
}

/* ---- adding ---- */

static bool reserve_slot(struct scope *scope, uint32_t slot)
{
        if (LIKELY(slot < scope->n_slots))
                return true;
        size_t n = MAX((size_t)slot + 1, 2 * scope->n_slots);
        if (!list_resize(&scope->by_slot, n, sizeof(*scope->by_slot)))
                return false;
        memset(scope->by_slot + scope->n_slots, 0, (n - scope->n_slots) * sizeof(*scope->by_slot));
        scope->n_slots = n;
        return true;
}

static struct gpu_summary *gpu_in(struct scope *scope, const struct entity *e)
{
        if (!reserve_slot(scope, e->slot))
                return NULL;
        if (LIKELY(scope->by_slot[e->slot] != NULL))
                return scope->by_slot[e->slot];
        if (!LIST_ONE_MORE(scope->gpus, scope->n))
                return NULL;
        struct gpu_summary *g = calloc(1, sizeof(*g));
        if (!g)
                return NULL;
        g->who = *e;
        scope->gpus[scope->n++] = scope->by_slot[e->slot] = g;
        return g;
}

static struct before *before_for(struct summary *s, uint32_t slot)
{
        if (LIKELY(slot < s->n_before))
                return &s->before[slot];
        size_t n = MAX((size_t)slot + 1, 2 * s->n_before);
        return LIST_EXTEND(s->before, s->n_before, n) ? &s->before[slot] : NULL;
}

/* What this tick adds, worked out once and added to every scope it belongs to. */
struct share {
        double seconds;
        double work_j; /* power × time, or time alone when the power is not known */
        bool has_power;
        bool counted; /* the counter will say how much it really was */
        uint64_t throttle;
        bool has_throttle;
        uint32_t xid; /* the newest, where the driver reported errors since the last tick */
        double xids;  /* how many; 0 where the source does not count */
};

/* A source that is out gives its last values again; nobody knows what happens meanwhile. */
static bool is_observed(const struct frame *f, const struct row *row)
{
        bool old = f->stale;
        for (size_t i = 0; !f->stale && i < METRIC_COUNT; i++) {
                if (row->sample.m[i].state == STATE_OK)
                        return true;
                old |= row->sample.m[i].state == STATE_STALE;
        }
        /* A source that answers without a value is not out. */
        return !old;
}

/* A source without a count reports its newest number over and over: that is one, seen once. */
static void share_xids(struct before *b, const struct sample *s, struct share *ret)
{
        struct value count = s->m[METRIC_XID_COUNT], last = s->m[METRIC_XID_LAST];
        if (last.state != STATE_OK || last.v <= 0)
                return;
        if (count.state == STATE_OK && count.v <= b->xids)
                return;
        ret->xid = (uint32_t)last.v;
        ret->xids = count.state == STATE_OK ? count.v - b->xids : 0;
        b->xids = count.state == STATE_OK ? count.v : b->xids;
}

static struct share share_of(struct before *b, const struct frame *f, const struct row *row)
{
        double passed = b->seen ? clock_to_seconds(f->mono_ns - b->mono_ns) : 0;
        /* Nobody knows what happened in a long pause. */
        if (b->typical_s > 0 && (b->away || passed > GAP_FACTOR * b->typical_s))
                passed = MIN(passed, b->typical_s);
        b->away = false;
        b->typical_s = b->typical_s > 0 ? 0.9 * b->typical_s + 0.1 * passed : passed;
        struct value bits = row->sample.m[METRIC_THROTTLE_REASONS];
        struct value power = row->sample.m[METRIC_POWER];
        b->power = value_is_set(power) ? power : b->power;
        struct share share = {.seconds = passed,
                              .work_j = passed * (value_or(b->power, 1)),
                              .counted = value_is_set(b->energy),
                              .has_power = value_is_set(b->power),
                              .has_throttle = value_is_set(bits),
                              .throttle = value_is_set(bits) ? num_whole(bits.v) : 0};
        b->seen = true;
        b->mono_ns = f->mono_ns;
        b->pending_j += share.counted ? share.work_j : 0;
        share_xids(b, &row->sample, &share);
        return share;
}

static void add_allocation(struct gpu_summary *g, const struct row *row, double seconds)
{
        struct value used = row->sample.m[METRIC_FB_USED], util = row->sample.m[METRIC_GPU_UTIL];
        bool allocated = value_is_set(used) && used.v >= LIMIT_HELD_BYTES;
        bool idle = row_use(row) == ROW_USE_IDLE;
        g->idle_s += idle ? seconds : 0;
        g->idle_allocated_s += idle && value_or(row_held(row, false), 0) > 0 ? seconds : 0;
        if (!value_is_set(used) || !value_is_set(util))
                return;
        g->allocated_unused_of++;
        g->allocated_unused += allocated && util.v <= SUMMARY_UNUSED;
}

/* A run that starts or has ended is idle too, but nobody waits. */
static void add_idleness(struct gpu_summary *g, bool idle, double seconds)
{
        g->worked |= !idle;
        g->lead_s += g->worked ? 0 : seconds;
        g->tail_s = idle ? g->tail_s + seconds : 0;
}

/* By itself, because nearly all the time of a report is spent here. */
NOINLINE static void add_values(struct spread *restrict to, const struct value *restrict m)
{
        for (size_t i = 0; i < METRIC_COUNT; i++) {
                /* An old value was counted when it was new. */
                if (m[i].state == STATE_OK)
                        spread_add(&to[i], m[i].v);
        }
}

NOINLINE static void count_values(struct spread *restrict to, const struct value *restrict m)
{
        for (size_t i = 0; i < METRIC_COUNT; i++) {
                if (m[i].state == STATE_OK)
                        spread_count(&to[i], m[i].v);
        }
}

/* Cycles of each pipe, of which FLOP/s are made when somebody says what the work is made of. */
static void add_pipes(struct gpu_summary *g, const struct sample *sample, double seconds)
{
        struct pipe_rate rates[FLOPS_PIPE_COUNT];
        pipe_rates(sample, rates);
        for (enum flops_pipe p = 0; p < FLOPS_PIPE_COUNT; p++) {
                double known = rates[p].known ? seconds : 0;
                g->pipes[p].lo += rates[p].lo * known;
                g->pipes[p].hi += rates[p].hi * known;
                g->pipes[p].seconds += known;
        }
}

static void summary_add_row(struct gpu_summary *g, const struct row *row, const struct share *share)
{
        g->samples++;
        g->seconds += share->seconds;
        g->class_s[row->verdict.workload] += share->seconds;
        g->newest = row->verdict.workload;
        g->health_s[row->health.state] += share->seconds;
        add_idleness(g, row_use(row) == ROW_USE_IDLE, share->seconds);
        g->findings |= row->health.findings;
        if (share->xid)
                integral_xids_add(g->xids, &g->n_xids, share->xid, share->xids);
        g->has_energy |= share->has_power || value_is_set(row->sample.m[METRIC_ENERGY]);
        if (share->counted)
                g->pending_j += share->work_j;
        else if (share->has_power)
                g->energy_j += share->work_j;
        g->has_throttle |= share->has_throttle;
        bool power = share->throttle & THROTTLE_BY_POWER;
        bool heat = share->throttle & THROTTLE_BY_HEAT_OR_HARDWARE;
        g->throttle_power_s += power ? share->seconds : 0;
        g->throttle_heat_s += heat ? share->seconds : 0;
        g->throttle_s += power || heat ? share->seconds : 0;
        add_allocation(g, row, share->seconds);
}

static void settle_time(struct summary *s, uint32_t slot, double factor)
{
        for (size_t i = 0; i < s->n; i++) {
                const struct scope *scope = &s->scopes[i];
                struct gpu_summary *g = slot < scope->n_slots ? scope->by_slot[slot] : NULL;
                if (!g)
                        continue;
                g->energy_j += g->pending_j * factor;
                g->pending_j = 0;
        }
        s->before[slot].pending_j = 0;
}

/* What is made of power × time that no counter confirms: the same, unless the power is not known.
 */
static double unconfirmed_seconds(const struct before *b)
{
        return value_is_set(b->power) ? 1 : 0;
}

/*
 * A counter may move every few seconds only: what it says is divided among the phases of that time
 * by their power × time. After a reset that is all there is to go by.
 */
static void count_energy(struct summary *s, uint32_t slot, struct value now)
{
        struct before *b = &s->before[slot];
        double moved = value_is_set(now) && value_is_set(b->energy) ? now.v - b->energy.v : 0;
        if (moved != 0 && b->pending_j > 0)
                settle_time(s, slot, moved > 0 ? moved / b->pending_j : unconfirmed_seconds(b));
        if (value_is_set(now))
                b->energy = now;
}

void summary_settle_energy(struct summary *s)
{
        for (size_t slot = 0; slot < s->n_before; slot++)
                settle_time(s, (uint32_t)slot, unconfirmed_seconds(&s->before[slot]));
}

/* How many phases of each scope hold at a moment. */
struct scope_counts {
        const struct summary *s;
        struct scope_cursor *c;
};

static void count_scope(void *arg, size_t phase, int by)
{
        const struct scope_counts *counts = arg;
        counts->c->active[counts->s->scope_of[phase]] += (size_t)by;
}

/* The scopes of a moment, each once: phases of one name may be nested. */
static size_t scopes_at(const struct summary *s, struct scope_cursor *c, int64_t moment_ns,
                        struct scope *ret[SCOPES_MAX])
{
        size_t n = 0;
        struct scope_counts counts = {s, c};
        phase_cursor_move(&c->at, &s->order, moment_ns, count_scope, &counts);
        if (!s->only_phases || c->at.active > 0)
                ret[n++] = &s->scopes[0];
        for (size_t i = 1; i < s->n; i++) {
                if (c->active[i] > 0)
                        ret[n++] = &s->scopes[i];
        }
        return n;
}

static int add_gpu(struct summary *s, const struct frame *f, size_t at, struct scope **scopes,
                   size_t n)
{
        const struct row *row = &f->rows[at];
        uint32_t slot = row->sample.who->slot;
        struct before *b = before_for(s, slot);
        if (!b)
                return -ENOMEM;
        if (!is_observed(f, row)) {
                b->away = b->seen;
                return 0;
        }
        struct share share = share_of(b, f, row);
        for (size_t k = 0; k < n; k++) {
                struct gpu_summary *g = gpu_in(scopes[k], row->sample.who);
                if (!g)
                        return -ENOMEM;
                summary_add_row(g, row, &share);
                if (s->means_only)
                        count_values(g->m, row->sample.m);
                else
                        add_values(g->m, row->sample.m);
                if (s->asks_flops)
                        add_pipes(g, &row->sample, share.seconds);
        }
        count_energy(s, slot, row->sample.m[METRIC_ENERGY]);
        return 0;
}

void summary_count_flops(struct scope *scope, enum flops_type type)
{
        for (size_t i = 0; type < FLOPS_COUNT && i < scope->n; i++) {
                struct gpu_summary *g = scope->gpus[i];
                const struct pipe_work *p = &g->pipes[flops_pipe(type)];
                const struct peak *peak = peak_find(g->who.text[ENTITY_TEXT_MODEL]);
                double seconds = p->seconds > 0 ? p->seconds : 1;
                struct flops f = flops_from(peak, type, p->lo / seconds, p->hi / seconds);
                g->flops = (struct flops_rated){.missing = flops_missing(type)};
                if (f.known && p->seconds > 0)
                        g->flops =
                            (struct flops_rated){.type = flops_name(type), .lo = f.lo, .hi = f.hi};
        }
}

bool summary_holds(const struct summary *s)
{
        return !s->only_phases || s->frames.at.active > 0;
}

int summary_add(struct summary *s, const struct frame *f)
{
        struct scope *scopes[SCOPES_MAX];
        size_t n = scopes_at(s, &s->frames, phase_moment(&s->clock, f), scopes);
        for (size_t i = 0; i < n; i++)
                scopes[i]->ticks++;
        for (size_t i = 0; i < f->n; i++) {
                int r = add_gpu(s, f, i, scopes, n);
                if (r < 0)
                        return r;
        }
        if (s->ticks == 0)
                s->first_ns = f->wall_ns;
        if (!s->only_phases)
                s->scopes[0].seconds = clock_to_seconds(f->wall_ns - s->first_ns);
        s->last_ns = f->wall_ns;
        s->ticks++;
        return 0;
}

void summary_add_level(struct summary *s, const struct host *host, enum level level)
{
        struct scope *scopes[SCOPES_MAX];
        const char *name = host->levels[level].name;
        size_t n = scopes_at(s, &s->hosts, phase_moment_of_host(host), scopes);
        s->level = level;
        /* A process that has ended is still the one that it was. */
        if (name[0] && (!s->level_name[0] || level != LEVEL_PROCESS || strchr(name, '(')))
                snprintf(s->level_name, sizeof(s->level_name), "%s", name);
        for (size_t i = 0; i < n; i++)
                level_summary_add(&scopes[i]->level, host, level);
}

static struct gpu_identity identity_of_gpu(const void *list, size_t i)
{
        struct gpu_summary *const *gpus = list;
        return gpu_identity_of(&gpus[i]->who);
}

void summary_name_gpus(struct summary *s, struct naming *ret)
{
        naming_make(ret, s->scopes[0].n, s->scopes[0].gpus, identity_of_gpu);
        for (size_t k = 0; k < s->n; k++) {
                for (size_t i = 0; i < s->scopes[k].n; i++) {
                        struct entity *e = &s->scopes[k].gpus[i]->who;
                        naming_put_entity(ret, e, e->label, sizeof(e->label));
                }
        }
}

/* The place of a GPU among those of the stretches, mostly the one where it is here, too. */
static size_t place_in_stretches(const struct stretch_list *list, const char *label, size_t guess)
{
        if (guess < list->n_gpus && strcmp(list->gpus[guess].label, label) == 0)
                return guess;
        size_t at = 0;
        while (at < list->n_gpus && strcmp(list->gpus[at].label, label) != 0)
                at++;
        return at;
}

/* As row_use() decides of a moment. */
static bool is_idle_stretch(const struct stretch *s)
{
        enum limiter limiter = (enum limiter)s->limit.limiter;
        struct value engine = ceiling_value(&s->limit.ceilings, CEILING_ENGINE);
        if (limiter_group(limiter) == LIMITER_GROUP_IDLE)
                return true;
        return limiter_side(limiter) == LIMITER_SIDE_HOST && value_is_set(engine) &&
               engine.v < LIMIT_ENGINE_NONE_DRIVER;
}

/* Without counters the classes of the ticks are unknown: then the stretches know in which time
 * nothing ran. */
static void add_idle_stretches(struct gpu_summary *g, const struct stretch_list *list,
                               const char *phase, size_t at)
{
        double idle_s = 0, held_s = 0;
        for (size_t i = 0; g->class_s[WORKLOAD_UNKNOWN] > 0 && i < list->n; i++) {
                const struct stretch *s = &list->list[i];
                struct value memory = ceiling_value(&s->limit.ceilings, CEILING_MEMORY);
                if (!gpu_set_has(&s->gpus, at) || (phase && strcmp(phase, s->phase) != 0) ||
                    !is_idle_stretch(s))
                        continue;
                idle_s += s->end_s - s->begin_s;
                if (s->limit.limiter != LIMITER_IDLE && value_or(memory, 0) >= LIMIT_HELD_BYTES)
                        held_s += s->end_s - s->begin_s;
        }
        g->idle_s = MAX(g->idle_s, MIN(idle_s, g->seconds));
        g->idle_allocated_s = MAX(g->idle_allocated_s, MIN(held_s, g->seconds));
}

void summary_limit(struct summary *s)
{
        for (size_t k = 0; k < s->n; k++) {
                struct scope *scope = &s->scopes[k];
                const char *phase = k > 0 ? scope->name : NULL;
                double seconds = k > 0 ? scope->seconds : s->limits.seconds;
                struct gpu_set all = {0};
                for (size_t i = 0; i < scope->n; i++) {
                        struct gpu_summary *g = scope->gpus[i];
                        size_t at = place_in_stretches(&s->limits, g->who.label, i);
                        struct gpu_set one = {0};
                        if (at == s->limits.n_gpus)
                                continue;
                        gpu_set_add(&one, at);
                        gpu_set_join(&all, &one);
                        findings_limit(&s->limits, phase, &one, seconds, &g->limited);
                        add_idle_stretches(g, &s->limits, phase, at);
                }
                findings_limit(&s->limits, phase, &all, seconds, &scope->limited);
        }
}
