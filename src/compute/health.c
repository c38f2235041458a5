#include "compute/compute.h"

#include "base/num.h"
#include "model/throttle.h"

#include <string.h>

/* Warning temperatures in °C, where the device does not give its own. First match wins. */
static const struct {
        const char *model;
        double warning;
} model_temps[] = {
    {"A100", 93}, {"H100", 95}, {"H200", 95}, {"RTX 6000", 92}, {"RTX6000", 92},
};
#define DEFAULT_WARNING 93

static double model_warning(const struct sample *s)
{
        const char *model = s->who ? s->who->text[ENTITY_TEXT_MODEL] : "";
        for (size_t i = 0; model[0] && i < ARRAY_LEN(model_temps); i++) {
                if (strstr(model, model_temps[i].model))
                        return model_temps[i].warning;
        }
        return DEFAULT_WARNING;
}

static bool is_one_of(double v, const int *list, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                if (v == list[i])
                        return true;
        }
        return false;
}

/* Looks at the values that decide a finding; counts those that are there. */
struct look {
        const struct sample *s;
        unsigned seen;
        uint32_t findings;
};

static bool get(struct look *l, enum metric m, double *ret)
{
        if (!value_there(l->s->m[m]))
                return false;
        l->seen++;
        *ret = l->s->m[m].v;
        return true;
}

static void found(struct look *l, enum finding f)
{
        l->findings |= 1u << f;
}

#define FABRIC_FAILED 4 /* DCGM's status of the fabric manager */

static void look_at_driver(struct look *l)
{
        double v;
        if (get(l, METRIC_MEMORY_UNREPAIRABLE, &v) && v > 0)
                found(l, FINDING_UNREPAIRABLE);
        if (get(l, METRIC_RECOVERY_ACTION, &v) && v > 0)
                found(l, FINDING_RECOVERY);
        if (get(l, METRIC_FABRIC_STATUS, &v) && v == FABRIC_FAILED)
                found(l, FINDING_FABRIC);
        if (get(l, METRIC_NVLINK_ERROR_RATE, &v) && v > 0)
                found(l, FINDING_NVLINK_ERRORS);
}

static void look_at_errors(struct look *l, bool ecc_rose)
{
        static const int fatal[] = {48, 62, 64, 74, 79, 95, 119, 120};
        static const int application[] = {13, 31, 43};
        double v;
        if (get(l, METRIC_LOST, &v) && v > 0)
                found(l, FINDING_LOST);
        if (get(l, METRIC_ECC_DBE_VOLATILE, &v) && ecc_rose)
                found(l, FINDING_ECC_RISING);
        if (get(l, METRIC_XID_LAST, &v)) {
                if (is_one_of(v, fatal, ARRAY_LEN(fatal)))
                        found(l, FINDING_XID_FATAL);
                else if (is_one_of(v, application, ARRAY_LEN(application)))
                        found(l, FINDING_XID_APPLICATION);
        }
        if (get(l, METRIC_REMAP_PENDING, &v) && v > 0)
                found(l, FINDING_REMAP_PENDING);
}

/* A link saves power when the GPU idles, so a narrow one matters under load only. */
static void look_at_link(struct look *l)
{
        double now, max, busy;
        bool loaded = get(l, METRIC_GPU_UTIL, &busy) && busy >= 0.5;
        bool slow =
            (get(l, METRIC_PCIE_GEN, &now) && get(l, METRIC_PCIE_GEN_MAX, &max) && now < max) ||
            (get(l, METRIC_PCIE_WIDTH, &now) && get(l, METRIC_PCIE_WIDTH_MAX, &max) && now < max);
        if (loaded && slow)
                found(l, FINDING_LINK_NARROW);
}

/* The device's own limits where it gives them. */
static void look_at_heat(struct look *l, bool table_only)
{
        double warning = model_warning(l->s), gpu_warning = warning, v;
        struct value operating = l->s->m[METRIC_TEMP_MAX_OPERATING];
        struct value slowdown = l->s->m[METRIC_TEMP_SLOWDOWN];
        if (!table_only && (value_there(operating) || value_there(slowdown)))
                gpu_warning = value_there(operating) ? operating.v : slowdown.v;
        if (get(l, METRIC_GPU_TEMP, &v) && v >= gpu_warning)
                found(l, FINDING_GPU_HOT);
        struct value memory = l->s->m[METRIC_MEM_TEMP_MAX_OPERATING];
        double memory_warning = !table_only && value_there(memory) ? memory.v : warning;
        if (get(l, METRIC_MEM_TEMP, &v) && v >= memory_warning)
                found(l, FINDING_MEMORY_HOT);
        if (!table_only && get(l, METRIC_THROTTLE_REASONS, &v) && (num_whole(v) & THROTTLE_BY_HEAT))
                found(l, FINDING_THERMAL_SLOWDOWN);
}

static enum health_state worst(uint32_t findings, unsigned seen)
{
        enum health_state state = seen > 0 ? HEALTH_OK : HEALTH_UNKNOWN;
        for (enum finding f = 0; f < FINDING_COUNT; f++) {
                if (findings & (1u << f))
                        state = MAX(state, finding_state(f));
        }
        return state;
}

struct health health_of(const struct sample *s, bool ecc_rose, const struct compute_options *o)
{
        struct look l = {.s = s};
        double v;
        if (get(&l, METRIC_REMAP_FAILURE, &v) && v > 0)
                found(&l, FINDING_REMAP_FAILED);
        if (get(&l, METRIC_REMAPPED_UNCORRECTABLE, &v) && v > 0)
                found(&l, FINDING_REMAPPED);
        if (get(&l, METRIC_PCIE_REPLAY_RATE, &v) && v > 0)
                found(&l, FINDING_REPLAYS);
        if (!o->missing_is_zero) {
                look_at_errors(&l, ecc_rose);
                look_at_driver(&l);
                look_at_link(&l);
        }
        look_at_heat(&l, o->missing_is_zero);
        unsigned seen = o->missing_is_zero ? 1 : l.seen;
        return (struct health){.state = worst(l.findings, seen), .findings = l.findings};
}
