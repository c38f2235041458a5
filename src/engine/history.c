#include "engine/history.h"

#include "base/attr.h"
#include "base/list.h"
#include "compute/recent.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

/* One entity. The k-th sample is at k % samples in every ring. */
struct past {
        metric_set *present; /* which metrics had a value */
        float *rings[METRIC_COUNT];
        uint8_t (*said)[3]; /* class, limiter, held_by */
};

struct history {
        pthread_mutex_t lock;
        size_t samples;
        uint64_t first, next; /* samples first to next - 1 are kept */
        int64_t *times;
        struct past *pasts; /* by slot */
        size_t n;
};

struct history *history_open(size_t samples)
{
        struct history *h = calloc(1, sizeof(*h));
        if (!h)
                return NULL;
        h->samples = MIN(MAX(samples, (size_t)2), (size_t)HISTORY_SAMPLES_MAX);
        h->times = calloc(h->samples, sizeof(*h->times));
        if (!h->times) {
                free(h);
                return NULL;
        }
        pthread_mutex_init(&h->lock, NULL);
        return h;
}

void history_close(struct history *h)
{
        if (!h)
                return;
        for (size_t i = 0; i < h->n; i++) {
                free(h->pasts[i].present);
                free(h->pasts[i].said);
                for (size_t m = 0; m < METRIC_COUNT; m++)
                        free(h->pasts[i].rings[m]);
        }
        free(h->pasts);
        free(h->times);
        pthread_mutex_destroy(&h->lock);
        free(h);
}

/* A ring of that many with the newest of one of more. False when memory is short. */
static bool shrink_ring(const struct history *h, void *ring, size_t size, size_t samples)
{
        char **place = ring;
        if (!*place)
                return true;
        char *less = calloc(samples, size);
        if (!less)
                return false;
        for (uint64_t k = h->next > samples ? h->next - samples : 0; k < h->next; k++)
                memcpy(less + k % samples * size, *place + k % h->samples * size, size);
        free(*place);
        *place = less;
        return true;
}

static int shrink_history(struct history *h, size_t samples)
{
        bool fine = shrink_ring(h, &h->times, sizeof(*h->times), samples);
        for (size_t i = 0; fine && i < h->n; i++) {
                struct past *p = &h->pasts[i];
                fine = shrink_ring(h, &p->present, sizeof(*p->present), samples) &&
                       shrink_ring(h, &p->said, sizeof(*p->said), samples);
                for (size_t m = 0; fine && m < METRIC_COUNT; m++)
                        fine = shrink_ring(h, &p->rings[m], sizeof(float), samples);
        }
        h->samples = samples;
        h->first = MAX(h->first, h->next > samples ? h->next - samples : 0);
        return fine ? 0 : -ENOMEM;
}

/* Many GPUs have a shorter past each, so that all together take a bounded share of memory. */
static int fit_history(struct history *h, const struct frame *frame)
{
        size_t metrics = 0;
        for (size_t m = 0; frame->n > 0 && m < METRIC_COUNT; m++)
                metrics += frame->rows[0].sample.m[m].state == STATE_OK;
        size_t a_sample = frame->n * (sizeof(metric_set) + 3 + metrics * sizeof(float));
        size_t most = MAX((size_t)HISTORY_BYTES_MAX / MAX(a_sample, (size_t)1),
                          (size_t)HISTORY_SAMPLES_LEAST);
        return frame->n > HISTORY_FEW_GPUS && most < h->samples ? shrink_history(h, most) : 0;
}

static struct past *past_of(struct history *h, uint32_t slot)
{
        if (slot >= h->n && !LIST_EXTEND(h->pasts, h->n, MAX((size_t)slot + 1, h->n * 2)))
                return NULL;
        struct past *p = &h->pasts[slot];
        if (!p->present)
                p->present = calloc(h->samples, sizeof(*p->present));
        if (!p->said)
                p->said = calloc(h->samples, sizeof(*p->said));
        return p->present && p->said ? p : NULL;
}

static int history_add_row(struct history *h, const struct row *row, size_t at)
{
        struct past *p = past_of(h, row->sample.who->slot);
        if (!p)
                return -ENOMEM;
        metric_set present = 0;
        for (size_t m = 0; m < METRIC_COUNT; m++) {
                struct value v = row->sample.m[m];
                /* An old value was in the past already. */
                if (v.state != STATE_OK)
                        continue;
                if (!p->rings[m] && !(p->rings[m] = calloc(h->samples, sizeof(float))))
                        return -ENOMEM;
                p->rings[m][at] = (float)v.v;
                present |= (metric_set)1 << m;
        }
        p->present[at] = present;
        p->said[at][0] = (uint8_t)row->verdict.workload;
        p->said[at][1] = row->limit.limiter;
        p->said[at][2] = row->limit.held_by;
        return 0;
}

static int64_t time_of(const struct history *h, uint64_t k)
{
        return h->times[k % h->samples];
}

int history_push(struct history *h, const struct frame *frame)
{
        pthread_mutex_lock(&h->lock);
        int r = fit_history(h, frame);
        while (h->next > h->first && time_of(h, h->next - 1) >= frame->wall_ns)
                h->next--;
        size_t at = (size_t)(h->next % h->samples);
        for (size_t i = 0; r == 0 && i < h->n; i++) {
                if (h->pasts[i].present)
                        h->pasts[i].present[at] = 0;
        }
        h->times[at] = frame->wall_ns;
        for (size_t i = 0; r == 0 && i < frame->n; i++)
                r = history_add_row(h, &frame->rows[i], at);
        h->next++;
        h->first = MAX(h->first, h->next > h->samples ? h->next - h->samples : 0);
        pthread_mutex_unlock(&h->lock);
        return r;
}

/* The first sample at or after a time. Times only grow, so halving finds it. */
static uint64_t history_find(const struct history *h, int64_t wall_ns)
{
        uint64_t lo = h->first, hi = h->next;
        while (lo < hi) {
                uint64_t mid = lo + (hi - lo) / 2;
                if (time_of(h, mid) < wall_ns)
                        lo = mid + 1;
                else
                        hi = mid;
        }
        return lo;
}

static size_t next_place(const struct history *h, size_t at)
{
        return at + 1 < h->samples ? at + 1 : 0;
}

size_t history_copy(struct history *h, uint32_t slot, enum metric metric, int64_t from,
                    int64_t until, struct point *ret, size_t max)
{
        size_t n = 0;
        pthread_mutex_lock(&h->lock);
        uint64_t lo = history_find(h, from),
                 hi = history_find(h, until < INT64_MAX ? until + 1 : until);
        if (hi - lo > max)
                lo = hi - max;
        if (slot < h->n && h->pasts[slot].rings[metric]) {
                const struct past *p = &h->pasts[slot];
                const float *ring = p->rings[metric];
                for (size_t at = lo % h->samples; n < hi - lo; at = next_place(h, at))
                        ret[n++] =
                            (struct point){h->times[at], ring[at], p->present[at] >> metric & 1};
        }
        pthread_mutex_unlock(&h->lock);
        return n;
}

/* Likewise for class and limiter. */
static size_t history_verdicts(struct history *h, uint32_t slot, int64_t from, int64_t until,
                               struct said *ret, size_t max)
{
        size_t n = 0;
        pthread_mutex_lock(&h->lock);
        uint64_t lo = history_find(h, from),
                 hi = history_find(h, until < INT64_MAX ? until + 1 : until);
        if (hi - lo > max)
                lo = hi - max;
        if (slot < h->n && h->pasts[slot].said) {
                const struct past *p = &h->pasts[slot];
                for (size_t at = lo % h->samples; n < hi - lo; at = next_place(h, at))
                        ret[n++] = (struct said){h->times[at], p->said[at][0], p->said[at][1],
                                                 p->said[at][2], p->present[at] != 0};
        }
        pthread_mutex_unlock(&h->lock);
        return n;
}

bool history_before(struct history *h, int64_t wall_ns, int64_t *ret)
{
        pthread_mutex_lock(&h->lock);
        uint64_t k = history_find(h, wall_ns);
        bool present = k > h->first;
        if (present)
                *ret = time_of(h, k - 1);
        pthread_mutex_unlock(&h->lock);
        return present;
}

/* The time of the oldest sample that is kept; false while there is none. */
static bool history_since(struct history *h, int64_t *ret)
{
        pthread_mutex_lock(&h->lock);
        bool present = h->next > h->first;
        if (present)
                *ret = time_of(h, h->first);
        pthread_mutex_unlock(&h->lock);
        return present;
}

static size_t copy_of(void *arg, uint32_t slot, enum metric metric, int64_t from, int64_t until,
                      struct point *ret, size_t max)
{
        return history_copy(arg, slot, metric, from, until, ret, max);
}

static size_t verdicts_of(void *arg, uint32_t slot, int64_t from, int64_t until, struct said *ret,
                          size_t max)
{
        return history_verdicts(arg, slot, from, until, ret, max);
}

static bool since_of(void *arg, int64_t *ret)
{
        return history_since(arg, ret);
}

#define RECENT_MAX 512

static bool recent_at(void *arg, uint32_t slot, int64_t now_ns, struct recent *ret)
{
        struct said said[RECENT_MAX];
        size_t n = history_verdicts(arg, slot, now_ns - RECENT_NS, now_ns, said, RECENT_MAX);
        return recent_of(said, n, now_ns, ret);
}

struct trends history_trends(struct history *h)
{
        return (struct trends){
            .arg = h, .copy = copy_of, .said = verdicts_of, .since = since_of, .recent = recent_at};
}
