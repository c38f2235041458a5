/* What differs between the sides besides the result, and whether that forbids a verdict. */
#include "base/attr.h"
#include "compute/diff/diff.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *diff_allow_name(enum diff_allow allow)
{
        static const char *const names[] = {
#define DIFF_ALLOW(id, name) name,
            DIFF_ALLOWS(DIFF_ALLOW)
#undef DIFF_ALLOW
        };
        return names[allow];
}

struct checker {
        unsigned allow;
        struct diff *d;
};

/* A place for a difference; one of each kind is told. NULL when it was told. */
static struct diff_check *tell(struct checker *c, const char *what)
{
        for (size_t i = 0; i < c->d->n_checks; i++) {
                if (strcmp(c->d->checks[i].what, what) == 0)
                        return NULL;
        }
        if (c->d->n_checks == DIFF_CHECKS_MAX)
                return NULL;
        struct diff_check *check = &c->d->checks[c->d->n_checks++];
        *check = (struct diff_check){0};
        snprintf(check->what, sizeof(check->what), "%s", what);
        return check;
}

static void forbid(const struct checker *c, struct diff_check *check, enum diff_allow allow,
                   const char *why)
{
        check->allowed = c->allow & (1u << allow);
        check->forbids = !check->allowed && !c->d->identical;
        snprintf(check->allow, sizeof(check->allow), "%s", diff_allow_name(allow));
        snprintf(check->why, sizeof(check->why), "%s", why);
}

static void text(struct checker *c, const char *what, const char *base, const char *now, int allow,
                 const char *why)
{
        if (strcmp(base, now) == 0)
                return;
        struct diff_check *check = tell(c, what);
        if (!check)
                return;
        snprintf(check->base, sizeof(check->base), "%.150s", base[0] ? base : "not known");
        snprintf(check->now, sizeof(check->now), "%.150s", now[0] ? now : "not known");
        /* What one side does not tell cannot be said to differ. */
        if (allow >= 0 && base[0] && now[0])
                forbid(c, check, (enum diff_allow)allow, why);
}

static void number(struct checker *c, const char *what, struct value base, struct value now,
                   double tolerance, double scale, const char *unit)
{
        if (!value_there(base) || !value_there(now) ||
            fabs(base.v - now.v) <= tolerance * fabs(base.v))
                return;
        struct diff_check *check = tell(c, what);
        if (!check)
                return;
        snprintf(check->base, sizeof(check->base), "%.4g%s", base.v * scale, unit);
        snprintf(check->now, sizeof(check->now), "%.4g%s", now.v * scale, unit);
}

static void counts(struct checker *c, const char *what, size_t base, size_t now,
                   enum diff_allow allow, const char *why)
{
        char a[24], b[24];
        snprintf(a, sizeof(a), "%zu", base);
        snprintf(b, sizeof(b), "%zu", now);
        text(c, what, a, b, (int)allow, why);
}

/* What is wrong with a run itself, on whichever side it is. */
static void look_at(struct checker *c, const struct diff_run *run, bool is_new)
{
        struct diff_check *check;
        char what[32];
        const char *side = is_new ? "NEW" : "BASE";
        snprintf(what, sizeof(what), "end of %s", side);
        if (run->ended[0] && (check = tell(c, what))) {
                snprintf(is_new ? check->now : check->base, DIFF_TEXT_MAX, "%s", run->ended);
                forbid(c, check, DIFF_ALLOW_EXIT, "a run that did not end well is no measure");
        }
        snprintf(what, sizeof(what), "GPU lost in %s", side);
        if (run->lost[0] && (check = tell(c, what))) {
                snprintf(is_new ? check->now : check->base, DIFF_TEXT_MAX, "GPU %s", run->lost);
                forbid(c, check, DIFF_ALLOW_GPUS, "it was not there all the time");
        }
        snprintf(what, sizeof(what), "coverage of %s", side);
        if (run->gpus > 0 && run->observed < DIFF_OBSERVED && (check = tell(c, what))) {
                snprintf(is_new ? check->now : check->base, DIFF_TEXT_MAX,
                         "%.0f %% of the time observed", floor(run->observed * 100));
                forbid(c, check, DIFF_ALLOW_COVERAGE, "the rest was not observed");
        }
        snprintf(what, sizeof(what), "data of %s", side);
        if (run->ticks == 0 && run->n_series == 0 && (check = tell(c, what))) {
                snprintf(is_new ? check->now : check->base, DIFF_TEXT_MAX, "none");
                check->forbids = true;
                snprintf(check->why, sizeof(check->why), "it has neither samples nor marks");
        }
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
static void work(struct checker *c, const struct diff_run *a, const struct diff_run *b)
{
        if (a->gpus == b->gpus && (a->busy > b->woken || b->busy > a->woken))
                counts(c, "GPUs at work", MAX(a->busy, MIN(a->woken, b->busy)),
                       MAX(b->busy, MIN(b->woken, a->busy)), DIFF_ALLOW_GPUS,
                       "other numbers of GPUs do other work");
}

/* A name that only one side has; one line for all of them. */
static void unmatched(struct checker *c, const struct diff_run *a, const struct diff_run *b,
                      bool is_new)
{
        struct diff_check *check = NULL;
        for (size_t i = 0; i < a->n_series; i++) {
                const struct diff_series *s = &a->series[i];
                if (diff_series_find(b, s->name, s->kind))
                        continue;
                if (!check &&
                    !(check = tell(c, is_new ? "phases only in NEW" : "phases only in BASE")))
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
                if (!check &&
                    !(check = tell(c, is_new ? "counters only in NEW" : "counters only in BASE")))
                        return;
                char *to = is_new ? check->now : check->base;
                size_t len = strlen(to);
                snprintf(to + len, DIFF_TEXT_MAX - len, "%s%s", len ? ", " : "",
                         metric_info(trace_metric((enum trace_metric)i))->name);
        }
}

static void compare(struct checker *c, const struct diff_run *a, const struct diff_run *b)
{
        if (!a->unwatched && !b->unwatched && (a->gpus > 0 || b->gpus > 0)) {
                counts(c, "GPUs", a->gpus, b->gpus, DIFF_ALLOW_GPUS,
                       "other numbers of GPUs do other work");
                work(c, a, b);
                if (!is_same_model(a, b))
                        text(c, "GPU model", a->model, b->model, DIFF_ALLOW_MODEL, "another GPU");
                text(c, "MIG", a->mig[0] ? a->mig : "off", b->mig[0] ? b->mig : "off",
                     DIFF_ALLOW_MIG, "another part of the GPU");
        }
        counts(c, "ranks", a->ranks, b->ranks, DIFF_ALLOW_RANKS, "ranks are missing");
        text(c, "driver", a->driver, b->driver, -1, "");
        text(c, "command", a->command, b->command, -1, "");
        text(c, "source", a->source, b->source, -1, "");
        number(c, "power limit", a->power_limit, b->power_limit, 0.01, 1, " W");
        number(c, "clock at most", a->clock_max, b->clock_max, 0.005, 1e-6, " MHz");
        number(c, "clock while it worked", a->clock, b->clock, 0.02, 1e-6, " MHz");
        number(c, "interval", a->interval_s, b->interval_s, 0.01, 1, " s");
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
        for (size_t i = 0; i < now->n; i++)
                compare(&c, first, &now->runs[i]);
        for (size_t i = 1; i < base->n; i++)
                compare(&c, first, &base->runs[i]);
        unmatched(&c, first, &now->runs[0], false);
        unmatched(&c, &now->runs[0], first, true);
        missing_counters(&c, first, &now->runs[0], false);
        missing_counters(&c, &now->runs[0], first, true);
        ret->comparable = true;
        for (size_t i = 0; i < ret->n_checks; i++)
                ret->comparable &= !ret->checks[i].forbids;
}
