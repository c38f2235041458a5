/* The lines of the program in which the time of a change went. */
#include "base/attr.h"
#include "compute/diff/diff.h"

#include <math.h>
#include <string.h>

#define TELLS 0.25 /* of the change a line takes at least */
#define SURE 2.2   /* standard errors: 95 % of so few pieces */
#define MOVED 0.25 /* of a line's share, in lines that only the other side has */

/* A share of the main threads' time of one side, with its standard error. */
struct part {
        double share, se;
        uint64_t n_samples;
};

static bool side_has_lines(const struct diff_side *side)
{
        bool all = side->n > 0;
        for (size_t i = 0; i < side->n; i++)
                all = all && side->runs[i].lines.n > 0;
        return all;
}

/* Means over the runs of a side; no surer than the runs are alike. */
static struct part mean_part(const struct part *list, size_t n)
{
        struct part ret = {0};
        double squares = 0, spread = 0, count = (double)n;
        for (size_t i = 0; i < n; i++) {
                ret.share += list[i].share / count;
                ret.n_samples += list[i].n_samples;
                squares += list[i].se * list[i].se;
        }
        for (size_t i = 0; i < n; i++)
                spread += (list[i].share - ret.share) * (list[i].share - ret.share);
        ret.se = sqrt(squares) / count;
        if (n > 1)
                ret.se = MAX(ret.se, sqrt(spread / (count - 1) / count));
        return ret;
}

static struct part part_of_line(const struct diff_side *side, const struct profile_line *line)
{
        struct part list[DIFF_RUNS_MAX];
        size_t n = MIN(side->n, (size_t)DIFF_RUNS_MAX);
        for (size_t i = 0; i < n; i++) {
                const struct line_profile *p = &side->runs[i].lines;
                const struct profile_line *l = line_profile_find(p, line);
                list[i] = l ? (struct part){l->share, l->se, l->n_samples}
                            : (struct part){0, p->least, 0};
        }
        return mean_part(list, n);
}

static bool is_in_function(const struct profile_line *l, const struct profile_line *of)
{
        return l->of_workers == of->of_workers && strcmp(l->own.function, of->own.function) == 0 &&
               strcmp(where_short_file(l->own.file, l->own.whose),
                      where_short_file(of->own.file, of->own.whose)) == 0;
}

static struct part part_of_function(const struct diff_side *side, const struct profile_line *line)
{
        struct part list[DIFF_RUNS_MAX];
        size_t n = MIN(side->n, (size_t)DIFF_RUNS_MAX);
        for (size_t i = 0; i < n; i++) {
                const struct line_profile *p = &side->runs[i].lines;
                double squares = p->least * p->least;
                list[i] = (struct part){0};
                for (size_t k = 0; k < p->n; k++) {
                        if (!is_in_function(&p->lines[k], line))
                                continue;
                        list[i].share += p->lines[k].share;
                        list[i].n_samples += p->lines[k].n_samples;
                        squares += p->lines[k].se * p->lines[k].se;
                }
                list[i].se = sqrt(squares);
        }
        return mean_part(list, n);
}

/* Whether the other side spends time in lines of the function that this one does not have: then the
 * code was changed, and lines cannot be compared one by one. */
static bool has_moved(const struct diff_side *own, const struct diff_side *other,
                      const struct profile_line *line)
{
        double share = 0;
        const struct line_profile *p = &other->runs[0].lines;
        if (line_profile_find(p, line))
                return false;
        for (size_t i = 0; i < p->n; i++) {
                if (is_in_function(&p->lines[i], line) &&
                    !line_profile_find(&own->runs[0].lines, &p->lines[i]))
                        share += p->lines[i].share;
        }
        return share >= MOVED * line->share;
}

/* What a share is of: the time of the row in which work continued. */
static double working_seconds(const struct diff_side *side, const struct diff_row *row,
                              double figure)
{
        double startup = 0;
        for (size_t i = 0; strcmp(row->name, "run") == 0 && i < side->n; i++)
                startup += side->runs[i].startup_s / (double)side->n;
        return MAX(figure - startup, 0.0);
}

/* The line as evidence; false when it took too little of the change, or that is not sure. */
static bool weigh_line(const struct diff_side *base, const struct diff_side *now,
                       const struct diff_row *row, const struct profile_line *line, bool slower,
                       struct diff_line *ret)
{
        bool whole = slower ? has_moved(now, base, line) : has_moved(base, now, line);
        struct part a = whole ? part_of_function(base, line) : part_of_line(base, line);
        struct part b = whole ? part_of_function(now, line) : part_of_line(now, line);
        double ta = working_seconds(base, row, row->base.v),
               tb = working_seconds(now, row, row->now.v);
        double d = b.share * tb - a.share * ta, change = row->now.v - row->base.v;
        double se = hypot(b.se * tb, a.se * ta);
        if (!(d / change >= TELLS) || !(fabs(d) > SURE * se))
                return false;
        *ret = (struct diff_line){.own = line->own,
                                  .inner = line->inner,
                                  .of_workers = line->of_workers,
                                  .base = a.share * ta,
                                  .now = b.share * tb,
                                  .error = SURE * se,
                                  .share_base = a.share,
                                  .share_now = b.share,
                                  .looks_base = a.n_samples,
                                  .looks_now = b.n_samples};
        if (whole) {
                ret->own.line = 0;
                ret->inner.file[0] = '\0';
        }
        return true;
}

/* The line whose time moved most, of main threads or of workers. */
static bool find_line(const struct diff_side *base, const struct diff_side *now,
                      const struct diff_row *row, bool of_workers, struct diff_line *ret)
{
        bool slower = row->now.v > row->base.v, found = false;
        const struct line_profile *p = slower ? &now->runs[0].lines : &base->runs[0].lines;
        for (size_t i = 0; i < p->n; i++) {
                struct diff_line l;
                if (p->lines[i].of_workers != of_workers ||
                    !weigh_line(base, now, row, &p->lines[i], slower, &l))
                        continue;
                if (!found || fabs(l.now - l.base) > fabs(ret->now - ret->base))
                        *ret = l;
                found = true;
        }
        return found;
}

/* Where a main thread waits for a device or a clock is no reason of its own. */
static bool is_of_program(const struct diff_cause *c)
{
        enum limiter_side side = limiter_side(c->limiter);
        switch (c->kind) {
        case DIFF_CAUSE_NONE:
        case DIFF_CAUSE_GAPS:
        case DIFF_CAUSE_PHASE:
                return true;
        case DIFF_CAUSE_LIMITER:
                return side == LIMITER_SIDE_HOST || side == LIMITER_SIDE_COPY;
        case DIFF_CAUSE_POWER_LIMIT:
        case DIFF_CAUSE_CLOCK:
        case DIFF_CAUSE_STARTUP:
        case DIFF_CAUSE_KERNELS:
        case DIFF_CAUSE_LINE:
                break;
        }
        return false;
}

void diff_explain_lines(const struct diff_side *base, const struct diff_side *now, struct diff *d)
{
        struct diff_cause *c = &d->cause;
        const struct diff_row row = diff_row_as_time(&d->rows[d->main]);
        struct diff_line main_line, work_line;
        if (row.evidence == DIFF_EVIDENCE_PHASE || !is_of_program(c) || !side_has_lines(base) ||
            !side_has_lines(now))
                return;
        bool waits = find_line(base, now, &row, false, &main_line);
        bool works = (waits || c->limiter == LIMITER_HOST_INPUT) &&
                     find_line(base, now, &row, true, &work_line);
        if (works)
                c->lines[c->n_lines++] = work_line;
        if (waits)
                c->lines[c->n_lines++] = main_line;
        double part = waits ? (main_line.now - main_line.base) / (row.now.v - row.base.v) : 0;
        if (c->kind != DIFF_CAUSE_NONE || part < DIFF_EXPLAINS)
                return;
        c->kind = DIFF_CAUSE_LINE;
        c->base = main_line.base;
        c->now = main_line.now;
        c->explains = MIN(part, 1);
}
