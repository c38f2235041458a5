#include "base/attr.h"
#include "compute/diff/diff.h"
#include "model/step.h"

#include <stdio.h>
#include <string.h>

/* The verdict is the main row's, unless something forbids one. */
static void decide_verdict(struct diff *d)
{
        d->word = DIFF_INCONCLUSIVE;
        if (!d->comparable)
                return;
        if (d->identical) {
                d->word = DIFF_SAME;
                return;
        }
        if (d->main == SIZE_MAX) {
                snprintf(
                    d->why, sizeof(d->why),
                    "one run on each side does not show the noise: give repeats, or " STEPS_HOW);
                return;
        }
        const struct diff_row *row = &d->rows[d->main];
        if (d->opposed != SIZE_MAX) {
                const struct diff_row *other = &d->rows[d->opposed];
                snprintf(d->why, sizeof(d->why), "%.50s says %s, %.50s says %s", row->name,
                         diff_row_word_name(row), other->name, diff_row_word_name(other));
                return;
        }
        d->word = diff_row_speed(row);
        snprintf(d->why, sizeof(d->why), "%s", row->why);
}

/* The same recordings on both sides, in whatever order. */
static bool is_identical(const struct diff_side *base, const struct diff_side *now)
{
        size_t found = 0;
        for (size_t i = 0; i < base->n; i++) {
                bool same = false;
                for (size_t k = 0; k < now->n; k++)
                        same |= diff_is_same_run(&base->runs[i], &now->runs[k]);
                found += same;
        }
        return base->n == now->n && found == base->n;
}

/* A recording that is given twice counts once. */
static struct diff_side once_each(const struct diff_side *side, struct diff_run *room)
{
        struct diff_side ret = {0, room};
        for (size_t i = 0; i < side->n; i++) {
                bool had = false;
                for (size_t k = 0; k < ret.n; k++)
                        had |= diff_is_same_run(&room[k], &side->runs[i]);
                if (!had)
                        room[ret.n++] = side->runs[i];
        }
        return ret;
}

static void compare_sides(const struct diff_side *base, const struct diff_side *now, unsigned allow,
                          struct diff *ret)
{
        ret->identical = is_identical(base, now);
        diff_check(base, now, allow, ret);
        diff_measure(base, now, ret);
        diff_choose(ret);
        diff_align(&base->runs[0], &now->runs[0], ret);
        decide_verdict(ret);
        diff_explain(base, now, ret);
}

void diff_compare(const struct diff_side *base, const struct diff_side *now, unsigned allow,
                  const struct diff_gate *gates, size_t n_gates, struct diff *ret)
{
        memset(ret, 0, sizeof(*ret));
        CLEANUP(freep) struct diff_run *a = calloc(base->n, sizeof(*a));
        CLEANUP(freep) struct diff_run *b = calloc(now->n, sizeof(*b));
        ret->main = ret->opposed = SIZE_MAX;
        if (a && b) {
                const struct diff_side x = once_each(base, a), y = once_each(now, b);
                compare_sides(&x, &y, allow, ret);
        } else {
                ret->word = DIFF_INCONCLUSIVE;
                snprintf(ret->why, sizeof(ret->why), "out of memory");
        }
        ret->n_gates = MIN(n_gates, (size_t)DIFF_GATE_COUNT);
        if (ret->n_gates > 0)
                memcpy(ret->gates, gates, ret->n_gates * sizeof(*gates));
        diff_check_gates(ret);
}

/* ---- gates ---- */

static size_t find_row(const struct diff *d, const char *name, size_t len)
{
        for (size_t i = 0; i < d->n_rows; i++) {
                if (!d->rows[i].is_phase && strncmp(d->rows[i].name, name, len) == 0)
                        return i;
        }
        return SIZE_MAX;
}

static size_t row_of(const struct diff *d, enum diff_gate_of of)
{
        size_t at = SIZE_MAX;
        switch (of) {
        case DIFF_GATE_TIME:
                return d->main;
        case DIFF_GATE_ENERGY:
                at = find_row(d, "energy a ", 9);
                return at == SIZE_MAX ? find_row(d, "energy", 7) : at;
        case DIFF_GATE_MEMORY:
                return find_row(d, "peak memory", 12);
        case DIFF_GATE_COUNT:
                break;
        }
        return at;
}

/*
 * Within only when even the worst of the interval is; beyond when the change is, and is surely one.
 * Everything between is open.
 */
static enum diff_gate_result check_gate(const struct diff_row *row, const struct diff_gate *gate)
{
        double unit = gate->relative ? 1 : row->base.v;
        if (!row->has_interval || (row->word == DIFF_INCONCLUSIVE && row->low == row->high) ||
            !diff_gate_fits(gate, row))
                return DIFF_GATE_OPEN;
        struct diff_row time = diff_row_as_time(row);
        if (time.change * unit > gate->most && time.low > 0)
                return DIFF_GATE_BEYOND;
        return time.high * unit <= gate->most ? DIFF_GATE_WITHIN : DIFF_GATE_OPEN;
}

void diff_check_gates(struct diff *d)
{
        for (size_t i = 0; i < d->n_gates; i++) {
                struct diff_gate *gate = &d->gates[i];
                gate->row = row_of(d, gate->of);
                /* The same recording is no worse than itself, whatever it reports. */
                gate->result = d->identical && d->comparable ? DIFF_GATE_WITHIN : DIFF_GATE_OPEN;
                if (!d->comparable || d->identical || gate->row == SIZE_MAX)
                        continue;
                const struct diff_row *row = &d->rows[gate->row];
                if (!row->why[0] || row->has_interval)
                        gate->result = check_gate(row, gate);
                /* What is not known for another reason than its width stays open. */
                bool opposed = gate->of == DIFF_GATE_TIME && d->opposed != SIZE_MAX;
                if ((row->word == DIFF_INCONCLUSIVE && !row->is_wide) || opposed)
                        gate->result = DIFF_GATE_OPEN;
        }
}

int diff_status(const struct diff *d)
{
        bool open = !d->comparable || (d->n_gates == 0 && d->word == DIFF_INCONCLUSIVE);
        for (size_t i = 0; i < d->n_gates; i++) {
                if (d->comparable && d->gates[i].result == DIFF_GATE_BEYOND)
                        return 1;
                open |= d->gates[i].result == DIFF_GATE_OPEN;
        }
        if (open)
                return 3;
        return d->n_gates == 0 && d->word == DIFF_MORE ? 1 : 0;
}
