/* Summaries: percentiles, time, energy, phases, tags, and what held a run back. */
#include "test.h"

#include "base/clock.h"
#include "compute/summary.h"
#include "session/phases.h"

#include <math.h>
#include <stdio.h>

static void percentiles(void **state UNUSED)
{
        static const struct {
                const char *reason;
                size_t n;
                double v[8];
                double p50, p95, max;
        } cases[] = {
            {"one value", 1, {0.3}, 0.3, 0.3, 0.3},
            {"zeros", 3, {0, 0, 0}, 0, 0, 0},
            {"mostly zero", 5, {0, 0, 0, 0, 1}, 0, 0, 1},
            {"two values that come again are exact",
             4,
             {345e6, 345e6, 1980e6, 1980e6},
             345e6,
             1980e6,
             1980e6},
            {"below zero", 3, {-5, -5, 20}, -5, -5, 20},
            {"very small and very large", 3, {1e-12, 1, 1e20}, 1, 1, 1e20},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct spread s = {0};
                for (size_t k = 0; k < cases[i].n; k++)
                        spread_add(&s, cases[i].v[k]);
                double p50 = spread_quantile(&s, 0.5).v, p95 = spread_quantile(&s, 0.95).v;
                if (fabs(p50 - cases[i].p50) > 1e-9 * fabs(cases[i].p50) ||
                    fabs(p95 - cases[i].p95) > 1e-9 * fabs(cases[i].p95) ||
                    spread_max(&s).v != cases[i].max)
                        fail_msg("%s: p50 %g p95 %g", cases[i].reason, p50, p95);
                spread_finish(&s);
        }
        struct spread none = {0};
        assert_false(value_is_set(spread_mean(&none)));
        assert_false(value_is_set(spread_quantile(&none, 0.5)));
}

static void percentiles_of_many_are_within_three_percent(void **state UNUSED)
{
        struct spread s = {0};
        for (int i = 1; i <= 100000; i++)
                spread_add(&s, (double)((i * 7919) % 100000) + 1);
        for (double q = 0.01; q < 1; q += 0.01) {
                double wanted = q * 100000, got = spread_quantile(&s, q).v;
                if (fabs(got - wanted) > 0.03 * wanted)
                        fail_msg("q %g: %g", q, got);
        }
        assert_float_equal(spread_mean(&s).v, 50000.5, 1e-6);
        spread_finish(&s);
}

/* Values that are only counted have all but percentiles, and those are missing, not wrong. */
static void values_that_are_counted(void **state UNUSED)
{
        static const double values[] = {0, 3, 1, 8};
        struct spread s = {0};
        for (size_t i = 0; i < ARRAY_LEN(values); i++)
                spread_count(&s, values[i]);
        assert_float_equal(spread_mean(&s).v, 3, 1e-12);
        assert_float_equal(spread_min(&s).v, 0, 0);
        assert_float_equal(spread_max(&s).v, 8, 0);
        assert_false(value_is_set(spread_quantile(&s, 0.5)));
        assert_null(s.steps);
}

/* ---- runs ---- */

struct tick {
        double sm, gr, dram, used_gb, energy, power, pcie;
        enum workload workload;
        uint64_t throttle;
};

static const struct entity gpu = {.slot = 0, .index = 0, .gi = -1, .ci = -1, .label = "0"};

static void add(struct summary *s, double second, const struct tick *t)
{
        struct row row = {.sample.who = &gpu, .verdict.workload = t->workload};
        struct frame f = {.wall_ns = clock_from_seconds(1000 + second),
                          .mono_ns = clock_from_seconds(second),
                          .n = 1,
                          .rows = &row};
        row.health.state = HEALTH_OK;
        row.sample.m[METRIC_SM_ACTIVE] = value_ok(t->sm);
        row.sample.m[METRIC_GR_ACTIVE] = value_ok(t->gr);
        row.sample.m[METRIC_GPU_UTIL] = value_ok(t->gr);
        row.sample.m[METRIC_DRAM_ACTIVE] = value_ok(t->dram);
        row.sample.m[METRIC_FB_USED] = value_ok(t->used_gb * 1e9);
        row.sample.m[METRIC_POWER] = value_ok(t->power > 0 ? t->power : 100);
        row.sample.m[METRIC_PCIE_RX] = value_ok(t->pcie);
        row.sample.m[METRIC_THROTTLE_REASONS] = value_ok((double)t->throttle);
        if (t->energy > 0)
                row.sample.m[METRIC_ENERGY] = value_ok(t->energy);
        assert_int_equal(summary_add(s, &f), 0);
}

static void time_energy_and_throttling(void **state UNUSED)
{
        struct summary s;
        assert_int_equal(summary_init(&s, NULL, 0, false), 0);
        for (int i = 0; i <= 10; i++) {
                struct tick t = {.workload = i < 5 ? WORKLOAD_IDLE : WORKLOAD_TENSOR,
                                 .throttle = i >= 8 ? 0x4 : 0x1,
                                 .used_gb = 1,
                                 .energy = 5000 + 250.0 * i};
                add(&s, i, &t);
        }
        const struct gpu_summary *g = s.scopes[0].gpus[0];
        assert_float_equal(s.scopes[0].seconds, 10, 1e-9);
        assert_float_equal(g->class_s[WORKLOAD_IDLE], 4, 1e-9);
        assert_float_equal(g->class_s[WORKLOAD_TENSOR], 6, 1e-9);
        assert_float_equal(g->energy_j, 2500, 1e-9);
        assert_float_equal(g->throttle_s, 3, 1e-9);
        assert_float_equal(g->throttle_power_s, 3, 1e-9);
        assert_float_equal(g->throttle_heat_s, 0, 1e-9);
        assert_float_equal(g->idle_allocated_s, 4, 1e-9);
        summary_finish(&s);
}

/* The counter moves every five seconds; a phase that lies between two moves has used energy too. */
static void energy_of_a_phase_between_moves(void **state UNUSED)
{
        static const struct phase phases[] = {
            {.name = "low", .begin_ns = 1000 * NS_PER_S, .end_ns = 1003 * NS_PER_S},
            {.name = "high", .begin_ns = 1003 * NS_PER_S, .end_ns = 1005 * NS_PER_S},
        };
        struct summary s;
        assert_int_equal(summary_init(&s, phases, 2, false), 0);
        for (int i = 0; i <= 7; i++) {
                struct tick t = {.energy = i < 5 ? 7000 : 8000,
                                 .power = i > 3 && i <= 5 ? 350 : 100};
                add(&s, i, &t);
        }
        summary_settle_energy(&s);
        /* Power × time says 3 × 100 J and 2 × 350 J, the counter the same in all; then 2 × 100 J.
         */
        assert_float_equal(s.scopes[1].gpus[0]->energy_j, 300, 1e-9);
        assert_float_equal(s.scopes[2].gpus[0]->energy_j, 700, 1e-9);
        assert_float_equal(s.scopes[0].gpus[0]->energy_j, 1200, 1e-9);
        summary_finish(&s);
}

static void energy_without_a_counter_and_after_a_reset(void **state UNUSED)
{
        struct summary s;
        assert_int_equal(summary_init(&s, NULL, 0, false), 0);
        add(&s, 0, &(struct tick){.energy = 9000});
        add(&s, 1, &(struct tick){.energy = 9300}); /* 300 J */
        add(&s, 2, &(struct tick){.energy = 10});   /* reset: 100 W × 1 s */
        add(&s, 3, &(struct tick){0});              /* no counter: 100 W × 1 s */
        summary_settle_energy(&s);
        assert_float_equal(s.scopes[0].gpus[0]->energy_j, 500, 1e-9);
        summary_finish(&s);
}

static void a_pause_is_not_counted(void **state UNUSED)
{
        struct summary s;
        assert_int_equal(summary_init(&s, NULL, 0, false), 0);
        for (int i = 0; i < 10; i++)
                add(&s, i, &(struct tick){.workload = WORKLOAD_IDLE});
        add(&s, 3600, &(struct tick){.workload = WORKLOAD_IDLE});
        assert_float_equal(s.scopes[0].gpus[0]->class_s[WORKLOAD_IDLE], 10, 1e-9);
        summary_finish(&s);
}

/* Ten seconds without an answer: the last values come again, and are not what happened. */
static void an_outage_is_not_counted(void **state UNUSED)
{
        struct summary s;
        struct tick busy = {.workload = WORKLOAD_TENSOR, .power = 500, .throttle = 0x04};
        assert_int_equal(summary_init(&s, NULL, 0, false), 0);
        for (int i = 0; i <= 10; i++)
                add(&s, i, &busy);
        for (int i = 11; i <= 20; i++) {
                struct row row = {.sample.who = &gpu, .verdict.workload = WORKLOAD_TENSOR};
                struct frame f = {.wall_ns = clock_from_seconds(1000 + i),
                                  .mono_ns = clock_from_seconds(i),
                                  .stale = true,
                                  .n = 1,
                                  .rows = &row};
                row.sample.m[METRIC_POWER] = (struct value){.v = 500, .state = STATE_STALE};
                row.sample.m[METRIC_THROTTLE_REASONS] =
                    (struct value){.v = 4, .state = STATE_STALE};
                assert_int_equal(summary_add(&s, &f), 0);
        }
        for (int i = 21; i <= 25; i++)
                add(&s, i, &busy);
        const struct gpu_summary *g = s.scopes[0].gpus[0];
        assert_float_equal(g->class_s[WORKLOAD_TENSOR], 15, 1e-9);
        assert_float_equal(g->seconds, 15, 1e-9);
        assert_float_equal(g->throttle_power_s, 15, 1e-9);
        assert_float_equal(g->energy_j, 15 * 500, 1e-6);
        assert_int_equal(g->samples, 16);
        summary_finish(&s);
}

#define MANY 1000

/* Each GPU has its own numbers, however many there are and in whatever order they come; the first
 * frame shows half of them. */
static void many_gpus_in_any_order(void **state UNUSED)
{
        static struct entity gpus[MANY];
        struct summary s;
        struct row *rows = calloc(MANY, sizeof(*rows));
        assert_int_equal(summary_init(&s, NULL, 0, false), 0);
        for (int tick = 0; tick < 3; tick++) {
                struct frame f = {.wall_ns = clock_from_seconds(1000 + tick),
                                  .mono_ns = clock_from_seconds(tick),
                                  .n = tick == 0 ? MANY / 2 : MANY,
                                  .rows = rows};
                for (size_t i = 0; i < f.n; i++) {
                        size_t slot = tick == 1 ? MANY - 1 - i : tick == 0 ? 2 * i : i;
                        gpus[slot] = (struct entity){.slot = (uint32_t)slot, .index = (int)slot};
                        rows[i] = (struct row){.sample.who = &gpus[slot]};
                        rows[i].sample.m[METRIC_POWER] = value_ok((double)slot);
                }
                assert_int_equal(summary_add(&s, &f), 0);
        }
        assert_int_equal(s.scopes[0].n, MANY);
        for (size_t i = 0; i < MANY; i++) {
                const struct gpu_summary *g = s.scopes[0].gpus[i];
                assert_int_equal(g->samples, g->who.slot % 2 == 0 ? 3 : 2);
                assert_float_equal(g->m[METRIC_POWER].min, g->who.slot, 0);
                assert_float_equal(g->m[METRIC_POWER].max, g->who.slot, 0);
        }
        summary_finish(&s);
        free(rows);
}

static struct phase phase(const char *name, double begin, double end)
{
        struct phase p = {.begin_ns = clock_from_seconds(1000 + begin),
                          .end_ns = clock_from_seconds(1000 + end)};
        snprintf(p.name, sizeof(p.name), "%s", name);
        return p;
}

static void phases_nest_and_come_again(void **state UNUSED)
{
        const struct phase phases[] = {phase("all", 0, 20), phase("a", 2, 6), phase("a", 3, 5),
                                       phase("b", 6, 10), phase("a", 12, 14)};
        struct summary s;
        assert_int_equal(summary_init(&s, phases, ARRAY_LEN(phases), false), 0);
        for (int i = 0; i <= 20; i++)
                add(&s, i, &(struct tick){.sm = i / 20.0, .workload = WORKLOAD_MIXED});
        summary_time_phases(&s);
        assert_int_equal(s.n, 4);
        assert_string_equal(s.scopes[2].name, "a");
        assert_int_equal(s.scopes[2].times, 3);
        /* Ticks 3 to 6 and 13, 14; the nested one of the same name counts once. */
        assert_int_equal(s.scopes[2].ticks, 6);
        assert_float_equal(s.scopes[2].gpus[0]->seconds, 6, 1e-9);
        assert_int_equal(s.scopes[3].ticks, 4);
        /* The first tick has no window that anybody knows: it is taken where it stands. */
        assert_int_equal(s.scopes[1].ticks, 21);
        assert_int_equal(s.scopes[0].ticks, 21);
        summary_finish(&s);
}

static void more_phases_than_scopes(void **state UNUSED)
{
        struct phase phases[200];
        struct summary s;
        for (int i = 0; i < 200; i++) {
                char name[16];
                snprintf(name, sizeof(name), "p%d", i);
                phases[i] = phase(name, i, i + 1);
        }
        assert_int_equal(summary_init(&s, phases, 200, false), 0);
        for (int i = 0; i <= 200; i++)
                add(&s, i, &(struct tick){.workload = WORKLOAD_IDLE});
        assert_int_equal(s.n, SCOPES_MAX);
        assert_string_equal(s.scopes[SCOPES_MAX - 1].name, "(other phases)");
        assert_int_equal(s.scopes[SCOPES_MAX - 1].times, 200 - (SCOPES_MAX - 2));
        summary_finish(&s);
}

/* Start-up is idle before the first work; a little memory is the driver's. */
static void idle_before_work(void **state UNUSED)
{
        struct summary s;
        assert_int_equal(summary_init(&s, NULL, 0, false), 0);
        for (int i = 0; i <= 10; i++) {
                bool works = i >= 4 && i < 8;
                add(&s, i,
                    &(struct tick){.used_gb = i < 6 ? 0.05 : 1,
                                   .gr = works ? 0.9 : 0,
                                   .workload = works ? WORKLOAD_MIXED : WORKLOAD_IDLE});
        }
        const struct gpu_summary *g = s.scopes[0].gpus[0];
        assert_float_equal(g->lead_s, 3, 1e-9);
        assert_float_equal(g->tail_s, 3, 1e-9);
        assert_float_equal(g->idle_allocated_s, 3, 1e-9);
        assert_int_equal(g->allocated_unused, 3);
        summary_finish(&s);
}

/* Memory that is unused for less than half of the time is worth no tag. */
static void memory_unused_for_a_while(void **state UNUSED)
{
        const struct tag_thresholds thresholds = {0.7, 0.8, 0.8, 0.8};
        struct summary s;
        assert_int_equal(summary_init(&s, NULL, 0, false), 0);
        for (int i = 0; i < 40; i++)
                add(&s, i,
                    &(struct tick){.used_gb = 1,
                                   .gr = i % 4 ? 0.5 : 0,
                                   .workload = i % 4 ? WORKLOAD_MIXED : WORKLOAD_IDLE});
        summary_set_tags(&s, &thresholds);
        assert_int_equal(s.scopes[0].gpus[0]->allocated_unused, 10);
        assert_int_equal(s.scopes[0].n_tags, 1);
        assert_int_equal(s.scopes[0].tags[0].tag, TAG_NORMAL);
        summary_finish(&s);
}

static void tags(void **state UNUSED)
{
        static const struct {
                const char *reason;
                struct tick even, odd;
                enum tag tag;
        } cases[] = {
            {"busy",
             {.sm = 0.9, .gr = 0.95, .used_gb = 1, .workload = WORKLOAD_TENSOR_HEAVY},
             {.sm = 0.9, .gr = 0.95, .used_gb = 1, .workload = WORKLOAD_TENSOR_HEAVY},
             TAG_GPU_UTIL_BOUND},
            {"bursts and waits",
             {.sm = 0.5, .gr = 0.6, .used_gb = 1, .workload = WORKLOAD_TENSOR},
             {.gr = 0.2, .used_gb = 1, .workload = WORKLOAD_IDLE},
             TAG_NORMAL},
            {"copies, though nvidia-smi says 100 %",
             {.gr = 1, .used_gb = 1, .workload = WORKLOAD_IO},
             {.gr = 1, .used_gb = 1, .workload = WORKLOAD_IO},
             TAG_GPU_UTIL_BOUND},
            {"memory held, nothing done",
             {.used_gb = 1, .workload = WORKLOAD_IDLE},
             {.used_gb = 1, .workload = WORKLOAD_IDLE},
             TAG_ALLOCATED_UNUSED},
            {"memory held, unused a third of the time",
             {.used_gb = 1, .gr = 0.06, .workload = WORKLOAD_IDLE},
             {.used_gb = 1, .gr = 0.6, .workload = WORKLOAD_MIXED},
             TAG_NORMAL},
            {"nothing there", {.workload = WORKLOAD_IDLE}, {.workload = WORKLOAD_IDLE}, TAG_NORMAL},
            {"tiny kernels",
             {.gr = 0.6, .sm = 0.02, .used_gb = 1, .workload = WORKLOAD_BUSY_LOW_SM},
             {.gr = 0.6, .sm = 0.02, .used_gb = 1, .workload = WORKLOAD_BUSY_LOW_SM},
             TAG_NORMAL},
            {"decoding one token at a time",
             {.gr = 0.33, .sm = 0.11, .used_gb = 1, .workload = WORKLOAD_MIXED},
             {.gr = 0.33, .sm = 0.11, .used_gb = 1, .workload = WORKLOAD_MIXED},
             TAG_NORMAL},
            {"a little of everything",
             {.gr = 0.3, .sm = 0.25, .used_gb = 1, .workload = WORKLOAD_MIXED},
             {.gr = 0.3, .sm = 0.25, .used_gb = 1, .workload = WORKLOAD_MIXED},
             TAG_NORMAL},
            {"device memory",
             {.gr = 0.9, .sm = 0.3, .dram = 0.6, .workload = WORKLOAD_MEMORY_BOUND},
             {.gr = 0.9, .sm = 0.3, .dram = 0.6, .workload = WORKLOAD_MEMORY_BOUND},
             TAG_GPU_UTIL_BOUND},
            {"busy to the very limit",
             {.sm = 0.8, .gr = 0.8, .workload = WORKLOAD_COMPUTE_HEAVY},
             {.sm = 0.8, .gr = 0.8, .workload = WORKLOAD_COMPUTE_HEAVY},
             TAG_GPU_UTIL_BOUND},
            {"heat",
             {.gr = 0.7, .sm = 0.7, .workload = WORKLOAD_TENSOR, .throttle = 0x40},
             {.gr = 0.7, .sm = 0.7, .workload = WORKLOAD_TENSOR},
             TAG_NORMAL},
            {"no counters",
             {.gr = 0.7, .workload = WORKLOAD_UNKNOWN},
             {.gr = 0.7, .workload = WORKLOAD_UNKNOWN},
             TAG_NORMAL},
        };
        const struct tag_thresholds thresholds = {0.7, 0.8, 0.8, 0.8};
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct summary s;
                assert_int_equal(summary_init(&s, NULL, 0, false), 0);
                for (int k = 0; k < 40; k++)
                        add(&s, k, k % 2 ? &cases[i].odd : &cases[i].even);
                summary_set_tags(&s, &thresholds);
                if (s.scopes[0].tags[0].tag != cases[i].tag)
                        fail_msg("%s: %s", cases[i].reason, tag_name(s.scopes[0].tags[0].tag));
                summary_finish(&s);
        }
}

/* A threshold is reached, not only passed. Halves are exact. */
static void a_tag_at_its_threshold(void **state UNUSED)
{
        const struct tick t = {.sm = 0.5, .gr = 0.5, .workload = WORKLOAD_COMPUTE_ACTIVE};
        const struct tag_thresholds thresholds = {0.7, 0.8, 0.5, 0.8};
        struct summary s;
        assert_int_equal(summary_init(&s, NULL, 0, false), 0);
        for (int k = 0; k < 40; k++)
                add(&s, k, &t);
        summary_set_tags(&s, &thresholds);
        assert_int_equal(s.scopes[0].tags[0].tag, TAG_GPU_UTIL_BOUND);
        assert_float_equal(s.scopes[0].tags[0].score, 0.5, 0);
        summary_finish(&s);
}

/* One second of a host with 8 CPUs whose process level does this. */
static void add_host(struct summary *s, double second, double cores, double memory_share,
                     double io_wait)
{
        static struct host h;
        h = (struct host){.wall_ns = clock_from_seconds(1000 + second),
                          .mono_ns = clock_from_seconds(second),
                          .interval_ns = second > 0 ? NS_PER_S : 0};
        struct level_state *l = &h.levels[LEVEL_PROCESS];
        l->asked = l->present = true;
        snprintf(l->name, sizeof(l->name), "7 (python)");
        l->f[FIGURE_PROCESSES] = value_ok(1);
        l->f[FIGURE_CPU] = second > 0 ? value_ok(cores) : value_missing(STATE_BLANK);
        l->f[FIGURE_CPU_SHARE] = second > 0 ? value_ok(cores / 8) : value_missing(STATE_BLANK);
        l->f[FIGURE_CPUS] = value_ok(8);
        l->f[FIGURE_MEMORY] = value_ok(memory_share * 1e9);
        l->f[FIGURE_MEMORY_LIMIT] = value_ok(1e9);
        l->f[FIGURE_MEMORY_SHARE] = value_ok(memory_share);
        h.system[SYSTEM_IOWAIT] = value_ok(io_wait / 8);
        h.system[SYSTEM_CPUS_ONLINE] = value_ok(8);
        h.system[SYSTEM_USER] = value_ok(0.25);
        h.system[SYSTEM_NICE] = value_ok(0.05);
        h.system[SYSTEM_IDLE] = value_ok(0.6);
        summary_add_level(s, &h, LEVEL_PROCESS);
}

static void the_level_has_tags_too(void **state UNUSED)
{
        const struct tag_thresholds thresholds = {0.7, 0.8, 0.8, 0.8};
        struct summary s;
        assert_int_equal(summary_init(&s, NULL, 0, false), 0);
        for (int i = 0; i < 11; i++)
                add_host(&s, i, 6, i == 5 ? 0.95 : 0.3, 0);
        summary_set_tags(&s, &thresholds);
        const struct level_summary *l = &s.scopes[0].level;
        assert_int_equal(s.scopes[0].n_tags, 2);
        assert_int_equal(s.scopes[0].tags[0].tag, TAG_MEMORY_BOUND); /* the higher score first */
        assert_int_equal(s.scopes[0].tags[1].tag, TAG_CPU_BOUND);
        assert_float_equal(s.scopes[0].tags[1].score, 0.75, 1e-9);
        assert_float_equal(l->cpu_s, 60, 1e-9);
        assert_float_equal(spread_mean(&l->usr).v, 0.3, 1e-9);
        assert_float_equal(spread_mean(&l->idle).v, 0.6, 1e-9);
        assert_string_equal(s.level_name, "7 (python)");
        summary_finish(&s);
}

/* A busy device tags those whose processes keep it busy. */
static void gpu_tags_are_the_levels(void **state UNUSED)
{
        const struct {
                enum level level;
                struct level_gpu use; /* of the process */
                enum tag tag;
                const char *reason;
        } cases[] = {
            {LEVEL_PROCESS,
             {.util = value_missing(STATE_NONE)},
             TAG_NORMAL,
             "others keep the GPU busy"},
            {LEVEL_PROCESS,
             {.util = value_ok(0.9), .memory = value_ok(5e8)},
             TAG_GPU_UTIL_BOUND,
             "the process does"},
            {LEVEL_PROCESS,
             {.util = value_ok(0), .memory = value_ok(5e8)},
             TAG_ALLOCATED_UNUSED,
             "it has memory, others work"},
            {LEVEL_SYSTEM,
             {.util = value_missing(STATE_NONE)},
             TAG_GPU_UTIL_BOUND,
             "of the machine all is"},
        };
        const struct tag_thresholds thresholds = {0.7, 0.8, 0.8, 0.8};
        const struct tick busy = {.sm = 0.9, .gr = 0.9, .used_gb = 7, .workload = WORKLOAD_TENSOR};
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct summary s;
                static struct host h;
                assert_int_equal(summary_init(&s, NULL, 0, false), 0);
                for (int k = 0; k < 5; k++) {
                        h = (struct host){.wall_ns = (1000 + k) * NS_PER_S, .n_gpus = 1};
                        for (enum level l = 0; l < LEVEL_COUNT; l++)
                                h.levels[l].asked = h.levels[l].present = true;
                        h.levels[LEVEL_PROCESS].gpus[0] = cases[i].use;
                        h.levels[LEVEL_SYSTEM].gpus[0] =
                            (struct level_gpu){.util = value_ok(0.9), .memory = value_ok(7e9)};
                        summary_add_level(&s, &h, cases[i].level);
                        add(&s, k, &busy);
                }
                summary_set_tags(&s, &thresholds);
                if (s.scopes[0].tags[0].tag != cases[i].tag)
                        fail_msg("%s: %s", cases[i].reason, tag_name(s.scopes[0].tags[0].tag));
                summary_finish(&s);
        }
}

/* The host's samples go to the phases that their middle lies in. */
static void the_level_has_phases(void **state UNUSED)
{
        const struct phase phases[] = {{"load", 1000 * NS_PER_S, 1005 * NS_PER_S, false, NULL},
                                       {"train", 1005 * NS_PER_S, 1010 * NS_PER_S, false, NULL}};
        struct summary s;
        assert_int_equal(summary_init(&s, phases, 2, false), 0);
        for (int i = 0; i <= 12; i++)
                add_host(&s, i, i <= 5 ? 1 : 3, 0.1, 0);
        assert_float_equal(spread_mean(&s.scopes[1].level.cpu).v, 1, 1e-9);
        assert_int_equal(s.scopes[1].level.cpu.n, 5);
        assert_float_equal(spread_mean(&s.scopes[2].level.cpu).v, 3, 1e-9);
        assert_int_equal(s.scopes[2].level.cpu.n, 5);
        assert_int_equal(s.scopes[0].level.samples, 13);
        summary_finish(&s);
}

/* ---- phases from marks ---- */

static struct mark mark(enum mark_type type, const char *name, double at, double seconds)
{
        struct mark m = {.type = type,
                         .wall_ns = clock_from_seconds(at),
                         .seconds = seconds,
                         .has_seconds = type == MARK_PHASE};
        snprintf(m.name, sizeof(m.name), "%s", name);
        return m;
}

static void marks_become_phases(void **state UNUSED)
{
        struct mark marks[] = {
            mark(MARK_BEGIN, "a", 10, 0), mark(MARK_BEGIN, "a", 11, 0),
            mark(MARK_END, "a", 12, 0),   mark(MARK_END, "nobody", 13, 0),
            mark(MARK_PHASE, "b", 15, 4), mark(MARK_END, "a", 16, 0),
            mark(MARK_BEGIN, "c", 17, 0),
        };
        static const struct {
                const char *name;
                double begin, end;
                bool open;
        } wanted[] = {{"a", 10, 16, false},
                      {"b", 11, 15, false}, /* the outer one of two that begin together */
                      {"a", 11, 12, false},
                      {"c", 17, 20, true}};
        struct phase *list = NULL;
        size_t n = 0;
        assert_int_equal(
            phases_from_marks(marks, ARRAY_LEN(marks), clock_from_seconds(20), &list, &n), 0);
        assert_int_equal(n, ARRAY_LEN(wanted));
        for (size_t i = 0; i < n; i++) {
                assert_string_equal(list[i].name, wanted[i].name);
                assert_float_equal(clock_to_seconds(list[i].begin_ns), wanted[i].begin, 1e-9);
                assert_float_equal(clock_to_seconds(list[i].end_ns), wanted[i].end, 1e-9);
                assert_int_equal(list[i].open, wanted[i].open);
        }
        free(list);
}

static void what_is_kept_with_a_phase(void **state UNUSED)
{
        static const struct {
                const char *begin, *end, *wanted, *reason;
        } cases[] = {
            {NULL, NULL, NULL, "nothing"},
            {"{\"a\":1}", NULL, "{\"a\":1}", "the beginning's"},
            {NULL, "{\"b\":2}", "{\"b\":2}", "the end's"},
            {"{\"a\":1}", "{\"b\":0.1}", "{\"a\":1,\"b\":0.1}", "both"},
            {"{\"a\":1}", "{\"a\":2}", "{\"a\":2}", "the end knows better"},
            {"{\"a\":1}", "damaged", "{\"a\":1}", "what can be read"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct mark marks[] = {mark(MARK_BEGIN, "x", 1, 0), mark(MARK_END, "x", 2, 0)};
                marks[0].data = cases[i].begin ? strdup(cases[i].begin) : NULL;
                marks[1].data = cases[i].end ? strdup(cases[i].end) : NULL;
                struct phase *list = NULL;
                size_t n = 0;
                assert_int_equal(phases_from_marks(marks, 2, INT64_MAX, &list, &n), 0);
                const char *got = list[0].data ? list[0].data : "";
                if (strcmp(got, cases[i].wanted ? cases[i].wanted : "") != 0)
                        fail_msg("%s: %s", cases[i].reason, got);
                mark_finish(&marks[0]);
                mark_finish(&marks[1]);
                free(list);
        }
}

/* Two nodes and two ranks of one node mark the same phase at the same time. */
static void phases_of_many(void **state UNUSED)
{
        static const struct {
                enum mark_type type;
                const char *host;
                int pid;
                double at;
        } said[] = {
            {MARK_BEGIN, "a", 1, 10}, {MARK_BEGIN, "b", 2, 11}, {MARK_END, "a", 3, 12},
            {MARK_END, "b", 4, 19},   {MARK_BEGIN, "a", 5, 20}, {MARK_BEGIN, "a", 6, 21},
            {MARK_END, "a", 5, 22},   {MARK_END, "a", 6, 29},
        };
        static const double wanted[][2] = {{10, 12}, {11, 19}, {20, 22}, {21, 29}};
        struct mark marks[ARRAY_LEN(said)];
        for (size_t i = 0; i < ARRAY_LEN(said); i++) {
                marks[i] = mark(said[i].type, "step", said[i].at, 0);
                marks[i].pid = said[i].pid;
                snprintf(marks[i].host, sizeof(marks[i].host), "%s", said[i].host);
        }
        struct phase *list = NULL;
        size_t n = 0;
        assert_int_equal(phases_from_marks(marks, ARRAY_LEN(marks), INT64_MAX, &list, &n), 0);
        assert_int_equal(n, ARRAY_LEN(wanted));
        for (size_t i = 0; i < n; i++) {
                assert_float_equal(clock_to_seconds(list[i].begin_ns), wanted[i][0], 1e-9);
                assert_float_equal(clock_to_seconds(list[i].end_ns), wanted[i][1], 1e-9);
        }
        free(list);
}

static void ranges(void **state UNUSED)
{
        static const struct {
                const char *range, *first;
                int n; /* -1: refused */
        } cases[] = {{"p3", "p3", 1},  {"3", "p3", 1},    {"2:5", "p2", 3}, {":2", "p0", 2},
                     {"7:", "p7", 3},  {"-1", "p9", 1},   {"-3:", "p7", 3}, {"0:99", "p0", 10},
                     {"10", NULL, -1}, {"5:5", NULL, -1}, {"x", NULL, -1},  {"1:2:3", NULL, -1},
                     {"", NULL, -1}};
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct phase list[10];
                struct err err = {0};
                for (int k = 0; k < 10; k++) {
                        list[k] = phase("", k, k + 1);
                        snprintf(list[k].name, sizeof(list[k].name), "p%d", k);
                }
                int n = phases_choose(list, 10, cases[i].range, &err);
                if (cases[i].n < 0 ? n != ERR_USAGE || !err.hint[0] : n != cases[i].n)
                        fail_msg("'%s': %d", cases[i].range, n);
                if (n > 0)
                        assert_string_equal(list[0].name, cases[i].first);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(percentiles),
            cmocka_unit_test(percentiles_of_many_are_within_three_percent),
            cmocka_unit_test(values_that_are_counted),
            cmocka_unit_test(many_gpus_in_any_order),
            cmocka_unit_test(time_energy_and_throttling),
            cmocka_unit_test(energy_of_a_phase_between_moves),
            cmocka_unit_test(energy_without_a_counter_and_after_a_reset),
            cmocka_unit_test(a_pause_is_not_counted),
            cmocka_unit_test(an_outage_is_not_counted),
            cmocka_unit_test(phases_nest_and_come_again),
            cmocka_unit_test(more_phases_than_scopes),
            cmocka_unit_test(idle_before_work),
            cmocka_unit_test(memory_unused_for_a_while),
            cmocka_unit_test(tags),
            cmocka_unit_test(a_tag_at_its_threshold),
            cmocka_unit_test(gpu_tags_are_the_levels),
            cmocka_unit_test(the_level_has_tags_too),
            cmocka_unit_test(the_level_has_phases),
            cmocka_unit_test(marks_become_phases),
            cmocka_unit_test(what_is_kept_with_a_phase),
            cmocka_unit_test(phases_of_many),
            cmocka_unit_test(ranges),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
