#include "cmd/selftest_observer.h"

#include "base/clock.h"
#include "base/strbuf.h"
#include "compute/diff/stats.h"
#include "life/thread.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* RATE(words, interval in milliseconds, whether processes are read too): 1 Hz is how assay reads
 * beside a model server, 10 Hz how it reads beside a training. */
#define RATES(RATE)                                                                                \
        RATE("1 Hz", 1000, false)                                                                  \
        RATE("10 Hz", 100, true)

static const struct rate {
        const char *words;
        int64_t interval_ns;
        bool processes;
} rates[] = {
#define RATE(words, ms, processes) {words, (ms)*NS_PER_MS, processes},
    RATES(RATE)
#undef RATE
};

#define RATES_COUNT ARRAY_LEN(rates)
#define BLOCKS 5                    /* each with its turns there and back, so that drift cancels */
#define SETTLE_NS (300 * NS_PER_MS) /* clocks and caches take a moment after each change */
#define STEPS_MAX 65536             /* whose times are kept of a turn */
#define OFF RATES_COUNT             /* the turn in which nothing is read */

/* A reader of the GPU's counters on a thread of its own, as a recorder has one. */
struct observer {
        struct pipeline *pipeline;
        pthread_t thread;
        _Atomic bool stop;
        _Atomic uint64_t reads;
};

static void *observe_thread(void *arg)
{
        struct observer *o = arg;
        const struct frame *f;
        struct err err = {0};
        while (!o->stop && pipeline_next(o->pipeline, &f, &err) > 0)
                o->reads++;
        return NULL;
}

static int observer_start(const struct config *config, const struct rate *rate,
                          struct observer *ret, struct err *err)
{
        struct pipeline_config pc;
        int r = prepare_pipeline(config, false, &pc, err);
        if (r < 0)
                return r;
        pc.source.poll_ns = rate->interval_ns;
        *ret = (struct observer){0};
        r = pipeline_open(&pc, &ret->pipeline, err);
        if (r < 0)
                return r;
        pipeline_want_processes(ret->pipeline, rate->processes);
        pipeline_want_limits(ret->pipeline, false);
        r = life_start_thread(observe_thread, ret, &ret->thread);
        if (r < 0) {
                pipeline_close(ret->pipeline);
                return err_set(err, r, "cannot start a thread: %s", strerror(-r));
        }
        return 0;
}

static uint64_t observer_end(struct observer *o)
{
        o->stop = true;
        pipeline_interrupt(o->pipeline);
        pthread_join(o->thread, NULL);
        pipeline_close(o->pipeline);
        return o->reads;
}

/* Of one turn: seconds a step on the mean, and the 99th percentile. */
struct turn {
        double mean, p99;
        uint64_t reads;
};

static int compare_times(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;
        return (x > y) - (x < y);
}

static int run_steps(struct loads *l, enum load_step step, int64_t ns, double *times,
                     struct turn *ret, struct err *err)
{
        int64_t begun = clock_mono_ns(), before = begun, now = begun;
        size_t n = 0;
        while (now < begun + ns) {
                int r = loads_step(l, step, err);
                if (r < 0)
                        return r;
                now = clock_mono_ns();
                if (n < STEPS_MAX)
                        times[n] = clock_to_seconds(now - before);
                n++;
                before = now;
        }
        size_t kept = n < STEPS_MAX ? n : STEPS_MAX;
        qsort(times, kept, sizeof(*times), compare_times);
        ret->mean = clock_to_seconds(now - begun) / (double)n;
        ret->p99 = times[kept * 99 / 100];
        return 0;
}

static int take_turn(const struct config *config, struct loads *l, enum load_step step, size_t rate,
                     double *times, struct turn *ret, struct err *err)
{
        int64_t ns = clock_from_seconds(config_number(config, OPT_DURATION));
        struct observer o;
        struct turn settling = {0};
        *ret = (struct turn){0};
        int r = rate < OFF ? observer_start(config, &rates[rate], &o, err) : 0;
        if (r < 0)
                return r;
        r = run_steps(l, step, SETTLE_NS, times, &settling, err);
        if (r == 0)
                r = run_steps(l, step, ns, times, ret, err);
        if (rate < OFF)
                ret->reads = observer_end(&o);
        return r;
}

/* What a load took without reading, and what each rate cost it: a share of that, one a block. */
struct cost {
        double off, off_p99;
        double share[RATES_COUNT][BLOCKS];
        double p99[RATES_COUNT];
        uint64_t reads[RATES_COUNT];
};

/* Off, each rate, and all once more backwards: what drifts evenly is in each of them alike. */
static int run_block(const struct config *config, struct loads *l, enum load_step step,
                     size_t block, double *times, struct cost *c, struct err *err)
{
        struct turn sum[RATES_COUNT + 1] = {0};
        for (size_t i = 0; i < 2 * (RATES_COUNT + 1); i++) {
                size_t place = i <= RATES_COUNT ? i : 2 * RATES_COUNT + 1 - i;
                size_t rate = place == 0 ? OFF : place - 1;
                struct turn t;
                int r = take_turn(config, l, step, rate, times, &t, err);
                if (r < 0)
                        return r;
                sum[rate].mean += t.mean / 2;
                sum[rate].p99 += t.p99 / 2;
                sum[rate].reads += t.reads;
        }
        c->off += sum[OFF].mean / BLOCKS;
        c->off_p99 += sum[OFF].p99 / BLOCKS;
        for (size_t i = 0; i < RATES_COUNT; i++) {
                c->share[i][block] = sum[i].mean / sum[OFF].mean - 1;
                c->p99[i] += sum[i].p99 / BLOCKS;
                c->reads[i] += sum[i].reads;
        }
        return 0;
}

static void put_interval(struct strbuf *out, const double v[BLOCKS])
{
        double mean = 0, square = 0;
        for (size_t i = 0; i < BLOCKS; i++)
                mean += v[i] / BLOCKS;
        for (size_t i = 0; i < BLOCKS; i++)
                square += (v[i] - mean) * (v[i] - mean);
        double half = stats_t(BLOCKS - 1) * sqrt(square / (BLOCKS - 1) / BLOCKS);
        strbuf_putf(out, "%+8.2f %%  (%+.2f to %+.2f)", 100 * mean, 100 * (mean - half),
                    100 * (mean + half));
}

static void write_cost(const struct load_step_info *info, const struct cost *c, struct strbuf *out)
{
        strbuf_putf(out, "  %-14s not read  %10.3f ms a step, 99 %% within %.3f ms\n", info->words,
                    1e3 * c->off, 1e3 * c->off_p99);
        for (size_t i = 0; i < RATES_COUNT; i++) {
                strbuf_putf(out, "  %-14s %-8s", "", rates[i].words);
                put_interval(out, c->share[i]);
                strbuf_putf(out, ", 99 %% within %.3f ms, %llu reads\n", 1e3 * c->p99[i],
                            (unsigned long long)c->reads[i]);
        }
}

static int test_step(const struct config *config, struct loads *l, enum load_step step,
                     double *times, struct strbuf *out, struct err *err)
{
        const struct load_step_info *info = load_step_info(step);
        struct cost c = {0};
        if (!loads_can_step(l, step)) {
                strbuf_putf(out, "  %-14s not run: there is no cuBLAS\n", info->words);
                return 0;
        }
        for (size_t i = 0; i < BLOCKS; i++) {
                int r = run_block(config, l, step, i, times, &c, err);
                if (r < 0)
                        return r;
        }
        write_cost(info, &c, out);
        return 0;
}

double observer_seconds(const struct config *config)
{
        double turn = config_number(config, OPT_DURATION) + clock_to_seconds(SETTLE_NS);
        return STEP_COUNT * BLOCKS * 2.0 * (RATES_COUNT + 1) * turn;
}

int observer_test(const struct config *config, const struct cuda_api *cuda,
                  const struct blas_api *blas, const char *uuid, struct strbuf *out,
                  struct err *err)
{
        struct loads *loads = NULL;
        CLEANUP(freep) double *times = malloc(STEPS_MAX * sizeof(*times));
        if (!times)
                return err_set(err, -ENOMEM, "out of memory");
        strbuf_puts(out, "  what reading costs: longer steps, with the 95 % interval\n");
        int r = loads_open(cuda, blas, uuid, &loads, err);
        for (enum load_step step = 0; r == 0 && step < STEP_COUNT; step++)
                r = test_step(config, loads, step, times, out, err);
        loads_close(loads);
        return r;
}
