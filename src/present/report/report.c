#include "present/report/report.h"

#include "base/clock.h"
#include "base/text.h"
#include "present/format.h"
#include "present/stream/columns.h"
#include "present/text/explain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void put_moment(struct strbuf *out, int64_t ns)
{
        time_t t = (time_t)(ns / NS_PER_S);
        struct tm tm;
        char text[40];
        localtime_r(&t, &tm);
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
        strbuf_puts(out, text);
}

/* "1.2 s", "3 min 20 s", "5 h 12 min". */
static void put_seconds(struct strbuf *out, double s)
{
        if (s < 99.95)
                strbuf_putf(out, "%.1f s", s);
        else if (s < 5400)
                strbuf_putf(out, "%.0f min %.0f s", floor(s / 60), s - 60 * floor(s / 60));
        else
                strbuf_putf(out, "%.0f h %.0f min", floor(s / 3600),
                            (s - 3600 * floor(s / 3600)) / 60);
}

static void put_ticks(struct strbuf *out, const struct run_facts *f, const struct summary *s)
{
        strbuf_putf(out, "  samples   %llu", (unsigned long long)(f->asked ? f->taken : s->ticks));
        if (f->asked)
                strbuf_putf(out, " of %llu, %llu late, %llu missed", (unsigned long long)f->asked,
                            (unsigned long long)f->late, (unsigned long long)f->missed);
        if (f->dropped)
                strbuf_putf(out, ", %llu not stored", (unsigned long long)f->dropped);
        if (f->source[0])
                strbuf_putf(out, "; from %s", f->source);
        strbuf_putc(out, '\n');
}

static void put_line(struct strbuf *out, const char *title, const char *text)
{
        strbuf_puts(out, title);
        text_put(out, text, SIZE_MAX);
        strbuf_putc(out, '\n');
}

static void put_command(struct strbuf *out, const struct run_facts *f)
{
        if (f->command[0])
                put_line(out, "  command   ", f->command);
        if (value_there(f->exit_status))
                strbuf_putf(out, "  ended     with %.0f", f->exit_status.v);
        else if (value_there(f->exit_signal))
                strbuf_putf(out, "  ended     by signal %.0f", f->exit_signal.v);
        if (value_there(f->command_s)) {
                strbuf_puts(out, " after ");
                put_seconds(out, f->command_s.v);
        }
        if (value_there(f->cpu_user_s)) {
                char rss[FORMAT_MAX];
                format_with_unit(rss, sizeof(rss), METRIC_FB_USED, f->max_rss);
                strbuf_putf(out, "; CPU %.1f s user, %.1f s system; %s at most", f->cpu_user_s.v,
                            f->cpu_system_s.v, rss);
        }
        if (value_there(f->exit_status) || value_there(f->exit_signal))
                strbuf_putc(out, '\n');
}

/* Without a GPU the level is what there is to tell. */
void report_finding_or_level(const struct summary *s, struct strbuf *out)
{
        if (s->limits.n_findings > 0) {
                report_finding(&s->limits, &s->limits.findings[0], out);
                return;
        }
        if (s->scopes[0].n > 0) {
                strbuf_puts(out, "one tick is too short to tell what limits a GPU");
                return;
        }
        strbuf_puts(out, "no GPU was recorded");
        if (s->scopes[0].level.cpu.n == 0) {
                strbuf_puts(out, ", so there is nothing to find");
                return;
        }
        strbuf_puts(out, "; ");
        report_level_line(s, out);
}

/* The last tick is not the end of the run, where that is known. */
static int64_t length_ns(const struct run_facts *f, const struct summary *s)
{
        if (f->start_ns > 0 && f->stop_ns >= s->last_ns && f->start_ns <= s->first_ns)
                return f->stop_ns - f->start_ns;
        return s->last_ns - s->first_ns;
}

static void put_head(struct strbuf *out, const struct run_facts *f, const struct summary *s)
{
        strbuf_putf(out, "%s\n", f->input);
        put_command(out, f);
        if (f->host[0])
                strbuf_putf(out, "  where     %s%s%s\n", f->user, f->user[0] ? " on " : "",
                            f->host);
        if (s->ticks > 0 && s->first_ns > 86400 * NS_PER_S) {
                strbuf_puts(out, "  when      ");
                put_moment(out, s->first_ns);
                strbuf_puts(out, ", for ");
                put_seconds(out, clock_to_seconds(length_ns(f, s)));
                strbuf_putc(out, '\n');
        }
        /* A capture without times counts from 0. */
        if (s->ticks > 1 && s->first_ns == 0)
                strbuf_putf(
                    out,
                    "  times     assumed: %g s between rounds, the capture has none; --poll "
                    "SECONDS sets it\n",
                    clock_to_seconds(s->last_ns) / (double)(s->ticks - 1));
        put_ticks(out, f, s);
}

static size_t columns_of(const char *s, size_t len)
{
        size_t n = 0;
        for (size_t i = 0; i < len; i++)
                n += ((unsigned char)s[i] & 0xc0) != 0x80;
        return n;
}

/* Breaks at blanks, so that a line fits 100 columns. */
static void put_wrapped(struct strbuf *out, const char *text, size_t indent)
{
        size_t column = indent;
        while (*text) {
                size_t word = strcspn(text, " "), wide = columns_of(text, word);
                if (column > indent && column + 1 + wide > 100) {
                        strbuf_putc(out, '\n');
                        strbuf_fill(out, ' ', indent);
                        column = indent;
                } else if (column > indent) {
                        strbuf_putc(out, ' ');
                        column++;
                }
                strbuf_put(out, text, word);
                column += wide;
                text += word + strspn(text + word, " ");
        }
        strbuf_putc(out, '\n');
}

static void put_findings(struct strbuf *out, const struct summary *s)
{
        struct strbuf text = {0};
        size_t n = MIN(s->limits.n_findings, (size_t)REPORT_FINDINGS);
        strbuf_puts(out, n > 1 ? "findings\n" : "finding\n");
        for (size_t i = 0; i < n; i++) {
                const struct limit_finding *f = &s->limits.findings[i];
                strbuf_clear(&text);
                report_finding(&s->limits, f, &text);
                strbuf_putf(out, "  %zu ", i + 1);
                put_wrapped(out, strbuf_str(&text), 4);
                strbuf_puts(out, "    try: ");
                put_wrapped(out, report_finding_try(f), 9);
        }
        if (n == 0) {
                report_finding_or_level(s, &text);
                strbuf_puts(out, "  ");
                put_wrapped(out, strbuf_str(&text), 2);
        }
        strbuf_putc(out, '\n');
        strbuf_finish(&text);
}

static void put_stretches(struct strbuf *out, const struct summary *s)
{
        struct strbuf gpus = {0};
        if (s->limits.n < 2)
                return;
        strbuf_putf(out, "\n%-18s %-8s %-26s %6s %6s %6s %6s\n", "stretches", "GPU", "limiter",
                    "engine", "SM", "tensor", "DRAM");
        for (size_t i = 0; i < s->limits.n; i++) {
                static const enum ceiling shares[] = {CEILING_ENGINE, CEILING_SM, CEILING_TENSOR,
                                                      CEILING_DRAM};
                const struct stretch *t = &s->limits.list[i];
                const char *held = held_by_name((enum held_by)t->limit.held_by);
                char limiter[64];
                strbuf_clear(&gpus);
                report_stretch_gpus(&s->limits, t->gpus, &gpus);
                snprintf(limiter, sizeof(limiter), "%s%s%s",
                         limiter_name((enum limiter)t->limit.limiter), held ? ", " : "",
                         held ? held : "");
                strbuf_putf(out, "  %6.1f - %6.1f s %-8s %-26s", t->begin_s, t->end_s,
                            strbuf_str(&gpus), limiter);
                for (size_t k = 0; k < ARRAY_LEN(shares); k++) {
                        char number[FORMAT_MAX];
                        format_percent(number, sizeof(number),
                                       ceiling_value(&t->limit.ceilings, shares[k]));
                        strbuf_putf(out, " %6s", number);
                }
                if (t->phase[0]) {
                        strbuf_puts(out, "  ");
                        text_put(out, t->phase, 15);
                }
                strbuf_putc(out, '\n');
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
                format_with_unit(number, sizeof(number), metric, v[i]);
                /* The degree sign is two bytes and one column. */
                int wide = metric_info(metric)->unit == UNIT_CELSIUS ? 13 : 12;
                strbuf_putf(out, " %*s", wide, number);
        }
        strbuf_putc(out, '\n');
}

static void put_times(struct strbuf *out, const struct gpu_summary *g)
{
        const char *gap = "";
        if (g->seconds <= 0)
                return; /* one tick has no length */
        strbuf_puts(out, "  time in  ");
        for (enum workload w = 0; w < WORKLOAD_COUNT; w++) {
                if (g->class_s[w] <= 0)
                        continue;
                strbuf_putf(out, "%s%s ", gap, workload_status(w));
                put_seconds(out, g->class_s[w]);
                strbuf_putf(out, " (%.0f %%)", 100 * g->class_s[w] / g->seconds);
                gap = "; ";
        }
        strbuf_puts(out, "\n");
}

static void put_throttled(struct strbuf *out, const struct gpu_summary *g)
{
        strbuf_puts(out, "  throttled ");
        put_seconds(out, g->throttle_s);
        strbuf_puts(out, ": by power ");
        put_seconds(out, g->throttle_power_s);
        strbuf_puts(out, ", by heat ");
        put_seconds(out, g->throttle_heat_s);
        strbuf_putc(out, '\n');
}

static void put_energy(struct strbuf *out, const struct gpu_summary *g)
{
        if (g->has_energy)
                strbuf_putf(out, "  energy    %.0f J (%.4f kWh)\n", g->energy_j,
                            g->energy_j / 3.6e6);
        if (g->m[METRIC_FB_USED].n > 0) {
                char peak[FORMAT_MAX], all[FORMAT_MAX];
                format_with_unit(peak, sizeof(peak), METRIC_FB_USED,
                                 spread_max(&g->m[METRIC_FB_USED]));
                format_with_unit(all, sizeof(all), METRIC_FB_TOTAL,
                                 spread_max(&g->m[METRIC_FB_TOTAL]));
                strbuf_putf(out, "  memory    %s at most, of %s; idle but allocated ", peak, all);
                put_seconds(out, g->idle_allocated_s);
                strbuf_putc(out, '\n');
        }
        if (g->has_throttle)
                put_throttled(out, g);
        for (enum finding i = 0; i < FINDING_COUNT; i++) {
                if (g->findings & (1U << i))
                        strbuf_putf(out, "  health    %s: %s\n", health_name(finding_state(i)),
                                    finding_text(i));
        }
}

static void put_gpu(struct strbuf *out, const struct gpu_summary *g)
{
        strbuf_putf(out, "\nGPU %s %s\n", g->who.label, g->who.text[ENTITY_TEXT_MODEL]);
        strbuf_putf(out, "  %-16s %12s %12s %12s %12s\n", "", "mean", "p50", "p95", "max");
        for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
                if (g->m[shown[i]].n > 0)
                        put_spread(out, shown[i], &g->m[shown[i]]);
        }
        put_times(out, g);
        put_energy(out, g);
}

static void put_mean(struct strbuf *out, const struct gpu_summary *g, enum metric metric)
{
        char number[FORMAT_MAX];
        struct value v = spread_mean(&g->m[metric]);
        if (metric == METRIC_REAL_UTIL)
                snprintf(number, sizeof(number), value_there(v) ? "%.0f" : "--", v.v);
        else if (metric == METRIC_POWER || metric == METRIC_PCIE_RX)
                format_si(number, sizeof(number), v);
        else
                format_percent(number, sizeof(number), v);
        strbuf_putf(out, " %6s", number);
}

static void put_name(struct strbuf *out, const char *name, double seconds)
{
        strbuf_puts(out, "  ");
        text_put_name(out, name, REPORT_NAME_COLUMNS);
        strbuf_putf(out, " %8.1f", seconds);
}

/* "GPU-CI 10" is longer than a number. */
static int label_columns(const struct scope *run)
{
        size_t most = 4;
        for (size_t i = 0; i < run->n; i++)
                most = MAX(most, strlen(run->gpus[i]->who.label));
        return (int)most;
}

static void put_phase(struct strbuf *out, const struct scope *scope, int columns)
{
        static const enum metric means[] = {
            METRIC_REAL_UTIL,   METRIC_GPU_UTIL, METRIC_SM_ACTIVE, METRIC_TENSOR_ACTIVE,
            METRIC_DRAM_ACTIVE, METRIC_PCIE_RX,  METRIC_POWER};
        for (size_t i = 0; i < MAX(scope->n, (size_t)1); i++) {
                const struct gpu_summary *g = i < scope->n ? scope->gpus[i] : NULL;
                if (i == 0)
                        put_name(out, scope->name, scope->seconds);
                else
                        strbuf_putf(out, "  %-27s %8s", "", "");
                strbuf_putf(out, " %*s", columns, g ? g->who.label : "--");
                for (size_t k = 0; g && k < ARRAY_LEN(means); k++)
                        put_mean(out, g, means[k]);
                if (g && g->has_energy)
                        strbuf_putf(out, " %8.0f", g->energy_j);
                strbuf_putc(out, '\n');
        }
}

static void put_phases(struct strbuf *out, const struct summary *s)
{
        strbuf_putf(out, "\n%-29s %8s %*s %6s %6s %6s %6s %6s %6s %6s %8s\n", "phases", "seconds",
                    label_columns(&s->scopes[0]), "GPU", "real", "util", "SM", "tensor", "DRAM",
                    "PCIe", "W", "J");
        for (size_t i = 1; i < s->n; i++)
                put_phase(out, &s->scopes[i], label_columns(&s->scopes[0]));
}

static void put_user_metrics(struct strbuf *out, const struct run_facts *f)
{
        strbuf_putf(out, "\n%-27s %8s %12s %12s %12s %12s\n", "the run's own numbers", "times",
                    "mean", "min", "max", "last");
        for (size_t i = 0; i < f->n_metrics; i++) {
                const struct user_metric *m = &f->metrics[i];
                strbuf_puts(out, "  ");
                text_put_name(out, m->name, REPORT_NAME_COLUMNS - 2);
                strbuf_putf(out, " %8llu %12.6g %12.6g %12.6g %12.6g\n", (unsigned long long)m->n,
                            m->sum / (double)m->n, m->min, m->max, m->last);
        }
}

void report_text(const struct run_facts *facts, const struct summary *s, struct strbuf *out)
{
        size_t start = out->len;
        put_findings(out, s);
        put_head(out, facts, s);
        put_stretches(out, s);
        for (size_t i = 0; i < s->scopes[0].n; i++)
                put_gpu(out, s->scopes[0].gpus[i]);
        report_level(s, out);
        if (s->n > 1)
                put_phases(out, s);
        if (facts->n_metrics > 0)
                put_user_metrics(out, facts);
        text_clean_lines(out, start);
}

static bool host_matters(const struct summary *s)
{
        const struct scope *run = &s->scopes[0];
        for (size_t i = 0; i < run->n_tags; i++) {
                if (run->tags[i].tag == TAG_CPU_BOUND || run->tags[i].tag == TAG_MEMORY_BOUND)
                        return true;
        }
        return s->limits.n_findings == 0;
}

void report_short(const struct summary *s, struct strbuf *out)
{
        if (s->limits.n_findings > 0) {
                report_finding(&s->limits, &s->limits.findings[0], out);
                strbuf_putf(out, "\ntry: %s\n", report_finding_try(&s->limits.findings[0]));
        }
        size_t start = out->len;
        if (!host_matters(s))
                return;
        report_level_line(s, out);
        if (out->len > start)
                strbuf_putc(out, '\n');
}
