#include "compute/line_tally.h"

#include "base/attr.h"
#include "base/list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define CALL_MOSTLY 0.5 /* of a line's time: a call with less is not what it does */

int line_tally_add(struct line_tally *t, const struct line_samples *s)
{
        uint32_t hash = hash_text((const char *)&s->own, sizeof(s->own)), at;
        size_t step = 0;
        do {
                at = lookup_next(&t->by_own, hash, &step);
        } while (at != LOOKUP_END && t->lines[at].own != s->own);
        if (at == LOOKUP_END) {
                at = (uint32_t)t->n;
                if (!LIST_ROOM(t->lines, t->n, t->cap) || !lookup_put(&t->by_own, hash, at))
                        return -ENOMEM;
                t->lines[t->n++] = (struct line_sum){.own = s->own};
        }
        struct line_sum *l = &t->lines[at];
        l->n_samples += s->n_samples;
        l->seconds += s->seconds;
        if (s->seconds > l->inner_s) {
                l->inner = s->inner;
                l->called = s->called;
                l->call = s->call;
                l->inner_s = s->seconds;
        }
        t->seconds += s->seconds;
        t->n_samples += s->n_samples;
        return 0;
}

void line_tally_clear(struct line_tally *t)
{
        lookup_clear(&t->by_own);
        t->n = 0;
        t->seconds = 0;
        t->n_samples = 0;
}

void line_tally_finish(struct line_tally *t)
{
        free(t->lines);
        lookup_finish(&t->by_own);
        *t = (struct line_tally){0};
}

static int compare_lines(const void *a, const void *b)
{
        const struct line_sum *x = a, *y = b;
        if (x->seconds != y->seconds)
                return x->seconds < y->seconds ? 1 : -1;
        return (x->own > y->own) - (x->own < y->own);
}

size_t line_tally_places(struct line_tally *t, const struct stack_table *table,
                         struct where_place *ret)
{
        size_t n = 0;
        if (t->n_samples < WHERE_SAMPLES_MIN || t->n == 0)
                return 0;
        lookup_clear(&t->by_own); /* the lines move */
        qsort(t->lines, t->n, sizeof(*t->lines), compare_lines);
        for (size_t i = 0; i < t->n && n < WHERE_PLACES_MAX; i++) {
                const struct line_sum *l = &t->lines[i];
                double share = t->seconds > 0 ? l->seconds / t->seconds : 0;
                if (l->own == STACK_FRAME_NONE || l->n_samples < WHERE_LEAST_OF_PLACE ||
                    share < WHERE_LEAST_SHARE)
                        continue;
                struct where_place *p = &ret[n++];
                *p = (struct where_place){
                    .share = MIN(share, 1), .seconds = l->seconds, .n_samples = l->n_samples};
                where_fill_line(table, l->own, &p->own);
                where_fill_line(table, l->inner, &p->inner);
                where_fill_line(table, l->called, &p->called);
                if (l->inner_s >= CALL_MOSTLY * l->seconds)
                        snprintf(p->call, sizeof(p->call), "%s", stack_text(table, l->call));
        }
        return n;
}
