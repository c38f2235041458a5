#include "model/job.h"

#include "base/attr.h"
#include "base/clock.h"

#include <math.h>
#include <stdlib.h>

static const struct {
        const char *name, *words, *advice;
} causes[CAUSE_COUNT] = {
#define CAUSE(id, name, words, advice) {name, words, advice},
#include "model/causes.def"
#undef CAUSE
};

const char *cause_name(enum straggler_cause cause)
{
        return causes[cause].name;
}

const char *cause_words(enum straggler_cause cause)
{
        return causes[cause].words;
}

const char *cause_try(enum straggler_cause cause)
{
        return causes[cause].advice;
}

void job_rank_finish(struct job_rank *r)
{
        for (size_t i = 0; i < JOB_FIGURE_COUNT; i++)
                free(r->track.v[i]);
        for (size_t i = 0; i < r->n_series; i++) {
                free(r->series[i].begin_s);
                free(r->series[i].seconds);
        }
        line_profile_finish(&r->lines);
        *r = (struct job_rank){0};
}

void job_finish(struct job *j)
{
        for (size_t i = 0; i < j->n; i++)
                job_rank_finish(&j->ranks[i]);
        for (size_t i = 0; i < j->n_joined; i++)
                free(j->joined[i].has);
        free(j->ranks);
        *j = (struct job){0};
}

static double cpu_until(const struct job_own *own, int64_t ns)
{
        size_t k = 1;
        while (k + 1 < own->n && own->at_ns[k] < ns)
                k++;
        double step = (double)(own->at_ns[k] - own->at_ns[k - 1]);
        double part = step > 0 ? (double)(ns - own->at_ns[k - 1]) / step : 0;
        part = MIN(MAX(part, 0), 1);
        return own->cpu_s[k - 1] + part * (own->cpu_s[k] - own->cpu_s[k - 1]);
}

double job_own_cpu(const struct job_rank *r, int64_t from_ns, int64_t to_ns)
{
        const struct job_own *own = &r->own;
        int64_t move = clock_from_seconds(r->offset_s);
        if (own->n < 2)
                return NAN;
        int64_t from = MAX(from_ns + move, own->at_ns[0]);
        int64_t to = MIN(to_ns + move, own->at_ns[own->n - 1]);
        if (to <= from)
                return NAN;
        return (cpu_until(own, to) - cpu_until(own, from)) / clock_to_seconds(to - from);
}

double job_mean(const struct job_rank *r, enum job_figure figure, int64_t from_ns, int64_t to_ns)
{
        const struct job_track *t = &r->track;
        double sum = 0, n = 0;
        if (t->n == 0 || t->width_ns <= 0 || !t->v[figure])
                return NAN;
        int64_t move = clock_from_seconds(r->offset_s);
        int64_t from = from_ns + move - t->start_ns, to = to_ns + move - t->start_ns;
        int64_t first = from < 0 ? 0 : (from + t->width_ns - 1) / t->width_ns;
        /* A time that is shorter than a bucket is looked up in the one that holds its middle. */
        if (to - from < 2 * t->width_ns)
                first = MAX((from + to) / 2, 0) / t->width_ns;
        for (int64_t k = first; k < (int64_t)t->n && (k == first || (k + 1) * t->width_ns <= to);
             k++) {
                float v = t->v[figure][k];
                sum += isnan(v) ? 0 : (double)v;
                n += !isnan(v);
        }
        return n > 0 ? sum / n : NAN;
}
