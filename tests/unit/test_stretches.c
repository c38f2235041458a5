/* Stretches and findings of runs that are made by code. */
#include "base/attr.h"
#include "base/clock.h"
#include "compute/stretches.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a GPU and its host do; a run is a text of letters, one a part of a second. */
struct doing {
        char letter;
        double engine, sm, tensor, dram, pcie, main, children, storage;
        bool held, capped;
};

static const struct doing doings[] = {
    {'s', 0, 0, 0, 0, 0, 1, 0, 0, false, false},        /* imports */
    {'c', 0, 0, 0, 0, 0, 1, 0, 0, true, false},         /* builds on one core */
    {'T', .99, .96, .93, .16, 0, 1, 0, 0, true, true},  /* a GEMM at the power limit */
    {'M', .99, .95, 0, .85, 0, 1, 0, 0, true, false},   /* memory */
    {'I', .02, .01, 0, 0, 0, .2, 8, 0, true, false},    /* loader workers */
    {'w', 0, 0, 0, 0, 0, .02, 0, 0, true, false},       /* waits */
    {'t', .004, .002, 0, 0, 0, .05, 0, 0, true, false}, /* a tiny step */
    {'W', 0, 0, 0, 0, 0, .3, 0, 9e8, true, false},      /* writes */
    {'P', .01, .01, 0, 0, .93, 1, 0, 0, true, false},   /* pinned copies */
    {'x', 1, .9, .5, .3, 0, 1, 0, 0, true, false},      /* kernels */
    {'l', 0, 0, 0, 0, 2e-5, 0, 0, 0, false, false},     /* what is left rests; the driver talks */
};

struct made {
        struct stretches s;
        struct entity who[8];
        struct row rows[8];
        struct host host;
        int64_t now_ns;
        uint64_t random;
        bool no_threads;
};

/* What is 0 stays 0: counters of an idle GPU do not wobble. */
static double wobbly(struct made *m, double v, double width)
{
        if (v == 0)
                return 0;
        m->random = m->random * 6364136223846793005ULL + 1442695040888963407ULL;
        return fmax(0, v + width * ((double)(m->random >> 33) / 0x1p31 - 0.5));
}

static void init(struct made *m, size_t gpus)
{
        memset(m, 0, sizeof(*m));
        m->now_ns = 1000 * NS_PER_S;
        m->host.n_gpus = gpus;
        for (size_t i = 0; i < gpus; i++) {
                m->who[i] = (struct entity){.slot = (uint32_t)i, .kind = ENTITY_GPU};
                snprintf(m->who[i].label, sizeof(m->who[i].label), "%zu", i);
                snprintf(m->host.gpus[i], sizeof(m->host.gpus[i]), "%zu", i);
                entity_set_text(&m->who[i], ENTITY_TEXT_MODEL, "NVIDIA H200", 11);
                m->rows[i].sample.who = &m->who[i];
        }
}

static void set_gpu(struct made *m, size_t gpu, const struct doing *d, double wobble)
{
        struct value *v = m->rows[gpu].sample.m;
        struct value *e = m->host.evidence[gpu].e;
        v[METRIC_GR_ACTIVE] = value_ok(wobbly(m, d->engine, wobble));
        v[METRIC_SM_ACTIVE] = value_ok(wobbly(m, d->sm, wobble));
        v[METRIC_TENSOR_ACTIVE] = value_ok(wobbly(m, d->tensor, wobble));
        v[METRIC_DRAM_ACTIVE] = value_ok(wobbly(m, d->dram, wobble));
        v[METRIC_FP32_ACTIVE] = v[METRIC_FP64_ACTIVE] = value_ok(0);
        v[METRIC_PCIE_RX] = value_ok(d->pcie * 63e9);
        v[METRIC_PCIE_TX] = value_ok(0);
        v[METRIC_SM_CLOCK] = value_ok(d->capped ? 1466e6 : 1980e6);
        v[METRIC_SM_CLOCK_MAX] = value_ok(1980e6);
        v[METRIC_POWER_LIMIT] = value_ok(700);
        v[METRIC_POWER] = value_ok(d->capped ? 692 : 300);
        v[METRIC_THROTTLE_REASONS] = value_ok(d->capped ? 4 : 0);
        v[METRIC_FB_USED] = value_ok(d->held ? 8e9 : 0);
        v[METRIC_PROCESSES] = value_ok(d->held);
        e[EVIDENCE_HOLDERS] = value_ok(d->held);
        e[EVIDENCE_CPU_MAIN] = value_ok(wobbly(m, d->main, wobble));
        e[EVIDENCE_CPU_THREAD] =
            m->no_threads ? value_missing(STATE_NONE) : value_ok(fmin(1, e[EVIDENCE_CPU_MAIN].v));
        e[EVIDENCE_CPU_CHILDREN] = value_ok(d->children);
        e[EVIDENCE_IO_WAIT] = value_ok(0);
        e[EVIDENCE_READ] = value_ok(0);
        e[EVIDENCE_WRITE] = value_ok(d->storage);
}

static void step(struct made *m, size_t gpus, int64_t tick_ns)
{
        const struct frame f = {
            .wall_ns = m->now_ns, .mono_ns = m->now_ns, .n = gpus, .rows = m->rows};
        stretches_see_host(&m->s, &m->host, NULL);
        assert_int_equal(stretches_add(&m->s, &f), 0);
        m->now_ns += tick_ns;
}

static const struct doing *doing_of(char letter)
{
        for (size_t i = 0; i < ARRAY_LEN(doings); i++) {
                if (doings[i].letter == letter)
                        return &doings[i];
        }
        fail_msg("no such letter: %c", letter);
        return NULL;
}

/* "s5 T10" is five seconds of s and ten of T; "(T.3 w.7)8" is that for eight seconds. */
static void play(struct made *m, const char *text, double wobble, int64_t tick_ns)
{
        while (*text) {
                const struct doing *a = doing_of(*text == '(' ? text[1] : *text), *b = a;
                double first = 1, second = 0;
                char *end;
                if (*text == '(') {
                        first = strtod(text + 2, &end);
                        b = doing_of(end[1]);
                        second = strtod(end + 2, &end);
                        text = end + 1;
                } else {
                        text++;
                }
                double seconds = strtod(text, &end);
                text = end + strspn(end, " ");
                for (double t = 0; t < seconds; t += clock_to_seconds(tick_ns)) {
                        set_gpu(m, 0, fmod(t, first + second) < first ? a : b, wobble);
                        step(m, 1, tick_ns);
                }
        }
}

#define TENTH (NS_PER_S / 10)

static void print(const struct stretch_list *l)
{
        for (size_t i = 0; i < l->n; i++)
                print_message("  %.1f-%.1f %s\n", l->list[i].begin_s, l->list[i].end_s,
                              limiter_name((enum limiter)l->list[i].limit.limiter));
}

static void runs(void **state UNUSED)
{
        static const struct {
                const char *why, *run;
                double wobble;
                size_t least, most; /* stretches */
                enum limiter first; /* finding */
                enum held_by held;
        } cases[] = {
            {"a steady load", "T30", 0, 1, 1, LIMITER_COMPUTE_TENSOR, HELD_BY_POWER},
            {"noise makes no stretches", "x60", .15, 1, 1, LIMITER_KERNEL, HELD_BY_NOTHING},
            {"two programs one after the other", "T20 M20", .05, 2, 2, LIMITER_COMPUTE_TENSOR,
             HELD_BY_POWER},
            {"the slower of two programs is no start-up of the other", "s3 c2 I30 s3 c2 T20", .02,
             5, 6, LIMITER_HOST_INPUT, HELD_BY_NOTHING},
            {"less of the tensor cores, more of the memory", "x20 M20", .05, 2, 2, LIMITER_KERNEL,
             HELD_BY_NOTHING},
            {"start-up and work", "s5 T8", .02, 2, 2, LIMITER_COMPUTE_TENSOR, HELD_BY_POWER},
            {"nearly all start-up", "s20 T2", .02, 2, 2, LIMITER_HOST_STARTING, HELD_BY_NOTHING},
            {"start-up, building, work", "s5 c5 M8", .02, 2, 3, LIMITER_MEMORY_BANDWIDTH,
             HELD_BY_NOTHING},
            {"a first step and tuning are start-up", "s2 c5 T.6 (T.1 c1.1)12 T6", .02, 3, 5,
             LIMITER_COMPUTE_TENSOR, HELD_BY_POWER},
            {"a slow rhythm is none", "s3 (x.1 c1.1)60 x6", .02, 2, 4, LIMITER_HOST_CODE,
             HELD_BY_NOTHING},
            {"nor is a pause after work", "s2 c4 T2 c20 T20", .02, 4, 5, LIMITER_HOST_CODE,
             HELD_BY_NOTHING},
            {"bursts are one stretch", "s3 (x.3 w.7)20", 0, 2, 2, LIMITER_HOST_WAITING,
             HELD_BY_NOTHING},
            {"slow bursts too", "s3 (x1.2 w1.6)28", 0, 2, 2, LIMITER_HOST_WAITING, HELD_BY_NOTHING},
            {"a loader that starves the GPU by turns", "s3 (x.4 I.6)20", 0, 2, 2,
             LIMITER_HOST_INPUT, HELD_BY_NOTHING},
            {"checkpoints between steps", "s3 T12 W3 T12 W3 T12", 0, 6, 6, LIMITER_COMPUTE_TENSOR,
             HELD_BY_POWER},
            {"a rhythm for a long time", "(T4 W3)700", 0, 1, 2, LIMITER_HOST_STORAGE,
             HELD_BY_NOTHING},
            {"work, then memory held", "s3 T10 w60", 0, 3, 3, LIMITER_IDLE_ALLOCATED,
             HELD_BY_NOTHING},
            {"a small step now and then is no idleness", "s3 (t.1 w.3)30", 0, 2, 2,
             LIMITER_HOST_WAITING, HELD_BY_NOTHING},
            {"copies", "s5 P9", 0, 2, 2, LIMITER_COPY_LINK, HELD_BY_NOTHING},
            {"a blip is not a stretch", "T10 w.5 T10", 0, 1, 1, LIMITER_COMPUTE_TENSOR,
             HELD_BY_POWER},
        };
        struct made *m = malloc(sizeof(*m));
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct stretch_list list;
                init(m, 1);
                play(m, cases[i].run, cases[i].wobble, TENTH);
                assert_int_equal(stretches_cut(&m->s, NULL, 0, &list), 0);
                assert_true(list.n_findings > 0);
                const struct limit_finding *f = &list.findings[0];
                if (list.n < cases[i].least || list.n > cases[i].most ||
                    f->limiter != cases[i].first || f->held_by != cases[i].held) {
                        print(&list);
                        fail_msg("%s: %zu stretches, first %s", cases[i].why, list.n,
                                 limiter_name(f->limiter));
                }
                for (size_t k = 0; k < list.n; k++)
                        assert_true(list.list[k].end_s - list.list[k].begin_s >= 0.99);
                stretch_list_finish(&list);
                stretches_finish(&m->s);
        }
        free(m);
}

/* Where nobody looked at the busiest thread, the main process says when the host worked: cuts and
 * limiters are those of a recording that has both. */
static void without_threads(void **state UNUSED)
{
        static const char *const texts[] = {"s2 T10 c20 w20 T10", "s2 T10 w20 c20 T10",
                                            "s3 x10 c12 x10"};
        struct made *m = malloc(sizeof(*m));
        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                struct stretch_list lists[2];
                for (int k = 0; k < 2; k++) {
                        init(m, 1);
                        m->no_threads = k == 1;
                        play(m, texts[i], 0, TENTH);
                        assert_int_equal(stretches_cut(&m->s, NULL, 0, &lists[k]), 0);
                        stretches_finish(&m->s);
                }
                assert_true(lists[0].n >= 4);
                assert_int_equal(lists[0].n, lists[1].n);
                for (size_t k = 0; k < lists[0].n; k++) {
                        const struct stretch *a = &lists[0].list[k], *b = &lists[1].list[k];
                        assert_true(a->begin_s == b->begin_s && a->end_s == b->end_s);
                        assert_int_equal(a->limit.limiter, b->limit.limiter);
                }
                stretch_list_finish(&lists[0]);
                stretch_list_finish(&lists[1]);
        }
        free(m);
}

/* What is too short to be told joins the neighbour that it is most alike, not the one before it. */
static void slivers(void **state UNUSED)
{
        static const struct {
                const char *run;
                double end_s; /* of the first stretch */
        } cases[] = {{"w20 x1 T20", 20}, {"T20 x1 w20", 21}, {"P20 w1 x20", 21}};
        struct made *m = malloc(sizeof(*m));
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct stretch_list list;
                init(m, 1);
                play(m, cases[i].run, 0, TENTH);
                assert_int_equal(stretches_cut(&m->s, NULL, 0, &list), 0);
                if (list.n != 2 || fabs(list.list[0].end_s - cases[i].end_s) > 0.3) {
                        print(&list);
                        fail_msg("%s", cases[i].run);
                }
                stretch_list_finish(&list);
                stretches_finish(&m->s);
        }
        free(m);
}

/* Each of several programs has a start-up; what comes after the last of them is none. */
static void programs(void **state UNUSED)
{
        struct made *m = malloc(sizeof(*m));
        struct stretch_list list;
        init(m, 1);
        play(m, "s3 c2 x6 s3 c2 x6 s3 c2 x6 s9", .02, TENTH);
        assert_int_equal(stretches_cut(&m->s, NULL, 0, &list), 0);
        double startup = 0, other = 0;
        for (size_t i = 0; i < list.n_findings; i++) {
                const struct limit_finding *f = &list.findings[i];
                startup += f->limiter == LIMITER_HOST_STARTING ? f->seconds : 0;
                other += f->limiter == LIMITER_HOST_CODE ? f->seconds : 0;
        }
        assert_true(fabs(startup - 15) < 1.5 && other == 0);
        stretch_list_finish(&list);
        stretches_finish(&m->s);
        free(m);
}

/* A program ends and leaves processes that rest. */
static void what_is_left(void **state UNUSED)
{
        struct made *m = malloc(sizeof(*m));
        struct stretch_list list;
        init(m, 1);
        play(m, "s3 x6 l30", 0, TENTH);
        assert_int_equal(stretches_cut(&m->s, NULL, 0, &list), 0);
        assert_int_equal(list.list[list.n - 1].limit.limiter, LIMITER_IDLE);
        for (size_t i = 0; i < list.n_findings; i++)
                assert_true(list.findings[i].limiter != LIMITER_HOST_STARTING ||
                            list.findings[i].seconds < 4);
        stretch_list_finish(&list);
        stretches_finish(&m->s);
        free(m);
}

/* Means of a stretch are of its own time: what came before does not count. */
static void own_time(void **state UNUSED)
{
        struct made *m = malloc(sizeof(*m));
        struct stretch_list list;
        init(m, 1);
        play(m, "s10 T10", 0, TENTH);
        assert_int_equal(stretches_cut(&m->s, NULL, 0, &list), 0);
        assert_int_equal(list.n, 2);
        assert_float_equal(list.list[1].begin_s, 10, 0.26);
        assert_float_equal((double)list.list[1].limit.ceilings.v[CEILING_TENSOR], 0.93, 0.01);
        stretch_list_finish(&list);
        stretches_finish(&m->s);
        free(m);
}

/* Nobody knows what the GPU did while nothing was measured: the tick after it counts as any other.
 */
static void a_pause(void **state UNUSED)
{
        struct made *m = malloc(sizeof(*m));
        struct stretch_list list;
        init(m, 1);
        play(m, "T10", 0, TENTH);
        m->now_ns += 100 * NS_PER_S;
        play(m, "w.1 T10", 0, TENTH);
        assert_int_equal(stretches_cut(&m->s, NULL, 0, &list), 0);
        assert_true(list.n > 0);
        for (size_t i = 0; i < list.n; i++)
                assert_true(list.list[i].limit.ceilings.v[CEILING_TENSOR] > 0.9f);
        stretch_list_finish(&list);
        stretches_finish(&m->s);
        free(m);
}

/* Marks win: a phase is a stretch though nothing changes, and long phases are cut inside. */
static void phases(void **state UNUSED)
{
        struct made *m = malloc(sizeof(*m));
        struct stretch_list list;
        init(m, 1);
        const struct phase marks[] = {
            {.name = "a", .begin_ns = m->now_ns, .end_ns = m->now_ns + 10 * NS_PER_S},
            {.name = "b",
             .begin_ns = m->now_ns + 10 * NS_PER_S,
             .end_ns = m->now_ns + 40 * NS_PER_S}};
        play(m, "T25 M15", 0, TENTH);
        assert_int_equal(stretches_cut(&m->s, marks, 2, &list), 0);
        assert_int_equal(list.n, 3);
        assert_string_equal(list.list[0].phase, "a");
        assert_string_equal(list.list[1].phase, "b");
        assert_string_equal(list.list[2].phase, "b");
        stretch_list_finish(&list);
        stretches_finish(&m->s);
        free(m);
}

/* GPUs that change together are one stretch; one that does something else is told apart. */
static void several_gpus(void **state UNUSED)
{
        struct made *m = malloc(sizeof(*m));
        struct stretch_list list;
        init(m, 8);
        for (int i = 0; i < 600; i++) {
                for (size_t gpu = 0; gpu < 8; gpu++)
                        set_gpu(m, gpu, doing_of(gpu == 7 ? 'w' : i < 200 ? 'c' : 'T'), .02);
                step(m, 8, TENTH);
        }
        assert_int_equal(stretches_cut(&m->s, NULL, 0, &list), 0);
        assert_int_equal(list.n, 3);
        size_t apart = 0;
        for (size_t i = 0; i < list.n; i++) {
                uint64_t gpus = list.list[i].gpus.bits[0];
                assert_true(gpus == 0x7f || gpus == 0x80);
                apart += gpus == 0x80;
        }
        assert_int_equal(apart, 1);
        assert_int_equal(list.findings[0].limiter, LIMITER_COMPUTE_TENSOR);
        stretch_list_finish(&list);
        stretches_finish(&m->s);
        free(m);
}

/* A day of eight GPUs at 1 Hz: memory does not grow, and the same ticks give the same bytes. */
static void a_day(void **state UNUSED)
{
        struct made *m = malloc(sizeof(*m));
        struct stretch_list lists[2];
        for (size_t again = 0; again < 2; again++) {
                init(m, 8);
                for (size_t gpu = 0; gpu < 8; gpu++)
                        set_gpu(m, gpu, doing_of('s'), 0);
                int64_t begun = clock_mono_ns();
                for (int i = 0; i < 86400; i++) {
                        if (i % 60 == 0) {
                                char now = i < 600 ? 's' : i < 50000 ? 'T' : i < 70000 ? 'I' : 'w';
                                for (size_t gpu = 0; gpu < 8; gpu++)
                                        set_gpu(m, gpu, doing_of(now), .05);
                        }
                        step(m, 8, NS_PER_S);
                }
                assert_int_equal(stretches_cut(&m->s, NULL, 0, &lists[again]), 0);
                print_message("a day took %.2f s\n", clock_to_seconds(clock_mono_ns() - begun));
                assert_true(m->s.width_ns / NS_PER_S <= 128);
                stretches_finish(&m->s);
        }
        assert_true(lists[0].n >= 3 && lists[0].n <= 8);
        assert_int_equal(lists[0].n, lists[1].n);
        for (size_t i = 0; i < lists[0].n; i++) {
                const struct stretch *a = &lists[0].list[i], *b = &lists[1].list[i];
                assert_true(a->begin_s == b->begin_s && a->end_s == b->end_s);
                assert_int_equal(a->limit.limiter, b->limit.limiter);
                assert_memory_equal(a->limit.ceilings.v, b->limit.ceilings.v,
                                    sizeof(a->limit.ceilings.v));
        }
        assert_int_equal(lists[0].findings[0].limiter, lists[1].findings[0].limiter);
        stretch_list_finish(&lists[0]);
        stretch_list_finish(&lists[1]);
        free(m);
}

/* A cluster's GPUs share the buckets: each has fewer, none is forgotten up to the maximum. */
static void many_gpus(void **state UNUSED)
{
        static const struct {
                size_t n, reported, left_out;
        } cases[] = {{65, 65, 0}, {300, 300, 0}, {STRETCH_GPUS_MAX + 6, STRETCH_GPUS_MAX, 6}};
        for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
                size_t n = cases[k].n;
                struct entity *who = calloc(n, sizeof(*who));
                struct row *rows = calloc(n, sizeof(*rows));
                struct stretches s = {0};
                struct stretch_list list;
                for (size_t i = 0; i < n; i++) {
                        bool works = i % 2 == 0;
                        who[i] = (struct entity){.slot = (uint32_t)i, .kind = ENTITY_GPU};
                        snprintf(who[i].label, sizeof(who[i].label), "%zu", i);
                        rows[i].sample.who = &who[i];
                        rows[i].sample.m[METRIC_GR_ACTIVE] = value_ok(works);
                        rows[i].sample.m[METRIC_SM_ACTIVE] = value_ok(works);
                        rows[i].sample.m[METRIC_TENSOR_ACTIVE] = value_ok(works ? 0.93 : 0);
                        rows[i].sample.m[METRIC_DRAM_ACTIVE] = value_ok(0);
                }
                for (int tick = 0; tick < 60; tick++) {
                        const struct frame f = {
                            .mono_ns = tick * NS_PER_S, .rows = rows, .n = n, .provenance = ""};
                        assert_int_equal(stretches_add(&s, &f), 0);
                }
                assert_int_equal(stretches_cut(&s, NULL, 0, &list), 0);
                assert_int_equal(list.n_gpus, cases[k].reported);
                assert_int_equal(list.left_out, cases[k].left_out);
                assert_true(s.n * s.n_buckets <= STRETCH_BUCKETS_ALL);
                assert_int_equal(list.n, 2);
                assert_int_equal(stretch_gpus(&list.list[0]) + stretch_gpus(&list.list[1]),
                                 cases[k].reported);
                assert_string_equal(list.gpus[64].label, "64");
                assert_true(gpu_set_has(&list.list[0].gpus, 64) !=
                            gpu_set_has(&list.list[1].gpus, 64));
                stretch_list_finish(&list);
                stretches_finish(&s);
                free(rows);
                free(who);
        }
}

static struct stretch stretch_of(enum limiter limiter, double begin, double end, double engine)
{
        struct stretch t = {.begin_s = begin, .end_s = end, .gpus = {.bits = {1}}};
        t.limit.limiter = (uint8_t)limiter;
        ceiling_set(&t.limit.ceilings, CEILING_ENGINE, engine);
        ceiling_set(&t.limit.ceilings, CEILING_TENSOR, engine * 0.93);
        ceiling_set(&t.limit.ceilings, CEILING_SM, engine);
        return t;
}

/* What would shorten the run most comes first. What would shorten it by less than a tenth follows
 * by the time it takes; what nobody uses is last. */
static void ranks(void **state UNUSED)
{
        static const struct {
                const char *why;
                enum limiter a, b;
                double a_s, b_s, a_engine, b_engine;
                enum limiter first;
        } cases[] = {
            {"more to win", LIMITER_HOST_INPUT, LIMITER_HOST_CODE, 10, 20, .5, .5,
             LIMITER_HOST_CODE},
            {"full tensor cores for long", LIMITER_HOST_INPUT, LIMITER_COMPUTE_TENSOR, 10, 60, .5,
             1, LIMITER_COMPUTE_TENSOR},
            {"but not for as long as the input", LIMITER_HOST_INPUT, LIMITER_COMPUTE_TENSOR, 20, 20,
             .5, 1, LIMITER_HOST_INPUT},
            {"unused for long", LIMITER_HOST_INPUT, LIMITER_IDLE, 10, 100, .5, 0,
             LIMITER_HOST_INPUT},
            {"a tenth of the run", LIMITER_HOST_INPUT, LIMITER_COMPUTE_TENSOR, 12, 46, .5, 1,
             LIMITER_HOST_INPUT},
            {"less than a tenth", LIMITER_HOST_INPUT, LIMITER_COMPUTE_TENSOR, 11, 47, .5, 1,
             LIMITER_COMPUTE_TENSOR},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct stretch two[] = {stretch_of(cases[i].a, 0, cases[i].a_s, cases[i].a_engine),
                                        stretch_of(cases[i].b, cases[i].a_s,
                                                   cases[i].a_s + cases[i].b_s, cases[i].b_engine)};
                struct stretch_list list = {
                    .n = 2, .list = two, .n_gpus = 1, .seconds = two[1].end_s};
                findings_rank(&list);
                assert_int_equal(list.n_findings, 2);
                if (list.findings[0].limiter != cases[i].first)
                        fail_msg("%s: %s", cases[i].why, limiter_name(list.findings[0].limiter));
        }
}

/* What is one limiter in several phases is one finding; what is not known comes before start-up. */
static void findings_of_phases(void **state UNUSED)
{
        struct stretch list_of[] = {stretch_of(LIMITER_HOST_STARTING, 0, 6, 0),
                                    stretch_of(LIMITER_COMPUTE_TENSOR, 6, 9, 1),
                                    stretch_of(LIMITER_HOST_CODE, 9, 12, .6),
                                    stretch_of(LIMITER_COMPUTE_TENSOR, 12, 15, 1)};
        struct stretch_list list = {.n = 4, .list = list_of, .n_gpus = 1, .seconds = 15};
        strcpy(list_of[1].phase, "bf16");
        strcpy(list_of[3].phase, "fp8");
        findings_rank(&list);
        assert_int_equal(list.findings[0].limiter, LIMITER_COMPUTE_TENSOR);
        assert_int_equal(list.findings[0].n, 2);
        assert_true(list.findings[0].phases_differ);
        list_of[1].limit.limiter = list_of[3].limit.limiter = LIMITER_UNKNOWN;
        list_of[2].limit.limiter = LIMITER_UNKNOWN;
        findings_rank(&list);
        assert_int_equal(list.findings[0].limiter, LIMITER_UNKNOWN);
        assert_int_equal(list.findings[1].limiter, LIMITER_HOST_STARTING);
}

static void findings_add_up(void **state UNUSED)
{
        struct stretch three[] = {stretch_of(LIMITER_HOST_INPUT, 0, 10, .25),
                                  stretch_of(LIMITER_COMPUTE_TENSOR, 10, 11, 1),
                                  stretch_of(LIMITER_HOST_INPUT, 11, 31, .25)};
        struct stretch_list list = {.n = 3, .list = three, .n_gpus = 1, .seconds = 31};
        findings_rank(&list);
        const struct limit_finding *f = &list.findings[0];
        assert_int_equal(f->limiter, LIMITER_HOST_INPUT);
        assert_int_equal(f->n, 2);
        assert_int_equal(f->stretch, 2);
        assert_float_equal(f->seconds, 30, 1e-9);
        assert_float_equal(f->won_s, 22.5, 1e-6);
        assert_float_equal(f->gain, 4, 1e-6);
        assert_float_equal(stretch_list_at_best(&list, f), 8.5, 1e-6);
        /* Twice the GPU-seconds on two GPUs shorten the run by as much as on one. */
        for (size_t i = 0; i < 3; i++)
                gpu_set_add(&three[i].gpus, 1);
        list.n_gpus = 2;
        findings_rank(&list);
        assert_float_equal(list.findings[0].won_s, 45, 1e-6);
        assert_float_equal(stretch_list_at_best(&list, &list.findings[0]), 8.5, 1e-6);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(ranks),
            cmocka_unit_test(findings_add_up),
            cmocka_unit_test(runs),
            cmocka_unit_test(slivers),
            cmocka_unit_test(without_threads),
            cmocka_unit_test(programs),
            cmocka_unit_test(what_is_left),
            cmocka_unit_test(own_time),
            cmocka_unit_test(phases),
            cmocka_unit_test(several_gpus),
            cmocka_unit_test(many_gpus),
            cmocka_unit_test(a_day),
            cmocka_unit_test(a_pause),
            cmocka_unit_test(findings_of_phases),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
