#include "present/chart/curve.h"

#include "base/attr.h"

#include <math.h>
#include <string.h>

#define VALUE_MAX 1e30 /* nothing that is measured is larger; sums of it fit a float */

void curve_add_range(struct curve *c, size_t at, double min, double mean, double max)
{
        /* Also true of what is not a number. */
        if (!(fabs(min) <= VALUE_MAX && fabs(mean) <= VALUE_MAX && fabs(max) <= VALUE_MAX)) {
                c->missing[at]++;
                return;
        }
        bucket_join(&c->b[at], &(struct bucket){(float)min, (float)max, (float)mean, 1});
        c->min = c->n == 0 || min < c->min ? min : c->min;
        c->max = c->n == 0 || max > c->max ? max : c->max;
        c->sum += mean;
        c->n++;
}

void curve_add(struct curve *c, size_t at, struct value v)
{
        if (value_is_set(v))
                curve_add_range(c, at, v.v, v.v, v.v);
        else
                c->missing[at]++;
}

void curve_halve(struct curve *c)
{
        buckets_halve(c->b, CURVE_BUCKETS);
        for (size_t i = 0; i < CURVE_BUCKETS / 2; i++)
                c->missing[i] = c->missing[2 * i] + c->missing[2 * i + 1];
        memset(c->missing + CURVE_BUCKETS / 2, 0, sizeof(c->missing) / 2);
}

/* Where the curve stands while it goes through the buckets. */
struct walk {
        bool missing;  /* a tick without a value came since the last value */
        bool any;      /* a value was seen */
        size_t last;   /* bucket of the last value */
        size_t column; /* of the dot being made */
};

static void put_dot(struct dot *d, const struct bucket *b, double x, bool up)
{
        *d = (struct dot){
            .x = (float)x, .min = b->min, .mean = b->sum / (float)b->n, .max = b->max, .up = up};
}

size_t curve_dots(const struct curve *c, const struct window *w, size_t columns, struct dot *ret)
{
        double span = w->to - w->from;
        size_t first = (size_t)MAX(w->from, 0), n = 0;
        size_t end = (size_t)MIN(ceil(w->to), CURVE_BUCKETS);
        struct bucket sum = {0};
        struct walk walk = {0};
        bool up = true;
        for (size_t i = first; i < end; i++) {
                const struct bucket *b = &c->b[i];
                double x = MIN(MAX(((double)i + 0.5 - w->from) / span, 0), 1);
                size_t column = MIN((size_t)(x * (double)columns), columns - 1);
                if (b->n == 0) {
                        walk.missing |= c->missing[i] > 0;
                        continue;
                }
                bool lift = !walk.any || walk.missing || (double)(i - walk.last) > w->gap;
                if (sum.n > 0 && (column != walk.column || lift)) {
                        put_dot(&ret[n++], &sum, ((double)walk.column + 0.5) / (double)columns, up);
                        sum = (struct bucket){0};
                        up = false;
                }
                up = up || lift;
                bucket_join(&sum, b);
                walk = (struct walk){.any = true, .last = i, .column = column};
                if (n == columns)
                        return n;
        }
        if (sum.n > 0 && n < columns)
                put_dot(&ret[n++], &sum, ((double)walk.column + 0.5) / (double)columns, up);
        return n;
}
