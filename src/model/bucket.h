/* What came in a part of a time, so that neither peaks nor the mean are lost; and which metrics are
 * worth a curve of them. */
#pragma once

#include "model/metric.h"

#include <stddef.h>
#include <stdint.h>

struct bucket {
        float min, max, sum;
        uint32_t n; /* values; the others mean nothing when it is 0 */
};

void bucket_add(struct bucket *b, double v);
void bucket_join(struct bucket *to, const struct bucket *more);
struct bucket buckets_join(const struct bucket *list, size_t n);
/* Two become one each; the second half of the list is empty then. n is even. */
void buckets_halve(struct bucket *list, size_t n);
/* NAN when it is empty. */
double bucket_mean(const struct bucket *b);
