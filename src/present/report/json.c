#include "present/stream/json.h"
#include "base/clock.h"
#include "model/xid.h"
#include "present/report/parts.h"
#include "present/report/report.h"

#include <math.h>

/* Nothing when there were no samples. */
static void put_spread(struct jsonw *j, const char *name, const struct spread *s)
{
        if (s->n == 0)
                return;
        jsonw_object(j, name);
        jsonw_value(j, "mean", spread_mean(s));
        jsonw_value(j, "p50", spread_quantile(s, 0.5));
        jsonw_value(j, "p95", spread_quantile(s, 0.95));
        jsonw_value(j, "min", spread_min(s));
        jsonw_value(j, "max", spread_max(s));
        jsonw_count(j, "samples", s->n);
        jsonw_end(j);
}

/* Only where a counter or a meter reported it. */
static void put_machine_energy(struct jsonw *j, const struct machine_energy *e)
{
        if (e->cpu_s <= 0 && e->node_s <= 0)
                return;
        jsonw_object(j, "machine_energy");
        if (e->cpu_s > 0) {
                jsonw_number(j, "cpu_j", e->cpu_j);
                jsonw_number(j, "cpu_known_s", e->cpu_s);
        }
        if (e->node_s > 0) {
                jsonw_number(j, "node_j", e->node_j);
                jsonw_number(j, "node_known_s", e->node_s);
        }
        jsonw_end(j);
}

static void put_level(struct jsonw *j, const struct summary *s, const struct level_summary *l)
{
        jsonw_object(j, "level");
        jsonw_text(j, "level", level_name(s->level));
        jsonw_text_or_null(j, "name", s->level_name);
        jsonw_count(j, "samples", l->samples);
        jsonw_value(j, "cpus", l->cpus);
        jsonw_value(j, "memory_limit", l->memory_limit);
        jsonw_number(j, "cpu_s", l->cpu_s);
        jsonw_number(j, "read_bytes", l->read_bytes);
        jsonw_number(j, "written_bytes", l->written_bytes);
        put_spread(j, "cpu", &l->cpu);
        put_spread(j, "cpu_share", &l->cpu_share);
        put_spread(j, "memory", &l->memory);
        put_spread(j, "memory_share", &l->memory_share);
        put_spread(j, "io_read", &l->read);
        put_spread(j, "io_write", &l->write);
        put_spread(j, "processes", &l->processes);
        put_spread(j, "io_wait_cores", &l->io_wait);
        put_machine_energy(j, &l->energy);
        jsonw_end(j);
}

static void put_if(struct jsonw *j, const char *name, bool present, double v)
{
        jsonw_value(j, name, present ? value_ok(v) : value_missing(STATE_NONE));
}

static void put_xids(struct jsonw *j, const struct gpu_summary *g)
{
        jsonw_array(j, "xids");
        for (size_t i = 0; i < g->n_xids; i++) {
                const struct xid_info *xid = xid_info(g->xids[i].xid);
                jsonw_object(j, NULL);
                jsonw_whole(j, "xid", g->xids[i].xid);
                jsonw_value(j, "count",
                            g->xids[i].n > 0 ? value_ok(g->xids[i].n) : value_missing(STATE_NONE));
                jsonw_text_or_null(j, "text", xid ? xid->text : "");
                jsonw_text_or_null(j, "cause", xid ? xid_fault_words(xid->fault) : "");
                jsonw_text_or_null(j, "remedy", xid ? xid->remedy : "");
                jsonw_end(j);
        }
        jsonw_end(j);
}

static void put_classes(struct jsonw *j, const struct gpu_summary *g)
{
        jsonw_object(j, "classes_s");
        for (enum workload w = 0; w < WORKLOAD_COUNT; w++) {
                if (g->class_s[w] > 0)
                        jsonw_number(j, workload_status(w), g->class_s[w]);
        }
        jsonw_end(j);
        jsonw_array(j, "health");
        for (enum health_reason i = 0; i < HEALTH_REASON_COUNT; i++) {
                if (g->findings & (1U << i))
                        jsonw_text(j, NULL, health_reason_text(i));
        }
        jsonw_end(j);
        put_xids(j, g);
}

static void put_gpu(struct jsonw *j, const struct gpu_summary *g)
{
        jsonw_line(j);
        jsonw_object(j, NULL);
        jsonw_text_or_null(j, "gpu", g->who.label);
        jsonw_text_or_null(j, "model", g->who.text[ENTITY_TEXT_MODEL]);
        jsonw_text_or_null(j, "uuid", g->who.text[ENTITY_TEXT_UUID]);
        jsonw_count(j, "samples", g->samples);
        jsonw_number(j, "seconds", g->seconds);
        put_if(j, "energy_j", g->has_energy, g->energy_j);
        put_if(j, "energy_kwh", g->has_energy, g->energy_j / JOULES_PER_KWH);
        put_if(j, "throttle_s", g->has_throttle, g->throttle_s);
        put_if(j, "throttle_power_s", g->has_throttle, g->throttle_power_s);
        put_if(j, "throttle_heat_s", g->has_throttle, g->throttle_heat_s);
        jsonw_number(j, "idle_allocated_s", g->idle_allocated_s);
        put_classes(j, g);
        jsonw_flops(j, &g->flops);
        jsonw_object(j, "metrics");
        for (enum metric m = 0; m < METRIC_COUNT; m++)
                put_spread(j, metric_info(m)->name, &g->m[m]);
        jsonw_end(j);
        jsonw_end(j);
}

static void put_scope(struct jsonw *j, const char *name, const struct summary *s,
                      const struct scope *scope)
{
        jsonw_line(j);
        jsonw_object(j, name);
        if (scope->name[0]) {
                jsonw_text(j, "name", scope->name);
                jsonw_count(j, "times", scope->times);
        }
        jsonw_number(j, "seconds", scope->seconds);
        jsonw_count(j, "ticks", scope->ticks);
        jsonw_bool(j, "never_ended", scope->open);
        jsonw_array(j, "tags");
        for (size_t i = 0; i < scope->n_tags; i++) {
                jsonw_object(j, NULL);
                jsonw_text(j, "tag", tag_name(scope->tags[i].tag));
                jsonw_number(j, "score", scope->tags[i].score);
                jsonw_end(j);
        }
        jsonw_end(j);
        if (scope->level.samples > 0)
                put_level(j, s, &scope->level);
        else
                jsonw_null(j, "level");
        jsonw_array(j, "gpus");
        for (size_t i = 0; i < scope->n; i++)
                put_gpu(j, scope->gpus[i]);
        jsonw_end(j);
        jsonw_end(j);
}

static void put_facts(struct jsonw *j, const struct run_facts *f, const struct summary *s)
{
        jsonw_text_or_null(j, "input", f->input);
        jsonw_text_or_null(j, "command", f->command);
        jsonw_text_or_null(j, "host", f->host);
        jsonw_text_or_null(j, "user", f->user);
        jsonw_text_or_null(j, "source", f->source);
        put_if(j, "start", s->ticks > 0, clock_to_seconds(s->first_ns));
        put_if(j, "stop", s->ticks > 0, clock_to_seconds(s->last_ns));
        jsonw_value(j, "interval_s", f->interval_s);
        jsonw_number(j, "times_assumed", s->ticks > 1 && s->first_ns == 0);
        jsonw_value(j, "exit_status", f->exit_status);
        jsonw_value(j, "exit_signal", f->exit_signal);
        jsonw_value(j, "command_s", f->command_s);
        jsonw_value(j, "cpu_user_s", f->cpu_user_s);
        jsonw_value(j, "cpu_system_s", f->cpu_system_s);
        jsonw_value(j, "max_rss_bytes", f->max_rss);
        put_if(j, "ticks_asked", f->asked > 0, (double)f->asked);
        jsonw_count(j, "ticks_taken", f->asked ? f->taken : s->ticks);
        put_if(j, "ticks_late", f->asked > 0, (double)f->late);
        put_if(j, "ticks_missed", f->asked > 0, (double)f->missed);
        put_if(j, "ticks_dropped", f->asked > 0, (double)f->dropped);
}

static void put_unhealthy(struct jsonw *j, const struct scope *run)
{
        struct strbuf text = {0};
        jsonw_line(j);
        jsonw_array(j, "unhealthy");
        for (size_t i = 0; i < run->n; i++) {
                const struct gpu_summary *g = run->gpus[i];
                strbuf_clear(&text);
                if (!report_unhealthy(g, &text))
                        continue;
                jsonw_line(j);
                jsonw_object(j, NULL);
                jsonw_text(j, "gpu", g->who.label);
                jsonw_text(j, "text", strbuf_str(&text));
                jsonw_text(j, "try", report_unhealthy_try(g));
                jsonw_end(j);
        }
        jsonw_end(j);
        strbuf_finish(&text);
}

static void put_user_metrics(struct jsonw *j, const struct run_facts *facts)
{
        jsonw_line(j);
        jsonw_object(j, "user_metrics");
        for (size_t i = 0; i < facts->n_metrics; i++) {
                const struct user_metric *m = &facts->metrics[i];
                jsonw_object(j, m->name);
                jsonw_number(j, "mean", m->sum / (double)m->n);
                jsonw_number(j, "min", m->min);
                jsonw_number(j, "max", m->max);
                jsonw_number(j, "last", m->last);
                jsonw_end(j);
        }
        jsonw_end(j);
}

void report_json(const struct report *r, struct strbuf *out)
{
        const struct summary *s = r->summary;
        struct jsonw j = {.out = out};
        jsonw_object(&j, NULL);
        jsonw_text(&j, "program", "assay");
        jsonw_text(&j, "version", r->version);
        jsonw_whole(&j, "schema", REPORT_SCHEMA_VERSION);
        put_facts(&j, r->facts, s);
        report_json_limits(&s->limits, &j);
        put_unhealthy(&j, &s->scopes[0]);
        put_scope(&j, "run", s, &s->scopes[0]);
        jsonw_line(&j);
        jsonw_array(&j, "phases");
        for (size_t i = 1; i < s->n; i++)
                put_scope(&j, NULL, s, &s->scopes[i]);
        jsonw_end(&j);
        put_user_metrics(&j, r->facts);
        report_json_steps(r, &j);
        report_json_servings(r, &j);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
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

static void put_tenth(struct jsonw *j, const char *name, double v)
{
        /* Sums of ratios are off by some 1e-16, which must not decide how 99.75 is rounded. */
        if (isnan(v))
                jsonw_null(j, name);
        else
                jsonw_fixed(j, name, nearbyint(v * 1e9) / 1e9, 1);
}

/* A mean, a maximum, or both; names may be NULL. null when nothing was measured. */
static void put_pool(struct jsonw *j, const char *mean, const char *max, struct pool p,
                     double scale)
{
        if (mean)
                put_tenth(j, mean, p.n > 0 ? p.sum / (double)p.n * scale : NAN);
        if (max)
                put_tenth(j, max, p.n > 0 ? p.max * scale : NAN);
}

void report_resource_summary(const struct report *r, struct strbuf *out)
{
        const struct run_facts *f = r->facts;
        const struct summary *s = r->summary;
        struct jsonw j = {.out = out, .spread = true};
        const struct level_summary *l = &s->scopes[0].level;
        struct pool mem = f->mem_copy_util.n > 0 ? pool_spread(&f->mem_copy_util)
                                                 : pool_of(s, METRIC_MEM_COPY_UTIL);
        jsonw_object(&j, NULL);
        put_pool(&j, NULL, "peak_vram_mb", pool_of(s, METRIC_FB_USED), 1 / 1048576.0);
        put_pool(&j, "gpu_util_mean_pct", "gpu_util_max_pct", pool_of(s, METRIC_GPU_UTIL), 100);
        /* Sweeps ask whether these keys are present; the others they expect. */
        if (mem.n > 0)
                put_pool(&j, "mem_util_mean_pct", "mem_util_max_pct", mem, 100);
        put_pool(&j, "power_watts_mean", "power_watts_max", pool_of(s, METRIC_POWER), 1);
        put_pool(&j, "cpu_usr_mean_pct", NULL, pool_spread(l->usr.n > 0 ? &l->usr : &f->cpu_usr),
                 100);
        put_pool(&j, "cpu_idle_mean_pct", NULL,
                 pool_spread(l->idle.n > 0 ? &l->idle : &f->cpu_idle), 100);
        for (size_t i = 0; i < f->n_metrics; i++) {
                const struct user_metric *m = &f->metrics[i];
                if (strcmp(m->name, "jax_peak_bytes_mb") == 0 && m->max > 0)
                        put_tenth(&j, m->name, m->max);
        }
        jsonw_end(&j);
        strbuf_putc(out, '\n');
}
