#include "present/stream/json.h"
#include "base/clock.h"
#include "base/num.h"
#include "present/report/report.h"

#include <math.h>

static void put_key(struct strbuf *out, const char *name, bool *first)
{
        strbuf_puts(out, *first ? "" : ",");
        *first = false;
        json_put_string(out, name);
        strbuf_putc(out, ':');
}

static void put_number(struct strbuf *out, const char *name, struct value v, bool *first)
{
        put_key(out, name, first);
        if (value_there(v))
                json_put_number(out, v.v);
        else
                strbuf_puts(out, "null");
}

static void put_text(struct strbuf *out, const char *name, const char *s, bool *first)
{
        put_key(out, name, first);
        if (s[0])
                json_put_string(out, s);
        else
                strbuf_puts(out, "null");
}

/* Nothing when there were no samples. */
static void put_spread(struct strbuf *out, const char *name, const struct spread *s, bool *first)
{
        bool inner = true;
        if (s->n == 0)
                return;
        put_key(out, name, first);
        strbuf_putc(out, '{');
        put_number(out, "mean", spread_mean(s), &inner);
        put_number(out, "p50", spread_quantile(s, 0.5), &inner);
        put_number(out, "p95", spread_quantile(s, 0.95), &inner);
        put_number(out, "min", spread_min(s), &inner);
        put_number(out, "max", spread_max(s), &inner);
        put_number(out, "samples", value_ok((double)s->n), &inner);
        strbuf_putc(out, '}');
}

static void put_spreads(struct strbuf *out, const struct gpu_summary *g)
{
        bool first = true;
        strbuf_puts(out, "\"metrics\":{");
        for (enum metric m = 0; m < METRIC_COUNT; m++)
                put_spread(out, metric_info(m)->name, &g->m[m], &first);
        strbuf_putc(out, '}');
}

static void put_level(struct strbuf *out, const struct summary *s, const struct level_summary *l)
{
        bool first = true;
        strbuf_puts(out, "{\"level\":");
        json_put_string(out, level_name(s->level));
        first = false;
        put_text(out, "name", s->level_name, &first);
        put_number(out, "samples", value_ok((double)l->samples), &first);
        put_number(out, "cpus", l->cpus, &first);
        put_number(out, "memory_limit", l->memory_limit, &first);
        put_number(out, "cpu_s", value_ok(l->cpu_s), &first);
        put_number(out, "read_bytes", value_ok(l->read_bytes), &first);
        put_number(out, "written_bytes", value_ok(l->written_bytes), &first);
        put_spread(out, "cpu", &l->cpu, &first);
        put_spread(out, "cpu_share", &l->cpu_share, &first);
        put_spread(out, "memory", &l->memory, &first);
        put_spread(out, "memory_share", &l->memory_share, &first);
        put_spread(out, "io_read", &l->read, &first);
        put_spread(out, "io_write", &l->write, &first);
        put_spread(out, "processes", &l->processes, &first);
        put_spread(out, "io_wait_cores", &l->io_wait, &first);
        strbuf_putc(out, '}');
}

static struct value when(bool there, double v)
{
        return there ? value_ok(v) : value_missing(STATE_NONE);
}

static void put_gpu(struct strbuf *out, const struct gpu_summary *g)
{
        bool first = true, inner = true;
        strbuf_putc(out, '{');
        put_text(out, "gpu", g->who.label, &first);
        put_text(out, "model", g->who.text[ENTITY_TEXT_MODEL], &first);
        put_text(out, "uuid", g->who.text[ENTITY_TEXT_UUID], &first);
        put_number(out, "samples", value_ok((double)g->samples), &first);
        put_number(out, "seconds", value_ok(g->seconds), &first);
        put_number(out, "energy_j", when(g->has_energy, g->energy_j), &first);
        put_number(out, "energy_kwh", when(g->has_energy, g->energy_j / 3.6e6), &first);
        put_number(out, "throttle_s", when(g->has_throttle, g->throttle_s), &first);
        put_number(out, "throttle_power_s", when(g->has_throttle, g->throttle_power_s), &first);
        put_number(out, "throttle_heat_s", when(g->has_throttle, g->throttle_heat_s), &first);
        put_number(out, "idle_allocated_s", value_ok(g->idle_allocated_s), &first);
        put_key(out, "classes_s", &first);
        strbuf_putc(out, '{');
        for (enum workload w = 0; w < WORKLOAD_COUNT; w++) {
                if (g->class_s[w] > 0)
                        put_number(out, workload_status(w), value_ok(g->class_s[w]), &inner);
        }
        strbuf_puts(out, "},\"health\":[");
        inner = true;
        for (enum finding i = 0; i < FINDING_COUNT; i++) {
                if (!(g->findings & (1U << i)))
                        continue;
                strbuf_puts(out, inner ? "" : ",");
                inner = false;
                json_put_string(out, finding_text(i));
        }
        strbuf_puts(out, "],");
        put_spreads(out, g);
        strbuf_putc(out, '}');
}

static void put_scope(struct strbuf *out, const struct summary *s, const struct scope *scope)
{
        bool first = true;
        strbuf_putc(out, '{');
        if (scope->name[0]) {
                put_text(out, "name", scope->name, &first);
                put_number(out, "times", value_ok((double)scope->times), &first);
        }
        put_number(out, "seconds", value_ok(scope->seconds), &first);
        put_number(out, "ticks", value_ok((double)scope->ticks), &first);
        put_key(out, "never_ended", &first);
        strbuf_puts(out, scope->open ? "true" : "false");
        put_key(out, "tags", &first);
        strbuf_putc(out, '[');
        for (size_t i = 0; i < scope->n_tags; i++) {
                bool inner = true;
                strbuf_puts(out, i ? ",{" : "{");
                put_text(out, "tag", tag_name(scope->tags[i].tag), &inner);
                put_number(out, "score", value_ok(scope->tags[i].score), &inner);
                strbuf_putc(out, '}');
        }
        strbuf_putc(out, ']');
        put_key(out, "level", &first);
        if (scope->level.samples > 0)
                put_level(out, s, &scope->level);
        else
                strbuf_puts(out, "null");
        strbuf_puts(out, ",\"gpus\":[");
        for (size_t i = 0; i < scope->n; i++) {
                strbuf_puts(out, i ? ",\n" : "\n");
                put_gpu(out, scope->gpus[i]);
        }
        strbuf_puts(out, "]}");
}

static void put_facts(struct strbuf *out, const struct run_facts *f, const struct summary *s)
{
        bool first = false;
        put_text(out, "input", f->input, &first);
        put_text(out, "command", f->command, &first);
        put_text(out, "host", f->host, &first);
        put_text(out, "user", f->user, &first);
        put_text(out, "source", f->source, &first);
        put_number(out, "start", when(s->ticks > 0, clock_to_seconds(s->first_ns)), &first);
        put_number(out, "stop", when(s->ticks > 0, clock_to_seconds(s->last_ns)), &first);
        put_number(out, "interval_s", f->interval_s, &first);
        put_number(out, "times_assumed", value_ok(s->ticks > 1 && s->first_ns == 0), &first);
        put_number(out, "exit_status", f->exit_status, &first);
        put_number(out, "exit_signal", f->exit_signal, &first);
        put_number(out, "command_s", f->command_s, &first);
        put_number(out, "cpu_user_s", f->cpu_user_s, &first);
        put_number(out, "cpu_system_s", f->cpu_system_s, &first);
        put_number(out, "max_rss_bytes", f->max_rss, &first);
        put_number(out, "ticks_asked", when(f->asked > 0, (double)f->asked), &first);
        put_number(out, "ticks_taken", value_ok((double)(f->asked ? f->taken : s->ticks)), &first);
        put_number(out, "ticks_late", when(f->asked > 0, (double)f->late), &first);
        put_number(out, "ticks_missed", when(f->asked > 0, (double)f->missed), &first);
        put_number(out, "ticks_dropped", when(f->asked > 0, (double)f->dropped), &first);
}

static void put_unhealthy(struct strbuf *out, const struct scope *run)
{
        struct strbuf text = {0};
        const char *gap = "\n";
        strbuf_puts(out, ",\n\"unhealthy\":[");
        for (size_t i = 0; i < run->n; i++) {
                const struct gpu_summary *g = run->gpus[i];
                strbuf_clear(&text);
                if (!report_unhealthy(g, &text))
                        continue;
                strbuf_putf(out, "%s{\"gpu\":", gap);
                json_put_string(out, g->who.label);
                strbuf_puts(out, ",\"text\":");
                json_put_string(out, strbuf_str(&text));
                strbuf_puts(out, ",\"try\":");
                json_put_string(out, report_unhealthy_try(g));
                strbuf_putc(out, '}');
                gap = ",\n";
        }
        strbuf_putc(out, ']');
        strbuf_finish(&text);
}

void report_json(const struct run_facts *facts, const struct summary *s, const char *version,
                 struct strbuf *out)
{
        strbuf_puts(out, "{\"program\":\"assay\",\"version\":");
        json_put_string(out, version);
        strbuf_putf(out, ",\"schema\":%d", REPORT_SCHEMA_VERSION);
        put_facts(out, facts, s);
        report_json_limits(&s->limits, out);
        put_unhealthy(out, &s->scopes[0]);
        strbuf_puts(out, ",\n\"run\":");
        put_scope(out, s, &s->scopes[0]);
        strbuf_puts(out, ",\n\"phases\":[");
        for (size_t i = 1; i < s->n; i++) {
                strbuf_puts(out, i > 1 ? ",\n" : "\n");
                put_scope(out, s, &s->scopes[i]);
        }
        strbuf_puts(out, "],\n\"user_metrics\":{");
        for (size_t i = 0; i < facts->n_metrics; i++) {
                const struct user_metric *m = &facts->metrics[i];
                bool first = true;
                strbuf_puts(out, i ? "," : "");
                json_put_string(out, m->name);
                strbuf_puts(out, ":{");
                put_number(out, "mean", value_ok(m->sum / (double)m->n), &first);
                put_number(out, "min", value_ok(m->min), &first);
                put_number(out, "max", value_ok(m->max), &first);
                put_number(out, "last", value_ok(m->last), &first);
                strbuf_putc(out, '}');
        }
        strbuf_puts(out, "}}\n");
}

/* ---- the resource summary ---- */

/* All GPUs' samples together, as one file of nvidia-smi holds them. */
struct pool {
        double sum, max;
        uint64_t n;
};

static struct pool pool_of(const struct summary *s, enum metric metric)
{
        struct pool p = {0};
        for (size_t i = 0; i < s->scopes[0].n; i++) {
                const struct spread *m = &s->scopes[0].gpus[i]->m[metric];
                if (m->n == 0)
                        continue;
                p.max = p.n == 0 || m->max > p.max ? m->max : p.max;
                p.sum += m->sum;
                p.n += m->n;
        }
        return p;
}

static struct pool pool_spread(const struct spread *s)
{
        return (struct pool){.sum = s->sum, .max = s->max, .n = s->n};
}

static void put_tenth(struct strbuf *out, const char *name, double v, bool *first)
{
        char text[NUM_FORMAT_MAX];
        strbuf_putf(out, "%s\n  \"%s\": ", *first ? "" : ",", name);
        *first = false;
        if (isnan(v)) {
                strbuf_puts(out, "null");
                return;
        }
        /* Sums of ratios are off by some 1e-16, which must not decide how 99.75 is rounded. */
        v = nearbyint(v * 1e9) / 1e9;
        strbuf_put(out, text, num_format(text, v, 1));
}

/* A mean, a maximum, or both; names may be NULL. null when nothing was measured. */
static void put_pool(struct strbuf *out, const char *mean, const char *max, struct pool p,
                     double scale, bool *first)
{
        if (mean)
                put_tenth(out, mean, p.n > 0 ? p.sum / (double)p.n * scale : NAN, first);
        if (max)
                put_tenth(out, max, p.n > 0 ? p.max * scale : NAN, first);
}

void report_resource_summary(const struct run_facts *f, const struct summary *s, struct strbuf *out)
{
        bool first = true;
        struct pool mem =
            f->mem_util.n > 0 ? pool_spread(&f->mem_util) : pool_of(s, METRIC_MEM_COPY_UTIL);
        strbuf_putc(out, '{');
        put_pool(out, NULL, "peak_vram_mb", pool_of(s, METRIC_FB_USED), 1 / 1048576.0, &first);
        put_pool(out, "gpu_util_mean_pct", "gpu_util_max_pct", pool_of(s, METRIC_GPU_UTIL), 100,
                 &first);
        /* Sweeps ask whether these keys are there; the others they expect. */
        if (mem.n > 0)
                put_pool(out, "mem_util_mean_pct", "mem_util_max_pct", mem, 100, &first);
        put_pool(out, "power_watts_mean", "power_watts_max", pool_of(s, METRIC_POWER), 1, &first);
        const struct level_summary *l = &s->scopes[0].level;
        put_pool(out, "cpu_usr_mean_pct", NULL, pool_spread(l->usr.n > 0 ? &l->usr : &f->cpu_usr),
                 100, &first);
        put_pool(out, "cpu_idle_mean_pct", NULL,
                 pool_spread(l->idle.n > 0 ? &l->idle : &f->cpu_idle), 100, &first);
        for (size_t i = 0; i < f->n_metrics; i++) {
                const struct user_metric *m = &f->metrics[i];
                if (strcmp(m->name, "jax_peak_bytes_mb") == 0 && m->max > 0)
                        put_tenth(out, m->name, m->max, &first);
        }
        strbuf_puts(out, "\n}\n");
}
