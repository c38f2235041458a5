#include "base/suggest.h"

#include "base/attr.h"

#include <string.h>

#define WORD_MAX 64
/* A shorter beginning is shared by too many names. */
#define PREFIX_MIN 3

/* Edits (insert, delete, replace, swap neighbours) between two words; words over 64 bytes are
 * compared by their start. */
static size_t suggest_distance(const char *a, const char *b)
{
        size_t na = strnlen(a, WORD_MAX), nb = strnlen(b, WORD_MAX);
        size_t rows[3][WORD_MAX + 1];
        for (size_t j = 0; j <= nb; j++)
                rows[0][j] = j;
        for (size_t i = 1; i <= na; i++) {
                size_t *row = rows[i % 3], *above = rows[(i + 2) % 3];
                const size_t *before = rows[(i + 1) % 3];
                row[0] = i;
                for (size_t j = 1; j <= nb; j++) {
                        size_t replace = above[j - 1] + (a[i - 1] != b[j - 1]);
                        row[j] = MIN(MIN(above[j], row[j - 1]) + 1, replace);
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                                row[j] = MIN(row[j], before[j - 2] + 1);
                }
        }
        return rows[na % 3][nb];
}

/* How far a word may be from what is meant: a letter, or every third one. */
static size_t max_distance(const char *word)
{
        size_t n = strnlen(word, WORD_MAX);
        return n < 2 ? 0 : MAX(n / 3, (size_t)1);
}

static size_t distance_of(const char *word, const char *name)
{
        size_t n = strnlen(word, WORD_MAX);
        if (n >= PREFIX_MIN && strncmp(word, name, n) == 0)
                return 1;
        return suggest_distance(word, name);
}

const char *suggest_nearest(const char *word, const char *(*candidate)(size_t i, const void *arg),
                            const void *arg)
{
        const char *best = NULL;
        size_t best_distance = max_distance(word) + 1;
        for (size_t i = 0;; i++) {
                const char *name = candidate(i, arg);
                if (!name)
                        return best;
                size_t distance = distance_of(word, name);
                if (distance < best_distance) {
                        best = name;
                        best_distance = distance;
                }
        }
}
