#include "api/describe.h"

#include "api/core.h"
#include "app/setup.h"
#include "base/clock.h"
#include "present/stream/json.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>

/* ---- writing ---- */

static void put_gpus(struct jsonw *j, const struct description *d)
{
        bool any = d->n_gpus > 0;
        jsonw_count(j, "num_gpus", d->n_gpus);
        jsonw_text_or_null(j, "gpu_name", any ? d->gpus[0].model : "");
        jsonw_value(j, "gpu_memory", any ? d->gpus[0].memory : value_missing(STATE_NONE));
        jsonw_array(j, "gpus");
        for (size_t i = 0; i < d->n_gpus; i++) {
                jsonw_object(j, NULL);
                jsonw_text(j, "gpu", d->gpus[i].label);
                jsonw_text_or_null(j, "model", d->gpus[i].model);
                jsonw_text_or_null(j, "uuid", d->gpus[i].uuid);
                jsonw_value(j, "memory", d->gpus[i].memory);
                jsonw_end(j);
        }
        jsonw_end(j);
}

static void put_levels(struct jsonw *j, const struct description *d)
{
        jsonw_array(j, "levels");
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (d->levels[l].present)
                        jsonw_text(j, NULL, level_name(l));
        }
        jsonw_end(j);
        jsonw_object(j, "level_names");
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (d->levels[l].present)
                        jsonw_text_or_null(j, level_name(l), d->levels[l].name);
        }
        jsonw_end(j);
        jsonw_object(j, "memory_limits");
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (d->levels[l].present)
                        jsonw_value(j, level_name(l), d->levels[l].memory_limit);
        }
        jsonw_end(j);
        jsonw_object(j, "cpus");
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (d->levels[l].present)
                        jsonw_value(j, level_name(l), d->levels[l].cpus);
        }
        jsonw_end(j);
}

static void put_handles(struct jsonw *j, const struct description *d)
{
        if (!d->handles) {
                jsonw_null(j, "cpu_handles");
                return;
        }
        jsonw_array(j, "cpu_handles");
        for (int i = 0; i < CPU_SETSIZE; i++) {
                if (CPU_ISSET(i, d->handles))
                        jsonw_whole(j, NULL, i);
        }
        jsonw_end(j);
}

static void put_ticks(struct jsonw *j, const struct session_counts *c)
{
        jsonw_object(j, "ticks");
        jsonw_count(j, "asked", c->asked);
        jsonw_count(j, "taken", c->taken);
        jsonw_count(j, "late", c->late);
        jsonw_count(j, "missed", c->missed);
        jsonw_end(j);
}

void describe_write(const struct description *d, struct strbuf *out)
{
        struct jsonw j = {.out = out};
        jsonw_object(&j, NULL);
        jsonw_text(&j, "program", "assay");
        jsonw_text(&j, "version", program_version);
        jsonw_text_or_null(&j, "backend", d->backend);
        jsonw_text_or_null(&j, "provenance", d->provenance);
        jsonw_value(&j, "interval", d->interval_s);
        jsonw_bool(&j, "running", d->running);
        jsonw_value(&j, "start", d->start_s);
        jsonw_value(&j, "stop", d->stop_s);
        jsonw_text_or_null(&j, "host", d->host);
        jsonw_text_or_null(&j, "user", d->user);
        jsonw_begin(&j, "command");
        strbuf_puts(out, d->command ? d->command : "null"); /* JSON as the session has it */
        jsonw_text_or_null(&j, "session", d->session);
        jsonw_text_or_null(&j, "notice", d->notice);
        jsonw_value(&j, "num_cpus", d->cpus);
        jsonw_value(&j, "num_system_cpus", d->system_cpus);
        put_handles(&j, d);
        put_gpus(&j, d);
        put_levels(&j, d);
        put_ticks(&j, &d->counts);
        jsonw_end(&j);
        strbuf_putc(out, '\n');
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

/* ---- a run in progress ---- */

static void add_host_snapshot(struct description *d, const struct host_snapshot *a)
{
        for (enum level l = 0; a && l < LEVEL_COUNT; l++) {
                const struct host_snapshot_level *from = &a->levels[l];
                struct described_level *to = &d->levels[l];
                to->present = from->present;
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
        struct host_snapshot *a = host_snapshot_ref(c->host_snapshot);
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
        add_host_snapshot(d, a);
        for (size_t i = 0; f && i < f->n; i++)
                describe_add_gpu(d, f->rows[i].sample.who, f->rows[i].sample.m[METRIC_FB_TOTAL]);
        snprintf(d->provenance, sizeof(d->provenance), "%s", f ? f->provenance : "");
        describe_write(d, out);
        host_snapshot_unref(a);
        assay_frame_unref(f);
        free(d);
        return 0;
}
