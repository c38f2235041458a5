#include "compute/compute.h"

#include "base/num.h"
#include "model/throttle.h"
#include "model/xid.h"

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

static bool is_below(const struct sample *s, enum metric now, enum metric max)
{
        return value_is_set(s->m[now]) && value_is_set(s->m[max]) && s->m[now].v < s->m[max].v;
}

/* A link saves power when the GPU idles, so a narrow one matters under load only. */
static bool is_narrow(const struct sample *s)
{
        return is_below(s, METRIC_PCIE_GEN, METRIC_PCIE_GEN_MAX) ||
               is_below(s, METRIC_PCIE_WIDTH, METRIC_PCIE_WIDTH_MAX);
}

/* The device's own limits where it gives them and they are to count. */
static double warning_of(const struct sample *s, enum metric metric, bool table_only)
{
        const struct value *limit = &s->m[METRIC_MEM_TEMP_MAX_OPERATING];
        if (metric == METRIC_GPU_TEMP)
                limit = value_is_set(s->m[METRIC_TEMP_MAX_OPERATING])
                            ? &s->m[METRIC_TEMP_MAX_OPERATING]
                            : &s->m[METRIC_TEMP_SLOWDOWN];
        return !table_only && value_is_set(*limit) ? limit->v : model_warning(s);
}

static bool is_found(const struct health_reason_info *f, const struct sample *s,
                     const struct health_history *history, const struct compute_options *o)
{
        double v = s->m[f->metric].v;
        switch (f->test) {
        case HEALTH_TEST_ABOVE:
                return v > f->number;
        case HEALTH_TEST_IS:
                return v == f->number;
        case HEALTH_TEST_BELOW:
                return v < f->number;
        case HEALTH_TEST_RISES:
                return history->ecc_rose;
        case HEALTH_TEST_XID:
                return (f->number == 1 ? history->grave_xid : history->program_xid) != 0;
        case HEALTH_TEST_LINK:
                return v >= f->number && is_narrow(s);
        case HEALTH_TEST_WARM:
                return v >= warning_of(s, f->metric, o->missing_is_zero);
        case HEALTH_TEST_HEAT:
                return num_whole(v) & THROTTLE_BY_HEAT;
        }
        return false;
}

static enum health_state worst_state(uint32_t findings, bool seen)
{
        enum health_state state = seen ? HEALTH_OK : HEALTH_UNKNOWN;
        for (; findings != 0; findings &= findings - 1) {
                enum health_reason reason = (enum health_reason)__builtin_ctz(findings);
                state = MAX(state, health_reason_state(reason));
        }
        return state;
}

/* What a reason is decided by besides the metrics of the table: it reports too that a GPU can be
 * judged. */
static bool link_seen(const struct sample *s)
{
        return value_is_set(s->m[METRIC_PCIE_GEN]) || value_is_set(s->m[METRIC_PCIE_WIDTH]);
}

/* A source has the newest number only: a harmless one after a grave one does not heal the GPU. */
static void remember_xid(struct health_history *history, struct value last)
{
        uint32_t xid = value_is_set(last) && last.v > 0 ? (uint32_t)last.v : 0;
        if (xid_is_grave(xid))
                history->grave_xid = xid;
        if (xid_is_program_error(xid))
                history->program_xid = xid;
}

struct health health_of(const struct sample *s, struct health_history *history,
                        const struct compute_options *o)
{
        const struct health_reason_info *all = health_reason_info(0);
        uint32_t findings = 0;
        bool seen = o->missing_is_zero || link_seen(s);
        remember_xid(history, s->m[METRIC_XID_LAST]);
        for (enum health_reason i = 0; i < HEALTH_REASON_COUNT; i++) {
                const struct health_reason_info *f = &all[i];
                if (!value_is_set(s->m[f->metric]) || (o->missing_is_zero && !f->before))
                        continue;
                seen = true;
                findings |= is_found(f, s, history, o) ? 1u << i : 0;
        }
        struct value reported = s->m[METRIC_PROBLEMS];
        if (value_is_set(reported) && !o->missing_is_zero) {
                seen = true;
                findings |= (uint32_t)num_whole(reported.v) & ((1u << HEALTH_REASON_COUNT) - 1);
        }
        return (struct health){.state = worst_state(findings, seen),
                               .findings = findings,
                               .grave_xid = history->grave_xid,
                               .program_xid = history->program_xid};
}
