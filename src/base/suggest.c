#include "base/suggest.h"

#include "base/attr.h"

#include <string.h>

#define WORD_MAX 64

size_t suggest_distance(const char *a, const char *b)
{
        size_t na = strnlen(a, WORD_MAX), nb = strnlen(b, WORD_MAX);
        size_t row[WORD_MAX + 1];
        for (size_t j = 0; j <= nb; j++)
                row[j] = j;
        for (size_t i = 1; i <= na; i++) {
                size_t diagonal = row[0];
                row[0] = i;
                for (size_t j = 1; j <= nb; j++) {
                        size_t above = row[j];
                        size_t replace = diagonal + (a[i - 1] != b[j - 1]);
                        row[j] = MIN(MIN(above, row[j - 1]) + 1, replace);
                        diagonal = above;
                }
        }
        return row[nb];
}

const char *suggest_nearest(const char *word, const char *(*candidate)(size_t i, const void *arg),
                            const void *arg)
{
        const char *best = NULL;
        size_t best_distance = strnlen(word, WORD_MAX) / 3 + 2;
        for (size_t i = 0;; i++) {
                const char *name = candidate(i, arg);
                if (!name)
                        return best;
                size_t distance = suggest_distance(word, name);
                if (distance < best_distance) {
                        best = name;
                        best_distance = distance;
                }
        }
}
