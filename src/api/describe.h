/* What a run watches, as JSON: the same keys for one in progress and for a recorded one. */
#pragma once

#include "base/strbuf.h"
#include "model/entity.h"
#include "model/host.h"
#include "session/session.h"

#include <sched.h>

#define DESCRIBED_GPUS_MAX 256

struct described_gpu {
        char label[ENTITY_LABEL_MAX];
        char model[ENTITY_TEXT_MAX], uuid[ENTITY_TEXT_MAX];
        struct value memory; /* bytes */
};

struct described_level {
        bool present;
        char name[HOST_TEXT_MAX];
        struct value cpus, memory_limit;
};

/* Text may be empty; numbers may be missing. */
struct description {
        char backend[64], provenance[128], host[128], user[64], session[4096], notice[512];
        char *command; /* a JSON array, owned; NULL when not known */
        bool running;
        struct value interval_s, start_s, stop_s; /* Unix seconds */
        struct value cpus, system_cpus;
        const cpu_set_t *handles; /* the CPUs themselves; NULL when not known */
        struct described_level levels[LEVEL_COUNT];
        size_t n_gpus;
        struct described_gpu gpus[DESCRIBED_GPUS_MAX];
        struct session_counts counts;
};

/* Seconds since 1970; missing when it is 0. */
struct value describe_time(int64_t ns);
void describe_add_gpu(struct description *d, const struct entity *e, struct value memory);
void describe_write(const struct description *d, struct strbuf *out);

/* A recorded run. 0, or a negative code with err. */
int describe_file(const char *path, struct strbuf *out, struct err *err);

struct core;
/* One in progress. 0 or -ENOMEM. */
int describe_core(struct core *c, struct strbuf *out);
