#include "compute/apart.h"

#include "base/attr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TO_SIGMA 1.4826 /* a normal distribution's deviation, of its median deviation */
#define SIGMAS 5
#define COUNT_SIGMAS 4
#define APART 2 /* how many times as far out as the farthest of the others */
#define MANY 16 /* with that many ranks, one does not move their middle */

static int compare_doubles(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;
        return (x > y) - (x < y);
}

double job_median(double *v, size_t n)
{
        if (n == 0)
                return 0;
        if (n > 1)
                qsort(v, n, sizeof(*v), compare_doubles);
        return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

struct middle {
        double median, sigma;
        size_t n;
};

/* but: the one that is left out; n for none. */
static struct middle middle_of(const double *v, size_t n, size_t but, double *scratch)
{
        struct middle m = {0};
        for (size_t i = 0; i < n; i++) {
                if (i != but && !isnan(v[i]))
                        scratch[m.n++] = v[i];
        }
        m.median = job_median(scratch, m.n);
        for (size_t i = 0; i < m.n; i++)
                scratch[i] = fabs(scratch[i] - m.median);
        m.sigma = TO_SIGMA * job_median(scratch, m.n);
        return m;
}

double job_others(const double *v, size_t n, size_t but)
{
        double *scratch = malloc((n + 1) * sizeof(*scratch));
        if (!scratch)
                return NAN;
        struct middle m = middle_of(v, n, but, scratch);
        free(scratch);
        return m.n > 0 ? m.median : NAN;
}

/* How far a value is out on the side asked for; negative: not at all. */
static double distance_beyond(const double *v, size_t n, size_t i, int sign, double least,
                              const struct middle *all, double *scratch)
{
        if (isnan(v[i]))
                return -1;
        struct middle m = n > MANY ? *all : middle_of(v, n, i, scratch);
        double excess = sign * (v[i] - m.median);
        return m.n > 0 && excess >= MAX(least, SIGMAS * m.sigma) ? excess : -1;
}

size_t job_outliers_in(const double *v, size_t n, int sign, double least, bool *out,
                       double *scratch)
{
        size_t count = 0, most = MAX(n / 4, (size_t)1);
        memset(out, 0, n * sizeof(*out));
        struct middle all = middle_of(v, n, n, scratch);
        double nearest = 0, least_out = INFINITY;
        for (size_t i = 0; i < n; i++) {
                double excess = distance_beyond(v, n, i, sign, least, &all, scratch);
                out[i] = excess >= 0;
                count += out[i];
                if (out[i])
                        least_out = MIN(least_out, excess);
                else if (!isnan(v[i]))
                        nearest = MAX(nearest, sign * (v[i] - all.median));
        }
        /* With two ranks, each is the other's measure. */
        if (count > most || (n > 2 && least_out < APART * nearest)) {
                memset(out, 0, n * sizeof(*out));
                return 0;
        }
        return count;
}

size_t job_outliers(const double *v, size_t n, int sign, double least, bool *out)
{
        double *scratch = malloc((n + 1) * sizeof(*scratch));
        memset(out, 0, n * sizeof(*out));
        size_t count = scratch ? job_outliers_in(v, n, sign, least, out, scratch) : 0;
        free(scratch);
        return count;
}

bool job_more_often(double times, double others, size_t n)
{
        /* What was not seen may happen all the same: half of one more. */
        double usual = n > 0 ? (others + 0.5) / (double)n : 0;
        return times > usual + COUNT_SIGMAS * sqrt(usual);
}
