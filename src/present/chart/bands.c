#include "present/chart/bands.h"

#include "base/attr.h"

#include <string.h>

#define NO_BAND BANDS_MAX

/* What lies in a lane so far. */
struct lane {
        int64_t end_ns;
        size_t last; /* its last band; NO_BAND for none */
};

static int free_lane(const struct lane lanes[BAND_LANES], int64_t begin_ns)
{
        for (int i = 0; i < BAND_LANES; i++) {
                if (lanes[i].end_ns <= begin_ns)
                        return i;
        }
        return -1;
}

/* Phases of one name look the same; names get their tints in the order they come. */
static uint8_t tint_of(const char *name, const char *seen[BAND_TINTS], size_t *n_seen)
{
        for (size_t i = 0; i < *n_seen; i++) {
                if (strcmp(seen[i], name) == 0)
                        return (uint8_t)i;
        }
        if (*n_seen < BAND_TINTS) {
                seen[*n_seen] = name;
                return (uint8_t)(*n_seen)++;
        }
        unsigned hash = 0;
        for (const char *s = name; *s; s++)
                hash = hash * 31 + (unsigned char)*s;
        return (uint8_t)(hash % BAND_TINTS);
}

static bool joins_band(const struct band *last, float from, float to, double least)
{
        return (double)(to - from) < least && (double)(from - last->to) < least &&
               (last->many || (double)(last->to - last->from) < least);
}

size_t bands_pack(const struct phase *phases, size_t n, int64_t from_ns, int64_t to_ns,
                  double least, struct band ret[BANDS_MAX])
{
        struct lane lanes[BAND_LANES];
        const char *seen[BAND_TINTS];
        size_t count = 0, n_seen = 0;
        double span = (double)(to_ns - from_ns);
        for (size_t i = 0; i < BAND_LANES; i++)
                lanes[i] = (struct lane){INT64_MIN, NO_BAND};
        for (size_t i = 0; i < n; i++) {
                const struct phase *p = &phases[i];
                int lane = free_lane(lanes, p->begin_ns);
                if (lane < 0 || p->end_ns <= from_ns || p->begin_ns >= to_ns)
                        continue;
                float from = (float)((double)(MAX(p->begin_ns, from_ns) - from_ns) / span);
                float to = (float)((double)(MIN(p->end_ns, to_ns) - from_ns) / span);
                struct lane *l = &lanes[lane];
                l->end_ns = MAX(p->end_ns, p->begin_ns + 1);
                uint8_t tint = tint_of(p->name, seen, &n_seen);
                if (l->last != NO_BAND && joins_band(&ret[l->last], from, to, least)) {
                        struct band *b = &ret[l->last];
                        b->to = to;
                        b->many = true;
                        if (b->name && strcmp(b->name, p->name) != 0)
                                b->name = NULL;
                        continue;
                }
                if (count == BANDS_MAX)
                        return count;
                l->last = count;
                ret[count++] = (struct band){from, to, (uint8_t)lane, tint, false, p->name};
        }
        return count;
}
