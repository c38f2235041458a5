/* Ranks side by side, made by code: who stands apart, whose steps are late, and when nothing is
 * said. */
#include "base/attr.h"
#include "compute/live.h"
#include "compute/ranks/ranks.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- who stands apart ---- */

static const struct {
        const char *why;
        size_t n;
        double v[16];
        int sign;
        double least;
        unsigned out; /* bits */
} spreads[] = {
    {"one far above", 5, {1, 1.01, 0.99, 1.5, 1}, 1, 0.1, 1u << 3},
    {"asked for the other side", 5, {1, 1.01, 0.99, 1.5, 1}, -1, 0.1, 0},
    {"one below", 4, {1, 1, 0.8, 1}, -1, 0.1, 1u << 2},
    {"too little to matter", 4, {1, 1, 1.05, 1}, 1, 0.1, 0},
    {"noise: all are apart", 6, {1, 1.4, 0.7, 1.9, 1.2, 0.5}, 1, 0.1, 0},
    {"two of eight", 8, {1, 1, 1, 2, 1, 1, 2.1, 1}, 1, 0.1, 1u << 3 | 1u << 6},
    {"half of them: a design", 8, {1, 2, 1, 2, 1, 2, 1, 2}, 1, 0.1, 0},
    {"two ranks: the side says which", 2, {1, 2}, 1, 0.1, 1u << 1},
    {"two ranks, the other side", 2, {1, 2}, -1, 0.1, 1u << 0},
    {"missing is no value", 5, {1, NAN, 1, NAN, 2}, 1, 0.1, 1u << 4},
    {"alone", 1, {7}, 1, 0.1, 0},
    {"not clear of the next", 6, {1, 1.02, 1.03, 1.15, 1.2, 1.05}, 1, 0.1, 0},
};

static void outliers(void **state UNUSED)
{
        for (size_t i = 0; i < ARRAY_LEN(spreads); i++) {
                bool out[16];
                unsigned bits = 0;
                job_outliers(spreads[i].v, spreads[i].n, spreads[i].sign, spreads[i].least, out);
                for (size_t k = 0; k < spreads[i].n; k++)
                        bits |= out[k] ? 1u << k : 0;
                if (bits != spreads[i].out)
                        fail_msg("%s: %x, not %x", spreads[i].why, bits, spreads[i].out);
        }
}

/* ---- steps ---- */

enum marks { OWN, WAITING, WHOLE, OWN_REPORTED_LATE };

static const struct {
        const char *why;
        enum marks marks;
        size_t ranks, steps;
        int late;     /* the rank; -1: none */
        double more;  /* of a step */
        size_t from;  /* steps */
        size_t every; /* 0: all from there on */
        double noise;
        bool found, lasting;
} jobs[] = {
    {"own work, a fifth longer", OWN, 4, 100, 2, 0.2, 0, 0, 0.01, true, true},
    {"waiting: the short one", WAITING, 4, 100, 2, 0.2, 0, 0, 0.01, true, true},
    {"own work, told when all are ready", OWN_REPORTED_LATE, 4, 100, 1, 0.2, 0, 0, 0.01, true,
     true},
    {"whole steps show nothing", WHOLE, 4, 100, 2, 0.2, 0, 0, 0.01, false, false},
    {"since the middle", OWN, 4, 100, 0, 0.3, 50, 0, 0.01, true, true},
    {"one in fifty", OWN, 8, 400, 5, 2, 0, 50, 0.01, true, false},
    {"two ranks", OWN, 2, 60, 1, 0.3, 0, 0, 0.01, true, true},
    {"healthy", OWN, 8, 200, -1, 0, 0, 0, 0.02, false, false},
    {"healthy and noisy", OWN, 8, 200, -1, 0, 0, 0, 0.25, false, false},
    {"1 % is not worth telling", OWN, 8, 200, 3, 0.01, 0, 0, 0.005, false, false},
    {"too few steps", OWN, 4, 6, 3, 0.5, 0, 0, 0.01, false, false},
};

#define HEALTHY 7 /* its row */

static double noise(unsigned *seed, double sigma)
{
        double sum = 0;
        for (int i = 0; i < 12; i++) {
                *seed = *seed * 1664525u + 1013904223u;
                sum += (double)(*seed >> 8) / (1 << 24);
        }
        return exp(sigma * (sum - 6));
}

static void add(struct job_rank *r, enum marks marks, double begin, double ready, double end)
{
        switch (marks) {
        case OWN:
                job_add_step(r, "compute", begin, ready - begin);
                break;
        case WAITING:
                job_add_step(r, "other", ready, end - ready);
                break;
        case WHOLE:
                job_add_step(r, "step", begin, end - begin);
                break;
        case OWN_REPORTED_LATE:
                job_add_step(r, "compute", end - (ready - begin), ready - begin);
                break;
        }
}

static void make_job(size_t row, struct job *j)
{
        unsigned seed = (unsigned)row * 77 + 1;
        double now = 0;
        *j =
            (struct job){.n = jobs[row].ranks, .ranks = calloc(jobs[row].ranks, sizeof(*j->ranks))};
        for (size_t i = 0; i < j->n; i++) {
                j->ranks[i].rank = value_ok((double)i);
                snprintf(j->ranks[i].node, sizeof(j->ranks[i].node), "n%zu", i / 2);
        }
        for (size_t k = 0; k < jobs[row].steps; k++) {
                double ready[16], end = 0;
                for (size_t i = 0; i < j->n; i++) {
                        bool late = (int)i == jobs[row].late && k >= jobs[row].from &&
                                    (jobs[row].every == 0 || k % jobs[row].every == 10);
                        double own =
                            0.8 * noise(&seed, jobs[row].noise) + (late ? jobs[row].more : 0);
                        ready[i] = now + own;
                        end = MAX(end, ready[i]);
                }
                for (size_t i = 0; i < j->n; i++)
                        add(&j->ranks[i], jobs[row].marks, now, ready[i], end + 0.02);
                now = end + 0.02;
        }
}

static void steps(void **state UNUSED)
{
        for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
                struct job j;
                make_job(i, &j);
                struct step_view v = {.ranks = calloc(j.n, sizeof(*v.ranks))};
                assert_int_equal(job_steps(&j, &v), 0);
                for (size_t r = 0; r < j.n; r++) {
                        bool late = jobs[i].found && (int)r == jobs[i].late;
                        if (v.ranks[r].late != late)
                                fail_msg("%s: rank %zu is %slate (%.3f)", jobs[i].why, r,
                                         v.ranks[r].late ? "" : "not ", v.ranks[r].share);
                        if (late)
                                assert_int_equal(v.ranks[r].lasting, jobs[i].lasting);
                        if (late && jobs[i].from > 0)
                                assert_true(fabs(v.ranks[r].begin_s - 0.82 * 50) < 5);
                }
                free(v.ranks);
                job_finish(&j);
        }
}

/* Two that take turns at one GPU: one of them is second for a while, then the other. */
static void turns(void **state UNUSED)
{
        struct job j = {.n = 2, .ranks = calloc(2, sizeof(*j.ranks))};
        for (size_t k = 0; k < 60; k++) {
                bool first = (k / 7) % 5 < 2;
                job_add_step(&j.ranks[0], "compute", (double)k, first ? 0.2 : 0.4);
                job_add_step(&j.ranks[1], "compute", (double)k, first ? 0.4 : 0.2);
        }
        struct step_view v = {.ranks = calloc(j.n, sizeof(*v.ranks))};
        assert_int_equal(job_steps(&j, &v), 0);
        assert_false(v.ranks[0].late || v.ranks[1].late);
        free(v.ranks);
        job_finish(&j);
}

/* Clocks of nodes that are apart are found by the steps, and nobody is late for that. */
static void clocks(void **state UNUSED)
{
        struct job j;
        make_job(HEALTHY, &j);
        for (size_t i = 4; i < 6; i++) {
                struct job_series *s = &j.ranks[i].series[0];
                for (size_t k = 0; k < s->n; k++)
                        s->begin_s[k] += 0.35;
        }
        struct step_view v = {.ranks = calloc(j.n, sizeof(*v.ranks))};
        assert_int_equal(job_steps(&j, &v), 0);
        assert_int_equal(j.align, JOB_BY_MARKS);
        assert_true(fabs(j.moved_s - 0.35) < 0.01);
        assert_true(fabs(j.ranks[5].offset_s - 0.35) < 0.01 && fabs(j.ranks[1].offset_s) < 0.01);
        for (size_t r = 0; r < j.n; r++)
                assert_false(v.ranks[r].late);
        free(v.ranks);
        job_finish(&j);
}

/* More steps than are kept: two become one, and none is lost. */
static void many_steps(void **state UNUSED)
{
        struct job_rank r = {0};
        double sum = 0;
        for (size_t i = 0; i < 3 * JOB_STEPS_MAX + 5; i++)
                assert_int_equal(job_add_step(&r, "step", (double)i, 0.5), 0);
        const struct job_series *s = &r.series[0];
        assert_true(s->n <= JOB_STEPS_MAX && s->fold == 4);
        for (size_t i = 0; i < s->n; i++) {
                sum += (double)s->seconds[i];
                assert_true(s->begin_s[i] == (double)(4 * i));
        }
        assert_true(fabs(sum - 0.5 * (3 * JOB_STEPS_MAX + 5)) < 1);
        job_rank_finish(&r);
}

/* ---- live ---- */

static const struct {
        const char *why;
        size_t n, odd;
        double engine, work, clock,
            memory;    /* of the odd one; the others: 0.97, 0.6, 1.7 GHz, 40 GB */
        unsigned bits; /* why its clock is lower */
        double spread; /* of the others' memory and work */
        int seconds;
        unsigned late; /* enum straggler_cause + 1 */
} fleets[] = {
    {"all alike", 6, 2, 0.97, 0.6, 1.7e9, 40e9, 0, 0, 60, 0},
    {"hot and slow", 6, 2, 0.97, 0.75, 1.36e9, 40e9, 0x40, 0, 60, CAUSE_CLOCK + 1},
    {"its GPU idles for the same work", 8, 5, 0.8, 0.6, 1.7e9, 40e9, 0, 0, 60, CAUSE_UNKNOWN + 1},
    {"it has a tenth less to do, and is as fast", 8, 5, 0.87, 0.54, 1.7e9, 40e9, 0, 0, 60, 0},
    {"it idles and does less: other work", 8, 5, 0.6, 0.3, 1.7e9, 40e9, 0, 0, 60, 0},
    {"other memory: another job", 8, 5, 0.8, 0.6, 1.7e9, 70e9, 0, 0, 60, 0},
    {"the others are no job", 6, 2, 0.97, 0.75, 1.36e9, 40e9, 0x40, 0.5, 60, 0},
    {"too few to compare", 3, 2, 0.97, 0.75, 1.36e9, 40e9, 0x40, 0, 60, 0},
    {"too early", 6, 2, 0.97, 0.75, 1.36e9, 40e9, 0x40, 0, 15, 0},
    {"a spike is no lateness", 6, 2, 0.97, 0.75, 1.36e9, 40e9, 0x40, 0, 22, 0},
};

static void live(void **state UNUSED)
{
        for (size_t row = 0; row < ARRAY_LEN(fleets); row++) {
                struct live_rank ranks[8] = {0}, *list[8];
                double scratch[LIVE_SCRATCH(8)];
                bool out[8];
                uint8_t late[8] = {0};
                for (int t = 0; t <= fleets[row].seconds; t++) {
                        for (size_t i = 0; i < fleets[row].n; i++) {
                                bool odd = i == fleets[row].odd;
                                double other = 1 + fleets[row].spread * (double)i;
                                struct sample s = {0};
                                s.m[METRIC_GR_ACTIVE] = value_ok(odd ? fleets[row].engine : 0.97);
                                s.m[METRIC_TENSOR_ACTIVE] =
                                    value_ok(odd ? fleets[row].work : 0.6 * other);
                                s.m[METRIC_SM_CLOCK] = value_ok(odd ? fleets[row].clock : 1.7e9);
                                s.m[METRIC_FB_USED] =
                                    value_ok(odd ? fleets[row].memory : 40e9 * other);
                                s.m[METRIC_THROTTLE_REASONS] = value_ok(odd ? fleets[row].bits : 0);
                                live_rank_add(&ranks[i], &s, (int64_t)t * 1000000000 + 1);
                                list[i] = &ranks[i];
                        }
                        live_find_late(list, fleets[row].n, scratch, out, late);
                }
                for (size_t i = 0; i < fleets[row].n; i++) {
                        unsigned expected = i == fleets[row].odd ? fleets[row].late : 0;
                        if (late[i] != expected)
                                fail_msg("%s: GPU %zu is %u, not %u", fleets[row].why, i, late[i],
                                         expected);
                }
        }
}

/* ---- what a rank's own processes do ---- */

static void add_host(struct job_fold *fold, int second, double cores, double bytes)
{
        static struct host h;
        struct level_state *own = &h.levels[LEVEL_PROCESS];
        h.wall_ns = (int64_t)(second + 1) * 1000000000;
        own->asked = own->present = true;
        own->f[FIGURE_CPU] = value_ok(cores);
        own->f[FIGURE_RSS] = value_ok(bytes);
        job_fold_host(fold, &h);
}

/* Of an hour few points are left, and all of the CPU time. */
static void own_processes(void **state UNUSED)
{
        static struct job_fold fold;
        static struct job_rank r;
        for (int t = 0; t < 3600; t++)
                add_host(&fold, t, t < 1800 ? 0.25 : 1, t < 100 ? 8e6 : 900e6);
        r.own = fold.own;
        assert_true(r.own.n <= JOB_CPU_POINTS && r.own.n > JOB_CPU_POINTS / 4);
        int64_t s = 1000000000;
        assert_true(fabs(job_own_cpu(&r, 100 * s, 1700 * s) - 0.25) < 0.001);
        assert_true(fabs(job_own_cpu(&r, 1900 * s, 3500 * s) - 1) < 0.001);
        assert_true(fabs(job_own_cpu(&r, 0, 4000 * s) - 0.625) < 0.01);
        assert_true(isnan(job_own_cpu(&r, 5000 * s, 6000 * s)));
        assert_int_equal(r.own.grown_ns[5], 1 * s);    /* 5.7 MiB */
        assert_int_equal(r.own.grown_ns[19], 101 * s); /* 724 MiB */
        assert_int_equal(r.own.grown_ns[20], 0);
}

/* ---- chance, and marks that do not tell ---- */

static const struct {
        double times, others;
        size_t n;
        bool more;
} counts[] = {{2, 0, 7, true},  {2, 1, 7, false}, {3, 1, 7, true},  {3, 3, 7, false},
              {3, 0, 1, false}, {4, 0, 1, true},  {7, 2, 1, false}, {24, 3, 1, true}};

static void more_often(void **state UNUSED)
{
        for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
                if (job_more_often(counts[i].times, counts[i].others, counts[i].n) !=
                    counts[i].more)
                        fail_msg("row %zu: %g to %g of %zu", i, counts[i].times, counts[i].others,
                                 counts[i].n);
        }
}

/* Steps of 2.5 s; the first ranks have so many slow ones each, at moments of their own. */
static void add_slow(struct job *j, const size_t *slow, size_t steps)
{
        for (size_t k = 0; k < steps; k++) {
                for (size_t i = 0; i < j->n; i++) {
                        size_t every = slow[i] > 0 ? steps / slow[i] : steps + 1;
                        bool late = (k + i) % every == every - 1;
                        job_add_step(&j->ranks[i], "compute", 2.5 * (double)k,
                                     0.8 + (late ? 1.6 : 0.001 * (double)((k * 31 + i * 17) % 7)));
                }
        }
}

/* Every rank has slow steps at times: one has some more by chance, or many more. */
static void slow_by_chance(void **state UNUSED)
{
        static const struct {
                size_t slow[4];
                bool late;
        } jobs_of[] = {{{7, 3, 3, 3}, false}, {{24, 3, 3, 3}, true}, {{9, 0, 0, 0}, true}};
        for (size_t i = 0; i < ARRAY_LEN(jobs_of); i++) {
                for (size_t n = 2; n <= 4; n += 2) {
                        struct job j = {.n = n, .ranks = calloc(n, sizeof(*j.ranks))};
                        struct step_view v = {.ranks = calloc(n, sizeof(*v.ranks))};
                        add_slow(&j, jobs_of[i].slow, 200);
                        assert_int_equal(job_steps(&j, &v), 0);
                        if (v.ranks[0].late != jobs_of[i].late)
                                fail_msg("%zu of %zu: %zu slow, the next %zu", i, n,
                                         v.ranks[0].slow, v.ranks[1].slow);
                        assert_false(v.ranks[1].late);
                        free(v.ranks);
                        job_finish(&j);
                }
        }
}

/* Ranks that meet within their work come to the marked waiting together: that tells nothing. Of
 * several marks those that show each rank's own time are looked at. */
static void marks_that_tell(void **state UNUSED)
{
        for (int own = 0; own <= 1; own++) {
                struct job j = {.n = 4, .ranks = calloc(4, sizeof(*j.ranks))};
                struct step_view v = {.ranks = calloc(j.n, sizeof(*v.ranks))};
                for (size_t k = 0; k < 60; k++) {
                        for (size_t i = 0; i < j.n; i++) {
                                double jitter = 0.0002 * (double)((k * 7 + i * 3) % 5);
                                double more = own ? 0.1 * (double)((k + i) % 4) : 0;
                                double t = (double)k;
                                job_add_step(&j.ranks[i], "step", t, 1);
                                job_add_step(&j.ranks[i], "compute", t, 0.5 + jitter + more);
                                job_add_step(&j.ranks[i], "sync", t + 0.5 + jitter + more,
                                             0.4 - jitter - more);
                        }
                }
                assert_int_equal(job_steps(&j, &v), 0);
                assert_int_equal(v.shows_own_time, own);
                assert_string_equal(v.name, own ? "compute" : "step");
                free(v.ranks);
                job_finish(&j);
        }
}

/* ---- causes ---- */

#define SECOND 1000000000LL
#define BUCKETS 200

struct figures {
        double engine, work, power, thread, hz, lanes; /* NAN: not known */
        int prepares;                                  /* seconds */
};

static const struct {
        const char *why;
        struct figures odd, others;
        enum straggler_cause cause; /* CAUSE_COUNT: nobody is named */
} judged[] = {
    {"idle for half of the time with a busy thread, at a clock that is not known",
     {0.47, 0.43, 350, 0.8, NAN, 16, 9},
     {0.95, 0.44, 460, 0.7, 1.7e9, 16, 9},
     CAUSE_CORE},
    {"the same, and its thread has little to do",
     {0.47, 0.43, 350, 0.2, NAN, 16, 9},
     {0.95, 0.44, 460, 0.7, 1.7e9, 16, 9},
     CAUSE_UNKNOWN},
    {"it has less to do, and is as fast",
     {0.88, 0.56, 450, 0.95, 1.7e9, 16, 9},
     {0.96, 0.61, 460, 0.95, 1.7e9, 16, 9},
     CAUSE_COUNT},
    {"a narrow link, no counters, and it draws less",
     {1, NAN, 477, 0.9, 1.7e9, 2, 9},
     {1, NAN, 525, 0.9, 1.7e9, 16, 9},
     CAUSE_LINK},
    {"a narrow link that nobody notices",
     {1, NAN, 524, 0.9, 1.7e9, 2, 9},
     {1, NAN, 525, 0.9, 1.7e9, 16, 9},
     CAUSE_COUNT},
    {"its processes are busy for a minute while the others' wait",
     {0.95, 0.44, 460, 0.7, 1.7e9, 16, 70},
     {0.95, 0.44, 460, 0.7, 1.7e9, 16, 9},
     CAUSE_LATE_START},
};

/* All kernels begin after 80 s. */
static void make_rank(struct job_rank *r, size_t rank, const struct figures *f)
{
        bool clock = !isnan(f->hz);
        r->rank = value_ok((double)rank);
        r->start_ns = SECOND;
        r->peak_memory = value_ok(40e9);
        r->use = (struct job_gpu){.ticks = BUCKETS,
                                  .busy = 120,
                                  .clock = clock ? 120 * f->hz : 0,
                                  .clocks = clock ? 120 : 0,
                                  .lanes = 120 * f->lanes,
                                  .generation = 120 * 5,
                                  .links = 120,
                                  .held_ns = 5 * SECOND,
                                  .first_ns = 80 * SECOND,
                                  .work_ns = 80 * SECOND,
                                  .last_ns = BUCKETS * SECOND};
        r->track = (struct job_track){.start_ns = SECOND, .width_ns = SECOND, .n = BUCKETS};
        for (size_t k = 0; k < JOB_FIGURE_COUNT; k++) {
                double v = k == JOB_ENGINE       ? f->engine
                           : k == JOB_WORK       ? f->work
                           : k == JOB_POWER      ? f->power
                           : k == JOB_GAP_THREAD ? f->thread
                                                 : NAN;
                r->track.v[k] = calloc(BUCKETS, sizeof(float));
                for (size_t b = 0; b < BUCKETS; b++)
                        r->track.v[k][b] = b >= 80 ? (float)v : k == JOB_ENGINE ? 0 : NAN;
        }
        for (int t = 0; t < BUCKETS; t++) {
                double cores = t < f->prepares || t > 80 ? 0.9 : 0.05;
                r->own.cpu += cores;
                r->own.at_ns[r->own.n] = (t + 2) * SECOND;
                r->own.cpu_s[r->own.n++] = r->own.cpu;
        }
}

static void causes(void **state UNUSED)
{
        for (size_t row = 0; row < ARRAY_LEN(judged); row++) {
                struct job j = {.n = 6, .start_ns = SECOND, .end_ns = (BUCKETS + 1) * SECOND};
                j.ranks = calloc(j.n, sizeof(*j.ranks));
                for (size_t i = 0; i < j.n; i++)
                        make_rank(&j.ranks[i], i, i == 4 ? &judged[row].odd : &judged[row].others);
                assert_int_equal(job_find_stragglers(&j), 0);
                enum straggler_cause said =
                    j.n_stragglers > 0 ? j.stragglers[0].cause : CAUSE_COUNT;
                if (j.n_stragglers > 1 || said != judged[row].cause ||
                    (j.n_stragglers == 1 && j.stragglers[0].rank != 4))
                        fail_msg("%s: %zu named, %d, not %d", judged[row].why, j.n_stragglers,
                                 (int)said, (int)judged[row].cause);
                assert_int_equal(value_is_set(j.ranks[0].mean[JOB_WORK]),
                                 !isnan(judged[row].others.work));
                assert_false(value_is_set(j.ranks[0].mean[JOB_LINK]));
                job_finish(&j);
        }
}

/* The GPU of one that waits for its group idles: the other has a narrow link. */
static void waits_for_its_group(void **state UNUSED)
{
        static const struct figures usual = {0.95, 0.44, 460, 0.7, 1.7e9, 16, 9};
        struct job j = {.n = 8, .start_ns = SECOND, .end_ns = (BUCKETS + 1) * SECOND};
        j.ranks = calloc(j.n, sizeof(*j.ranks));
        for (size_t i = 0; i < j.n; i++) {
                struct figures f = usual;
                f.lanes = i == 0 ? 2 : 16;
                make_rank(&j.ranks[i], i, &f);
                for (size_t k = 0; k < 60; k++)
                        job_add_step(&j.ranks[i], "compute", 80 + 2 * (double)k,
                                     i < 2 ? 1.5 : 1 + 0.002 * (double)((k + i) % 5));
        }
        for (size_t k = 0; k < 6; k++)
                j.ranks[1].use.pauses[j.ranks[1].use.n_pauses++] = (struct job_pause){
                    (110 + 10 * (int64_t)k) * SECOND, (113 + 10 * (int64_t)k) * SECOND};
        assert_int_equal(job_find_stragglers(&j), 0);
        assert_int_equal(j.n_stragglers, 1);
        assert_int_equal(j.stragglers[0].rank, 0);
        assert_int_equal(j.stragglers[0].cause, CAUSE_LINK);
        job_finish(&j);
}

/* GPUs that wait for each other idle at one time; by a clock that is 3 s off one seems to idle
 * while the others work. */
static void pauses_by_another_clock(void **state UNUSED)
{
        static const struct figures usual = {0.7, 0.44, 460, 0.7, 1.7e9, 16, 9};
        for (int all = 0; all <= 1; all++) {
                struct job j = {.n = 6, .start_ns = SECOND, .end_ns = (BUCKETS + 1) * SECOND};
                j.ranks = calloc(j.n, sizeof(*j.ranks));
                for (size_t i = 0; i < j.n; i++) {
                        make_rank(&j.ranks[i], i, &usual);
                        for (int64_t k = 0; k < 8 && (all || i == 4); k++) {
                                int64_t at = (110 + 10 * k + (i == 4 ? 3 : 0)) * SECOND;
                                j.ranks[i].use.pauses[j.ranks[i].use.n_pauses++] =
                                    (struct job_pause){at, at + 3 * SECOND};
                                for (int64_t b = 0; b < 3; b++)
                                        j.ranks[i].track.v[JOB_ENGINE][at / SECOND - 1 + b] = 0;
                        }
                }
                assert_int_equal(job_find_stragglers(&j), 0);
                assert_int_equal(j.n_stragglers, all ? 0 : 1);
                if (!all)
                        assert_int_equal(j.stragglers[0].cause, CAUSE_PAUSES);
                job_finish(&j);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(outliers),
                                           cmocka_unit_test(steps),
                                           cmocka_unit_test(turns),
                                           cmocka_unit_test(clocks),
                                           cmocka_unit_test(many_steps),
                                           cmocka_unit_test(live),
                                           cmocka_unit_test(own_processes),
                                           cmocka_unit_test(more_often),
                                           cmocka_unit_test(slow_by_chance),
                                           cmocka_unit_test(marks_that_tell),
                                           cmocka_unit_test(causes),
                                           cmocka_unit_test(waits_for_its_group),
                                           cmocka_unit_test(pauses_by_another_clock)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
