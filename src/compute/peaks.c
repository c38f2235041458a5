#include "compute/peaks.h"

#include "base/attr.h"
#include "model/throttle.h"

#include <string.h>

enum pipes_of {
#define PIPES(id, ...) PIPES_##id,
#include "compute/peaks.def"
};

/* FLOP a clock and SM, by type. */
static const double pipe_peaks[][FLOPS_COUNT] = {
#define PIPES(id, fp8, fp16, bf16, int8, tf32, fp64_tensor, fp32, fp64)                            \
        [PIPES_##id] = {                                                                           \
            [FLOPS_FP8] = (fp8),   [FLOPS_FP16] = (fp16), [FLOPS_BF16] = (bf16),                   \
            [FLOPS_INT8] = (int8), [FLOPS_TF32] = (tf32), [FLOPS_FP64_TENSOR] = (fp64_tensor),     \
            [FLOPS_FP32] = (fp32), [FLOPS_FP64] = (fp64)},
#include "compute/peaks.def"
};

/* The model's text is literal: it holds no formula. */
static const struct peak peaks[] = {
#define PEAK(name, kind, n, boost_mhz, tensor_mhz, mem, link, gen, width, limit_w, least_w,        \
             most_w, sheet, said_by)                                                               \
        {.model = (name),                                                                          \
         .per_clock = pipe_peaks[PIPES_##kind],                                                    \
         .sms = (n),                                                                               \
         .boost = (boost_mhz)*1e6,                                                                 \
         .tensor_clock = (tensor_mhz)*1e6,                                                         \
         .memory = (mem)*1e9,                                                                      \
         .nvlink = (link)*1e9,                                                                     \
         .pcie_gen = (gen),                                                                        \
         .pcie_lanes = (width),                                                                    \
         .power_limit = (limit_w),                                                                 \
         .rest_lo = (least_w),                                                                     \
         .rest_hi = (most_w),                                                                      \
         .sheet_tensor = (sheet)*1e12,                                                             \
         .source = (said_by)},
#include "compute/peaks.def"
};

const struct peak *peak_at(size_t i)
{
        return i < ARRAY_LEN(peaks) ? &peaks[i] : NULL;
}

static bool parts_words(char c)
{
        return strchr(" -[]", c) != NULL; /* the end, too */
}

/* What may follow the model's word: how much memory it has, of what kind, or its form. What else
 * follows makes it another model: "Ti", "Laptop GPU", "MIG 1g.5gb". */
static bool is_variant(const char *rest)
{
        while (*rest) {
                rest += strspn(rest, " -[]");
                size_t len = strcspn(rest, " -[]"), digits = strspn(rest, "0123456789");
                const char *unit = rest + digits;
                bool size = digits > 0 && unit[0] == 'G' && len - digits <= 2 &&
                            (len - digits == 1 || unit[1] == 'B');
                bool form = len == 3 && strncmp(rest, "OAM", 3) == 0;
                if (len > 0 && !size && !form && strncmp(rest, "HBM", 3) != 0)
                        return false;
                rest += len;
        }
        return true;
}

/* "NVIDIA A100-SXM4-80GB" has "A10" in it: a name must end where the model's word does. */
static bool model_has_name(const char *model, const char *name)
{
        size_t len = strlen(name);
        for (const char *at = strstr(model, name); at; at = strstr(at + 1, name)) {
                bool begins = at == model || parts_words(at[-1]);
                if (begins && parts_words(at[len]) && is_variant(at + len))
                        return true;
        }
        return false;
}

const struct peak *peak_find(const char *model)
{
        const struct peak *best = NULL;
        for (size_t i = 0; model[0] && i < ARRAY_LEN(peaks); i++) {
                if (model_has_name(model, peaks[i].model) &&
                    (!best || strlen(peaks[i].model) > strlen(best->model)))
                        best = &peaks[i];
        }
        return best;
}

double peak_link_traffic(const struct peak *peak, double link)
{
        return peak && peak->memory > 0 ? link / peak->memory : 0;
}

double peak_flops(const struct peak *peak, enum flops_type type)
{
        /* FP64 tensor work runs at the clock of the other pipes. */
        bool slow = flops_pipe(type) == FLOPS_PIPE_TENSOR;
        return peak->sms * peak->per_clock[type] * (slow ? peak->tensor_clock : peak->boost);
}

/*
 * What programs count is such a share of activity × clock, as measured on an H200 with cuBLAS.
 * While the tensor cores work in half precision and clocks are free, the real clock is 0.90 to 0.91
 * of what NVML reports; a power limit makes it swing besides. No interval is wider than 12 %.
 */
struct share {
        double least, most;
};
static const struct share share_held = {0.876, 0.98}; /* the power limit or heat holds the clocks */
static const struct share share_free = {0.898, 1.004}; /* nothing is said to hold them */
static const struct share share_sure = {0.97, 1.02};   /* locked or counted clocks */
static const struct share share_other = {0.96, 1.06};  /* other pipes, whose clock is NVML's */

void pipe_rates(const struct sample *s, struct pipe_rate ret[FLOPS_PIPE_COUNT])
{
        static const enum metric activities[FLOPS_PIPE_COUNT] = {
            METRIC_TENSOR_ACTIVE, METRIC_TENSOR_ACTIVE, METRIC_FP32_ACTIVE, METRIC_FP64_ACTIVE};
        struct value reasons = s->m[METRIC_THROTTLE_REASONS];
        struct value clock = s->m[METRIC_SM_CLOCK_EFFECTIVE];
        uint64_t bits = value_is_set(reasons) ? (uint64_t)reasons.v : 0;
        bool held = bits & (THROTTLE_BY_POWER | THROTTLE_BY_HEAT_OR_HARDWARE);
        bool sure = value_is_set(clock) || (bits & THROTTLE_APPLICATION);
        clock = value_is_set(clock) ? clock : s->m[METRIC_SM_CLOCK];
        for (enum flops_pipe p = 0; p < FLOPS_PIPE_COUNT; p++) {
                struct value activity = s->m[activities[p]];
                const struct share *share = sure                     ? &share_sure
                                            : p != FLOPS_PIPE_TENSOR ? &share_other
                                            : held                   ? &share_held
                                                                     : &share_free;
                ret[p].known = value_is_set(activity) && value_is_set(clock);
                double cycles = ret[p].known ? activity.v * clock.v : 0;
                ret[p].lo = cycles * share->least;
                ret[p].hi = cycles * share->most;
        }
}

struct flops flops_from(const struct peak *peak, enum flops_type type, double lo, double hi)
{
        double each = peak && type != FLOPS_INT8 ? peak->sms * peak->per_clock[type] : 0;
        return each > 0 ? (struct flops){true, lo * each, hi * each} : (struct flops){0};
}

struct flops flops_of(const struct sample *s, const struct peak *peak, enum flops_type type)
{
        struct pipe_rate pipes[FLOPS_PIPE_COUNT];
        pipe_rates(s, pipes);
        struct pipe_rate r = pipes[flops_pipe(type)];
        return r.known ? flops_from(peak, type, r.lo, r.hi) : (struct flops){0};
}

void flops_take(const struct sample *s, const struct peak *peak, struct flops_rates *ret)
{
        struct pipe_rate pipes[FLOPS_PIPE_COUNT];
        ret->known = 0;
        if (peak)
                pipe_rates(s, pipes);
        for (enum flops_type t = 0; peak && t < FLOPS_COUNT; t++) {
                const struct pipe_rate *r = &pipes[flops_pipe(t)];
                double each = peak->sms * peak->per_clock[t];
                if (!r->known || each <= 0 || t == FLOPS_INT8)
                        continue;
                ret->known |= (uint8_t)(1u << t);
                ret->lo[t] = (float)(r->lo * each);
                ret->hi[t] = (float)(r->hi * each);
        }
}

/* Of NVML's clock: less was never measured while the GPU worked, more is another unit. */
#define CLOCK_RATIO_LEAST 0.8
#define CLOCK_RATIO_MOST 1.02

struct value effective_clock(struct value cycles_per_s, struct value nvml_hz,
                             const struct peak *peak)
{
        double sms[] = {1, peak && peak->sms > 0 ? peak->sms : 1};
        for (size_t i = 0; value_is_set(cycles_per_s) && value_is_set(nvml_hz) && i < 2; i++) {
                struct value v = cycles_per_s;
                v.v /= sms[i];
                if (v.v >= CLOCK_RATIO_LEAST * nvml_hz.v && v.v <= CLOCK_RATIO_MOST * nvml_hz.v)
                        return v;
        }
        return value_is_set(cycles_per_s) ? value_missing(STATE_BLANK) : cycles_per_s;
}
