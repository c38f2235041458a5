#include "serve/past.h"

#include "base/attr.h"
#include "base/clock.h"
#include "model/owner.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const enum metric metrics[PAST_COUNT] = {
#define BOTH(id) METRIC_##id,
#define LIVE(id) METRIC_##id,
#include "model/curves.def"
#undef BOTH
#undef LIVE
};

/* Buckets of one metric; the bucket of time t is at t % size when its stamp says so. */
struct ring {
        float *mean, *least, *most; /* least and most: coarse only */
        uint16_t *n;                /* samples in the bucket */
};

/* The limiter of most samples of a bucket, by a majority vote: a candidate and its lead. */
struct votes {
        uint8_t *limiter; /* enum limiter + 1; 0 for none */
        uint16_t *lead;
};

struct one {
        char key[OWNER_ID_MAX + 32];
        int64_t last[2]; /* newest time of the fine and the coarse ring */
        struct ring rings[2][PAST_COUNT];
        struct votes votes[2];
};

struct past {
        pthread_mutex_t lock;
        struct one *gpus[PAST_GPUS_MAX];
        size_t n;
};

static const size_t sizes[2] = {PAST_FINE, PAST_COARSE};
static const int64_t steps[2] = {NS_PER_S, 60 * NS_PER_S};

enum metric past_metric(enum past_metric m)
{
        return metrics[m];
}

struct past *past_open(void)
{
        struct past *p = calloc(1, sizeof(*p));
        if (p)
                pthread_mutex_init(&p->lock, NULL);
        return p;
}

static void free_one(struct one *o)
{
        for (size_t k = 0; o && k < 2; k++) {
                for (size_t m = 0; m < PAST_COUNT; m++) {
                        struct ring *r = &o->rings[k][m];
                        free(r->mean);
                        free(r->least);
                        free(r->most);
                        free(r->n);
                }
                free(o->votes[k].limiter);
                free(o->votes[k].lead);
        }
        free(o);
}

void past_close(struct past *p)
{
        if (!p)
                return;
        for (size_t i = 0; i < p->n; i++)
                free_one(p->gpus[i]);
        pthread_mutex_destroy(&p->lock);
        free(p);
}

static struct one *past_find(struct past *p, const char *key)
{
        for (size_t i = 0; i < p->n; i++) {
                if (strcmp(p->gpus[i]->key, key) == 0)
                        return p->gpus[i];
        }
        return NULL;
}

/* NULL when there are too many, or memory is short. */
static struct one *find_or_make(struct past *p, const char *key)
{
        struct one *o = past_find(p, key);
        if (o || p->n == PAST_GPUS_MAX)
                return o;
        o = calloc(1, sizeof(*o));
        if (!o)
                return NULL;
        snprintf(o->key, sizeof(o->key), "%s", key);
        o->last[0] = o->last[1] = -1;
        p->gpus[p->n++] = o;
        return o;
}

static bool make_ring(struct ring *r, size_t k)
{
        if (r->n)
                return true;
        r->mean = calloc(sizes[k], sizeof(*r->mean));
        r->least = k == 1 ? calloc(sizes[k], sizeof(*r->least)) : NULL;
        r->most = k == 1 ? calloc(sizes[k], sizeof(*r->most)) : NULL;
        uint16_t *n = calloc(sizes[k], sizeof(*n));
        if (r->mean && n && (k == 0 || (r->least && r->most))) {
                r->n = n;
                return true;
        }
        free(r->mean);
        free(r->least);
        free(r->most);
        free(n);
        *r = (struct ring){0};
        return false;
}

static void past_put(struct ring *r, size_t at, float v)
{
        uint16_t n = r->n[at];
        r->mean[at] = n == 0 ? v : r->mean[at] + (v - r->mean[at]) / (float)(n + 1);
        if (r->least) {
                r->least[at] = n == 0 ? v : MIN(r->least[at], v);
                r->most[at] = n == 0 ? v : MAX(r->most[at], v);
        }
        r->n[at] = n < UINT16_MAX ? n + 1 : n;
}

static bool make_votes(struct votes *v, size_t k)
{
        if (v->limiter)
                return true;
        uint8_t *limiter = calloc(sizes[k], sizeof(*limiter));
        v->lead = calloc(sizes[k], sizeof(*v->lead));
        if (limiter && v->lead) {
                v->limiter = limiter;
                return true;
        }
        free(limiter);
        free(v->lead);
        v->lead = NULL;
        return false;
}

static void vote_limiter(struct votes *v, size_t at, uint8_t limiter)
{
        if (v->lead[at] == 0)
                v->limiter[at] = limiter;
        if (v->limiter[at] == limiter)
                v->lead[at] += v->lead[at] < UINT16_MAX;
        else
                v->lead[at]--;
}

/* Empties the buckets between the newest time and this one. Time that goes back starts again. */
static void advance_ring(struct one *o, size_t k, int64_t t)
{
        bool is_new = o->last[k] < 0 || t < o->last[k] || t - o->last[k] >= (int64_t)sizes[k];
        for (size_t m = 0; m < PAST_COUNT && t != o->last[k]; m++) {
                uint16_t *n = o->rings[k][m].n;
                if (n && is_new)
                        memset(n, 0, sizes[k] * sizeof(*n));
                for (int64_t i = o->last[k] + 1; n && !is_new && i <= t; i++)
                        n[(uint64_t)i % sizes[k]] = 0;
        }
        struct votes *v = &o->votes[k];
        for (size_t i = 0; v->limiter && is_new && i < sizes[k]; i++)
                v->limiter[i] = v->lead[i] = 0;
        for (int64_t i = o->last[k] + 1; v->limiter && !is_new && i <= t; i++)
                v->limiter[(uint64_t)i % sizes[k]] = v->lead[(uint64_t)i % sizes[k]] = 0;
        o->last[k] = t;
}

void past_add(struct past *p, const char *key, const struct row *row, int64_t mono_ns)
{
        pthread_mutex_lock(&p->lock);
        struct one *o = find_or_make(p, key);
        for (size_t k = 0; o && k < 2; k++) {
                int64_t t = mono_ns / steps[k];
                advance_ring(o, k, t);
                for (size_t m = 0; m < PAST_COUNT; m++) {
                        struct value v = row->sample.m[metrics[m]];
                        if (v.state == STATE_OK && make_ring(&o->rings[k][m], k))
                                past_put(&o->rings[k][m], (uint64_t)t % sizes[k], (float)v.v);
                }
                if (make_votes(&o->votes[k], k))
                        vote_limiter(&o->votes[k], (uint64_t)t % sizes[k], row->limit.limiter + 1);
        }
        pthread_mutex_unlock(&p->lock);
}

/* The place of a time's bucket, or -1. */
static ssize_t bucket_of(const struct one *o, size_t k, int64_t t)
{
        bool kept = t >= 0 && t <= o->last[k] && t > o->last[k] - (int64_t)sizes[k];
        return kept ? (ssize_t)((uint64_t)t % sizes[k]) : -1;
}

bool past_read(struct past *p, const char *key, enum past_metric m, bool coarse, int64_t mono_ns,
               struct bucket *ret, size_t n)
{
        size_t k = coarse;
        pthread_mutex_lock(&p->lock);
        struct one *o = past_find(p, key);
        const struct ring *r = o ? &o->rings[k][m] : NULL;
        int64_t now = mono_ns / steps[k];
        memset(ret, 0, n * sizeof(*ret));
        for (size_t i = 0; r && r->n && i < n; i++) {
                ssize_t at = bucket_of(o, k, now - (int64_t)(n - 1 - i));
                if (at < 0 || r->n[at] == 0)
                        continue;
                ret[i] = (struct bucket){r->least ? r->least[at] : r->mean[at],
                                         r->most ? r->most[at] : r->mean[at], r->mean[at], 1};
        }
        pthread_mutex_unlock(&p->lock);
        return o != NULL;
}

bool past_read_limiters(struct past *p, const char *key, bool coarse, int64_t mono_ns, uint8_t *ret,
                        size_t n)
{
        size_t k = coarse;
        pthread_mutex_lock(&p->lock);
        const struct one *o = past_find(p, key);
        const struct votes *v = o ? &o->votes[k] : NULL;
        memset(ret, 0, n);
        for (size_t i = 0; v && v->limiter && i < n; i++) {
                ssize_t at = bucket_of(o, k, mono_ns / steps[k] - (int64_t)(n - 1 - i));
                ret[i] = at < 0 ? 0 : v->limiter[at];
        }
        pthread_mutex_unlock(&p->lock);
        return o != NULL;
}
