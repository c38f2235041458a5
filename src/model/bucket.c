#include "model/bucket.h"

#include <math.h>
#include <string.h>

void bucket_add(struct bucket *b, double v)
{
        bucket_join(b, &(struct bucket){(float)v, (float)v, (float)v, 1});
}

void bucket_join(struct bucket *to, const struct bucket *more)
{
        if (more->n == 0)
                return;
        to->min = to->n == 0 || more->min < to->min ? more->min : to->min;
        to->max = to->n == 0 || more->max > to->max ? more->max : to->max;
        to->sum += more->sum;
        to->n += more->n;
}

struct bucket buckets_join(const struct bucket *list, size_t n)
{
        struct bucket sum = {0};
        for (size_t i = 0; i < n; i++)
                bucket_join(&sum, &list[i]);
        return sum;
}

void buckets_halve(struct bucket *list, size_t n)
{
        for (size_t i = 0; i < n / 2; i++)
                list[i] = buckets_join(&list[2 * i], 2);
        memset(list + n / 2, 0, n / 2 * sizeof(*list));
}

double bucket_mean(const struct bucket *b)
{
        return b->n > 0 ? (double)b->sum / b->n : NAN;
}
