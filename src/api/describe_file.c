#include "api/describe.h"
#include "app/input.h"
#include "app/setup.h"
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void add_facts(struct description *d, const struct run_facts *f)
{
        snprintf(d->provenance, sizeof(d->provenance), "%s", f->source);
        snprintf(d->host, sizeof(d->host), "%s", f->host);
        snprintf(d->user, sizeof(d->user), "%s", f->user);
        d->interval_s = f->interval_s;
        d->start_s = describe_time(f->start_ns);
        d->stop_s = describe_time(f->stop_ns);
        d->cpus = f->cpus;
        d->system_cpus = f->system_cpus;
        d->counts = (struct session_counts){
            .asked = f->asked, .taken = f->taken, .late = f->late, .missed = f->missed};
}

static void add_manifest(struct description *d, struct session_reader *r)
{
        const char *text = session_text(r, "backend");
        snprintf(d->backend, sizeof(d->backend), "%s", text ? text : "");
        text = session_text(r, "command");
        d->command = text && text[0] == '[' ? strdup(text) : NULL;
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                struct described_level *to = &d->levels[l];
                char key[64];
                snprintf(key, sizeof(key), "memory_limit.%s", level_name(l));
                double limit = session_number(r, key, -1);
                snprintf(key, sizeof(key), "cpus.%s", level_name(l));
                double cpus = session_number(r, key, -1);
                if (limit >= 0)
                        to->memory_limit = value_ok(limit);
                if (cpus >= 0)
                        to->cpus = value_ok(cpus);
        }
}

/* What the first tick of the host reports, where the manifest does not. */
static int add_host(struct description *d, struct input *in, struct err *err)
{
        const struct host *h;
        unsigned present = input_levels(in);
        int got = present ? input_next_host(in, &h, err) : 0;
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                struct described_level *to = &d->levels[l];
                to->present = present & LEVEL_BIT(l);
                if (got <= 0)
                        continue;
                snprintf(to->name, sizeof(to->name), "%s", h->levels[l].name);
                if (!value_is_set(to->memory_limit))
                        to->memory_limit = h->levels[l].f[FIGURE_MEMORY_LIMIT];
                if (!value_is_set(to->cpus))
                        to->cpus = h->levels[l].f[FIGURE_CPUS];
        }
        if (got > 0 && !value_is_set(d->start_s))
                d->start_s = describe_time(h->wall_ns);
        if (!value_is_set(d->cpus))
                d->cpus = d->levels[LEVEL_PROCESS].cpus;
        return got < 0 ? got : 0;
}

#define FRAMES_SAMPLED 8

/* GPUs show themselves in the first frames. */
static int add_gpus(struct description *d, struct input *in, struct err *err)
{
        static const struct config none;
        char notice[SETUP_NOTICE_MAX];
        struct pipeline *p = NULL;
        const struct frame *f;
        int got = 1, r = setup_open(&none, in->gpus, false, 0, &p, notice, err);
        for (int i = 0; r == 0 && got > 0 && d->n_gpus == 0 && i < FRAMES_SAMPLED; i++) {
                got = pipeline_next(p, &f, err);
                if (got <= 0)
                        break;
                if (!value_is_set(d->start_s))
                        d->start_s = describe_time(f->wall_ns);
                if (!d->provenance[0])
                        snprintf(d->provenance, sizeof(d->provenance), "%s", f->provenance);
                for (size_t k = 0; k < f->n; k++)
                        describe_add_gpu(d, f->rows[k].sample.who,
                                         f->rows[k].sample.m[METRIC_FB_TOTAL]);
        }
        pipeline_close(p);
        return r < 0 ? r : got < 0 ? got : 0;
}

int describe_file(const char *path, struct strbuf *out, struct err *err)
{
        struct input in;
        struct description *d = calloc(1, sizeof(*d));
        if (!d)
                return err_set(err, -ENOMEM, "out of memory");
        int r = input_open(&in, path, err);
        if (r == 0) {
                snprintf(d->session, sizeof(d->session), "%s", in.session ? path : "");
                add_facts(d, &in.facts);
                if (in.session)
                        add_manifest(d, in.session);
                if (in.notebook)
                        d->handles = notebook_handles(in.notebook);
                r = add_host(d, &in, err);
        }
        if (r == 0)
                r = add_gpus(d, &in, err);
        if (r == 0 && !value_is_set(d->stop_s))
                d->stop_s = describe_time(input_last_ns(&in));
        if (r == 0)
                describe_write(d, out);
        input_finish(&in);
        free(d->command);
        free(d);
        return r;
}
