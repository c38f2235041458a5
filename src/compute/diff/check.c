/* What differs between the sides besides the result, and whether that forbids a verdict. */
#include "base/attr.h"
#include "compute/diff/diff.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct checker {
        unsigned allow;
        struct diff *d;
};

/* A place for a difference; one of each kind and side is reported. NULL when it was reported. */
static struct diff_check *add_check(struct checker *c, enum diff_check_kind kind, bool is_new)
{
        for (size_t i = 0; i < c->d->n_checks; i++) {
                if (c->d->checks[i].kind == kind && c->d->checks[i].is_new == is_new)
                        return NULL;
        }
        if (c->d->n_checks == DIFF_CHECKS_MAX)
                return NULL;
        struct diff_check *check = &c->d->checks[c->d->n_checks++];
        *check = (struct diff_check){.kind = kind,
                                     .is_new = is_new,
                                     .base_v = value_missing(STATE_NONE),
                                     .now_v = value_missing(STATE_NONE)};
        return check;
}

static void forbid_verdict(const struct checker *c, struct diff_check *check)
{
        enum diff_allow allow = diff_check_info(check->kind)->allow;
        check->is_grave = true;
        check->allowed = allow != DIFF_ALLOW_NONE && c->allow & (1u << allow);
        check->forbids = !check->allowed && !(allow != DIFF_ALLOW_NONE && c->d->identical);
}

static void check_text(struct checker *c, enum diff_check_kind kind, const char *base,
                       const char *now)
{
        if (strcmp(base, now) == 0)
                return;
        struct diff_check *check = add_check(c, kind, false);
        if (!check)
                return;
        snprintf(check->base, sizeof(check->base), "%.150s", base);
        snprintf(check->now, sizeof(check->now), "%.150s", now);
        /* What one side does not report cannot be said to differ. */
        if (diff_check_info(kind)->allow != DIFF_ALLOW_NONE && base[0] && now[0])
                forbid_verdict(c, check);
}

static struct diff_check *check_number(struct checker *c, enum diff_check_kind kind,
                                       struct value base, struct value now, double tolerance)
{
        if (!value_is_set(base) || !value_is_set(now) ||
            fabs(base.v - now.v) <= tolerance * fabs(base.v))
                return NULL;
        struct diff_check *check = add_check(c, kind, false);
        if (check) {
                check->base_v = base;
                check->now_v = now;
        }
        return check;
}

static void check_counts(struct checker *c, enum diff_check_kind kind, size_t base, size_t now)
{
        struct diff_check *check =
            check_number(c, kind, value_ok((double)base), value_ok((double)now), 0);
        if (check)
                forbid_verdict(c, check);
}

/* What is wrong with a run itself, on whichever side it is. */
static void one_side(struct checker *c, enum diff_check_kind kind, bool is_new, bool wrong,
                     const char *text, struct value v)
{
        struct diff_check *check = wrong ? add_check(c, kind, is_new) : NULL;
        if (!check)
                return;
        snprintf(is_new ? check->now : check->base, DIFF_TEXT_MAX, "%s", text);
        *(is_new ? &check->now_v : &check->base_v) = v;
        forbid_verdict(c, check);
}

static void look_at(struct checker *c, const struct diff_run *run, bool is_new)
{
        struct value none = value_missing(STATE_NONE);
        one_side(c, DIFF_CHECK_END, is_new, run->ended[0], run->ended, none);
        one_side(c, DIFF_CHECK_LOST, is_new, run->lost[0], run->lost, none);
        one_side(c, DIFF_CHECK_COVERAGE, is_new, run->gpus > 0 && run->observed < DIFF_OBSERVED, "",
                 value_ok(run->observed));
        one_side(c, DIFF_CHECK_DATA, is_new, run->ticks == 0 && run->n_series == 0, "", none);
}

/* CSV has short names of GPUs, other sources the whole ones. */
static bool is_same_model(const struct diff_run *a, const struct diff_run *b)
{
        bool is_short =
            strcmp(a->model, a->model_short) == 0 || strcmp(b->model, b->model_short) == 0;
        return is_short && strcmp(a->model_short, b->model_short) == 0;
}

/* GPUs of one side that worked for a good part of the time must have done something on the other.
 */
static void check_work(struct checker *c, const struct diff_run *a, const struct diff_run *b)
{
        if (a->gpus == b->gpus && (a->busy > b->woken || b->busy > a->woken))
                check_counts(c, DIFF_CHECK_AT_WORK, MAX(a->busy, MIN(a->woken, b->busy)),
                             MAX(b->busy, MIN(b->woken, a->busy)));
}

/* A name that only one side has; one line for all of them. */
static void check_unmatched(struct checker *c, const struct diff_run *a, const struct diff_run *b,
                            bool is_new)
{
        struct diff_check *check = NULL;
        for (size_t i = 0; i < a->n_series; i++) {
                const struct diff_series *s = &a->series[i];
                if (diff_series_find(b, s->name, s->kind))
                        continue;
                if (!check && !(check = add_check(c, DIFF_CHECK_PHASES, is_new)))
                        return;
                char *to = is_new ? check->now : check->base;
                size_t len = strlen(to);
                snprintf(to + len, DIFF_TEXT_MAX - len, "%s%s", len ? ", " : "", s->name);
        }
}

static void missing_counters(struct checker *c, const struct diff_run *a, const struct diff_run *b,
                             bool is_new)
{
        struct diff_check *check = NULL;
        if (a->ticks == 0 || b->ticks == 0)
                return;
        for (size_t i = 0; i < TRACE_COUNT; i++) {
                if (a->windows[i].n == 0 || b->windows[i].n > 0)
                        continue;
                if (!check && !(check = add_check(c, DIFF_CHECK_COUNTERS, is_new)))
                        return;
                char *to = is_new ? check->now : check->base;
                size_t len = strlen(to);
                snprintf(to + len, DIFF_TEXT_MAX - len, "%s%s", len ? ", " : "",
                         metric_info(trace_metric((enum trace_metric)i))->name);
        }
}

static bool limits_something(const struct diff_run *run)
{
        double sum = 0;
        for (enum limiter l = 0; l < LIMITER_COUNT; l++)
                sum += run->limiter[l].mean;
        return sum > 0;
}

static void check_runs(struct checker *c, const struct diff_run *a, const struct diff_run *b)
{
        if (!a->unwatched && !b->unwatched && (a->gpus > 0 || b->gpus > 0)) {
                check_counts(c, DIFF_CHECK_GPUS, a->gpus, b->gpus);
                check_work(c, a, b);
                if (!is_same_model(a, b))
                        check_text(c, DIFF_CHECK_MODEL, a->model, b->model);
                check_text(c, DIFF_CHECK_MIG, a->mig[0] ? a->mig : "off",
                           b->mig[0] ? b->mig : "off");
        }
        check_counts(c, DIFF_CHECK_RANKS, a->ranks, b->ranks);
        check_text(c, DIFF_CHECK_DRIVER, a->driver, b->driver);
        check_text(c, DIFF_CHECK_COMMAND, a->command, b->command);
        check_text(c, DIFF_CHECK_SOURCE, a->source, b->source);
        check_number(c, DIFF_CHECK_POWER_LIMIT, a->power_limit, b->power_limit, 0.01);
        check_number(c, DIFF_CHECK_CLOCK_MAX, a->clock_max, b->clock_max, 0.005);
        check_number(c, DIFF_CHECK_CLOCK, a->clock, b->clock, 0.02);
        check_number(c, DIFF_CHECK_INTERVAL, a->interval_s, b->interval_s, 0.01);
        if (limits_something(a) && limits_something(b))
                check_text(c, DIFF_CHECK_BASIS, basis_words(a->basis), basis_words(b->basis));
}

/* Likely where it is so for any of its runs. */
static enum basis side_basis(const struct diff_side *side)
{
        for (size_t i = 0; i < side->n; i++) {
                if (side->runs[i].basis == BASIS_DRIVER)
                        return BASIS_DRIVER;
        }
        return BASIS_COUNTERS;
}

void diff_check(const struct diff_side *base, const struct diff_side *now, unsigned allow,
                struct diff *ret)
{
        struct checker c = {allow, ret};
        const struct diff_run *first = &base->runs[0];
        for (size_t i = 0; i < base->n; i++)
                look_at(&c, &base->runs[i], false);
        for (size_t i = 0; i < now->n; i++)
                look_at(&c, &now->runs[i], true);
        ret->basis = side_basis(base) == BASIS_DRIVER ? BASIS_DRIVER : side_basis(now);
        for (size_t i = 0; i < now->n; i++)
                check_runs(&c, first, &now->runs[i]);
        for (size_t i = 1; i < base->n; i++)
                check_runs(&c, first, &base->runs[i]);
        check_unmatched(&c, first, &now->runs[0], false);
        check_unmatched(&c, &now->runs[0], first, true);
        missing_counters(&c, first, &now->runs[0], false);
        missing_counters(&c, &now->runs[0], first, true);
        ret->comparable = true;
        for (size_t i = 0; i < ret->n_checks; i++)
                ret->comparable &= !ret->checks[i].forbids;
}
