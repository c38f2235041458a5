#include "app/mfu.h"

#include "compute/peaks.h"

#include <string.h>

#define WORKED 0.05 /* a GPU that was never busier than this did nothing */

static double flops_per_step(const struct config *config, const struct run_facts *f)
{
        if (config_is_set(config, OPT_FLOPS_PER_STEP))
                return config_number(config, OPT_FLOPS_PER_STEP);
        if (value_is_set(f->flops_per_step))
                return f->flops_per_step.v;
        for (size_t i = 0; i < f->n_metrics; i++) {
                if (strcmp(f->metrics[i].name, "flops_per_step") == 0)
                        return f->metrics[i].last;
        }
        return 0;
}

/* One that does not say whether it did is counted. */
static bool has_worked(const struct gpu_summary *g)
{
        struct value most = spread_max(&g->m[METRIC_GPU_UTIL]);
        return g->who.kind == ENTITY_GPU && (!value_is_set(most) || most.v > WORKED);
}

/* The peaks of all that worked; 0 when that of one is unknown. */
static double sum_of_peaks(const struct scope *run, enum flops_type type, size_t *ret_gpus)
{
        double sum = 0;
        bool known = true;
        for (size_t i = 0; i < run->n; i++) {
                const struct gpu_summary *g = run->gpus[i];
                if (!has_worked(g))
                        continue;
                const struct peak *peak = peak_find(g->who.text[ENTITY_TEXT_MODEL]);
                double flops = peak ? peak_flops(peak, type) : 0;
                sum += flops;
                known &= flops > 0;
                ++*ret_gpus;
        }
        return known ? sum : 0;
}

void mfu_take(const struct config *config, const struct run_summary *r, struct mfu *ret)
{
        struct mfu m = {.flops_per_step = flops_per_step(config, &r->in.facts)};
        const struct step_series *s = r->steps.n > 0 ? &r->steps.list[0] : NULL;
        enum flops_type type = r->declared.has_run ? r->declared.run : FLOPS_BF16;
        if (!(m.flops_per_step > 0) || !s || s->n == 0 || !(s->seconds > 0))
                return;
        m.flops_per_s = m.flops_per_step / s->mean;
        m.peak = sum_of_peaks(&r->summary.scopes[0], type, &m.gpus);
        m.type = flops_name(type);
        m.is_assumed = !r->declared.has_run;
        *ret = m;
}
