/*
 * Which row the verdict comes from. Finer evidence is surer, coarser evidence covers more: so the
 * finest that says something decides, and coarser evidence speaks up where it says more or the
 * opposite.
 */
#include "base/attr.h"
#include "compute/diff/diff.h"

#include <string.h>

static bool is_on_both_sides(const struct diff_row *row)
{
        return value_is_set(row->base) && value_is_set(row->now);
}

static bool is_change(enum diff_word word)
{
        return word == DIFF_LESS || word == DIFF_MORE;
}

/* Whether a row of the same or coarser evidence says more than the one chosen so far. */
static bool is_more_informative(const struct diff_row *row, const struct diff_row *chosen)
{
        enum diff_word word = diff_row_speed(row), was = diff_row_speed(chosen);
        bool is_run = row->evidence == DIFF_EVIDENCE_RUN;
        if (!is_on_both_sides(chosen))
                return is_on_both_sides(row);
        if (was == DIFF_INCONCLUSIVE)
                return is_change(word) || (word == DIFF_SAME && !is_run);
        /* The length of a run has its start-up in it, which says nothing against its steps. */
        return was == DIFF_SAME && is_change(word) && !is_run;
}

static void consider_row(struct diff *d, size_t i)
{
        const struct diff_row *row = &d->rows[i];
        if (d->main == SIZE_MAX || is_more_informative(row, &d->rows[d->main])) {
                d->main = i;
                return;
        }
        enum diff_word word = diff_row_speed(row), was = diff_row_speed(&d->rows[d->main]);
        bool opposite = is_change(word) && is_change(was) && word != was;
        if (opposite && d->opposed == SIZE_MAX && row->evidence != DIFF_EVIDENCE_RUN)
                d->opposed = i;
}

/* Readers look at the first row: the headline's. */
static void move_to_front(struct diff *d)
{
        const struct diff_row first = d->rows[d->main];
        memmove(&d->rows[1], &d->rows[0], d->main * sizeof(d->rows[0]));
        d->rows[0] = first;
        d->rows[0].is_phase = false;
        if (d->opposed != SIZE_MAX && d->opposed < d->main)
                d->opposed++;
        d->main = 0;
}

void diff_choose(struct diff *ret)
{
        ret->main = ret->opposed = SIZE_MAX;
        for (enum diff_evidence e = DIFF_EVIDENCE_STEPS; e <= DIFF_EVIDENCE_RUN; e++) {
                for (size_t i = 0; i < ret->n_rows; i++) {
                        if (ret->rows[i].evidence == e)
                                consider_row(ret, i);
                }
        }
        if (ret->main != SIZE_MAX)
                move_to_front(ret);
}
