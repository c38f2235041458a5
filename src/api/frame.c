/* Looking at a frame. Nothing here waits, and all of it works in a child of fork() too. */
#include "api/api.h"
#include "api/parts.h"
#include "app/setup.h"
#include "present/stream/host_json.h"
#include "present/stream/json.h"
#include "present/text/explain.h"

#include <errno.h>
#include <string.h>

static const struct assay_value absent = {.state = ASSAY_VALUE_ABSENT};

uint64_t assay_frame_tick(const assay_frame *f)
{
        return f ? f->tick : 0;
}

int64_t assay_frame_wall_ns(const assay_frame *f)
{
        return f ? f->wall_ns : 0;
}

int64_t assay_frame_mono_ns(const assay_frame *f)
{
        return f ? f->mono_ns : 0;
}

int assay_frame_stale(const assay_frame *f)
{
        return f && f->stale;
}

const char *assay_frame_provenance(const assay_frame *f)
{
        return f ? f->provenance : "";
}

/* ---- GPUs ---- */

size_t assay_frame_gpus(const assay_frame *f)
{
        return f ? f->n : 0;
}

const char *assay_frame_gpu_text(const assay_frame *f, size_t gpu, const char *name)
{
        if (!f || gpu >= f->n || !name)
                return "";
        const struct entity *e = f->rows[gpu].sample.who;
        if (strcmp(name, "label") == 0)
                return e->label;
        enum entity_text t = entity_text_find(name, strlen(name));
        return t == ENTITY_TEXT_COUNT ? "" : e->text[t];
}

struct assay_value assay_frame_gpu(const assay_frame *f, size_t gpu, int metric)
{
        if (!f || gpu >= f->n || metric < 0 || metric >= METRIC_COUNT)
                return absent;
        return api_value(f->rows[gpu].sample.m[metric]);
}

static char *text_of(const struct row *row, void (*explain)(const struct row *, struct strbuf *))
{
        struct strbuf out = {0};
        explain(row, &out);
        char *s = strdup(strbuf_str(&out));
        strbuf_finish(&out);
        return s;
}

/* Of several threads that ask first, one's texts are kept. NULL when memory is short. */
static struct words *words_of(struct assay_frame *f)
{
        struct words *w = atomic_load(&f->words), *none = NULL;
        if (w)
                return w;
        w = calloc(f->n, sizeof(*w));
        for (size_t i = 0; w && i < f->n; i++) {
                w[i].evidence = text_of(&f->rows[i], explain_verdict);
                w[i].why = text_of(&f->rows[i], explain_health);
                w[i].limit = text_of(&f->rows[i], explain_limit);
                if (!w[i].evidence || !w[i].why || !w[i].limit)
                        return words_free(w, f->n), NULL;
        }
        if (w && !atomic_compare_exchange_strong(&f->words, &none, w)) {
                words_free(w, f->n);
                w = none;
        }
        return w;
}

int assay_frame_verdict(const assay_frame *f, size_t gpu, struct assay_verdict *ret)
{
        if (!f || gpu >= f->n || !ret)
                return ASSAY_E_USAGE;
        /* The texts are kept with the frame, as if they had always been in it. */
        struct words *w = words_of((struct assay_frame *)f);
        if (!w)
                return -ENOMEM;
        const struct verdict *v = &f->rows[gpu].verdict;
        *ret = (struct assay_verdict){
            .workload = workload_status(v->workload),
            .bottleneck = bottleneck_name(workload_bottleneck(v->workload)),
            .rule = v->rule,
            .rule_text = workload_rule((enum workload)v->rule),
            .evidence = w[gpu].evidence,
            .health = health_name(f->rows[gpu].health.state),
            .health_why = w[gpu].why,
        };
        return 0;
}

int assay_frame_limit(const assay_frame *f, size_t gpu, struct assay_limit *ret)
{
        if (!f || gpu >= f->n || !ret)
                return ASSAY_E_USAGE;
        struct words *w = words_of((struct assay_frame *)f);
        if (!w)
                return -ENOMEM;
        const struct limit *l = &f->rows[gpu].limit;
        bool unknown = l->limiter == LIMITER_UNKNOWN;
        *ret = (struct assay_limit){
            .limiter = limiter_name((enum limiter)l->limiter),
            .held_by = held_by_name((enum held_by)l->held_by),
            .rule = limiter_rule((enum limiter)(unknown ? l->undecided : l->limiter),
                                 (enum basis)l->basis),
            .text = w[gpu].limit,
            .advice = limiter_try((enum limiter)l->limiter, &l->ceilings, FRAMEWORK_NONE),
        };
        return 0;
}

const char *assay_frame_limit_basis(const assay_frame *f, size_t gpu)
{
        return f && gpu < f->n ? basis_name((enum basis)f->rows[gpu].limit.basis) : NULL;
}

int assay_frame_flops(const assay_frame *f, size_t gpu, const char *type, struct assay_flops *ret)
{
        if (!f || gpu >= f->n || !type || !ret)
                return ASSAY_E_USAGE;
        enum flops_type which = flops_find(type);
        if (which == FLOPS_COUNT)
                return ASSAY_E_USAGE;
        struct flops rate = flops_rate(&f->rows[gpu].flops, which);
        *ret = (struct assay_flops){rate.known ? flops_name(which) : NULL, rate.lo, rate.hi};
        return rate.known;
}

/* ---- the host ---- */

static const struct host_snapshot_level *level_of(const assay_frame *f, int level)
{
        if (!f || !f->host_snapshot || level < 0 || level >= LEVEL_COUNT)
                return NULL;
        return &f->host_snapshot->levels[level];
}

const char *assay_frame_level_missing(const assay_frame *f, int level)
{
        const struct host_snapshot_level *l = level_of(f, level);
        if (!l)
                return level < 0 || level >= LEVEL_COUNT ? "there is no such level"
                                                         : "no level is watched";
        if (l->present)
                return NULL;
        return l->why[0] ? l->why : l->asked ? "not known yet" : "not asked for";
}

const char *assay_frame_level_name(const assay_frame *f, int level)
{
        const struct host_snapshot_level *l = level_of(f, level);
        return l && l->present ? l->name : "";
}

struct assay_value assay_frame_level(const assay_frame *f, int level, int figure)
{
        const struct host_snapshot_level *l = level_of(f, level);
        if (!l || !l->present || figure < 0 || figure >= FIGURE_COUNT)
                return absent;
        return api_value(l->f[figure]);
}

/* The system level uses a device as the device is used, which the frame itself reports. */
static struct level_gpu use_of(const assay_frame *f, int level, size_t gpu)
{
        const struct sample *s = &f->rows[gpu].sample;
        const struct host_snapshot *a = f->host_snapshot;
        struct level_gpu none = {.util = {0}};
        if (level == LEVEL_SYSTEM)
                return (struct level_gpu){.util = s->m[METRIC_GPU_UTIL],
                                          .mem_copy_util = s->m[METRIC_MEM_COPY_UTIL],
                                          .memory = s->m[METRIC_FB_USED]};
        for (size_t i = 0; i < a->n_gpus; i++) {
                if (strcmp(a->labels[i], s->who->label) == 0)
                        return a->gpus[(size_t)level * HOST_GPUS_MAX + i];
        }
        return none;
}

struct assay_value assay_frame_level_gpu(const assay_frame *f, int level, size_t gpu, int use)
{
        const struct host_snapshot_level *l = level_of(f, level);
        if (!l || !l->present || gpu >= f->n)
                return absent;
        struct level_gpu g = use_of(f, level, gpu);
        switch (use) {
        case ASSAY_USE_UTIL:
                return api_value(g.util);
        case ASSAY_USE_BAND:
                return api_value(g.mem_copy_util);
        case ASSAY_USE_MEMORY:
                return api_value(g.memory);
        default:
                return absent;
        }
}

struct assay_value assay_frame_system(const assay_frame *f, int figure)
{
        if (!f || !f->host_snapshot || figure < 0 || figure >= SYSTEM_COUNT)
                return absent;
        return api_value(f->host_snapshot->system[figure]);
}

size_t assay_frame_cores(const assay_frame *f)
{
        return f && f->host_snapshot ? f->host_snapshot->n_cores : 0;
}

struct assay_value assay_frame_core(const assay_frame *f, size_t core)
{
        return core < assay_frame_cores(f) ? api_value(f->host_snapshot->cores[core]) : absent;
}

int assay_frame_json(const assay_frame *f, char **ret, struct assay_error *error)
{
        struct strbuf out = {0};
        struct frame view;
        if (!f || !ret)
                return api_fail(error, ASSAY_E_USAGE, "there is no frame",
                                "take one with assay_monitor_latest");
        frame_view(f, &view);
        json_write_frame(&view, program_version, &out);
        CLEANUP(freep) struct host *h = host_snapshot_host(f->host_snapshot);
        if (h)
                host_json_append(h, &out);
        char *text = out.failed || (f->host_snapshot && !h) ? NULL : strdup(strbuf_str(&out));
        strbuf_finish(&out);
        if (!text)
                return api_fail(error, -ENOMEM, "out of memory", "");
        *ret = text;
        return 0;
}
