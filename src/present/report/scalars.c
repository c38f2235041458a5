#include "present/report/scalars.h"

#include "base/attr.h"
#include "present/report/parts.h"

#include <math.h>
#include <stdio.h>

static void add_scalar(struct scalars *s, const char *name, const char *more, double v)
{
        if (!isfinite(v) || s->n == SCALARS_MAX)
                return;
        struct scalar *one = &s->list[s->n++];
        snprintf(one->name, sizeof(one->name), "assay/%s%s", name, more);
        one->v = v;
}

static void add_means(const struct scope *run, struct scalars *s)
{
        static const enum metric metrics[] = {
            METRIC_REAL_UTIL,   METRIC_GPU_UTIL, METRIC_SM_ACTIVE, METRIC_TENSOR_ACTIVE,
            METRIC_DRAM_ACTIVE, METRIC_FB_USED,  METRIC_POWER};
        for (size_t i = 0; i < ARRAY_LEN(metrics); i++) {
                struct value v = report_mean(run, metrics[i]);
                if (value_is_set(v))
                        add_scalar(s, metric_info(metrics[i])->name, "", v.v);
        }
}

static void add_sums(const struct scope *run, struct scalars *s)
{
        double joules = 0, seconds = 0, idle = 0;
        bool has_energy = false;
        for (size_t i = 0; i < run->n; i++) {
                joules += run->gpus[i]->has_energy ? run->gpus[i]->energy_j : 0;
                has_energy |= run->gpus[i]->has_energy;
                seconds += run->gpus[i]->seconds;
                idle += run->gpus[i]->idle_s;
        }
        add_scalar(s, "energy_kwh", "", has_energy ? joules / JOULES_PER_KWH : NAN);
        add_scalar(s, "gpu_hours", "", run->n > 0 ? seconds / 3600 : NAN);
        add_scalar(s, "wasted_gpu_hours", "", run->n > 0 ? idle / 3600 : NAN);
}

/* Of all GPUs' time. */
static void add_limiters(const struct stretch_list *l, struct scalars *s)
{
        double gpu_s[LIMITER_COUNT] = {0}, all = 0;
        for (size_t i = 0; i < l->n; i++) {
                double v = (l->list[i].end_s - l->list[i].begin_s) * stretch_gpus(&l->list[i]);
                gpu_s[l->list[i].limit.limiter] += v;
                all += v;
        }
        for (enum limiter i = 0; all > 0 && i < LIMITER_COUNT; i++) {
                if (gpu_s[i] > 0)
                        add_scalar(s, "limiter/", limiter_name(i), gpu_s[i] / all);
        }
}

static void add_step_times(const struct run_steps *steps, struct scalars *s)
{
        const struct step_series *one = steps && steps->n > 0 ? &steps->list[0] : NULL;
        if (!one || one->n == 0)
                return;
        add_scalar(s, "steps", "", (double)one->n);
        add_scalar(s, "step_seconds", "", one->mean);
        add_scalar(s, "step_p50", "", one->p50);
        add_scalar(s, "step_p95", "", one->p95);
        add_scalar(s, "steps_per_second", "", one->per_s > 0 ? one->per_s : NAN);
        add_scalar(s, "waited_for_data", "", one->seconds > 0 ? one->waited / one->seconds : NAN);
        add_scalar(s, "slow_steps", "", (double)one->n_slow);
        if (steps->mfu.peak > 0)
                add_scalar(s, "mfu", "", steps->mfu.flops_per_s / steps->mfu.peak);
}

void report_take_scalars(const struct report *r, struct scalars *ret)
{
        const struct scope *run = &r->summary->scopes[0];
        ret->n = 0;
        add_means(run, ret);
        add_sums(run, ret);
        add_limiters(&r->summary->limits, ret);
        add_step_times(r->steps, ret);
}

void report_scalars(const struct report *r, struct strbuf *out)
{
        const struct stretch_list *l = &r->summary->limits;
        struct scalars s;
        struct strbuf text = {0};
        struct jsonw j = {.out = out};
        report_take_scalars(r, &s);
        jsonw_object(&j, NULL);
        for (size_t i = 0; i < s.n; i++)
                jsonw_number(&j, s.list[i].name, s.list[i].v);
        jsonw_array(&j, "assay/findings");
        for (size_t i = 0; i < MIN(l->n_findings, (size_t)REPORT_FINDINGS); i++) {
                strbuf_clear(&text);
                report_finding(l, &l->findings[i], &text);
                jsonw_text(&j, NULL, strbuf_str(&text));
        }
        jsonw_end(&j);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
        strbuf_finish(&text);
}
