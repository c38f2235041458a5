/*
 * Comparisons of runs that are made by code: the statistics, the traps, and how often the words are
 * right. ASSAY_DIFF_PAIRS=1000 makes more pairs of runs for the table.
 */
#include "base/attr.h"
#include "compute/diff/diff.h"
#include "present/diff/diff.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOISES 16
#define NOISE_MAX 128

/* What the SMs of real programs did, window by window. */
struct noise {
        char name[32];
        size_t n;
        double v[NOISE_MAX];
        double rho; /* of neighbours */
};

struct maker {
        uint64_t random;
        size_t n;
        struct noise noises[NOISES];
};

static double uniform(struct maker *m)
{
        m->random = m->random * 6364136223846793005ULL + 1442695040888963407ULL;
        return (double)(m->random >> 11) / 0x1p53;
}

static double normal(struct maker *m)
{
        double sum = -6;
        for (int i = 0; i < 12; i++)
                sum += uniform(m);
        return sum;
}

static void fit(struct noise *n)
{
        double both = 0, all = 0;
        for (size_t i = 0; i < n->n; i++) {
                all += n->v[i] * n->v[i];
                both += i > 0 ? n->v[i] * n->v[i - 1] : 0;
        }
        n->rho = all > 0 ? both / all : 0;
}

static void load(struct maker *m)
{
        char path[4096], line[4096];
        *m = (struct maker){.random = 18};
        snprintf(path, sizeof(path), "%s/diff/noise.txt", getenv("FIXTURES"));
        FILE *f = fopen(path, "re");
        assert_non_null(f);
        while (m->n < NOISES && fgets(line, sizeof(line), f)) {
                struct noise *n = &m->noises[m->n];
                char *rest = line, *word = strsep(&rest, " ");
                if (word[0] == '#')
                        continue;
                snprintf(n->name, sizeof(n->name), "%.31s", word);
                while (n->n < NOISE_MAX && (word = strsep(&rest, " ")))
                        n->v[n->n++] = strtod(word, NULL) / 1e4;
                fit(n);
                m->n++;
        }
        fclose(f);
        assert_true(m->n > 10);
}

/* Steps of a mean length, as noisy as a recording and with its correlation. */
static void add_steps(struct maker *m, struct diff_run *run, const char *name, size_t n,
                      double mean, const struct noise *noise)
{
        double x = 0;
        for (size_t i = 0; i < n + 50; i++) {
                size_t at = 1 + (size_t)(uniform(m) * (double)(noise->n - 1));
                x = noise->rho * x + noise->v[at] - noise->rho * noise->v[at - 1];
                if (i >= 50)
                        assert_true(diff_run_add(run, name, DIFF_PHASE, mean * (1 + x)));
        }
}

/* A minute of a GPU that works. */
static void init(struct diff_run *run, double seconds)
{
        *run = (struct diff_run){.gpus = 1,
                                 .ranks = 1,
                                 .seconds = seconds,
                                 .has_seconds = true,
                                 .ticks = (uint64_t)(seconds * 10),
                                 .observed = 1,
                                 .energy_j = value_ok(500 * seconds),
                                 .peak_memory = value_ok(8e9),
                                 .clock = value_ok(1.98e9),
                                 .clock_max = value_ok(1.98e9),
                                 .power_limit = value_ok(700),
                                 .engine = value_ok(0.9),
                                 .n_stretches = 1};
        snprintf(run->model, sizeof(run->model), "NVIDIA H200");
        run->limiter[LIMITER_COMPUTE_TENSOR] = (struct diff_share){1, 0, 99, 100};
        run->stretches[0] = (struct diff_stretch){LIMITER_COMPUTE_TENSOR, false, seconds};
        for (size_t k = 0; k < TRACE_COUNT; k++) {
                run->windows[k].n = 100;
                for (size_t i = 0; i < 100; i++)
                        run->windows[k].v[i] = 0.8f + (i % 7 == 3 ? 0.01f : 0);
        }
}

struct pair {
        struct diff_run a, b;
        struct diff d;
};

static struct pair *new_pair(struct maker *m, double mean_a, double mean_b)
{
        struct pair *p = calloc(1, sizeof(*p));
        assert_non_null(p);
        init(&p->a, 60);
        init(&p->b, 60 * mean_b / mean_a);
        p->b.start_ns = 1;
        add_steps(m, &p->a, "step", 300, mean_a, &m->noises[2]);
        add_steps(m, &p->b, "step", 300, mean_b, &m->noises[2]);
        return p;
}

static void compare(struct pair *p)
{
        const struct diff_side a = {1, &p->a}, b = {1, &p->b};
        diff_compare(&a, &b, 0, NULL, 0, &p->d);
}

static void free_pair(struct pair *p)
{
        diff_run_finish(&p->a);
        diff_run_finish(&p->b);
        free(p);
}

/* ---- statistics ---- */

static void quantiles(void **state UNUSED)
{
        static const struct {
                double df, t;
        } rows[] = {{1, 12.706}, {2, 4.303},   {4, 2.776},  {10, 2.228},
                    {20, 2.086}, {100, 1.984}, {1e6, 1.960}};
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                assert_true(fabs(stats_t(rows[i].df) - rows[i].t) < 0.003);
        for (double df = 1; df < 30; df += 0.25)
                assert_true(stats_t(df) > stats_t(df + 0.25)); /* no step between the tables */
}

static void warm_ups(void **state UNUSED)
{
        double v[100];
        static const struct {
                size_t slow;
                double factor;
                size_t least, most;
                const char *why;
        } rows[] = {{0, 1, 0, 0, "no warm-up"},
                    {10, 3, 10, 12, "compiling at first"},
                    {10, 1.02, 0, 0, "within the noise"},
                    {1, 4, 1, 40, "a slow step before some that get a little shorter"},
                    {90, 3, 0, 50, "never more than half"}};
        for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
                for (size_t i = 0; i < 100; i++)
                        v[i] = (i < rows[k].slow ? rows[k].factor : 1) *
                               (1 + 0.01 * (double)(i % 3)) *
                               (i < 40 && rows[k].slow == 1 ? 1.03 : 1);
                size_t n = stats_warm_up(v, 100);
                if (n < rows[k].least || n > rows[k].most)
                        fail_msg("%s: %zu", rows[k].why, n);
        }
        assert_int_equal(stats_warm_up(v, 0), 0);
}

/* Errors of means grow with the correlation, as theory says. */
static void errors(void **state UNUSED)
{
        static const double rhos[] = {0, 0.5, 0.8};
        struct maker m;
        load(&m);
        for (size_t k = 0; k < ARRAY_LEN(rhos); k++) {
                double sum = 0, v[1000];
                for (int round = 0; round < 40; round++) {
                        double x = 0;
                        for (size_t i = 0; i < 1000; i++)
                                v[i] = 10 + (x = rhos[k] * x + normal(&m));
                        sum += stats_mean(v, 1000).se;
                }
                double truth = 1 / (1 - rhos[k]) / sqrt(1000);
                assert_true(fabs(sum / 40 / truth - 1) < 0.15);
        }
}

static void few_numbers(void **state UNUSED)
{
        double v[STATS_LEAST] = {1, 1, 1, 1};
        assert_true(stats_mean(v, STATS_LEAST - 1).se < 0);
        assert_true(stats_mean(v, STATS_LEAST).se == 0);
        assert_true(stats_mean(v, 0).se < 0);
}

/* ---- traps ---- */

enum trap {
        SAME_RUN,
        NOTHING,
        LOST,
        COUNT,
        EMPTY,
        CUT,
        SHORT,
        RENAMED,
        UNOBSERVED,
        RANKS,
        NO_COUNTERS,
        MIG,
        MODEL,
        NO_STEPS,
        MORE_STEPS,
};

static void rename_steps(struct diff_run *run)
{
        snprintf(run->series[0].name, sizeof(run->series[0].name), "train_step");
}

static void set_trap(enum trap trap, struct pair *p)
{
        switch (trap) {
        case SAME_RUN:
        case NOTHING:
                return;
        case LOST:
                snprintf(p->b.lost, sizeof(p->b.lost), "3");
                return;
        case COUNT:
                p->b.gpus = 2;
                return;
        case EMPTY:
                diff_run_finish(&p->b);
                p->b = (struct diff_run){.ranks = 1};
                return;
        case CUT:
                snprintf(p->b.ended, sizeof(p->b.ended), "killed by signal 9");
                p->b.has_seconds = false;
                return;
        case SHORT:
                p->b.seconds = 2;
                return;
        case RENAMED:
                rename_steps(&p->b);
                return;
        case UNOBSERVED:
                p->b.observed = 0.6;
                return;
        case RANKS:
                p->a.ranks = 8;
                p->b.ranks = 7;
                return;
        case NO_COUNTERS:
                memset(p->b.windows, 0, sizeof(p->b.windows));
                diff_run_finish(&p->a);
                diff_run_finish(&p->b);
                return;
        case MIG:
                snprintf(p->b.mig, sizeof(p->b.mig), "3g.71gb");
                return;
        case MODEL:
                snprintf(p->b.model, sizeof(p->b.model), "NVIDIA H100");
                return;
        case NO_STEPS:
                diff_run_finish(&p->a);
                diff_run_finish(&p->b);
                return;
        case MORE_STEPS:
                assert_true(diff_run_add(&p->b, "step", DIFF_PHASE, 0.05));
                return;
        }
}

/* NEW is twice as fast in all of them: nothing of this may be told as a win. */
static void traps(void **state UNUSED)
{
        static const struct {
                enum trap trap;
                enum diff_word word;
                bool comparable;
                int status;
                const char *why;
        } rows[] = {
            {NOTHING, DIFF_LESS, true, 0, "no trap: it is faster"},
            {LOST, DIFF_INCONCLUSIVE, false, 3, "a GPU was lost"},
            {COUNT, DIFF_INCONCLUSIVE, false, 3, "another number of GPUs"},
            {EMPTY, DIFF_INCONCLUSIVE, false, 3, "an empty recording"},
            {CUT, DIFF_INCONCLUSIVE, false, 3, "kill -9"},
            {SHORT, DIFF_INCONCLUSIVE, true, 3, "a run of 2 s"},
            {RENAMED, DIFF_INCONCLUSIVE, true, 3, "no phase is in both"},
            {UNOBSERVED, DIFF_INCONCLUSIVE, false, 3, "time that nobody saw"},
            {RANKS, DIFF_INCONCLUSIVE, false, 3, "a rank is missing"},
            {NO_COUNTERS, DIFF_INCONCLUSIVE, true, 3, "nothing to go by"},
            {MIG, DIFF_INCONCLUSIVE, false, 3, "a slice instead of a GPU"},
            {MODEL, DIFF_INCONCLUSIVE, false, 3, "another GPU"},
            {NO_STEPS, DIFF_INCONCLUSIVE, true, 3, "one run a side, other work"},
            {MORE_STEPS, DIFF_LESS, true, 0, "the steps are still faster"},
        };
        struct maker m;
        load(&m);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct pair *p = new_pair(&m, 0.1, 0.05);
                set_trap(rows[i].trap, p);
                compare(p);
                if (p->d.word != rows[i].word || p->d.comparable != rows[i].comparable ||
                    diff_status(&p->d) != rows[i].status)
                        fail_msg("%s: %s, comparable %d, status %d: %s", rows[i].why,
                                 diff_word_name(p->d.word), p->d.comparable, diff_status(&p->d),
                                 p->d.why);
                struct strbuf reason = {0};
                diff_put_reason(&p->d, &reason);
                assert_true(p->d.word != DIFF_INCONCLUSIVE || reason.len > 0);
                strbuf_finish(&reason);
                free_pair(p);
        }
}

/* Whatever is wrong with it: the same recording has no difference from itself. */
static void same_twice(void **state UNUSED)
{
        struct maker m;
        load(&m);
        for (size_t i = 0; i < 3; i++) {
                struct pair *p = new_pair(&m, 0.1, 0.1);
                p->a.seconds = i == 1 ? 2 : 60; /* too short, too */
                if (i == 2)
                        memset(p->a.windows, 0, sizeof(p->a.windows));
                const struct diff_side a = {1, &p->a};
                diff_compare(&a, &a, 0, NULL, 0, &p->d);
                assert_int_equal(p->d.word, DIFF_SAME);
                assert_int_equal(diff_status(&p->d), 0);
                for (size_t k = 0; k < p->d.n_rows; k++)
                        assert_true(p->d.rows[k].change == 0 && p->d.rows[k].word == DIFF_SAME);
                free_pair(p);
        }
}

/* A longer warm-up is not a slower step. */
static void longer_warm_up(void **state UNUSED)
{
        struct maker m;
        load(&m);
        struct pair *p = new_pair(&m, 0.1, 0.1);
        for (size_t i = 0; i < 30; i++)
                p->b.series[0].v[i] *= 8;
        compare(p);
        assert_int_equal(p->d.word, DIFF_SAME);
        free_pair(p);
}

/* Copies of one recording are no repeats. */
static void copies_are_one(void **state UNUSED)
{
        struct maker m;
        load(&m);
        struct pair *p = new_pair(&m, 0.1, 0.11);
        diff_run_finish(&p->a);
        diff_run_finish(&p->b);
        p->b.windows[TRACE_SM_ACTIVE].n = 0;
        struct diff_run three[3] = {p->a, p->a, p->a};
        const struct diff_side a = {3, three}, b = {1, &p->b};
        diff_compare(&a, &b, 0, NULL, 0, &p->d);
        assert_int_equal(p->d.word, DIFF_INCONCLUSIVE);
        free_pair(p);
}

/* ---- causes ---- */

static void limits(struct diff_run *run, enum limiter l, double engine)
{
        memset(run->limiter, 0, sizeof(run->limiter));
        run->limiter[l] = (struct diff_share){1, 0, 99, 100};
        run->engine = value_ok(engine);
}

static void causes(void **state UNUSED)
{
        static const struct {
                double time, engine_base, engine_now, clock, power_limit;
                enum limiter base, now;
                enum diff_cause_kind kind;
                enum limiter moved;
                const char *why;
        } rows[] = {
            {2, 0.9, 0.45, 1.98e9, 700, LIMITER_COMPUTE_TENSOR, LIMITER_HOST_INPUT,
             DIFF_CAUSE_LIMITER, LIMITER_HOST_INPUT, "a starved loader"},
            {1.25, 0.9, 0.9, 1.6e9, 500, LIMITER_COMPUTE_TENSOR, LIMITER_COMPUTE_TENSOR,
             DIFF_CAUSE_POWER_LIMIT, 0, "a lower power limit"},
            {1.25, 0.9, 0.9, 1.6e9, 700, LIMITER_COMPUTE_TENSOR, LIMITER_COMPUTE_TENSOR,
             DIFF_CAUSE_CLOCK, 0, "another clock"},
            {0.3, 0.9, 0.9, 1.98e9, 700, LIMITER_COMPUTE_FP32, LIMITER_COMPUTE_TENSOR,
             DIFF_CAUSE_LIMITER, LIMITER_COMPUTE_FP32, "another precision"},
            {0.6, 0.54, 0.9, 1.98e9, 700, LIMITER_LAUNCH, LIMITER_KERNEL, DIFF_CAUSE_LIMITER,
             LIMITER_LAUNCH, "CUDA graphs"},
            {0.6, 0.9, 0.9, 1.98e9, 700, LIMITER_HOST_WAITING, LIMITER_KERNEL, DIFF_CAUSE_KERNELS,
             0, "a smaller batch after a pause"},
            {1.08, 0.92, 0.85, 1.98e9, 700, LIMITER_HOST_WAITING, LIMITER_KERNEL, DIFF_CAUSE_GAPS,
             0, "a sleep is no fault of the kernels"},
            {1, 0.9, 0.9, 1.98e9, 700, LIMITER_COMPUTE_TENSOR, LIMITER_KERNEL, DIFF_CAUSE_NONE, 0,
             "no difference has no cause"},
        };
        struct maker m;
        load(&m);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct pair *p = new_pair(&m, 0.1, 0.1 * rows[i].time);
                limits(&p->a, rows[i].base, rows[i].engine_base);
                limits(&p->b, rows[i].now, rows[i].engine_now);
                p->b.clock = value_ok(rows[i].clock);
                p->b.power_limit = value_ok(rows[i].power_limit);
                compare(p);
                if (p->d.cause.kind != rows[i].kind ||
                    (rows[i].kind == DIFF_CAUSE_LIMITER && p->d.cause.limiter != rows[i].moved))
                        fail_msg("%s: cause %d, %s", rows[i].why, p->d.cause.kind,
                                 limiter_name(p->d.cause.limiter));
                free_pair(p);
        }
}

/* One limiter on both sides: what moved is the kernels, or the time between them. */
static void same_limiter(void **state UNUSED)
{
        static const struct {
                enum limiter limiter;
                double engine_base, engine_now, time;
                enum diff_cause_kind kind;
                const char *why;
        } rows[] = {
            {LIMITER_LAUNCH, 0.1, 0.4, 0.25, DIFF_CAUSE_LIMITER, "the same kernels, fewer gaps"},
            {LIMITER_LAUNCH, 0.4, 0.25, 0.8, DIFF_CAUSE_KERNELS, "the same gaps, faster kernels"},
            {LIMITER_HOST_INPUT, 0.5, 0.25, 2, DIFF_CAUSE_LIMITER, "a loader that got slower"},
            {LIMITER_KERNEL, 0.95, 0.95, 2, DIFF_CAUSE_KERNELS, "slower kernels"},
            {LIMITER_KERNEL, 0.95, 0.5, 1.9, DIFF_CAUSE_GAPS, "gaps, whatever made them"},
            {LIMITER_UNKNOWN, 0.95, 0.5, 1.9, DIFF_CAUSE_GAPS, "a capture without the host"},
            {LIMITER_UNKNOWN, 0.95, 0.95, 2, DIFF_CAUSE_KERNELS, "kernels, whatever limits them"},
        };
        struct maker m;
        load(&m);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct pair *p = new_pair(&m, 0.1, 0.1 * rows[i].time);
                limits(&p->a, rows[i].limiter, rows[i].engine_base);
                limits(&p->b, rows[i].limiter, rows[i].engine_now);
                compare(p);
                if (p->d.cause.kind != rows[i].kind || p->d.cause.limiter != rows[i].limiter)
                        fail_msg("%s: cause %d", rows[i].why, p->d.cause.kind);
                free_pair(p);
        }
}

/* ---- lines ---- */

struct made_line {
        const char *function;
        uint32_t offset;
        bool of_workers;
        double share, se;
};

/* All in one file, which begins elsewhere on each side. */
static void put_profile(struct diff_run *run, uint32_t first_line, const struct made_line *list,
                        size_t n)
{
        run->lines.lines = calloc(n, sizeof(*run->lines.lines));
        assert_non_null(run->lines.lines);
        run->lines.n_samples = 1200;
        run->lines.least = 1.0 / 1200;
        for (size_t i = 0; i < n && list[i].function; i++) {
                struct profile_line *l = &run->lines.lines[run->lines.n++];
                *l = (struct profile_line){.offset = list[i].offset,
                                           .of_workers = list[i].of_workers,
                                           .share = list[i].share,
                                           .se = list[i].se,
                                           .n_samples = (uint64_t)(list[i].share * 1200)};
                l->own.line = first_line + list[i].offset;
                snprintf(l->own.file, sizeof(l->own.file), "/home/u%u/data.py", first_line);
                snprintf(l->own.function, sizeof(l->own.function), "%s", list[i].function);
        }
}

static void lines_of_a_change(void **state UNUSED)
{
        static const struct {
                const char *why;
                enum limiter limiter; /* of both sides; UNKNOWN: nothing tells of the GPU */
                struct made_line base[2], now[2];
                enum diff_cause_kind kind;
                size_t n; /* lines that are told */
                uint32_t line;
                bool of_workers;
                double base_s, now_s;
        } rows[] = {
            {"a line that got slower",
             LIMITER_HOST_CODE,
             {{"collate", 4, false, 0.2, 0.01}},
             {{"collate", 4, false, 0.6, 0.02}},
             DIFF_CAUSE_LIMITER,
             1,
             204,
             false,
             0.02,
             0.12},
            {"one that is new",
             LIMITER_HOST_CODE,
             {{"main", 1, false, 0.9, 0.01}},
             {{"collate", 4, false, 0.5, 0.02}},
             DIFF_CAUSE_LIMITER,
             1,
             204,
             false,
             0,
             0.1},
            {"nobody is sure",
             LIMITER_HOST_CODE,
             {{"collate", 4, false, 0.2, 0.3}},
             {{"collate", 4, false, 0.6, 0.3}},
             DIFF_CAUSE_LIMITER,
             0,
             0,
             false,
             0,
             0},
            {"too little of it",
             LIMITER_HOST_CODE,
             {{"collate", 4, false, 0.2, 0.01}},
             {{"collate", 4, false, 0.2, 0.01}},
             DIFF_CAUSE_LIMITER,
             0,
             0,
             false,
             0,
             0},
            {"kernels are not the program's lines",
             LIMITER_KERNEL,
             {{"collate", 4, false, 0.2, 0.01}},
             {{"collate", 4, false, 0.6, 0.02}},
             DIFF_CAUSE_KERNELS,
             0,
             0,
             false,
             0,
             0},
            {"the function was rewritten",
             LIMITER_HOST_CODE,
             {{"collate", 4, false, 0.2, 0.01}},
             {{"collate", 9, false, 0.6, 0.02}},
             DIFF_CAUSE_LIMITER,
             1,
             0,
             false,
             0.02,
             0.12},
            {"workers, and who waits for them",
             LIMITER_HOST_INPUT,
             {{"main", 1, false, 0.3, 0.01}, {"decode", 2, true, 0.5, 0.02}},
             {{"main", 1, false, 0.8, 0.01}, {"decode", 2, true, 3, 0.1}},
             DIFF_CAUSE_LIMITER,
             2,
             202,
             true,
             0.05,
             0.6},
            {"a side without stacks",
             LIMITER_HOST_CODE,
             {{NULL, 0, false, 0, 0}},
             {{"collate", 4, false, 0.6, 0.02}},
             DIFF_CAUSE_LIMITER,
             0,
             0,
             false,
             0,
             0},
            {"nothing else is known",
             LIMITER_UNKNOWN,
             {{"collate", 4, false, 0.2, 0.01}},
             {{"collate", 4, false, 0.7, 0.02}},
             DIFF_CAUSE_LINE,
             1,
             204,
             false,
             0.02,
             0.14},
        };
        struct maker m;
        load(&m);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                bool device = rows[i].limiter == LIMITER_KERNEL;
                struct pair *p = new_pair(&m, 0.1, 0.2);
                limits(&p->a, rows[i].limiter, 0.5);
                limits(&p->b, rows[i].limiter, device ? 0.5 : 0.25);
                if (rows[i].limiter == LIMITER_UNKNOWN)
                        p->a.engine = p->b.engine = value_missing(STATE_NONE);
                put_profile(&p->a, 100, rows[i].base, 2);
                put_profile(&p->b, 200, rows[i].now, 2);
                compare(p);
                const struct diff_cause *c = &p->d.cause;
                const struct diff_line *l = &c->lines[0];
                if (c->kind != rows[i].kind || c->n_lines != rows[i].n)
                        fail_msg("%s: cause %d, %zu lines", rows[i].why, c->kind, c->n_lines);
                if (c->n_lines > 0 &&
                    (l->own.line != rows[i].line || l->of_workers != rows[i].of_workers ||
                     fabs(l->base - rows[i].base_s) > 0.003 || fabs(l->now - rows[i].now_s) > 0.02))
                        fail_msg("%s: line %u, %g to %g s", rows[i].why, l->own.line, l->base,
                                 l->now);
                free_pair(p);
        }
}

/* ---- gates ---- */

static void gates(void **state UNUSED)
{
        static const struct {
                double change;
                struct diff_gate gate;
                int status;
                const char *why;
        } rows[] = {
            {1, {.of = DIFF_GATE_TIME, .relative = true, .most = 0.05}, 0, "no change"},
            {1.3, {.of = DIFF_GATE_TIME, .relative = true, .most = 0.05}, 1, "far beyond"},
            {1.3, {.of = DIFF_GATE_TIME, .relative = true, .most = 0.5}, 0, "more is allowed"},
            {0.7, {.of = DIFF_GATE_TIME, .relative = true, .most = 0.05}, 0, "faster"},
            {1, {.of = DIFF_GATE_TIME, .relative = true, .most = 0}, 3, "nothing is that sure"},
            {1.3, {.of = DIFF_GATE_TIME, .most = 0.01}, 1, "30 ms of 100 are beyond 10 ms"},
            {1, {.of = DIFF_GATE_MEMORY, .most = 2e9}, 0, "as much memory"},
            {1, {.of = DIFF_GATE_ENERGY, .relative = true, .most = 0.1}, 3, "not recorded by step"},
        };
        struct maker m;
        load(&m);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct pair *p = new_pair(&m, 0.1, 0.1 * rows[i].change);
                const struct diff_side a = {1, &p->a}, b = {1, &p->b};
                diff_compare(&a, &b, 0, &rows[i].gate, 1, &p->d);
                if (diff_status(&p->d) != rows[i].status)
                        fail_msg("%s: %d", rows[i].why, diff_status(&p->d));
                free_pair(p);
        }
}

/* ---- how often it is right ---- */

#define BETWEEN_RUNS 0.003 /* standard deviation of what a run as a whole differs by */

struct score {
        size_t n, faster, slower, same, open, covered;
};

static void add_score(const struct diff *d, double change, struct score *s)
{
        const struct diff_row *row = &d->rows[d->main];
        s->n++;
        s->faster += d->word == DIFF_LESS;
        s->slower += d->word == DIFF_MORE;
        s->same += d->word == DIFF_SAME;
        s->open += d->word == DIFF_INCONCLUSIVE;
        s->covered += row->low <= change && change <= row->high;
}

static void try_pair(struct maker *m, double change, size_t repeats, size_t steps, struct score *s)
{
        struct diff_run *runs = calloc(2 * repeats, sizeof(*runs));
        struct diff *d = calloc(1, sizeof(*d));
        assert_true(runs && d);
        const struct noise *noise = &m->noises[(size_t)(uniform(m) * (double)m->n)];
        for (size_t i = 0; i < 2 * repeats; i++) {
                double mean = 0.1 * (i < repeats ? 1 : 1 + change);
                init(&runs[i], 60);
                runs[i].start_ns = (int64_t)i;
                add_steps(m, &runs[i], "step", steps, mean * (1 + BETWEEN_RUNS * normal(m)), noise);
        }
        const struct diff_side a = {repeats, runs}, b = {repeats, runs + repeats};
        diff_compare(&a, &b, 0, NULL, 0, d);
        add_score(d, change, s);
        for (size_t i = 0; i < 2 * repeats; i++)
                diff_run_finish(&runs[i]);
        free(runs);
        free(d);
}

static void print_score(const char *of, double change, const struct score *s)
{
        double n = (double)s->n;
        print_message(
            "# | %s | %3.0f %% | %5.1f %% | %5.1f %% | %5.1f %% | %5.1f %% | %5.1f %% |\n", of,
            change * 100, 100 * (double)s->slower / n, 100 * (double)s->faster / n,
            100 * (double)s->same / n, 100 * (double)s->open / n, 100 * (double)s->covered / n);
}

static void judge_scores(const char *of, double change, const struct score *s)
{
        double n = (double)s->n;
        size_t wrong = s->faster + (change == 0 ? s->slower : 0);
        print_score(of, change, s);
        assert_true((double)wrong <= 0.05 * n);
        assert_true(change < 0.05 || (double)s->slower >= 0.95 * n);
        /* 95 %, less two standard errors of so many tries. */
        assert_true((double)s->covered >= 0.95 * n - 2 * sqrt(0.95 * 0.05 * n));
}

static void words_are_right(void **state UNUSED)
{
        static const double changes[] = {0, 0.01, 0.02, 0.05, 0.1, 0.3};
        const char *asked = getenv("ASSAY_DIFF_PAIRS");
        size_t pairs = asked ? strtoul(asked, NULL, 10) : 50;
        struct maker m;
        load(&m);
        print_message("# | runs a side | change | slower | faster | no difference | inconclusive | "
                      "interval covers it |\n");
        for (size_t repeats = 1; repeats <= 3; repeats += 2) {
                for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
                        struct score s = {0};
                        for (size_t k = 0; k < pairs; k++)
                                try_pair(&m, changes[i], repeats, 300, &s);
                        judge_scores(repeats == 1 ? "1" : "3", changes[i], &s);
                }
        }
}

/* Few steps tell less, and nothing false: 6, and 12 as a program logs them that runs 120. */
static void few_steps(void **state UNUSED)
{
        static const size_t steps[] = {6, 12, 19};
        static const double changes[] = {0, 0.05, 0.3};
        const char *asked = getenv("ASSAY_DIFF_PAIRS");
        size_t pairs = asked ? strtoul(asked, NULL, 10) : 50;
        struct maker m;
        load(&m);
        for (size_t k = 0; k < ARRAY_LEN(steps); k++) {
                for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
                        struct score s = {0};
                        char of[32];
                        for (size_t pair = 0; pair < pairs; pair++)
                                try_pair(&m, changes[i], 1, steps[k], &s);
                        snprintf(of, sizeof(of), "1, of %zu steps", steps[k]);
                        print_score(of, changes[i], &s);
                        size_t wrong = s.faster + (changes[i] == 0 ? s.slower : 0);
                        assert_true((double)wrong <= 0.05 * (double)s.n);
                        assert_true((double)s.covered >= 0.9 * (double)s.n);
                        assert_true(changes[i] < 0.3 || (double)s.slower >= 0.8 * (double)s.n);
                }
        }
}

/* One base and new runs that differ more among themselves than from it: nobody knows. */
static void noisy_repeats_of_one_side(void **state UNUSED)
{
        static const double now[] = {0.095, 0.112, 0.124};
        struct maker m;
        load(&m);
        for (int swap = 0; swap < 2; swap++) {
                struct diff_run *runs = calloc(4, sizeof(*runs));
                struct diff *d = calloc(1, sizeof(*d));
                assert_true(runs && d);
                for (size_t i = 0; i < 4; i++) {
                        init(&runs[i], 60);
                        runs[i].start_ns = (int64_t)i;
                        add_steps(&m, &runs[i], "step", 300, i == 0 ? 0.1 : now[i - 1],
                                  &m.noises[2]);
                }
                const struct diff_side one = {1, runs}, three = {3, runs + 1};
                diff_compare(swap ? &three : &one, swap ? &one : &three, 0, NULL, 0, d);
                assert_int_equal(d->word, DIFF_INCONCLUSIVE);
                assert_int_equal(diff_status(d), 3);
                assert_true(d->rows[d->main].low < -0.2 && d->rows[d->main].high > 0.2);
                for (size_t i = 0; i < 4; i++)
                        diff_run_finish(&runs[i]);
                free(runs);
                free(d);
        }
}

/* ---- the evidence of a headline ---- */

/* So many numbers of a name, about so large each, with noise. */
static void add_numbers(struct maker *m, struct diff_run *run, const char *name,
                        enum diff_kind kind, size_t n, double mean, double noise)
{
        for (size_t i = 0; i < n; i++)
                assert_true(diff_run_add(run, name, kind, mean * (1 + noise * normal(m))));
}

struct series_row {
        const char *name;
        enum diff_kind kind;
        size_t n;
        double base, now, noise;
};

static void evidence(void **state UNUSED)
{
        static const struct {
                struct series_row series[4];
                const char *main, *opposed;
                enum diff_word word;
                int status; /* with a gate of 5 % */
                const char *why;
        } rows[] = {
            {{{"step_s", DIFF_USER, 12, 0.042, 0.1, 0.01}, {"train", DIFF_PHASE, 1, 20, 47, 0}},
             "step_s",
             NULL,
             DIFF_MORE,
             1,
             "means of ten steps each"},
            {{{"step_s", DIFF_USER, 12, 0.042, 0.0449, 0.01}},
             "step_s",
             NULL,
             DIFF_MORE,
             1,
             "slightly, and sure"},
            {{{"step_s", DIFF_USER, 12, 0.042, 0.042, 0.003}, {"warmup", DIFF_PHASE, 1, 2, 6, 0}},
             "step_s",
             NULL,
             DIFF_SAME,
             0,
             "a longer warm-up is no slower step"},
            {{{"train", DIFF_PHASE, 1, 20, 47, 0}, {"warmup", DIFF_PHASE, 1, 40, 20, 0}},
             "train",
             NULL,
             DIFF_MORE,
             1,
             "a phase once a run, and a warm-up"},
            {{{"train", DIFF_PHASE, 1, 20, 20.6, 0}},
             "train",
             NULL,
             DIFF_INCONCLUSIVE,
             3,
             "3 % of one phase is what runs differ by"},
            {{{"step_s", DIFF_USER, 12, 0.042, 0.042, 0.003}, {"train", DIFF_PHASE, 1, 20, 25, 0}},
             "train",
             NULL,
             DIFF_MORE,
             1,
             "the time goes between the steps"},
            {{{"tokens_per_s", DIFF_USER, 12, 9e4, 7e4, 0.01}},
             "tokens_per_s",
             NULL,
             DIFF_MORE,
             1,
             "a lower rate is slower"},
            {{{"tokens_per_s", DIFF_USER, 12, 7e4, 9e4, 0.01}},
             "tokens_per_s",
             NULL,
             DIFF_LESS,
             0,
             "a higher rate is faster"},
            {{{"throughput", DIFF_USER, 1, 900, 500, 0}},
             "throughput",
             NULL,
             DIFF_MORE,
             1,
             "a number at the end of a run"},
            {{{"step_s", DIFF_USER, 12, 0.042, 0.022, 0.01},
              {"samples/s", DIFF_USER, 12, 1500, 1300, 0.01}},
             "step_s",
             "samples/s",
             DIFF_INCONCLUSIVE,
             3,
             "steps of half the batch, less is done"},
            {{{"loss", DIFF_USER, 12, 2, 1, 0.01}, {"train", DIFF_PHASE, 1, 20, 30, 0}},
             "train",
             NULL,
             DIFF_MORE,
             1,
             "a loss says nothing of speed"},
            {{{"step_s", DIFF_USER, 12, 0.042, 0.042, 0.003},
              {"data_time", DIFF_USER, 12, 0.001, 0.002, 0.01}},
             "step_s",
             NULL,
             DIFF_SAME,
             0,
             "a part may take longer"},
            {{{"checkpoint", DIFF_PHASE, 8, 0.5, 0.9, 0.01}, {"train", DIFF_PHASE, 1, 20, 16, 0}},
             "train",
             NULL,
             DIFF_LESS,
             0,
             "a part that comes often is no step"},
            {{{"step", DIFF_PHASE, 6, 2, 2.6, 0.01}}, "step", NULL, DIFF_MORE, 1, "six steps"},
        };
        static const struct diff_gate gate = {.of = DIFF_GATE_TIME, .relative = true, .most = 0.05};
        struct maker m;
        load(&m);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct pair *p = calloc(1, sizeof(*p));
                assert_non_null(p);
                init(&p->a, 60);
                init(&p->b, 60);
                p->b.start_ns = 1;
                for (const struct series_row *s = rows[i].series; s->name; s++) {
                        add_numbers(&m, &p->a, s->name, s->kind, s->n, s->base, s->noise);
                        add_numbers(&m, &p->b, s->name, s->kind, s->n, s->now, s->noise);
                }
                const struct diff_side a = {1, &p->a}, b = {1, &p->b};
                diff_compare(&a, &b, 0, &gate, 1, &p->d);
                const char *main = p->d.rows[p->d.main].name;
                const char *opposed =
                    p->d.opposed == SIZE_MAX ? NULL : p->d.rows[p->d.opposed].name;
                bool same = !opposed == !rows[i].opposed &&
                            (!opposed || strcmp(opposed, rows[i].opposed) == 0);
                if (strcmp(main, rows[i].main) != 0 || p->d.word != rows[i].word || !same ||
                    diff_status(&p->d) != rows[i].status)
                        fail_msg("%s: %s %s, status %d: %s", rows[i].why, main,
                                 diff_word_name(p->d.word), diff_status(&p->d), p->d.why);
                free_pair(p);
        }
}

/* Runs that take longer to begin have the same steps: the headline is about those. */
static void longer_start_up(void **state UNUSED)
{
        struct maker m;
        load(&m);
        struct diff_run *runs = calloc(6, sizeof(*runs));
        struct diff *d = calloc(1, sizeof(*d));
        assert_true(runs && d);
        for (size_t i = 0; i < 6; i++) {
                init(&runs[i], (i < 3 ? 60 : 70) + 0.1 * (double)i);
                runs[i].start_ns = (int64_t)i;
                add_steps(&m, &runs[i], "step", 300, 0.1, &m.noises[2]);
        }
        const struct diff_side a = {3, runs}, b = {3, runs + 3};
        diff_compare(&a, &b, 0, NULL, 0, d);
        assert_int_equal(d->word, DIFF_SAME);
        assert_string_equal(d->rows[d->main].name, "step");
        size_t slower = 0;
        for (size_t i = 0; i < d->n_rows; i++)
                slower += strcmp(d->rows[i].name, "run") == 0 && d->rows[i].word == DIFF_MORE;
        assert_int_equal(slower, 1);
        for (size_t i = 0; i < 6; i++)
                diff_run_finish(&runs[i]);
        free(runs);
        free(d);
}

/* A number that only grows is a clock. */
static void clocks(void **state UNUSED)
{
        static const struct {
                double v[6];
                bool is;
        } rows[] = {{{1, 2, 3, 4, 5, 6}, true},
                    {{1, 1.01, 1.02, 1.03, 1.04, 1.05}, false},
                    {{1, 2, 3, 4, 5, 4}, false},
                    {{6, 5, 4, 3, 2, 1}, false}};
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct diff_run run = {.n_series = 0};
                for (size_t k = 0; k < 6; k++)
                        assert_true(diff_run_add(&run, "time_s", DIFF_USER, rows[i].v[k]));
                assert_int_equal(diff_is_clock(&run.series[0]), rows[i].is);
                diff_run_finish(&run);
        }
}

/* ---- the time of the same work ---- */

#define WORK_S 60.0 /* SM-seconds */

/* A run that ends when its work is done: SMs as busy as told, with the noise of a recording. */
static void do_work(struct maker *m, struct diff_run *run, double busy, const struct noise *noise)
{
        struct diff_windows *w = &run->windows[TRACE_SM_ACTIVE];
        double left = WORK_S, x = 0;
        init(run, 0);
        w->n = 0;
        busy *= 1 + BETWEEN_RUNS * normal(m);
        for (size_t i = 0; left > 0 && w->n < DIFF_WINDOWS_MAX; i++) {
                size_t at = 1 + (size_t)(uniform(m) * (double)(noise->n - 1));
                x = noise->rho * x + noise->v[at] - noise->rho * noise->v[at - 1];
                if (i < 50)
                        continue;
                double sm = busy * MAX(1 + x, 0), part = sm > 0 ? MIN(1, left / sm) : 1;
                left -= sm * part;
                run->seconds += part;
                w->span_s = run->seconds;
                w->v[w->n++] = (float)sm;
                run->ticks++;
        }
}

/* Without steps: the same work in less or more time. */
static void work_is_timed(void **state UNUSED)
{
        static const double changes[] = {0, 0.05, 0.1, 0.3};
        const char *asked = getenv("ASSAY_DIFF_PAIRS");
        size_t pairs = asked ? strtoul(asked, NULL, 10) : 50;
        struct maker m;
        load(&m);
        for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
                struct score s = {0};
                for (size_t k = 0; k < pairs; k++) {
                        struct pair *p = calloc(1, sizeof(*p));
                        assert_non_null(p);
                        const struct noise *noise = &m.noises[k % m.n];
                        do_work(&m, &p->a, 0.8, noise);
                        do_work(&m, &p->b, 0.8 / (1 + changes[i]), noise);
                        p->b.start_ns = 1;
                        compare(p);
                        assert_string_equal(p->d.rows[p->d.main].name, "time after start-up");
                        add_score(&p->d, changes[i], &s);
                        free_pair(p);
                }
                judge_scores("1, no steps", changes[i], &s);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(quantiles),
            cmocka_unit_test(warm_ups),
            cmocka_unit_test(errors),
            cmocka_unit_test(few_numbers),
            cmocka_unit_test(traps),
            cmocka_unit_test(same_twice),
            cmocka_unit_test(longer_warm_up),
            cmocka_unit_test(copies_are_one),
            cmocka_unit_test(causes),
            cmocka_unit_test(same_limiter),
            cmocka_unit_test(lines_of_a_change),
            cmocka_unit_test(gates),
            cmocka_unit_test(words_are_right),
            cmocka_unit_test(work_is_timed),
            cmocka_unit_test(few_steps),
            cmocka_unit_test(noisy_repeats_of_one_side),
            cmocka_unit_test(evidence),
            cmocka_unit_test(clocks),
            cmocka_unit_test(longer_start_up),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
