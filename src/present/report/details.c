/* What a report says when all is asked for: stretches, each GPU, the run's own numbers. */
#include "base/attr.h"
#include "base/tablew.h"
#include "base/text.h"
#include "present/format.h"
#include "present/report/parts.h"
#include "present/stream/columns.h"
#include "present/text/explain.h"

#include <stdio.h>

#define TABLE_COLUMNS 78 /* of the stretches, before the phase */

void report_stretches(const struct summary *s, const struct report_view *v, struct strbuf *out)
{
        int likely = report_any_likely(&s->limits) ? REPORT_LIKELY_COLUMNS : 0;
        const struct tablew_column columns[] = {
            {"stretches", -19, 0}, {"GPU", -5, 1}, {"limiter", -24 - likely, 1},
            {"busy", 5, 1},        {"SM", 5, 1},   {"tensor", 6, 1},
            {"DRAM", 5, 1},        {"phase", 0, 2}};
        struct tablew table = {.out = out, .columns = columns};
        struct strbuf gpus = {0};
        size_t taken = TABLE_COLUMNS + (size_t)likely;
        size_t room = v->columns > taken + 9 ? v->columns - taken : 0;
        if (s->limits.n < 2)
                return;
        strbuf_putc(out, '\n');
        tablew_head(&table, ARRAY_LEN(columns) - (room == 0));
        for (size_t i = 0; i < s->limits.n; i++) {
                static const enum ceiling shares[] = {CEILING_ENGINE, CEILING_SM, CEILING_TENSOR,
                                                      CEILING_DRAM};
                const struct stretch *t = &s->limits.list[i];
                const struct limited limited = {.is_known = true,
                                                .limiter = (enum limiter)t->limit.limiter,
                                                .held_by = (enum held_by)t->limit.held_by,
                                                .basis = (enum basis)t->limit.basis};
                struct strbuf limiter = {0};
                report_put_limiter(&limiter, &limited, true);
                strbuf_clear(&gpus);
                report_stretch_gpus(&s->limits, &t->gpus, &gpus);
                tablew_cellf(&table, "  %6.1f - %6.1f s", t->begin_s, t->end_s);
                tablew_cell(&table, strbuf_str(&gpus));
                tablew_cell(&table, strbuf_str(&limiter));
                strbuf_finish(&limiter);
                for (size_t k = 0; k < ARRAY_LEN(shares); k++) {
                        char number[FORMAT_MAX];
                        format_short(number, sizeof(number), UNIT_RATIO,
                                     ceiling_value(&t->limit.ceilings, shares[k]));
                        tablew_cell(&table, number);
                }
                tablew_cell(&table, "");
                text_put(out, t->phase, room);
                tablew_end(&table);
        }
        strbuf_finish(&gpus);
}

/* Metrics worth a line, in the order people ask for them. */
static const enum metric shown[] = {METRIC_REAL_UTIL,    METRIC_GPU_UTIL,      METRIC_SM_ACTIVE,
                                    METRIC_SM_OCCUPANCY, METRIC_TENSOR_ACTIVE, METRIC_FP64_ACTIVE,
                                    METRIC_DRAM_ACTIVE,  METRIC_FB_USED,       METRIC_PCIE_RX,
                                    METRIC_PCIE_TX,      METRIC_NVLINK_TOTAL,  METRIC_POWER,
                                    METRIC_GPU_TEMP,     METRIC_MEM_TEMP,      METRIC_SM_CLOCK};

static void put_spread(struct strbuf *out, enum metric metric, const struct spread *spread)
{
        const struct value v[] = {spread_mean(spread), spread_quantile(spread, 0.5),
                                  spread_quantile(spread, 0.95), spread_max(spread)};
        strbuf_putf(out, "  %-16s", metric_info(metric)->name);
        for (size_t i = 0; i < ARRAY_LEN(v); i++) {
                char number[FORMAT_MAX];
                format_with_unit(number, sizeof(number), metric_info(metric)->unit, v[i]);
                tablew_put(out, number, 13);
        }
        strbuf_putc(out, '\n');
}

static void put_times(struct strbuf *out, const struct gpu_summary *g, size_t columns)
{
        struct strbuf text = {0};
        char share[FORMAT_MAX];
        const char *gap = "";
        if (g->seconds <= 0)
                return; /* one tick has no length */
        for (enum workload w = 0; w < WORKLOAD_COUNT; w++) {
                if (g->class_s[w] <= 0)
                        continue;
                strbuf_putf(&text, "%s%s ", gap, workload_status(w));
                report_put_seconds(&text, g->class_s[w]);
                strbuf_putf(&text, " (%s)", format_share(share, g->class_s[w] / g->seconds));
                gap = "; ";
        }
        strbuf_puts(out, "  time in   ");
        text_put_wrapped(out, strbuf_str(&text), 12, columns);
        strbuf_finish(&text);
}

static void put_throttled(struct strbuf *out, const struct gpu_summary *g)
{
        strbuf_puts(out, "  throttled ");
        report_put_seconds(out, g->throttle_s);
        strbuf_puts(out, ": by power ");
        report_put_seconds(out, g->throttle_power_s);
        strbuf_puts(out, ", by heat ");
        report_put_seconds(out, g->throttle_heat_s);
        strbuf_putc(out, '\n');
}

static void put_energy(struct strbuf *out, const struct gpu_summary *g)
{
        char energy[FORMAT_MAX];
        if (g->has_energy)
                strbuf_putf(out, "  energy    %s\n", format_energy(energy, g->energy_j));
        if (g->m[METRIC_FB_USED].n > 0) {
                char peak[FORMAT_MAX], all[FORMAT_MAX];
                format_with_unit(peak, sizeof(peak), UNIT_BYTES, spread_max(&g->m[METRIC_FB_USED]));
                format_with_unit(all, sizeof(all), UNIT_BYTES, spread_max(&g->m[METRIC_FB_TOTAL]));
                strbuf_putf(out, "  memory    %s at most, of %s; idle but allocated ", peak, all);
                report_put_seconds(out, g->idle_allocated_s);
                strbuf_putc(out, '\n');
        }
        if (g->has_throttle)
                put_throttled(out, g);
        for (enum health_reason i = 0; i < HEALTH_REASON_COUNT; i++) {
                if (g->findings & (1U << i))
                        strbuf_putf(out, "  health    %s: %s\n",
                                    health_name(health_reason_state(i)), health_reason_text(i));
        }
}

void report_gpu(const struct gpu_summary *g, const struct report_view *v, struct strbuf *out)
{
        strbuf_putf(out, "\nGPU %s %s\n", g->who.label, g->who.text[ENTITY_TEXT_MODEL]);
        strbuf_putf(out, "  %-16s %12s %12s %12s %12s\n", "", "mean", "p50", "p95", "max");
        for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
                if (g->m[shown[i]].n > 0)
                        put_spread(out, shown[i], &g->m[shown[i]]);
        }
        put_times(out, g, v->columns);
        put_energy(out, g);
}

void report_user_metrics(const struct run_facts *f, struct strbuf *out)
{
        static const struct tablew_column columns[] = {
            {"numbers logged", -(REPORT_NAME_COLUMNS), 0},
            {"times", 7, 1},
            {"mean", 10, 1},
            {"min", 10, 1},
            {"max", 10, 1},
            {"last", 10, 1}};
        struct tablew t = {.out = out, .columns = columns};
        strbuf_putc(out, '\n');
        tablew_head(&t, ARRAY_LEN(columns));
        for (size_t i = 0; i < f->n_metrics; i++) {
                const struct user_metric *m = &f->metrics[i];
                const double numbers[] = {m->sum / (double)m->n, m->min, m->max, m->last};
                tablew_cellf(&t, "  %s", m->name);
                tablew_cellf(&t, "%llu", (unsigned long long)m->n);
                for (size_t k = 0; k < ARRAY_LEN(numbers); k++)
                        tablew_cellf(&t, "%.5g", numbers[k]);
                tablew_end(&t);
        }
}
