/*
 * The best source that works on this machine: tries them in turn and is the first that opens. GPUs
 * that it cannot see are joined to it.
 */
#include "base/clock.h"
#include "read/drm/gpu.h"
#include "read/join/joined.h"
#include "read/source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/*
 * Best first. One that must have counters is passed over where there are none; one that this build
 * lacks is passed over too.
 */
static const struct candidate {
        const char *name;
        bool need_counters; /* not tried where nobody may read any */
        const char *why;    /* reported when it is used; NULL when it is what one expects */
} candidates[] = {
    {"nvml", true, NULL},
    {"dcgm", true, "counters come from DCGM"},
    {"nvml", false,
     "no SM, tensor and DRAM counters: they need NVML GPM (Hopper or newer) or DCGM's profiling "
     "module"},
    {"drm", false, NULL},
};

struct source {
        const struct source_ops *ops;
        struct source *inner;
        const char *why;
        char nvml[200]; /* why NVML, which is tried first, did not do; empty when it did */
        char dcgm[200]; /* why DCGM, which is present, did not help; empty for no reason */
};

static bool lacks_counters(const struct source_ops *ops, const struct source *inner,
                           struct source_trouble *ret)
{
        *ret = (struct source_trouble){0};
        if (ops->trouble)
                ops->trouble(inner, ret);
        return ret->no_counters;
}

static int try_one(const struct candidate *c, const struct source_config *config, struct source *s,
                   struct err *err)
{
        struct source_config own = *config;
        own.need_counters = c->need_counters;
        own.wait = false; /* there is another one to try */
        s->ops = source_find(c->name);
        s->why = config->no_profiling ? NULL : c->why; /* what was asked for needs no reason */
        if (!s->ops)
                return ERR_NO_SOURCE;
        int r = s->ops->open(&own, &s->inner, err);
        struct source_trouble trouble;
        if (r == 0 && c->need_counters && lacks_counters(s->ops, s->inner, &trouble)) {
                s->ops->close(s->inner);
                s->inner = NULL;
                return err_set(err, ERR_NO_SOURCE, "%s", trouble.notice);
        }
        return r;
}

/* The other vendors' GPUs beside NVIDIA's. Where there are none, nothing is opened. */
static int add_others(const struct source_config *config, struct source *s, struct err *err)
{
        struct joined_part parts[] = {{.ops = s->ops, .source = s->inner}, {.ops = &drm_reader}};
        if (s->ops == &source_drm || !drm_has_gpu(config->root))
                return 0;
        s->ops = &source_joined;
        s->inner = NULL;
        return joined_open(parts, ARRAY_LEN(parts), config, &s->inner, err);
}

/* A DCGM that is installed and does not help is worth a word; most machines have none. */
static void note_dcgm(struct source *s, const struct err *err)
{
        if (!strstr(err->msg, "is not installed"))
                snprintf(s->dcgm, sizeof(s->dcgm), "%.*s", (int)strcspn(err->msg, ";"), err->msg);
}

static int auto_open(const struct source_config *config, struct source **ret, struct err *err)
{
        struct source *s = calloc(1, sizeof(*s));
        struct err first = {0}, one = {0};
        int r = ERR_NO_SOURCE;
        if (!s)
                return err_set(err, -ENOMEM, "out of memory");
        for (size_t i = 0; r == ERR_NO_SOURCE && i < ARRAY_LEN(candidates); i++) {
                if (config->no_profiling && candidates[i].need_counters)
                        continue;
                r = try_one(&candidates[i], config, s, &one);
                if (r == ERR_NO_SOURCE && strcmp(candidates[i].name, "dcgm") == 0)
                        note_dcgm(s, &one);
                /* The first failure is that of the source one would expect. */
                if (first.code == 0) {
                        first = one;
                        snprintf(s->nvml, sizeof(s->nvml), "%.*s", (int)sizeof(s->nvml) - 1,
                                 one.msg);
                }
        }
        if (r == 0)
                r = add_others(config, s, &one);
        if (r == 0) {
                *ret = s;
                return 0;
        }
        if (r == ERR_NO_SOURCE)
                err_set(err, r, "no GPU found: %s%s%s", first.msg, s->dcgm[0] ? "; DCGM: " : "",
                        s->dcgm);
        else
                *err = one;
        free(s);
        if (r != ERR_NO_SOURCE)
                return r;
        err_hint(err,
                 "'assay doctor' tells why; or show a capture (assay FILE) or an exporter (assay "
                 "HOST:9400)");
        return ERR_NO_SOURCE;
}

static int auto_next(struct source *s, struct batch *ret, struct err *err)
{
        return s->ops->next(s->inner, ret, err);
}

static const char *auto_provenance(const struct source *s)
{
        return s->ops->provenance ? s->ops->provenance(s->inner) : s->ops->name;
}

static void auto_trouble(const struct source *s, struct source_trouble *ret)
{
        *ret = (struct source_trouble){0};
        if (s->ops->trouble)
                s->ops->trouble(s->inner, ret);
        if (ret->notice[0] || !s->why)
                return;
        const char *reason = s->ops == source_find("dcgm") ? s->nvml : s->dcgm;
        snprintf(ret->notice, sizeof(ret->notice), "%s%s%s%s", s->why, reason[0] ? "; " : "",
                 reason[0] && reason == s->dcgm ? "DCGM: " : "", reason);
}

static size_t auto_processes(struct source *s, struct process *ret, size_t max)
{
        return s->ops->processes ? s->ops->processes(s->inner, ret, max) : PROCESSES_UNKNOWN;
}

static void auto_interrupt(struct source *s)
{
        if (s->ops->interrupt)
                s->ops->interrupt(s->inner);
}

static void auto_close(struct source *s)
{
        if (!s)
                return;
        s->ops->close(s->inner);
        free(s);
}

const struct source_ops source_auto = {
    .name = "auto",
    .help = "the best source that works here",
    .poll_floor_ns = 100 * NS_PER_MS,
    .local = true,
    .open = auto_open,
    .next = auto_next,
    .provenance = auto_provenance,
    .trouble = auto_trouble,
    .processes = auto_processes,
    .interrupt = auto_interrupt,
    .close = auto_close,
};
