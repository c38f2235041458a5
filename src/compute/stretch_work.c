#include "compute/stretch_work.h"

#include "base/attr.h"
#include "base/clock.h"

#define CUT_BEFORE_SHARE 0.3 /* of all work: so much may come before it begins */
#define CUT_BEFORE_PACE 0.15 /* of the pace after it */

size_t stretch_bucket_at(const struct stretches *s, int64_t mono_ns)
{
        int64_t at = (mono_ns - s->first_ns + s->width_ns / 2) / s->width_ns;
        return at < 0 ? 0 : MIN((size_t)at, s->n_buckets);
}

static double work_in(const struct stretch_bucket *b)
{
        double work =
            MAX((double)b->sum[CEILING_ENGINE], (double)b->sum[CEILING_PCIE_RATE] / PCIE_FASTEST);
        for (enum ceiling i = CEILING_PCIE_IN; i <= CEILING_NVLINK_OUT; i++)
                work = MAX(work, (double)b->sum[i]);
        for (enum ceiling i = CEILING_DECODER; i <= CEILING_JPEG; i++)
                work = MAX(work, (double)b->sum[i]);
        return work;
}

/* Seconds of kernels, of a full link or of a full video engine. */
static double work_between(const struct stretch_track *t, size_t from, size_t to)
{
        double work = 0;
        for (size_t i = from; i < to; i++)
                work += work_in(&t->buckets[i]);
        return work;
}

bool works_between(const struct stretch_track *t, size_t from, size_t to)
{
        for (size_t i = from; i < to; i++) {
                if (work_in(&t->buckets[i]) > 0)
                        return true;
        }
        return false;
}

/* The time in which work shows what it can do. The driver's utilization may show what ran in one
 * moment for a whole second. */
static size_t some_time(const struct stretches *s, const struct stretch_track *t)
{
        double seconds = t->counted ? CUT_SHORTEST_S : 2 * CUT_SHORTEST_S;
        return MAX((size_t)(seconds / clock_to_seconds(s->width_ns)), (size_t)1);
}

/* The most that was done in some time that ends with a bucket from first to last. */
static double fastest_work(const struct stretches *s, const struct stretch_track *t, size_t least,
                           size_t first, size_t last)
{
        size_t some = some_time(s, t);
        double most = 0;
        for (size_t i = first; i <= last; i++)
                most = MAX(most, work_between(t, i > least + some ? i - some : least, i));
        return most;
}

/*
 * The last bucket up to which, since the GPU was first used, little was done, and slowly, no second
 * and a half of it half as fast as the fastest of the program. What warms up, tunes or compiles
 * runs some kernels, too.
 */
static size_t work_begins(const struct stretches *s, const struct stretch_track *t,
                          const struct program_time *p)
{
        size_t ret = p->from, end = MIN(stretch_bucket_at(s, s->last_ns), p->to);
        size_t first = p->touched < p->to ? p->touched : p->from;
        double all = work_between(t, p->from, p->to), seen = 0;
        double most = fastest_work(s, t, p->from, p->from + 1, end);
        if (!t->counted) {
                /* The driver's utilization shows what frees memory at a program's end, too. */
                size_t some = some_time(s, t) / 2;
                end = end > some ? end - some : 0;
                if (most < LIMIT_ENGINE_LOW * CUT_SHORTEST_S)
                        return ret;
        }
        for (size_t i = p->from + 1; i < end; i++) {
                seen += work_in(&t->buckets[i - 1]);
                double before = seen / (double)(i > first ? i - first : 1);
                double after = (all - seen) / (double)(end - i);
                if (seen > CUT_BEFORE_SHARE * all || fastest_work(s, t, p->from, i, i) > most / 2)
                        break;
                if (before <= CUT_BEFORE_PACE * after)
                        ret = i;
        }
        return ret;
}

/* ---- one program after another ---- */

static bool at_least(const struct stretch_bucket *b, enum ceiling at, double least)
{
        return b->weight[at] > 0 && (double)b->sum[at] >= least * (double)b->weight[at];
}

static bool has_program_time(const struct stretch_bucket *b)
{
        return b->active > 0 || at_least(b, CEILING_MEMORY, LIMIT_HELD_BYTES) ||
               at_least(b, CEILING_HOLDERS, 0.5);
}

/* It is known that nobody holds the GPU any more. */
static bool is_free(const struct stretch_bucket *b)
{
        return b->weight[CEILING_MEMORY] > 0 && !has_program_time(b);
}

bool is_given_back(const struct stretches *s, const struct stretch_track *t, size_t from)
{
        for (size_t i = from; i < s->n_buckets; i++) {
                if (is_free(&t->buckets[i]))
                        return true;
        }
        return false;
}

/* Fills to and touched of a program, whose from is known. It ends when the GPU is given back after
 * work: who only examined the GPU was none. */
static void follow_track(const struct stretches *s, const struct stretch_track *t,
                         struct program_time *p)
{
        double worked = 0;
        p->touched = SIZE_MAX;
        for (p->to = p->from; p->to < s->n_buckets; p->to++) {
                const struct stretch_bucket *b = &t->buckets[p->to];
                if (worked >= CUT_SHORTEST_S && is_free(b))
                        return;
                worked += (double)b->active;
                if (p->touched == SIZE_MAX && has_program_time(b))
                        p->touched = p->to;
        }
}

void programs_find(const struct stretches *s, const struct stretch_track *t,
                   struct program_times *ret)
{
        ret->n = 0;
        for (size_t at = 0; at < s->n_buckets;) {
                struct program_time *p = &ret->list[ret->n];
                p->from = at;
                follow_track(s, t, p);
                at = p->to;
                /* After the last use there is no other program: what is left of one rests, and the
                 * driver's own words move some bytes. */
                if (ret->n > 0 && (p->touched == SIZE_MAX || !works_between(t, p->from, p->to)))
                        ret->list[ret->n - 1].to = p->to;
                else
                        ret->n++;
        }
        if (t->use.touched)
                ret->list[0].touched = stretch_bucket_at(s, t->use.touched_ns);
        for (size_t i = 0; i < ret->n; i++)
                ret->list[i].begins = work_begins(s, t, &ret->list[i]);
}

const struct program_time *program_at(const struct program_times *p, size_t bucket)
{
        size_t i = 0;
        while (i + 1 < p->n && bucket >= p->list[i].to)
                i++;
        return &p->list[i];
}
