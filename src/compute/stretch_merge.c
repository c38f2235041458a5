#include "compute/stretch_merge.h"

#include "base/attr.h"
#include "base/clock.h"
#include "compute/ceilings.h"
#include "compute/stretch_work.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define CUT_LONGER 1.3   /* the shortest length grows by this while there are too many */
#define CUT_MOST 24      /* stretches of a GPU */
#define CUT_MOST_LONG 48 /* of a run that is longer than an hour */
#define CUT_SLIVER_S 1   /* what is shorter between two boundaries is not reported */
#define CUT_FLOOR 0.1    /* a difference of a share below which nothing has changed */
#define CUT_HOST 0.4     /* what a difference of the host counts beside one of the GPU */

double stretch_bucket_mean(const struct stretch_bucket *b, enum ceiling at)
{
        return b->weight[at] > 0 ? (double)(b->sum[at] / b->weight[at]) : 0;
}

static double capped_ratio(double v, double full)
{
        return v < full ? v / full : 1;
}

double bucket_link(const struct stretch_bucket *b)
{
        double link = capped_ratio(stretch_bucket_mean(b, CEILING_PCIE_RATE), PCIE_FASTEST);
        for (enum ceiling i = CEILING_PCIE_IN; i <= CEILING_NVLINK_OUT; i++)
                link = MAX(link, stretch_bucket_mean(b, i));
        return link;
}

static void bucket_features(const struct stretch_bucket *b, double ret[F_COUNT])
{
        static const enum ceiling pipes[] = {CEILING_FP64, CEILING_FP32, CEILING_FP16, CEILING_INT};
        ret[F_ENGINE] = stretch_bucket_mean(b, CEILING_ENGINE);
        ret[F_SM] = stretch_bucket_mean(b, CEILING_SM);
        ret[F_TENSOR] = stretch_bucket_mean(b, CEILING_TENSOR);
        ret[F_DRAM] = stretch_bucket_mean(b, CEILING_DRAM);
        ret[F_PIPE] = 0;
        ret[F_LINK] = bucket_link(b);
        ret[F_CODEC] = 0;
        for (enum ceiling i = CEILING_DECODER; i <= CEILING_JPEG; i++)
                ret[F_CODEC] = MAX(ret[F_CODEC], stretch_bucket_mean(b, i));
        for (size_t i = 0; i < ARRAY_LEN(pipes); i++)
                ret[F_PIPE] = MAX(ret[F_PIPE], stretch_bucket_mean(b, pipes[i]));
        double thread = b->weight[CEILING_CPU_THREAD] > 0
                            ? stretch_bucket_mean(b, CEILING_CPU_THREAD)
                            : stretch_bucket_mean(b, CEILING_CPU_MAIN);
        ret[F_THREAD] = CUT_HOST * capped_ratio(thread, 1);
        ret[F_CHILDREN] = CUT_HOST * capped_ratio(stretch_bucket_mean(b, CEILING_CPU_CHILDREN), 4);
        ret[F_IO] = CUT_HOST * capped_ratio(stretch_bucket_mean(b, CEILING_IO_WAIT), 1);
        ret[F_HELD] = CUT_HOST * (stretch_bucket_mean(b, CEILING_MEMORY) >= LIMIT_HELD_BYTES);
        ret[F_STORAGE] = CUT_HOST * capped_ratio(stretch_bucket_mean(b, CEILING_STORAGE), 1e9);
}

/* Kept, because a segment is weighed against others more often than it changes. */
static void settle_means(struct seg *s)
{
        for (size_t k = 0; k < F_COUNT; k++) {
                s->mean[k] = s->sum[k] / s->w;
                s->variance[k] = s->square[k] / s->w - s->mean[k] * s->mean[k];
        }
}

static void weigh_pair(struct merging *m, size_t i)
{
        if (i + 1 >= m->n)
                return;
        const struct seg *a = m->segs[i], *b = m->segs[i + 1];
        double distance = 0;
        bool same = true;
        for (size_t k = 0; k < F_COUNT; k++) {
                double d = a->mean[k] - b->mean[k];
                double within = MIN(a->variance[k], b->variance[k]);
                same &= d * d <= MAX(within, CUT_FLOOR * CUT_FLOOR);
                distance += d * d;
        }
        m->cost[i] = distance * a->w * b->w / (a->w + b->w);
        m->same[i] = same;
}

void merging_join(struct merging *m, size_t i)
{
        struct seg *a = m->segs[i], *b = m->segs[i + 1];
        /* A sliver that crosses a boundary moves it to its own other side. */
        if (b->hard && a->w < b->w)
                a->hard = true;
        else if (b->hard && i + 2 < m->n)
                m->segs[i + 2]->hard = true;
        a->to = b->to;
        a->w += b->w;
        for (size_t k = 0; k < F_COUNT; k++) {
                a->sum[k] += b->sum[k];
                a->square[k] += b->square[k];
        }
        settle_means(a);
        size_t after = m->n - i - 2;
        memmove(&m->segs[i + 1], &m->segs[i + 2], after * sizeof(m->segs[0]));
        if (after > 0) {
                memmove(&m->cost[i + 1], &m->cost[i + 2], (after - 1) * sizeof(m->cost[0]));
                memmove(&m->price[i + 1], &m->price[i + 2], (after - 1) * sizeof(m->price[0]));
                memmove(&m->same[i + 1], &m->same[i + 2], (after - 1) * sizeof(m->same[0]));
        }
        m->n--;
        if (i > 0)
                weigh_pair(m, i - 1);
        weigh_pair(m, i);
}

/* Which pairs are to be joined: those that are the same, or of which one is too short. */
struct wish {
        double shortest_s; /* 0: those that are the same */
        bool across;       /* boundaries do not count */
};

/* A cost that is not a number comes last, but comes. Behind the last pair the price is infinite. */
static void set_price(struct merging *m, size_t i, struct wish wish)
{
        m->price[i] = INFINITY;
        if (i + 1 >= m->n)
                return;
        const struct seg *a = m->segs[i], *b = m->segs[i + 1];
        bool wanted = wish.shortest_s > 0 ? MIN(a->w, b->w) < wish.shortest_s : m->same[i];
        if (wanted && (wish.across || !b->hard))
                m->price[i] = m->cost[i] < DBL_MAX ? m->cost[i] : DBL_MAX;
}

#define GROUP 32 /* prices; STRETCH_BUCKETS is a multiple of it */

/* The lowest of a group of prices, by a loop without a branch. */
static double lowest_price(const double *price)
{
        double least[4] = {price[0], price[1], price[2], price[3]};
        for (size_t i = 4; i < GROUP; i += 4) {
                for (size_t k = 0; k < 4; k++)
                        least[k] = price[i + k] < least[k] ? price[i + k] : least[k];
        }
        return MIN(MIN(least[0], least[1]), MIN(least[2], least[3]));
}

/* The first of the lowest of n prices, n where all are infinite. It is asked before every join.
 * What follows the prices in their last group is infinite. */
static size_t cheapest_pair(const double *price, size_t n)
{
        double least = INFINITY;
        size_t at = 0;
        for (size_t i = 0; i < n; i += GROUP) {
                double cost = lowest_price(price + i);
                at = cost < least ? i : at;
                least = cost < least ? cost : least;
        }
        while (least < INFINITY && price[at] != least)
                at++;
        return least < INFINITY ? at : n;
}

/* Joins pairs that are wished for, the cheapest first, until there are none. */
static void join_all(struct merging *m, struct wish wish)
{
        size_t groups = (m->n + GROUP - 1) / GROUP;
        for (size_t i = 0; i < groups * GROUP; i++)
                set_price(m, i, wish);
        while (m->n > 1) {
                size_t best = cheapest_pair(m->price, m->n - 1);
                if (best == m->n - 1)
                        return;
                merging_join(m, best);
                if (best > 0)
                        set_price(m, best - 1, wish);
                set_price(m, best, wish);
                set_price(m, m->n - 1, wish);
        }
}

static void merge_segments(struct merging *m, double shortest_s)
{
        join_all(m, (struct wish){.shortest_s = shortest_s});
        join_all(m, (struct wish){0});
}

void merging_run(struct merging *m, double seconds)
{
        double shortest = MAX(CUT_SHORTEST_S, CUT_SHARE * seconds);
        size_t hard = 0, most = seconds > 3600 ? CUT_MOST_LONG : CUT_MOST;
        for (size_t i = 0; i < m->n; i++) {
                weigh_pair(m, i);
                hard += m->segs[i]->hard;
        }
        join_all(m, (struct wish){0});
        merge_segments(m, shortest);
        while (m->n > most + hard && shortest < seconds) {
                shortest *= CUT_LONGER;
                merge_segments(m, shortest);
        }
        join_all(m, (struct wish){.shortest_s = CUT_SLIVER_S, .across = true});
}

void merging_fill(struct merging *m, const struct stretches *s, const struct stretch_track *t)
{
        m->n = 0;
        for (size_t i = 0; i < s->n_buckets; i++) {
                double f[F_COUNT], w = (double)t->buckets[i].seconds;
                if (w <= 0)
                        continue;
                struct seg *seg = m->segs[m->n] = &m->all[m->n];
                m->n++;
                *seg = (struct seg){.from = i, .to = i + 1, .w = w};
                bucket_features(&t->buckets[i], f);
                for (size_t k = 0; k < F_COUNT; k++) {
                        seg->sum[k] = w * f[k];
                        seg->square[k] = w * f[k] * f[k];
                }
                settle_means(seg);
        }
}

void merging_cut_at(struct merging *m, size_t bucket)
{
        size_t i = 0;
        while (i < m->n && m->segs[i]->from < bucket)
                i++;
        if (i > 0 && i < m->n)
                m->segs[i]->hard = true;
}
