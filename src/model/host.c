#include "model/host.h"

#include <string.h>

#define ROW(scope_, name_, kind_, unit_, of_, help_)                                               \
        {                                                                                          \
                .name = name_, .kind = METRIC_KIND_##kind_, .unit = UNIT_##unit_,                  \
                .scope = METRIC_SCOPE_##scope_, .of = of_, .help = help_                           \
        }

static const struct metric_info figures[FIGURE_COUNT] = {
#define FIGURE(id, name, kind, unit, of, help)                                                     \
        [FIGURE_##id] = ROW(LEVEL, name, kind, unit, FIGURE_##of, help),
#include "model/host.def"
#undef FIGURE
};

static const struct metric_info level_gpus[LEVEL_GPU_COUNT] = {
#define LEVEL_GPU(id, name, kind, unit, of, help)                                                  \
        [LEVEL_GPU_##id] = ROW(LEVEL_GPU, name, kind, unit, LEVEL_GPU_##of, help),
#include "model/host.def"
#undef LEVEL_GPU
};

static const struct metric_info system_figures[SYSTEM_COUNT] = {
#define SYSTEM(id, name, kind, unit, of, help)                                                     \
        [SYSTEM_##id] = ROW(SYSTEM, name, kind, unit, SYSTEM_##of, help),
#include "model/host.def"
#undef SYSTEM
};

static const struct metric_info cores[CORE_COUNT] = {
#define CORE(id, name, kind, unit, of, help)                                                       \
        [CORE_##id] = ROW(CORE, name, kind, unit, CORE_##of, help),
#include "model/host.def"
#undef CORE
};

static const struct metric_info evidence[EVIDENCE_COUNT] = {
#define EVIDENCE(id, name, kind, unit, of, help)                                                   \
        [EVIDENCE_##id] = ROW(EVIDENCE, name, kind, unit, EVIDENCE_##of, help),
#include "model/host.def"
#undef EVIDENCE
};

static const struct {
        const struct metric_info *rows;
        size_t n;
} tables[METRIC_SCOPE_COUNT] = {
    [METRIC_SCOPE_LEVEL] = {figures, FIGURE_COUNT},
    [METRIC_SCOPE_LEVEL_GPU] = {level_gpus, LEVEL_GPU_COUNT},
    [METRIC_SCOPE_SYSTEM] = {system_figures, SYSTEM_COUNT},
    [METRIC_SCOPE_CORE] = {cores, CORE_COUNT},
    [METRIC_SCOPE_EVIDENCE] = {evidence, EVIDENCE_COUNT},
};

size_t host_rows(enum metric_scope scope)
{
        return scope == METRIC_SCOPE_SERVING ? SERVING_COUNT : tables[scope].n;
}

const struct metric_info *host_row(enum metric_scope scope, size_t row)
{
        return scope == METRIC_SCOPE_SERVING ? serving_info((enum serving_figure)row)
                                             : &tables[scope].rows[row];
}

static const struct {
        const char *name, *mapped;
} frameworks[FRAMEWORK_COUNT] = {
#define FRAMEWORK(id, name, mapped) [FRAMEWORK_##id] = {name, mapped},
#include "model/host.def"
#undef FRAMEWORK
};

const struct metric_info *figure_info(enum figure figure)
{
        return &figures[figure];
}

const struct metric_info *system_figure_info(enum system_figure figure)
{
        return &system_figures[figure];
}

const struct metric_info *evidence_info(enum evidence of)
{
        return &evidence[of];
}

const char *framework_name(enum framework framework)
{
        return frameworks[framework].name;
}

enum framework framework_find(const char *name)
{
        for (enum framework i = 0; name && i < FRAMEWORK_COUNT; i++) {
                if (strcmp(frameworks[i].name, name) == 0)
                        return i;
        }
        return FRAMEWORK_NONE;
}

const char *framework_mapped(enum framework framework)
{
        return frameworks[framework].mapped;
}

static size_t find_label(const struct host *h, const char *label, size_t len)
{
        for (size_t i = 0; i < h->n_gpus; i++) {
                if (strlen(h->gpus[i]) == len && memcmp(h->gpus[i], label, len) == 0)
                        return i;
        }
        return HOST_GPUS_MAX;
}

size_t host_find_gpu(const struct host *h, const char *label)
{
        size_t at = find_label(h, label, strlen(label));
        return at < HOST_GPUS_MAX ? at : find_label(h, label, strcspn(label, "/"));
}

/* As long as a host's reader may take for a machine that is short of everything. */
#define HOST_KNOWN_NS (15 * INT64_C(1000000000))

bool host_is_of(const struct host *h, int64_t wall_ns)
{
        return wall_ns - h->wall_ns <= HOST_KNOWN_NS;
}

struct value host_cpu_busy(const struct host *h)
{
        static const enum system_figure busy[] = {SYSTEM_USER, SYSTEM_NICE, SYSTEM_KERNEL,
                                                  SYSTEM_IRQ, SYSTEM_SOFTIRQ};
        double share = 0;
        for (size_t i = 0; i < sizeof(busy) / sizeof(busy[0]); i++) {
                struct value v = h->system[busy[i]];
                if (!value_is_set(v))
                        return value_missing((enum state)v.state);
                share += v.v;
        }
        return value_ok(share);
}

static const char *const names[LEVEL_COUNT] = {
    [LEVEL_PROCESS] = "process", [LEVEL_USER] = "user",     [LEVEL_SLURM] = "slurm",
    [LEVEL_CGROUP] = "cgroup",   [LEVEL_SYSTEM] = "system",
};

const char *level_name(enum level level)
{
        return names[level];
}

static bool add_level(const char *word, size_t len, unsigned *mask)
{
        if (len == 3 && memcmp(word, "all", 3) == 0) {
                *mask |= LEVELS_ALL;
                return true;
        }
        for (enum level l = 0; l < LEVEL_COUNT; l++) {
                if (strlen(names[l]) == len && memcmp(names[l], word, len) == 0) {
                        *mask |= LEVEL_BIT(l);
                        return true;
                }
        }
        return false;
}

bool levels_parse(const char *text, unsigned *ret)
{
        unsigned mask = 0;
        for (;;) {
                size_t len = strcspn(text, ",");
                if (!add_level(text, len, &mask))
                        return false;
                text += len;
                if (*text == '\0')
                        break;
                text++;
        }
        *ret = mask;
        return true;
}
