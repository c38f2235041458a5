#include "compute/peaks.h"

#include "base/attr.h"
#include "model/throttle.h"

#include <string.h>

/* The model's text is literal: it holds no formula. */
static const struct peak peaks[] = {
#define PEAK(name, n, boost_mhz, tensor_mhz, fp8, fp16, int8, tf32, fp64_tensor, fp32, fp64, mem,  \
             link, gen, sheet)                                                                     \
        {.model = (name),                                                                          \
         .sms = (n),                                                                               \
         .boost = (boost_mhz)*1e6,                                                                 \
         .tensor_clock = (tensor_mhz)*1e6,                                                         \
         .per_clock = {[FLOPS_FP8] = (fp8),                                                        \
                       [FLOPS_FP16] = (fp16),                                                      \
                       [FLOPS_BF16] = (tf32) ? (fp16) : 0, /* both came with Ampere */             \
                       [FLOPS_INT8] = (int8),                                                      \
                       [FLOPS_TF32] = (tf32),                                                      \
                       [FLOPS_FP64_TENSOR] = (fp64_tensor),                                        \
                       [FLOPS_FP32] = (fp32),                                                      \
                       [FLOPS_FP64] = (fp64)},                                                     \
         .memory = (mem)*1e9,                                                                      \
         .nvlink = (link)*1e9,                                                                     \
         .pcie_gen = (gen),                                                                        \
         .sheet_tensor = (sheet)*1e12},
#include "compute/peaks.def"
#undef PEAK
};

static const struct {
        const char *name;
        bool tensor;
} types[FLOPS_COUNT] = {
#define FLOPS_TYPE(id, name, tensor) {name, tensor},
    FLOPS_TYPES(FLOPS_TYPE)
#undef FLOPS_TYPE
};

const struct peak *peak_at(size_t i)
{
        return i < ARRAY_LEN(peaks) ? &peaks[i] : NULL;
}

/* "NVIDIA A100-SXM4-80GB" has "A10" in it: a name must end where the model's word does. */
static bool fits(const char *model, const char *name)
{
        size_t len = strlen(name);
        for (const char *at = strstr(model, name); at; at = strstr(at + 1, name)) {
                bool begins = at == model || at[-1] == ' ' || at[-1] == '-';
                if (begins && (at[len] == '\0' || at[len] == ' ' || at[len] == '-'))
                        return true;
        }
        return false;
}

const struct peak *peak_find(const char *model)
{
        const struct peak *best = NULL;
        for (size_t i = 0; model[0] && i < ARRAY_LEN(peaks); i++) {
                if (fits(model, peaks[i].model) &&
                    (!best || strlen(peaks[i].model) > strlen(best->model)))
                        best = &peaks[i];
        }
        return best;
}

enum flops_type flops_find(const char *name)
{
        enum flops_type t = 0;
        while (t < FLOPS_COUNT && strcmp(types[t].name, name) != 0)
                t++;
        return t;
}

const char *flops_name(enum flops_type type)
{
        return types[type].name;
}

double peak_flops(const struct peak *peak, enum flops_type type)
{
        /* FP64 tensor work runs at the clock of the other pipes. */
        bool slow = types[type].tensor && type != FLOPS_FP64_TENSOR;
        return peak->sms * peak->per_clock[type] * (slow ? peak->tensor_clock : peak->boost);
}

#define TENSOR_BUSY 0.1 /* tensor activity from which the clock may be lower than told */

static double least_ratio(const struct sample *s, enum flops_type type)
{
        struct value tensor = s->m[METRIC_TENSOR_ACTIVE];
        struct value reasons = s->m[METRIC_THROTTLE_REASONS];
        bool locked = value_there(reasons) && ((uint64_t)reasons.v & THROTTLE_APPLICATION);
        bool busy = types[type].tensor || (value_there(tensor) && tensor.v >= TENSOR_BUSY);
        return busy && !locked ? FLOPS_CLOCK_LEAST : 1;
}

static enum metric activity_of(enum flops_type type)
{
        if (types[type].tensor)
                return METRIC_TENSOR_ACTIVE;
        return type == FLOPS_FP64 ? METRIC_FP64_ACTIVE : METRIC_FP32_ACTIVE;
}

bool flops_tensor(enum flops_type type)
{
        return type < FLOPS_COUNT && types[type].tensor;
}

struct flops flops_at(const struct peak *peak, enum flops_type type, double activity, double hz,
                      double least)
{
        double most = activity * peak->sms * peak->per_clock[type] * hz;
        return (struct flops){peak->per_clock[type] > 0, most * least, most};
}

struct flops flops_of(const struct sample *s, enum flops_type type, struct value effective_hz)
{
        const struct peak *peak = peak_find(s->who->text[ENTITY_TEXT_MODEL]);
        struct value activity = s->m[activity_of(type)], clock = s->m[METRIC_SM_CLOCK];
        bool counted = value_there(effective_hz);
        if (!peak || peak->per_clock[type] <= 0 || !value_there(activity) ||
            (!counted && !value_there(clock)))
                return (struct flops){0};
        double hz = counted ? effective_hz.v : clock.v;
        return flops_at(peak, type, activity.v, hz, counted ? 1 : least_ratio(s, type));
}
