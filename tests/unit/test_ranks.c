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

enum marks { OWN, WAITING, WHOLE, OWN_TOLD_LATE };

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
    {"own work, told when all are ready", OWN_TOLD_LATE, 4, 100, 1, 0.2, 0, 0, 0.01, true, true},
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
        case OWN_TOLD_LATE:
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
                        live_judge(list, fleets[row].n, scratch, out, late);
                }
                for (size_t i = 0; i < fleets[row].n; i++) {
                        unsigned expected = i == fleets[row].odd ? fleets[row].late : 0;
                        if (late[i] != expected)
                                fail_msg("%s: GPU %zu is %u, not %u", fleets[row].why, i, late[i],
                                         expected);
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(outliers), cmocka_unit_test(steps),
                                           cmocka_unit_test(clocks), cmocka_unit_test(many_steps),
                                           cmocka_unit_test(live)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
