/* Why a rank holds the others up: a rule each, asked in order. */
#include "base/attr.h"
#include "base/clock.h"
#include "compute/ranks/ranks.h"

#include <math.h>

#define REASON_SHARE 0.25 /* of the busy time more than the others: a reason of its own */
#define CLOCK_FAR 0.10    /* a clock so far below speaks for itself */
#define LINK_USED 0.10    /* of the link's speed: it matters how fast it is */
#define FULL 0.9          /* of a core */
#define MUCH_OF_A_CORE 0.25
#define SOME_OF_A_CORE 0.1
#define EXPLAINS 0.7
#define TOO_MUCH 2.0  /* times what is lost: CPU time that was used for something else */
#define MUCH_S 2.0    /* less CPU time is what starting a program takes more or less */
#define ALL_WAIT 0.15 /* of the time no kernel runs anywhere */
#define SAME_WORK 0.08
#define IDLES_MUCH 0.05
#define LESS_WORK 0.10
#define MORE_WORK 0.05  /* a rank that does more than the others does it for all: an evaluation */
#define NOT_LATE 0.005  /* of a step */
#define IDLE 0.05       /* of the time: kernels hardly run */
#define LATE_START 0.5  /* of the others' own start-up: less is noise */
#define LATE_FEW_S 10.0 /* with three ranks or fewer, noise cannot be reported */
#define FEW 4
#define PAUSE_STEPS 3 /* steps as long as that many others are pauses */
#define PAUSE_S 1.5
#define SAVED 0.5   /* of the time lost: it saves for all */
#define DESIGN 0.10 /* of the run: what begins later is not a design */

struct ask {
        const struct clues *c;
        const struct job *j;
        const struct step_late *steps;
        size_t rank;
        struct straggler *ret;
};

static bool is_outlier(const struct ask *a, enum compared k)
{
        return a->c->out[k][a->rank];
}

static double rank_figure(const struct ask *a, enum compared k)
{
        return a->c->v[k][a->rank];
}

static struct value value_or_missing(double v)
{
        return isnan(v) ? value_missing(STATE_NONE) : value_ok(v);
}

static void note_difference(const struct ask *a, enum compared k)
{
        a->ret->own = value_or_missing(rank_figure(a, k));
        a->ret->peers = value_or_missing(job_others(a->c->v[k], a->j->n, a->rank));
}

/* Its GPU has less to do than the others', though it does not do less. */
static bool has_less_work(const struct ask *a)
{
        return is_outlier(a, COMPARED_IDLES) && a->c->alike[a->rank];
}

static bool same_work(const struct ask *a, double less)
{
        double work = a->c->work[a->rank];
        return !isnan(work) && work >= 1 - less;
}

static bool is_late(const struct ask *a)
{
        return a->steps->late;
}

static bool late_by_any(const struct ask *a)
{
        return is_late(a) || has_less_work(a) || is_outlier(a, COMPARED_DENSE) ||
               is_outlier(a, COMPARED_BUSIER);
}

/* Steps show every rank's own time, and this one's is as the others', or differs by chance. */
static bool is_contradicted(const struct ask *a)
{
        const struct job_rank *r = &a->j->ranks[a->rank];
        return a->c->steps.shows_own_time && !is_late(a) && value_is_set(r->late_s) &&
               r->late_s.v < MAX(NOT_LATE * a->c->steps.step_s, a->steps->chance_s);
}

static bool other_process(const struct ask *a)
{
        note_difference(a, COMPARED_HOLDERS);
        return is_outlier(a, COMPARED_HOLDERS) && late_by_any(a);
}

static bool slow_link(const struct ask *a)
{
        struct value used = a->j->ranks[a->rank].mean[JOB_LINK];
        const struct job_gpu *g = &a->j->ranks[a->rank].use;
        note_difference(a, COMPARED_LINK_SPEED);
        a->ret->own_more = value_or_missing(g->links > 0 ? g->generation / g->links : NAN);
        a->ret->peers_more = value_or_missing(g->links > 0 ? g->lanes / g->links : NAN);
        bool matters = late_by_any(a) || is_outlier(a, COMPARED_DRAWS_LESS) ||
                       (value_is_set(used) && used.v >= LINK_USED);
        return is_outlier(a, COMPARED_LINK_SPEED) && matters && !is_contradicted(a);
}

/* Reasons that hold its clock for much more of the time than the others'. */
static uint64_t own_reasons(const struct ask *a)
{
        uint64_t bits = 0;
        for (size_t b = 1; b < JOB_BITS_MAX; b++) { /* bit 0 is idleness */
                double own = 0, others = 0, n = 0;
                for (size_t i = 0; i < a->j->n; i++) {
                        const struct job_gpu *g = &a->j->ranks[i].use;
                        double share = g->busy > 0 ? g->bits[b] / g->busy : 0;
                        own = i == a->rank ? share : own;
                        others += i == a->rank || a->c->out[COMPARED_CLOCK][i] ? 0 : share;
                        n += i != a->rank && !a->c->out[COMPARED_CLOCK][i];
                }
                if (own - (n > 0 ? others / n : 0) >= REASON_SHARE)
                        bits |= 1ULL << b;
        }
        return bits;
}

/* A GPU at its power limit may be slow because it has more to do than the others. */
static bool low_clock(const struct ask *a)
{
        note_difference(a, COMPARED_CLOCK);
        if (!is_outlier(a, COMPARED_CLOCK) || is_contradicted(a))
                return false;
        uint64_t reasons = own_reasons(a);
        double limit = job_others(a->c->v[COMPARED_LIMIT], a->j->n, a->rank);
        bool limited = is_outlier(a, COMPARED_LIMIT);
        a->ret->reason = reasons;
        if (limited) {
                a->ret->reason |= THROTTLE_POWER_CAP;
                a->ret->own_more = value_or_missing(rank_figure(a, COMPARED_LIMIT));
                a->ret->peers_more = value_or_missing(limit);
        }
        if (limited || (reasons & ~(uint64_t)THROTTLE_POWER_CAP))
                return true;
        if (a->c->by_node[a->rank])
                return false;
        double drop = 1 - rank_figure(a, COMPARED_CLOCK) / a->ret->peers.v;
        return a->c->alike[a->rank] &&
               (is_late(a) || is_outlier(a, COMPARED_DENSE) || drop >= CLOCK_FAR);
}

static bool memory_errors(const struct ask *a)
{
        note_difference(a, COMPARED_ERRORS);
        return is_outlier(a, COMPARED_ERRORS) && late_by_any(a);
}

static bool slow_storage(const struct ask *a)
{
        note_difference(a, COMPARED_IO_WAIT);
        return is_outlier(a, COMPARED_IO_WAIT) && (is_late(a) || has_less_work(a));
}

static bool core_is_full(const struct ask *a)
{
        double cpu = rank_figure(a, COMPARED_CPU);
        bool thread = rank_figure(a, COMPARED_THREAD) >= FULL;
        note_difference(a, thread ? COMPARED_THREAD : COMPARED_CPU);
        return thread || (isnan(rank_figure(a, COMPARED_THREAD)) && cpu >= FULL) ||
               (is_outlier(a, COMPARED_CPU) && cpu >= FULL);
}

/* All GPUs wait, and this rank's core alone is full meanwhile. */
static bool all_wait(const struct ask *a)
{
        double others = job_others(a->c->v[COMPARED_THREAD], a->j->n, a->rank);
        double engine = job_others(a->c->v[COMPARED_IDLES], a->j->n, a->rank);
        return is_outlier(a, COMPARED_THREAD) && rank_figure(a, COMPARED_THREAD) >= FULL &&
               others <= rank_figure(a, COMPARED_THREAD) - MUCH_OF_A_CORE &&
               engine <= 1 - ALL_WAIT && rank_figure(a, COMPARED_IDLES) <= 1 - ALL_WAIT;
}

static double more_cpu(const struct ask *a)
{
        return rank_figure(a, COMPARED_CPU) - job_others(a->c->v[COMPARED_CPU], a->j->n, a->rank);
}

/* The CPU time that a step takes more than the others' is what it is late by. */
static bool cpu_explains(const struct ask *a)
{
        double more = more_cpu(a);
        note_difference(a, COMPARED_CPU);
        return is_late(a) && a->steps->lasting && more >= SOME_OF_A_CORE &&
               more * a->c->steps.step_s >= EXPLAINS * a->steps->late_s &&
               more * a->c->seconds >= MUCH_S &&
               more * a->c->seconds <= TOO_MUCH * a->steps->cost_s;
}

/* The GPU that ranks share waits, and the CPU time of this one alone is what it waits for. */
static bool cpu_fills_gaps(const struct ask *a)
{
        double more = more_cpu(a), gaps = 1 - rank_figure(a, COMPARED_IDLES);
        note_difference(a, COMPARED_CPU);
        return a->j->ranks[a->rank].shared && is_outlier(a, COMPARED_CPU) && gaps >= ALL_WAIT &&
               more >= EXPLAINS * gaps && more * a->c->seconds >= MUCH_S && !is_late(a) &&
               !is_contradicted(a);
}

static bool own_core(const struct ask *a)
{
        if (cpu_explains(a) || cpu_fills_gaps(a))
                return true;
        if (a->j->ranks[a->rank].shared) /* a full core may wait for kernels of its own */
                return false;
        /* Of steps that are late now and then the step is reported, not what its CPU does
         * meanwhile. */
        bool waits = is_late(a) ? a->steps->lasting
                                : has_less_work(a) || (all_wait(a) && !is_contradicted(a));
        return core_is_full(a) && (is_outlier(a, COMPARED_THREAD) || is_outlier(a, COMPARED_CPU)) &&
               waits;
}

/* The same work in less time: the others' kernels wait, too. Who only has less to do is as fast. */
static bool works_denser(const struct ask *a, double idles_more)
{
        double others = job_others(a->c->v[COMPARED_DENSE], a->j->n, a->rank);
        return same_work(a, LESS_WORK) && a->c->work[a->rank] <= 1 + MORE_WORK &&
               rank_figure(a, COMPARED_DENSE) >= (1 + idles_more / 2) * others;
}

/* Its GPU idles much more than the others' for the same work. */
static bool idles_much(const struct ask *a)
{
        double others = job_others(a->c->v[COMPARED_IDLES], a->j->n, a->rank);
        double more = others - rank_figure(a, COMPARED_IDLES);
        return !a->j->ranks[a->rank].shared && more >= IDLES_MUCH &&
               is_outlier(a, COMPARED_IDLES) && !is_contradicted(a) &&
               (is_late(a) || works_denser(a, more));
}

/* Threads that wait for a GPU keep a core busy too: then only the GPU's idleness reports, and a
 * thread that is busy for most of it. */
static bool any_core(const struct ask *a)
{
        return (core_is_full(a) || rank_figure(a, COMPARED_THREAD) >= EXPLAINS) && idles_much(a);
}

/* Between two moments since the start no kernels ran anywhere: the others waited. */
static bool no_rank_worked(const struct ask *a, double from_s, double to_s)
{
        int64_t from = a->j->start_ns + clock_from_seconds(from_s);
        int64_t to = a->j->start_ns + clock_from_seconds(to_s);
        for (size_t i = 0; i < a->j->n; i++) {
                if (job_mean(&a->j->ranks[i], JOB_ENGINE, from, to) > IDLE)
                        return false;
        }
        return true;
}

/* Its session, its processes' memory, its GPU's or its first kernel came late, or its processes
 * prepared for longer: the one that came latest is reported. */
static bool late_start(const struct ask *a)
{
        static const enum compared moments[] = {COMPARED_BEGUN, COMPARED_HELD, COMPARED_LATE,
                                                COMPARED_GROWN, COMPARED_PREPARED};
        double most = 0;
        for (size_t i = 0; i < ARRAY_LEN(moments); i++) {
                double others = job_others(a->c->v[moments[i]], a->j->n, a->rank);
                double behind = rank_figure(a, moments[i]) - others;
                if (!is_outlier(a, moments[i]) || behind < most || behind < LATE_START * others)
                        continue;
                if (moments[i] == COMPARED_GROWN &&
                    !no_rank_worked(a, others, rank_figure(a, moments[i])))
                        continue;
                most = behind;
                note_difference(a, moments[i]);
                a->ret->begin_s = MAX(others, 0);
        }
        a->ret->late_s = a->ret->cost_s = most;
        a->ret->times = 1;
        return most > 0 && (a->j->n >= FEW || most >= LATE_FEW_S);
}

static void explain_pauses(const struct ask *a)
{
        size_t n = a->c->n_pauses[a->rank];
        note_difference(a, COMPARED_PAUSED);
        a->ret->times = n;
        a->ret->cost_s = rank_figure(a, COMPARED_PAUSED) - a->ret->peers.v;
        a->ret->late_s = n > 0 ? rank_figure(a, COMPARED_PAUSED) / (double)n : 0;
        a->ret->begin_s = a->c->pause_s[a->rank];
}

static bool pauses_more_often(const struct ask *a)
{
        double own = (double)a->c->n_pauses[a->rank], others = -own;
        for (size_t i = 0; i < a->j->n; i++)
                others += (double)a->c->n_pauses[i];
        return job_more_often(own, others, a->j->n - 1);
}

static bool has_pauses(const struct ask *a)
{
        if (!is_outlier(a, COMPARED_PAUSED) || !pauses_more_often(a) ||
            2 * a->c->n_common[a->rank] > a->c->n_pauses[a->rank])
                return false;
        explain_pauses(a);
        double step = a->c->steps.step_s;
        bool slow_steps =
            is_late(a) && !a->steps->lasting && a->steps->late_s < MAX(PAUSE_S, PAUSE_STEPS * step);
        return !slow_steps;
}

static void explain_step_times(const struct ask *a)
{
        a->ret->times = a->steps->times;
        a->ret->of_steps = a->steps->of;
        a->ret->late_s = a->steps->late_s;
        a->ret->cost_s = a->steps->cost_s;
        a->ret->begin_s = a->steps->begin_s;
}

static bool slow_steps(const struct ask *a)
{
        const struct step_view *v = &a->c->steps;
        a->ret->own = value_or_missing(a->steps->late_s);
        a->ret->peers = value_or_missing(v->step_s);
        if (is_late(a) && !a->steps->lasting) {
                explain_step_times(a);
                return job_saves(&a->j->ranks[a->rank], a->j->start_ns, a->j->end_ns) <
                       SAVED * a->steps->cost_s;
        }
        if (!is_outlier(a, COMPARED_IN_SLOW))
                return false;
        note_difference(a, COMPARED_IN_SLOW);
        double s = 0;
        for (size_t i = 0; i < v->n_slow; i++)
                s += (double)(v->slow[i].end_ns - v->slow[i].begin_ns) / 1e9 - v->step_s;
        a->ret->times = v->n_slow;
        a->ret->of_steps = v->n;
        a->ret->cost_s = s;
        a->ret->late_s = s / (double)v->n_slow;
        a->ret->begin_s = (double)(v->slow[0].begin_ns - a->j->start_ns) / 1e9;
        return true;
}

/* Late from its first step on, with other work than the others: that is how the job is made. */
static bool not_shown(const struct ask *a)
{
        if (!is_late(a)) {
                note_difference(a, COMPARED_IDLES);
                return has_less_work(a) && idles_much(a);
        }
        if (!a->steps->lasting)
                return false;
        double run = (double)(a->j->end_ns - a->j->start_ns) / 1e9;
        bool began = a->steps->begin_s > a->c->v[COMPARED_LATE][a->rank] + DESIGN * run;
        double work = a->c->work[a->rank];
        a->ret->own = value_or_missing(a->steps->late_s);
        a->ret->peers = value_or_missing(a->c->steps.step_s);
        return began || a->j->ranks[a->rank].shared ||
               (a->c->alike[a->rank] && fabs(work - 1) <= SAME_WORK);
}

static const struct {
        enum straggler_cause cause;
        bool (*holds)(const struct ask *a);
        bool itself; /* the rule says how much is lost, and when */
} rules[] = {
    {CAUSE_OTHER_PROCESS, other_process, false},
    {CAUSE_LINK, slow_link, false},
    {CAUSE_CLOCK, low_clock, false},
    {CAUSE_MEMORY_ERRORS, memory_errors, false},
    {CAUSE_STORAGE, slow_storage, false},
    {CAUSE_CORE, own_core, false},
    {CAUSE_LATE_START, late_start, true},
    {CAUSE_PAUSES, has_pauses, true},
    {CAUSE_SLOW_STEPS, slow_steps, true},
    {CAUSE_CORE, any_core, false},
    {CAUSE_UNKNOWN, not_shown, false},
};

/* Where steps do not report: what the others' GPUs lose while they wait. */
static void explain_cost(const struct ask *a)
{
        const struct clues *c = a->c;
        double share = 0;
        if (is_late(a)) {
                explain_step_times(a);
                if (a->steps->lasting)
                        a->ret->times = 0;
                return;
        }
        double idle =
            job_others(c->v[COMPARED_IDLES], a->j->n, a->rank) - rank_figure(a, COMPARED_IDLES);
        double dense =
            rank_figure(a, COMPARED_DENSE) / job_others(c->v[COMPARED_DENSE], a->j->n, a->rank) - 1;
        if (is_outlier(a, COMPARED_IDLES))
                share = idle;
        else if (is_outlier(a, COMPARED_DENSE))
                share = dense / (1 + dense);
        else if (is_outlier(a, COMPARED_CLOCK))
                share = 1 - rank_figure(a, COMPARED_CLOCK) /
                                job_others(c->v[COMPARED_CLOCK], a->j->n, a->rank);
        else if (a->ret->cause == CAUSE_CORE && a->j->ranks[a->rank].shared)
                share = MIN(more_cpu(a), 1 - rank_figure(a, COMPARED_IDLES));
        a->ret->times = 0;
        a->ret->late_s = 0;
        a->ret->cost_s = share * c->seconds;
        a->ret->begin_s = (double)(c->from_ns - a->j->start_ns) / 1e9;
}

enum straggler_cause job_cause(const struct clues *c, size_t rank, struct straggler *ret)
{
        struct ask a = {c, c->j, &c->steps.ranks[rank], rank, ret};
        double run = (double)(c->j->end_ns - c->j->start_ns) / 1e9;
        for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
                *ret = (struct straggler){.rank = rank, .cause = rules[i].cause};
                if (!rules[i].holds(&a))
                        continue;
                if (!rules[i].itself)
                        explain_cost(&a);
                ret->by_marks = is_late(&a) && rules[i].cause != CAUSE_LATE_START;
                ret->share = run > 0 ? MIN(ret->cost_s / run, 1) : 0;
                return ret->cause;
        }
        return CAUSE_COUNT;
}
