#include "present/tui/past.h"

#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void past_finish(struct past *p)
{
        free(p->processes);
        *p = (struct past){0};
}

static float *ring_place(struct ring *r, int64_t bucket)
{
        return &r->v[(uint64_t)bucket % RING_LEN];
}

void ring_put(struct ring *r, int64_t bucket, struct value v)
{
        bool is_new = r->last == 0 || bucket < r->last || bucket - r->last >= RING_LEN;
        int64_t from = is_new ? bucket - RING_LEN + 1 : r->last + 1;
        for (int64_t b = from; b < bucket; b++)
                *ring_place(r, b) = NAN;
        r->last = bucket;
        *ring_place(r, bucket) = value_is_set(v) ? (float)v.v : NAN;
}

double ring_most(const struct ring *r)
{
        double most = 0;
        for (size_t i = 0; r->last != 0 && i < RING_LEN; i++)
                most = isnan(r->v[i]) ? most : MAX(most, (double)r->v[i]);
        return most;
}

/* The largest from one bucket up to another; NAN when none is present. */
static float ring_largest(const struct ring *r, int64_t from, int64_t to)
{
        float most = NAN;
        for (int64_t b = MAX(from, r->last - RING_LEN + 1); b < to && b <= r->last; b++)
                most = fmaxf(most, r->v[(uint64_t)b % RING_LEN]);
        return most;
}

static void draw_block_column(struct canvas *c, int x, struct area a, double part, uint8_t fg)
{
        /* A little is not nothing; what is present at all has a line at its foot. */
        int eighths = MAX((int)lround(part * 8 * a.h), 1);
        for (int k = 0; k < a.h && eighths > 8 * k; k++)
                canvas_char(c, x, a.y + a.h - 1 - k,
                            (struct style){.fg = part > 0 ? fg : INK_FAINT},
                            0x2580u + (uint32_t)MIN(eighths - 8 * k, 8));
}

void ring_draw_span(const struct ring *r, int64_t until, int64_t buckets, double hi,
                    struct canvas *c, struct area a, uint8_t fg)
{
        int64_t first = until - buckets + 1;
        for (int i = 0; i < a.w && r->last != 0; i++) {
                int64_t from = first + i * buckets / a.w, to = first + (i + 1) * buckets / a.w;
                float v = ring_largest(r, from, MAX(to, from + 1));
                if (!isnan(v))
                        draw_block_column(c, a.x + i, a,
                                          hi > 0 ? MIN(MAX((double)v / hi, 0.0), 1.0) : 0, fg);
        }
}

void ring_draw(const struct ring *r, int64_t until, double hi, struct canvas *c, struct area a,
               uint8_t fg)
{
        int w = MIN(a.w, RING_LEN);
        ring_draw_span(r, until, w, hi, c, (struct area){a.x + a.w - w, a.y, w, a.h}, fg);
}

/* --- the host ------------------------------------------------------------------------------ */

static struct value share_of(struct value a, struct value b)
{
        return value_is_set(a) && value_is_set(b) ? value_ok(a.v / b.v) : value_missing(STATE_NONE);
}

static void see_gpus(struct past *p, const struct host *h)
{
        static const enum evidence of[GPU_RING_COUNT] = {
            [GPU_RING_CPU_MAIN] = EVIDENCE_CPU_MAIN,
            [GPU_RING_CPU_CHILDREN] = EVIDENCE_CPU_CHILDREN,
            [GPU_RING_READ] = EVIDENCE_READ,
            [GPU_RING_WRITE] = EVIDENCE_WRITE,
        };
        for (size_t i = 0; i < h->n_gpus; i++) {
                for (size_t k = 0; k < GPU_RING_COUNT; k++)
                        ring_put(&p->gpus[i][k], p->host_bucket, h->evidence[i].e[of[k]]);
        }
}

void past_see_host(struct past *p, const struct host *h)
{
        if (!h || h->wall_ns == p->host_ns)
                return;
        const struct value *s = h->system, *all = h->levels[LEVEL_SYSTEM].f;
        const struct value values[HOST_RING_COUNT] = {
            [HOST_RING_CPU] = host_cpu_busy(h),
            [HOST_RING_MEMORY] = share_of(s[SYSTEM_MEM_USED], s[SYSTEM_MEM_TOTAL]),
            [HOST_RING_READ] = all[FIGURE_READ],
            [HOST_RING_WRITE] = all[FIGURE_WRITE],
            [HOST_RING_RX] = s[SYSTEM_NET_RX],
            [HOST_RING_TX] = s[SYSTEM_NET_TX],
            [HOST_RING_PSI_CPU] = s[SYSTEM_PSI_CPU],
            [HOST_RING_PSI_MEMORY] = s[SYSTEM_PSI_MEMORY],
            [HOST_RING_PSI_IO] = s[SYSTEM_PSI_IO],
        };
        p->host_ns = h->wall_ns;
        p->host_bucket = h->wall_ns / NS_PER_S;
        for (size_t i = 0; i < HOST_RING_COUNT; i++)
                ring_put(&p->host[i], p->host_bucket, values[i]);
        see_gpus(p, h);
}

/* --- processes ----------------------------------------------------------------------------- */

/* The one of that process, or the one that was not seen for longest. */
static struct process_past *claim_process(struct past *p, const struct process *process)
{
        struct process_past *oldest = &p->processes[0];
        for (size_t i = 0; i < PAST_PROCESSES_MAX; i++) {
                struct process_past *at = &p->processes[i];
                if (at->seen != 0 && at->pid == process->pid && at->start_ns == process->start_ns)
                        return at;
                if (at->seen < oldest->seen)
                        oldest = at;
        }
        *oldest = (struct process_past){.pid = process->pid, .start_ns = process->start_ns};
        return oldest;
}

int past_see_processes(struct past *p, const struct process_list *list, int64_t wall_ns,
                       int64_t bucket_ns)
{
        if (!list || list->n == 0)
                return 0;
        if (!p->processes && !(p->processes = calloc(PAST_PROCESSES_MAX, sizeof(*p->processes))))
                return -ENOMEM;
        /* Times may count from 0, and 0 means none. */
        p->bucket = wall_ns / MAX(bucket_ns, (int64_t)1) + 1;
        for (size_t i = 0; i < MIN(list->n, (size_t)PAST_PROCESSES_MAX); i++) {
                struct process_past *at = claim_process(p, &list->list[i]);
                at->seen = p->bucket;
                ring_put(&at->cpu, p->bucket, list->list[i].cpu);
                if (!list->list[i].child)
                        ring_put(&at->util, p->bucket, list->list[i].sm_util);
        }
        return 0;
}

const struct process_past *past_of_process(const struct past *p, const struct process *process)
{
        for (size_t i = 0; p->processes && i < PAST_PROCESSES_MAX; i++) {
                const struct process_past *at = &p->processes[i];
                if (at->seen != 0 && at->pid == process->pid && at->start_ns == process->start_ns)
                        return at;
        }
        return NULL;
}
