#include "compute/line_maker.h"

#include "base/attr.h"
#include "base/list.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define SAMPLES_MIN 40 /* of main threads: fewer say nothing */
#define BLOCKS_LEAST 6 /* in which main threads were seen */

int line_maker_add(struct line_maker *m, const struct stack_table *table,
                   const struct stack_count *c, bool of_workers, size_t block)
{
        struct stack_place place = stack_find_place(table, c->stack);
        const uint32_t own = stack_node(table, place.own)->frame;
        const uint32_t inner = stack_node(table, place.inner)->frame;
        const uint32_t key[2] = {own, of_workers};
        uint32_t hash = hash_text((const char *)key, sizeof(key)), at;
        size_t step = 0;
        if (!of_workers) {
                m->n_samples += c->n_samples;
                m->seconds += c->seconds;
                m->blocks[block] += c->seconds;
        }
        if (own == STACK_FRAME_NONE)
                return 0;
        do {
                at = lookup_next(&m->by_line, hash, &step);
        } while (at != LOOKUP_END &&
                 (m->entries[at].own != own || m->entries[at].of_workers != of_workers));
        if (at == LOOKUP_END) {
                if (m->n == MAKER_ENTRIES_MAX)
                        return 0;
                at = (uint32_t)m->n;
                if (!LIST_ROOM(m->entries, m->n, m->cap) || !lookup_put(&m->by_line, hash, at))
                        return -ENOMEM;
                m->entries[m->n++] = (struct maker_entry){.own = own, .of_workers = of_workers};
        }
        struct maker_entry *e = &m->entries[at];
        e->n_samples += c->n_samples;
        e->seconds += c->seconds;
        e->blocks[block] += c->seconds;
        if (c->seconds > e->inner_s) {
                e->inner = inner;
                e->inner_s = c->seconds;
        }
        return 0;
}

static int compare_entries(const void *a, const void *b)
{
        const struct maker_entry *x = a, *y = b;
        if (x->of_workers != y->of_workers)
                return x->of_workers ? 1 : -1;
        if (x->seconds != y->seconds)
                return x->seconds < y->seconds ? 1 : -1;
        return (x->own > y->own) - (x->own < y->own);
}

/* How the pieces differ from the whole; no less than what so few samples allow. */
static double error_of(const struct line_maker *m, const struct maker_entry *e, double share)
{
        double sum = 0, n = 0, mean = 0;
        for (size_t i = 0; i < MAKER_BLOCKS; i++) {
                n += m->blocks[i] > 0;
                mean += m->blocks[i] / MAKER_BLOCKS;
        }
        for (size_t i = 0; i < MAKER_BLOCKS; i++) {
                double d = (e->blocks[i] - share * m->blocks[i]) / mean;
                sum += m->blocks[i] > 0 ? d * d : 0;
        }
        double few = share / sqrt((double)MAX(e->n_samples, (uint64_t)1));
        return MAX(sqrt(sum / (n - 1) / n), few);
}

static void fill_profile_line(const struct line_maker *m, const struct maker_entry *e,
                              const struct stack_table *table, struct profile_line *ret)
{
        const struct stack_frame *f = stack_frame(table, e->own);
        double share = e->seconds / m->seconds;
        *ret =
            (struct profile_line){.of_workers = e->of_workers,
                                  .offset = f->line > f->first_line ? f->line - f->first_line : 0,
                                  .share = share,
                                  .se = error_of(m, e, share),
                                  .n_samples = e->n_samples};
        where_fill_line(table, e->own, &ret->own);
        where_fill_line(table, e->inner, &ret->inner);
}

static bool has_enough(const struct line_maker *m)
{
        size_t blocks = 0;
        for (size_t i = 0; i < MAKER_BLOCKS; i++)
                blocks += m->blocks[i] > 0;
        return m->n_samples >= SAMPLES_MIN && blocks >= BLOCKS_LEAST && m->seconds > 0;
}

static int put_lines(struct line_maker *m, const struct stack_table *table,
                     struct line_profile *ret)
{
        size_t n[2] = {0};
        ret->lines = calloc(2 * (size_t)PROFILE_LINES_MAX, sizeof(*ret->lines));
        if (!ret->lines)
                return -ENOMEM;
        qsort(m->entries, m->n, sizeof(*m->entries), compare_entries);
        ret->n_samples = m->n_samples;
        ret->least = 1.0 / (double)m->n_samples;
        for (size_t i = 0; i < m->n; i++) {
                const struct maker_entry *e = &m->entries[i];
                if (n[e->of_workers] == PROFILE_LINES_MAX) {
                        ret->least = MAX(ret->least, e->seconds / m->seconds);
                        continue;
                }
                n[e->of_workers]++;
                fill_profile_line(m, e, table, &ret->lines[ret->n++]);
        }
        return 0;
}

int line_maker_end(struct line_maker *m, const struct stack_table *table, struct line_profile *ret)
{
        int r = 0;
        *ret = (struct line_profile){0};
        if (m->n > 0 && has_enough(m))
                r = put_lines(m, table, ret);
        free(m->entries);
        lookup_finish(&m->by_line);
        *m = (struct line_maker){0};
        return r;
}
