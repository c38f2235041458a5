#include "read/nvml/gpm.h"

#include "base/attr.h"
#include "base/clock.h"

#include <math.h>
#include <stdlib.h>

/* NVML's numbers of the metrics, and the largest value that makes sense: percent, or MiB/s. */
static const struct {
        enum nvml_field field;
        uint32_t id;
        double max;
} metrics[] = {
    {NVML_FIELD_GPM_GRAPHICS, 1, 100},   {NVML_FIELD_GPM_SM, 2, 100},
    {NVML_FIELD_GPM_OCCUPANCY, 3, 100},  {NVML_FIELD_GPM_INTEGER, 4, 100},
    {NVML_FIELD_GPM_TENSOR, 5, 100},     {NVML_FIELD_GPM_DFMA, 6, 100},
    {NVML_FIELD_GPM_HMMA, 7, 100},       {NVML_FIELD_GPM_IMMA, 9, 100},
    {NVML_FIELD_GPM_DRAM, 10, 100},      {NVML_FIELD_GPM_FP64, 11, 100},
    {NVML_FIELD_GPM_FP32, 12, 100},      {NVML_FIELD_GPM_FP16, 13, 100},
    {NVML_FIELD_GPM_PCIE_TX, 20, 1e6},   {NVML_FIELD_GPM_PCIE_RX, 21, 1e6},
    {NVML_FIELD_GPM_NVLINK_RX, 60, 1e7}, {NVML_FIELD_GPM_NVLINK_TX, 61, 1e7},
    {NVML_FIELD_GPM_CYCLES, 248, 1e300},
};

/* The first driver whose header has the count of cycles. Older ones end their list before it, and
 * what they do with an unknown number is not documented. */
#define CYCLES_DRIVER 590
/* No GPU does so many a second on all its SMs together: a greater number counts since long ago. */
#define CYCLES_MOST 2e12

/* Rounding in the driver may pass a bound by this much; more is not a measurement. */
#define ROUNDING 1e-6
/* The clocks differ by this much only when the machine slept. */
#define SLEPT_NS NS_PER_S
#define WINDOW_SLACK_NS (2 * NS_PER_S)

static double limit_of(enum nvml_field field)
{
        for (size_t i = 0; i < ARRAY_LEN(metrics); i++) {
                if (metrics[i].field == field)
                        return metrics[i].max;
        }
        return 0;
}

void nvml_gpm_plan(struct nvml_gpm_plan *plan, const struct nvml_lib *lib,
                   const bool wanted[NVML_FIELD_COUNT], int64_t poll_ns, const char *driver)
{
        plan->lib = lib;
        plan->longest_ns = 3 * poll_ns + WINDOW_SLACK_NS;
        plan->n = 0;
        for (size_t i = 0; i < ARRAY_LEN(metrics); i++) {
                enum nvml_field f = metrics[i].field;
                if (!wanted[f] && f != NVML_FIELD_GPM_DRAM)
                        continue;
                if (f == NVML_FIELD_GPM_CYCLES && atoi(driver) < CYCLES_DRIVER)
                        continue;
                plan->get.metric[plan->n].id = metrics[i].id;
                plan->field[plan->n++] = f;
        }
        plan->get.version = NVML_GPM_VERSION;
        plan->get.n = (uint32_t)plan->n;
}

int nvml_gpm_open(struct nvml_gpm *g, const struct nvml_lib *lib)
{
        *g = (struct nvml_gpm){0};
        int rc = lib->gpm_free ? NVML_CALL(lib, gpm_alloc, &g->from) : NVML_FUNCTION_NOT_FOUND;
        if (rc == 0)
                rc = NVML_CALL(lib, gpm_alloc, &g->to);
        if (rc != 0)
                nvml_gpm_close(g, lib);
        return rc;
}

void nvml_gpm_close(struct nvml_gpm *g, const struct nvml_lib *lib)
{
        if (g->from)
                NVML_CALL(lib, gpm_free, g->from);
        if (g->to)
                NVML_CALL(lib, gpm_free, g->to);
        *g = (struct nvml_gpm){0};
}

void nvml_gpm_reseed(struct nvml_gpm *g)
{
        g->seeded = false;
        g->window_ns = 0;
        g->cycles = 0;
}

static int gpm_take(const struct nvml_gpm_plan *plan, nvml_device gpu, int32_t gi,
                    nvml_gpm_sample to)
{
        if (gi >= 0)
                return NVML_CALL(plan->lib, gpm_mig_sample, gpu, (unsigned)gi, to);
        return NVML_CALL(plan->lib, gpm_sample, gpu, to);
}

static bool in_range(enum nvml_field field, double v)
{
        return isfinite(v) && v >= -ROUNDING && v <= limit_of(field) + ROUNDING;
}

/* The driver's mark of a window without new counters is a DRAM value of NaN. */
static bool has_advanced(const struct nvml_gpm_plan *plan)
{
        for (size_t i = 0; i < plan->n; i++) {
                const struct nvml_gpm_metric *m = &plan->get.metric[i];
                if (plan->field[i] == NVML_FIELD_GPM_DRAM && m->rc == 0)
                        return !isnan(m->value);
        }
        return true;
}

/* Cycles a second: of the window, or from a count that continues from window to window. */
static struct value cycles_per_s(struct nvml_gpm *g, double cycles, int64_t window_ns)
{
        struct value before = g->cycles > 0 ? value_ok(g->cycles) : value_missing(STATE_BLANK);
        double seconds = clock_to_seconds(window_ns);
        g->cycles = cycles;
        if (cycles / seconds <= CYCLES_MOST)
                return value_ok(cycles / seconds);
        return value_rate(value_ok(cycles), before, seconds);
}

/* What of an answer is a measurement. */
static struct value check_counter(struct nvml_gpm *g, enum nvml_field field, double v,
                                  int64_t window_ns)
{
        struct value x = value_ok(v);
        if (field == NVML_FIELD_GPM_CYCLES)
                x = cycles_per_s(g, v, window_ns);
        if (value_is_set(x) && !in_range(field, x.v))
                x = value_missing(STATE_BLANK);
        return x;
}

static void store_counters(struct nvml_gpm_plan *plan, struct nvml_gpm *g, int64_t window_ns,
                           struct nvml_row *row)
{
        for (size_t i = 0; i < plan->n; i++) {
                const struct nvml_gpm_metric *m = &plan->get.metric[i];
                struct value v = value_missing(nvml_state(m->rc));
                if (v.state == STATE_OK)
                        v = check_counter(g, plan->field[i], m->value, window_ns);
                row->value[plan->field[i]] =
                    (struct nvml_value){.v = value_or(v, 0) > 0 ? v.v : 0, .state = v.state};
        }
}

/* One counter far outside its range means that they were reset: none of them can be trusted. */
static bool is_plausible(const struct nvml_gpm_plan *plan)
{
        for (size_t i = 0; i < plan->n; i++) {
                const struct nvml_gpm_metric *m = &plan->get.metric[i];
                double max = limit_of(plan->field[i]);
                if (m->rc == 0 && isfinite(m->value) && (m->value < -max || m->value > 2 * max))
                        return false;
        }
        return true;
}

static void start_from(struct nvml_gpm *g, int64_t now_ns, int64_t boot_ns)
{
        nvml_gpm_sample old = g->from;
        g->from = g->to;
        g->to = old;
        g->seeded = true;
        g->from_ns = now_ns;
        g->from_boot_ns = boot_ns;
}

/* Whether the time between the samples says that they belong together. */
static bool is_usable(const struct nvml_gpm *g, const struct nvml_gpm_plan *plan, int64_t now_ns,
                      int64_t boot_ns)
{
        int64_t window = now_ns - g->from_ns, slept = boot_ns - g->from_boot_ns - window;
        return g->seeded && window > 0 && window <= plan->longest_ns && slept < SLEPT_NS;
}

/* One metric that a driver does not know must not cost the others. It is the last. */
static bool drop_cycles(struct nvml_gpm_plan *plan)
{
        if (plan->n == 0 || plan->field[plan->n - 1] != NVML_FIELD_GPM_CYCLES)
                return false;
        plan->n--;
        plan->get.n--;
        return true;
}

int nvml_gpm_read(struct nvml_gpm *g, struct nvml_gpm_plan *plan, nvml_device gpu, int32_t gi,
                  int64_t now_ns, int64_t boot_ns, struct nvml_row *row)
{
        g->window_ns = 0;
        int rc = g->from ? gpm_take(plan, gpu, gi, g->to) : NVML_NOT_SUPPORTED;
        if (rc != 0) {
                nvml_gpm_reseed(g);
                nvml_row_blank(row, NVML_LANE_GPM, nvml_state(rc));
                return rc;
        }
        nvml_row_blank(row, NVML_LANE_GPM, STATE_BLANK);
        if (!is_usable(g, plan, now_ns, boot_ns)) {
                start_from(g, now_ns, boot_ns);
                return 0;
        }
        plan->get.from = g->from;
        plan->get.to = g->to;
        rc = NVML_CALL(plan->lib, gpm_metrics, &plan->get);
        if (rc != 0 && drop_cycles(plan))
                rc = NVML_CALL(plan->lib, gpm_metrics, &plan->get);
        if (rc != 0) {
                nvml_row_blank(row, NVML_LANE_GPM, nvml_state(rc));
                nvml_gpm_reseed(g);
                return rc;
        }
        if (!has_advanced(plan))
                return 0; /* the older sample stays: the next window is longer */
        int64_t window = now_ns - g->from_ns;
        start_from(g, now_ns, boot_ns);
        if (is_plausible(plan)) {
                store_counters(plan, g, window, row);
                g->window_ns = window;
        }
        return 0;
}
