/* assay selftest: loads an idle GPU with work that is known, and compares it with the counters. */
#include "base/clock.h"
#include "base/strbuf.h"
#include "cmd/selftest_observer.h"
#include "compute/ceilings.h"
#include "compute/peaks.h"
#include "life/thread.h"
#include "selftest/loads.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define SETTLE_NS (400 * NS_PER_MS) /* counters are of the last window, clocks take a moment */
#define REST_NS (300 * NS_PER_MS)   /* between loads */
#define IDLE_SHARE 0.05

/* A load on its own thread, while this one reads the counters. */
struct work {
        struct loads *loads;
        enum load load;
        int64_t ns;
        _Atomic int64_t begun_ns, ended_ns;
        double per_s;
        int r;
        struct err err;
};

/* Means of what the counters said while the load ran. */
struct seen {
        size_t n;
        double activity;
        double lo, hi; /* FLOP/s, 0 when that is not known */
};

struct result {
        enum load load;
        int r;
        char why[512]; /* when it could not be run */
        double measured;
        struct seen seen;
};

static void *work_run(void *arg)
{
        struct work *w = arg;
        w->r = loads_attach(w->loads, &w->err);
        if (w->r == 0)
                w->r = loads_run(w->loads, w->load, SETTLE_NS, w->ns, &w->begun_ns, &w->per_s,
                                 &w->err);
        w->ended_ns = clock_mono_ns();
        return NULL;
}

/* Bytes a second of its PCIe link at most; 0 when that is not known. */
static double link_max(const struct sample *s)
{
        struct value gen = s->m[METRIC_PCIE_GEN_MAX], width = s->m[METRIC_PCIE_WIDTH_MAX];
        return value_is_set(gen) && value_is_set(width) ? pcie_bytes_per_s(gen.v, width.v) : 0;
}

static const struct row *row_of(const struct frame *f, const char *uuid)
{
        for (size_t i = 0; i < f->n; i++) {
                if (strcmp(f->rows[i].sample.who->text[ENTITY_TEXT_UUID], uuid) == 0)
                        return &f->rows[i];
        }
        return NULL;
}

static enum flops_type type_of(enum load load)
{
        switch (load) {
        case LOAD_GEMM_BF16:
                return FLOPS_BF16;
        case LOAD_GEMM_TF32:
                return FLOPS_TF32;
        case LOAD_GEMM_FP32:
                return FLOPS_FP32;
        case LOAD_GEMM_FP64:
                return FLOPS_FP64_TENSOR;
        case LOAD_COPY:
        case LOAD_TO_DEVICE:
        case LOAD_TO_HOST:
        case LOAD_COUNT:
                break;
        }
        return FLOPS_COUNT;
}

static void observe_row(struct seen *seen, const struct row *row, enum load load)
{
        const struct sample *s = &row->sample;
        struct value v = s->m[load_info(load)->metric];
        if (v.state != STATE_OK)
                return;
        seen->activity += v.v;
        seen->n++;
        enum flops_type type = type_of(load);
        if (type == FLOPS_COUNT)
                return;
        /* By the reasons of each moment: they say how far the clock can be trusted. */
        struct flops f = flops_of(s, peak_find(s->who->text[ENTITY_TEXT_MODEL]), type);
        seen->lo += f.known ? f.lo : 0;
        seen->hi += f.known ? f.hi : 0;
}

/* Reads frames until the load has ended; keeps those whose window lies inside it. */
static int watch_load(struct pipeline *p, struct work *w, const char *uuid, struct seen *ret,
                      struct err *err)
{
        const struct frame *f;
        while (w->ended_ns == 0) {
                int r = pipeline_next(p, &f, err);
                if (r <= 0)
                        return r < 0 ? r : err_set(err, -EIO, "the counters have ended");
                const struct row *row = row_of(f, uuid);
                int64_t begun = w->begun_ns;
                if (row && begun && !f->stale && w->ended_ns == 0 &&
                    f->mono_ns - f->window_ns >= begun)
                        observe_row(ret, row, w->load);
        }
        return 0;
}

static int measure_load(struct pipeline *p, struct loads *loads, enum load load, const char *uuid,
                        int64_t ns, struct result *ret, struct err *err)
{
        struct work w = {.loads = loads, .load = load, .ns = ns};
        pthread_t thread;
        *ret = (struct result){.load = load};
        int r = life_start_thread(work_run, &w, &thread);
        if (r < 0)
                return err_set(err, r, "cannot start a thread: %s", strerror(-r));
        r = watch_load(p, &w, uuid, &ret->seen, err);
        pthread_join(thread, NULL);
        ret->r = w.r;
        ret->measured = w.per_s;
        snprintf(ret->why, sizeof(ret->why), "%s", w.err.msg);
        if (ret->seen.n > 0) {
                ret->seen.activity /= (double)ret->seen.n;
                ret->seen.lo /= (double)ret->seen.n;
                ret->seen.hi /= (double)ret->seen.n;
        }
        usleep(REST_NS / 1000);
        return r;
}

/* The expected result by counters and table, in the unit of the measurement. 0: unknown. */
struct expected {
        double lo, hi; /* by the counters */
        double peak;   /* by the data sheet, or the link's speed */
};

static struct expected expected_of(const struct result *r, const struct row *row, bool gemm)
{
        const struct peak *peak = peak_find(row->sample.who->text[ENTITY_TEXT_MODEL]);
        struct expected e = {0};
        if (gemm) {
                e.lo = r->seen.lo;
                e.hi = r->seen.hi;
                e.peak = peak ? peak_flops(peak, type_of(r->load)) : 0;
                return e;
        }
        bool memory = r->load == LOAD_COPY;
        e.peak = memory ? (peak ? peak->memory : 0) : link_max(&row->sample);
        e.lo = e.hi = memory ? r->seen.activity * e.peak : r->seen.activity;
        return e;
}

static void put_figure(struct strbuf *out, double v, double scale)
{
        if (v > 0)
                strbuf_putf(out, "%9.0f", v / scale);
        else
                strbuf_putf(out, "%9s", "--");
}

/* Signed distance of the measured figure from the interval, as a share of the nearer end. */
static double off_by(double measured, const struct expected *e)
{
        if (measured < e->lo)
                return e->lo / measured - 1;
        return measured > e->hi ? e->hi / measured - 1 : 0;
}

static void write_result(const struct result *r, const struct row *row, struct strbuf *out)
{
        const struct load_info *info = load_info(r->load);
        bool gemm = type_of(r->load) != FLOPS_COUNT;
        double scale = gemm ? 1e12 : 1e9;
        strbuf_putf(out, "  %-22s", info->words);
        if (r->r < 0) {
                strbuf_putf(out, " not run: %s\n", r->why);
                return;
        }
        struct expected e = expected_of(r, row, gemm);
        put_figure(out, r->measured, scale);
        strbuf_putf(out, " %-8s", info->unit);
        put_figure(out, e.peak, scale);
        if (r->seen.n == 0) {
                strbuf_puts(out, "   the counters said nothing\n");
                return;
        }
        put_figure(out, e.hi, scale);
        if (e.hi > 0 && e.lo < e.hi)
                strbuf_putf(out, "  (from %.0f)", e.lo / scale);
        if (e.hi > 0)
                strbuf_putf(out, "  %+.1f %%", 100 * off_by(r->measured, &e));
        strbuf_putc(out, '\n');
}

static const char *busy_reason(const struct row *row)
{
        struct value util = row->sample.m[METRIC_GPU_UTIL];
        struct value processes = row->sample.m[METRIC_PROCESSES];
        if (value_is_set(processes) && processes.v > 0)
                return "a process uses it";
        return value_is_set(util) && util.v >= IDLE_SHARE ? "it is busy" : NULL;
}

/* All loads on one GPU. The row is of the frame before. */
static int test_gpu(const struct config *config, struct pipeline *p, const struct cuda_api *cuda,
                    const struct blas_api *blas, const struct row *row, struct strbuf *out,
                    struct err *err)
{
        struct loads *loads = NULL;
        struct row kept = *row;
        struct entity who = *row->sample.who;
        kept.sample.who = &who;
        const char *uuid = who.text[ENTITY_TEXT_UUID];
        double seconds = config_number(config, OPT_DURATION);
        strbuf_putf(out, "GPU %s  %s\n", who.label, who.text[ENTITY_TEXT_MODEL]);
        strbuf_putf(out, "  %-22s%9s %-8s%9s%9s\n", "load", "measured", "", "peak", "counters");
        int r = loads_open(cuda, blas, uuid, &loads, err);
        for (enum load load = 0; r == 0 && load < LOAD_COUNT; load++) {
                struct result result;
                r = measure_load(p, loads, load, uuid, clock_from_seconds(seconds), &result, err);
                if (r == 0)
                        write_result(&result, &kept, out);
        }
        loads_close(loads);
        return r;
}

static int first_frame(struct pipeline *p, const struct frame **ret, struct err *err)
{
        int r = 1;
        for (int i = 0; r > 0 && i < 3; i++)
                r = pipeline_next(p, ret, err);
        return r > 0 ? 0 : r < 0 ? r : err_set(err, ERR_NO_SOURCE, "the source has ended");
}

static int choose_gpu(const struct frame *f, const struct row **ret, struct err *err)
{
        const char *why = "there is no GPU";
        for (size_t i = 0; i < f->n; i++) {
                const struct row *row = &f->rows[i];
                if (row->sample.who->kind != ENTITY_GPU || row->sample.who->vendor != VENDOR_NVIDIA)
                        continue;
                why = busy_reason(row);
                if (!why) {
                        *ret = row;
                        return 0;
                }
        }
        err_set(err, ERR_NO_SOURCE, "no GPU to test: %s", why);
        return err_hint(err, "a self-test needs an idle NVIDIA GPU; choose one with --gpus");
}

static void announce_row(const struct row *row, double seconds)
{
        notice("this loads GPU %s fully for about %.0f s", row->sample.who->label, seconds);
}

static int test_counters(const struct config *config, struct pipeline *p,
                         const struct cuda_api *cuda, const struct blas_api *blas,
                         const struct row *row, struct strbuf *out, struct err *err)
{
        announce_row(row, LOAD_COUNT * (config_number(config, OPT_DURATION) + 1));
        return test_gpu(config, p, cuda, blas, row, out, err);
}

/* Closes the pipeline: in every other turn nothing reads the GPU. */
static int test_observer(const struct config *config, struct pipeline **p,
                         const struct cuda_api *cuda, const struct blas_api *blas,
                         const struct row *row, struct strbuf *out, struct err *err)
{
        struct entity who = *row->sample.who;
        announce_row(row, observer_seconds(config));
        strbuf_putf(out, "GPU %s  %s\n", who.label, who.text[ENTITY_TEXT_MODEL]);
        pipeline_close(*p);
        *p = NULL;
        return observer_test(config, cuda, blas, who.text[ENTITY_TEXT_UUID], out, err);
}

static int selftest_run(const struct config *config)
{
        struct err err = {0}, blas_err = {0};
        struct pipeline *p = NULL;
        struct strbuf out = {0};
        struct cuda_api cuda;
        struct blas_api blas;
        const struct frame *f = NULL;
        const struct row *row = NULL;
        int r = cuda_load(NULL, &cuda, &err);
        bool has_blas = r == 0 && blas_load(config_text(config, OPT_BLAS), get_env("PATH"), &blas,
                                            &blas_err) == 0;
        if (r == 0)
                r = open_pipeline(config, false, &p, &err);
        if (r == 0)
                r = first_frame(p, &f, &err);
        if (r == 0)
                r = choose_gpu(f, &row, &err);
        if (r == 0 && config_flag(config, OPT_OBSERVER))
                r = test_observer(config, &p, &cuda, has_blas ? &blas : NULL, row, &out, &err);
        else if (r == 0)
                r = test_counters(config, p, &cuda, has_blas ? &blas : NULL, row, &out, &err);
        if (r == 0)
                r = print_text(&out);
        pipeline_close(p);
        strbuf_finish(&out);
        return r < 0 ? complain(&err) : EXIT_FINE;
}

const struct command command_selftest = {
    .name = "selftest",
    .args = "",
    .summary = "load an idle GPU with known work and check the counters",
    .words = WORDS_NONE,
    .examples = {{"assay selftest", "test the first idle GPU"},
                 {"assay selftest --gpus 1", "test GPU 1"},
                 {"assay selftest --observer", "what reading costs the work on the GPU"}},
    .run = selftest_run,
};
