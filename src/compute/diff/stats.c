#include "compute/diff/stats.h"

#include "base/attr.h"

#include <math.h>

static double mean_of(const double *v, size_t n)
{
        double sum = 0;
        for (size_t i = 0; i < n; i++)
                sum += v[i];
        return n > 0 ? sum / (double)n : 0;
}

/* How much a number resembles the one so far before it, -1 to 1. */
static double autocorrelation(const double *v, size_t n, double mean, size_t lag)
{
        double both = 0, all = 0;
        for (size_t i = 0; i < n; i++) {
                all += (v[i] - mean) * (v[i] - mean);
                both += i >= lag ? (v[i] - mean) * (v[i - lag] - mean) : 0;
        }
        return all > 0 ? both / all : 0;
}

/*
 * The best length for a first-order process of this correlation: it grows with the cube root of n.
 * The estimate is too small for short series, which Kendall's correction mends.
 */
static double length_for(double r, size_t n)
{
        r = MIN(r + (1 + 3 * r) / (double)n, 0.97);
        double a = 2 * r / (1 - r * r);
        return r > 0 ? cbrt(a * a * (double)n) : 1;
}

#define LAGS_MAX 64

/* Slow waves that the nearest neighbour alone does not show: where the correlation dies out. */
static size_t correlation_reach(const double *v, size_t n, double mean)
{
        double least = 2 / sqrt((double)n);
        size_t lag = 1;
        while (lag < LAGS_MAX && lag < n / 4 && autocorrelation(v, n, mean, lag) > least)
                lag++;
        return lag;
}

/* Twice the length that makes the error of the error smallest: too short a block makes the interval
 * too narrow, too long a one only a little wider. */
static size_t stats_block(const double *v, size_t n)
{
        double mean = mean_of(v, n);
        double length = MAX(length_for(autocorrelation(v, n, mean, 1), n),
                            (double)correlation_reach(v, n, mean));
        length = MAX(length > 1 ? 2 * length : 1, (double)n / 8);
        return (size_t)MAX(2, MIN(ceil(length), floor((double)n / 3)));
}

/* The variance of means of all blocks that begin anywhere, around and around. */
static double block_variance(const double *v, size_t n, size_t b, double mean)
{
        double sum = 0, square = 0;
        for (size_t i = 0; i < b; i++)
                sum += v[i];
        for (size_t i = 0; i < n; i++) {
                double d = sum / (double)b - mean;
                square += d * d;
                sum += v[(i + b) % n] - v[i];
        }
        return square / (double)n;
}

struct estimate stats_mean(const double *v, size_t n)
{
        struct estimate e = {.mean = mean_of(v, n), .se = -1, .df = 1, .n = n};
        if (n < STATS_LEAST)
                return e;
        size_t b = stats_block(v, n);
        double blocks = (double)n / (double)b;
        /* k blocks are drawn; k - 1 of them are independent of the mean. */
        e.se = sqrt(block_variance(v, n, b, e.mean) / MAX(blocks - 1, 1));
        e.df = MAX(blocks - 1, 1);
        return e;
}

#define WARM_UP_SHARE 0.5 /* of all numbers at most */
#define WARM_UP_APART 0.1 /* so far from the rest is a warm-up's mean */

size_t stats_warm_up(const double *v, size_t n)
{
        size_t best = 0, most = (size_t)((double)n * WARM_UP_SHARE);
        double sum = 0, square = 0, least = INFINITY, all = mean_of(v, n) * (double)n;
        for (size_t i = n; i-- > 0;) {
                sum += v[i];
                square += v[i] * v[i];
                double k = (double)(n - i), mean = sum / k;
                double error = MAX(square / k - mean * mean, 0) / k;
                bool apart = i == 0 || fabs((all - sum) / (double)i - mean) > WARM_UP_APART * mean;
                if (i <= most && apart && error <= least) {
                        least = error;
                        best = i;
                }
        }
        return n >= STATS_LEAST ? best : 0;
}

double stats_t(double df)
{
        static const double table[] = {12.706, 4.303, 3.182, 2.776, 2.571,
                                       2.447,  2.365, 2.306, 2.262, 2.228};
        const double z = 1.959964, z3 = z * z * z, z5 = z3 * z * z;
        size_t n = ARRAY_LEN(table);
        if (!(df > 1))
                return table[0];
        if (df >= (double)n)
                return z + (z3 + z) / (4 * df) + (5 * z5 + 16 * z3 + 3 * z) / (96 * df * df);
        size_t i = (size_t)df;
        /* Nearly linear in 1 / df. */
        double low = 1 / (double)i, high = 1 / (double)(i + 1);
        double part = (low - 1 / df) / (low - high);
        return table[i - 1] + part * (table[i] - table[i - 1]);
}

/* The mean of runs, and the spread between them. */
static struct estimate estimate_between_runs(const struct estimate *e, size_t n,
                                             double *ret_variance)
{
        double sum = 0, square = 0, rounding = 0;
        for (size_t i = 0; i < n; i++) {
                sum += e[i].mean;
                rounding += e[i].rounding / (double)n;
        }
        double mean = sum / (double)n;
        for (size_t i = 0; i < n; i++)
                square += (e[i].mean - mean) * (e[i].mean - mean);
        *ret_variance = n > 1 ? square / (double)(n - 1) : 0;
        return (struct estimate){
            .mean = mean, .se = 0, .df = (double)n - 1, .n = n, .rounding = rounding};
}

static struct difference confidence_interval(double d, double se, double df)
{
        double width = stats_t(df) * se;
        return (struct difference){
            .d = d, .low = d - width, .high = d + width, .has_interval = true};
}

/* Welch's: both sides have repeats, each with a spread of its own. */
static struct difference by_repeats(double d, double va, size_t na, double vb, size_t nb)
{
        double a = va / (double)na, b = vb / (double)nb;
        double df = (double)(na + nb - 2);
        if (na < 2 || nb < 2) {
                /* The side without repeats is taken to vary like the other. */
                double v = na < 2 ? vb : va;
                a = v / (double)na;
                b = v / (double)nb;
                df = (double)(MAX(na, nb) - 1);
        } else if (a + b > 0) {
                df = (a + b) * (a + b) / (a * a / (double)(na - 1) + b * b / (double)(nb - 1));
        }
        struct difference ret = confidence_interval(d, sqrt(a + b), df);
        ret.by_repeats = true;
        return ret;
}

/* What the runs report themselves. */
static struct difference by_parts(double d, const struct estimate *a, const struct estimate *b,
                                  double run_spread)
{
        struct difference none = {.d = d};
        if (a->se < 0 || b->se < 0)
                return none;
        double va = a->se * a->se, vb = b->se * b->se, v = va + vb;
        double df = v > 0 ? v * v / (va * va / a->df + vb * vb / b->df) : 1e6;
        double own = stats_t(df) * sqrt(v), spread = stats_t(1e6) * M_SQRT2 * run_spread;
        double width = sqrt(own * own + spread * spread);
        return (struct difference){
            .d = d, .low = d - width, .high = d + width, .has_interval = true};
}

struct difference stats_compare(const struct estimate *base, size_t n_base,
                                const struct estimate *now, size_t n_now, double run_spread)
{
        double va, vb;
        struct estimate a = estimate_between_runs(base, n_base, &va),
                        b = estimate_between_runs(now, n_now, &vb);
        double d = b.mean - a.mean;
        if (n_base == 1 && n_now == 1)
                return by_parts(d, base, now, run_spread);
        struct difference x = by_repeats(d, va, n_base, vb, n_now);
        double least =
            stats_t(INFINITY) * sqrt(a.rounding / (double)n_base + b.rounding / (double)n_now);
        x.low = MIN(x.low, d - least);
        x.high = MAX(x.high, d + least);
        return x;
}
