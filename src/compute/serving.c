#include "compute/serving.h"

#include "base/attr.h"
#include "base/clock.h"

#include <math.h>

/* How many of an interval's were in a bucket or below it; negative when a counter fell. */
static double histogram_growth(const struct serving_histogram *before,
                               const struct serving_histogram *now, size_t bucket)
{
        return now->buckets[bucket].count - before->buckets[bucket].count;
}

/* Buckets that only grew, up to one that holds all. */
static bool histograms_compare(const struct serving_histogram *before,
                               const struct serving_histogram *now)
{
        double last = 0;
        if (now->n == 0 || before->n != now->n)
                return false;
        for (size_t i = 0; i < now->n; i++) {
                double grown = histogram_growth(before, now, i);
                if (before->buckets[i].most != now->buckets[i].most || grown < last)
                        return false;
                last = grown;
        }
        return last > 0;
}

/* As Prometheus does: evenly over the bucket that it lies in; beyond the last bound, that bound. */
static struct value histogram_quantile(const struct serving_histogram *before,
                                       const struct serving_histogram *now, double share)
{
        if (!histograms_compare(before, now))
                return value_missing(STATE_BLANK);
        double rank = share * histogram_growth(before, now, now->n - 1), below = 0, least = 0;
        size_t i = 0;
        while (i + 1 < now->n && histogram_growth(before, now, i) < rank) {
                below = histogram_growth(before, now, i);
                least = now->buckets[i++].most;
        }
        double most = now->buckets[i].most, inside = histogram_growth(before, now, i) - below;
        if (isinf(most))
                return i > 0 ? value_ok(least) : value_missing(STATE_BLANK);
        return value_ok(inside > 0 ? least + (most - least) * (rank - below) / inside : most);
}

static struct value histogram_mean(const struct serving_histogram *before,
                                   const struct serving_histogram *now)
{
        struct value sum = value_rate(now->sum, before->sum, 1);
        struct value count = value_rate(now->count, before->count, 1);
        if (!value_is_set(sum) || !value_is_set(count))
                return value_missing((enum state)(value_is_set(sum) ? count.state : sum.state));
        return count.v > 0 ? value_ok(sum.v / count.v) : value_missing(STATE_BLANK);
}

static void compute_times(const struct serving_reading *before, const struct serving_reading *now,
                          struct value v[SERVING_COUNT])
{
        for (enum serving_time i = 0; i < SERVING_TIME_COUNT; i++) {
                struct serving_time_figures f = serving_time_figures(i);
                const struct serving_histogram *a = &before->times[i], *b = &now->times[i];
                v[f.mean] = histogram_mean(a, b);
                if (f.median != SERVING_NONE)
                        v[f.median] =
                            value_is_set(v[f.mean]) ? histogram_quantile(a, b, 0.5) : v[f.mean];
                if (f.high != SERVING_NONE)
                        v[f.high] =
                            value_is_set(v[f.mean]) ? histogram_quantile(a, b, 0.95) : v[f.mean];
        }
}

/* Whether tokens are counted when their request ends, and not as they are generated: then many come
 * in one interval and none in the next. */
static bool counts_at_end(enum engine_kind kind)
{
        return kind == ENGINE_LLAMACPP || kind == ENGINE_TGI;
}

/* Little's law: so many are under way as come a second times how long each takes. */
static struct value serving_batch(enum engine_kind kind, const struct value v[SERVING_COUNT])
{
        if (counts_at_end(kind))
                return value_missing(STATE_UNSUPPORTED);
        struct value tokens = v[SERVING_OUTPUT], each = v[SERVING_ITL];
        if (value_is_set(tokens) && tokens.v == 0)
                return tokens;
        if (!value_is_set(tokens) || !value_is_set(each))
                return value_missing(
                    (enum state)(value_is_set(tokens) ? each.state : tokens.state));
        return value_ok(tokens.v * each.v);
}

void serving_compute(const struct serving_reading *before, const struct serving_reading *now,
                     struct serving *ret)
{
        static const struct serving_reading nothing;
        /* Another engine took the address: what it counts has nothing to do with the one before. */
        bool same = before && before->kind == now->kind && now->mono_ns > before->mono_ns;
        if (!same)
                before = &nothing;
        ret->mono_ns = now->mono_ns;
        ret->interval_ns = same ? now->mono_ns - before->mono_ns : 0;
        double seconds = same ? clock_to_seconds(ret->interval_ns) : 1;
        for (enum serving_figure i = 0; i < SERVING_COUNT; i++) {
                const struct metric_info *info = serving_info(i);
                if (info->kind == METRIC_KIND_RATE)
                        ret->v[i] = value_rate(now->v[info->of], before->v[info->of], seconds);
                else if (info->kind != METRIC_KIND_DERIVED)
                        ret->v[i] = now->v[i];
        }
        compute_times(before, now, ret->v);
        ret->v[SERVING_BATCH] = serving_batch(now->kind, ret->v);
}
