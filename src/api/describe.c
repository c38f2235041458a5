#include "api/describe.h"

#include "api/core.h"
#include "app/setup.h"
#include "base/clock.h"
#include "present/stream/json.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>

/* ---- writing ---- */

/* A comma, unless the object has only begun. */
static void put_key(struct strbuf *out, const char *key)
{
        strbuf_putf(out, "%s\"%s\":", out->len > 0 && out->s[out->len - 1] == '{' ? "" : ",", key);
}

static void put_text(struct strbuf *out, const char *key, const char *text)
{
        put_key(out, key);
        if (text[0])
                json_put_string(out, text);
        else
                strbuf_puts(out, "null");
}

static void put_number(struct strbuf *out, const char *key, struct value v)
{
        put_key(out, key);
        if (value_there(v))
                json_put_number(out, v.v);
        else
                strbuf_puts(out, "null");
}

static void put_gpus(const struct description *d, struct strbuf *out)
{
        bool any = d->n_gpus > 0;
        strbuf_putf(out, ",\"num_gpus\":%zu", d->n_gpus);
        put_text(out, "gpu_name", any ? d->gpus[0].model : "");
        put_number(out, "gpu_memory", any ? d->gpus[0].memory : value_missing(STATE_NONE));
        strbuf_puts(out, ",\"gpus\":[");
        for (size_t i = 0; i < d->n_gpus; i++) {
                strbuf_puts(out, i ? ",{\"gpu\":" : "{\"gpu\":");
                json_put_string(out, d->gpus[i].label);
                put_text(out, "model", d->gpus[i].model);
                put_text(out, "uuid", d->gpus[i].uuid);
                put_number(out, "memory", d->gpus[i].memory);
                strbuf_putc(out, '}');
        }
        strbuf_putc(out, ']');
}

static void put_levels(const struct description *d, struct strbuf *out)
{
        const char *gap = "";
        strbuf_puts(out, ",\"levels\":[");
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (!d->levels[l].there)
                        continue;
                strbuf_putf(out, "%s\"%s\"", gap, level_name(l));
                gap = ",";
        }
        strbuf_puts(out, "],\"level_names\":{");
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (d->levels[l].there)
                        put_text(out, level_name(l), d->levels[l].name);
        }
        strbuf_puts(out, "},\"memory_limits\":{");
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (d->levels[l].there)
                        put_number(out, level_name(l), d->levels[l].memory_limit);
        }
        strbuf_puts(out, "},\"cpus\":{");
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (d->levels[l].there)
                        put_number(out, level_name(l), d->levels[l].cpus);
        }
        strbuf_putc(out, '}');
}

static void put_handles(const struct description *d, struct strbuf *out)
{
        const char *gap = "";
        if (!d->handles) {
                strbuf_puts(out, ",\"cpu_handles\":null");
                return;
        }
        strbuf_puts(out, ",\"cpu_handles\":[");
        for (int i = 0; i < CPU_SETSIZE; i++) {
                if (!CPU_ISSET(i, d->handles))
                        continue;
                strbuf_putf(out, "%s%d", gap, i);
                gap = ",";
        }
        strbuf_putc(out, ']');
}

void describe_write(const struct description *d, struct strbuf *out)
{
        const struct session_counts *c = &d->counts;
        strbuf_puts(out, "{\"program\":\"assay\",\"version\":");
        json_put_string(out, program_version);
        put_text(out, "backend", d->backend);
        put_text(out, "provenance", d->provenance);
        put_number(out, "interval", d->interval_s);
        strbuf_putf(out, ",\"running\":%s", d->running ? "true" : "false");
        put_number(out, "start", d->start_s);
        put_number(out, "stop", d->stop_s);
        put_text(out, "host", d->host);
        put_text(out, "user", d->user);
        strbuf_putf(out, ",\"command\":%s", d->command ? d->command : "null");
        put_text(out, "session", d->session);
        put_text(out, "notice", d->notice);
        put_number(out, "num_cpus", d->cpus);
        put_number(out, "num_system_cpus", d->system_cpus);
        put_handles(d, out);
        put_gpus(d, out);
        put_levels(d, out);
        strbuf_putf(out,
                    ",\"ticks\":{\"asked\":%llu,\"taken\":%llu,\"late\":%llu,\"missed\":%llu}}\n",
                    (unsigned long long)c->asked, (unsigned long long)c->taken,
                    (unsigned long long)c->late, (unsigned long long)c->missed);
}

struct value describe_time(int64_t ns)
{
        return ns != 0 ? value_ok(clock_to_seconds(ns)) : value_missing(STATE_NONE);
}

void describe_add_gpu(struct description *d, const struct entity *e, struct value memory)
{
        if (d->n_gpus == DESCRIBED_GPUS_MAX)
                return;
        struct described_gpu *g = &d->gpus[d->n_gpus++];
        snprintf(g->label, sizeof(g->label), "%s", e->label);
        snprintf(g->model, sizeof(g->model), "%s", e->text[ENTITY_TEXT_MODEL]);
        snprintf(g->uuid, sizeof(g->uuid), "%s", e->text[ENTITY_TEXT_UUID]);
        g->memory = memory;
}

/* ---- a run that is going on ---- */

static void add_around(struct description *d, const struct around *a)
{
        for (enum level l = 0; a && l < LEVEL_COUNT; l++) {
                const struct around_level *from = &a->levels[l];
                struct described_level *to = &d->levels[l];
                to->there = from->present;
                snprintf(to->name, sizeof(to->name), "%s", from->name);
                to->cpus = from->f[FIGURE_CPUS];
                to->memory_limit = from->f[FIGURE_MEMORY_LIMIT];
        }
}

static void add_machine(struct description *d, cpu_set_t *cpus)
{
        char name[4096];
        struct passwd user, *found = NULL;
        if (gethostname(d->host, sizeof(d->host) - 1) < 0)
                d->host[0] = '\0';
        if (getpwuid_r(getuid(), &user, name, sizeof(name), &found) == 0 && found)
                snprintf(d->user, sizeof(d->user), "%s", found->pw_name);
        d->system_cpus = value_ok((double)sysconf(_SC_NPROCESSORS_ONLN));
        if (sched_getaffinity(0, sizeof(*cpus), cpus) == 0) {
                d->handles = cpus;
                d->cpus = value_ok(CPU_COUNT(cpus));
        }
}

int describe_core(struct core *c, struct strbuf *out)
{
        struct description *d = calloc(1, sizeof(*d));
        cpu_set_t cpus;
        if (!d)
                return -ENOMEM;
        struct assay_frame *f = core_latest(c);
        pthread_mutex_lock(&c->lock);
        struct around *a = around_ref(c->around);
        d->running = c->running;
        d->start_s = describe_time(c->start_ns);
        d->stop_s = describe_time(c->stop_ns);
        snprintf(d->notice, sizeof(d->notice), "%s", c->trouble[0] ? c->trouble : c->notice);
        pthread_mutex_unlock(&c->lock);
        core_counts(c, &d->counts);
        d->interval_s = value_ok(clock_to_seconds(c->interval_ns));
        snprintf(d->backend, sizeof(d->backend), "%s", c->backend);
        snprintf(d->session, sizeof(d->session), "%s", c->session_path);
        add_machine(d, &cpus);
        add_around(d, a);
        for (size_t i = 0; f && i < f->n; i++)
                describe_add_gpu(d, f->rows[i].sample.who, f->rows[i].sample.m[METRIC_FB_TOTAL]);
        snprintf(d->provenance, sizeof(d->provenance), "%s", f ? f->provenance : "");
        describe_write(d, out);
        around_unref(a);
        assay_frame_unref(f);
        free(d);
        return 0;
}
