/* What to try, by the limiter and the evidence. advice.def has the texts. */
#include "base/attr.h"
#include "model/limit.h"

#define SHARE_MOSTLY 0.8  /* of the bytes to and from storage */
#define CPUS_ALL 0.85     /* of the CPUs that may be used: more work finds none */
#define CPUS_FREE 0.6     /* of them: several more processes find room */
#define CORES_NOTHING 0.1 /* cores: processes that do nothing */
#define PROCESSES_FEW 3.5 /* processes: one that works, and helpers that rest */
#define WORKERS_FEW 1.5   /* workers: one, on the mean of a stretch */
#define CORES_OF_ONE 1.2  /* cores: what one process that hardly uses threads keeps busy */

double limit_worker_share(const struct ceilings *c)
{
        double workers = value_or(ceiling_value(c, CEILING_WORKERS), 0);
        return workers >= LIMIT_WORKERS_LEAST
                   ? value_or(ceiling_value(c, CEILING_CPU_CHILDREN), 0) / workers
                   : 0;
}

double limit_allowed_cpus(const struct ceilings *c)
{
        double share = value_or(ceiling_value(c, CEILING_CPU), 0),
               used = value_or(ceiling_value(c, CEILING_CPU_MAIN), 0) +
                      value_or(ceiling_value(c, CEILING_CPU_CHILDREN), 0);
        return share > 0 ? used / share : 0;
}

static bool has_ceiling(const struct ceilings *c, enum ceiling at)
{
        return c->present & CEILING_AT(at);
}

static double value_of(const struct ceilings *c, enum ceiling at)
{
        return has_ceiling(c, at) ? (double)c->v[at] : 0;
}

/* 0 where only the sum is known. */
static double written_share(const struct ceilings *c)
{
        double all = value_of(c, CEILING_STORAGE);
        return all > 0 ? MIN(value_of(c, CEILING_WRITTEN) / all, 1) : 0;
}

static bool mostly_writes(const struct ceilings *c)
{
        return has_ceiling(c, CEILING_WRITTEN) && written_share(c) >= SHARE_MOSTLY;
}

static bool mostly_reads(const struct ceilings *c)
{
        return has_ceiling(c, CEILING_WRITTEN) && value_of(c, CEILING_STORAGE) >= LIMIT_BYTES_MIN &&
               written_share(c) <= 1 - SHARE_MOSTLY;
}

static bool reads_and_writes(const struct ceilings *c)
{
        return has_ceiling(c, CEILING_WRITTEN) && value_of(c, CEILING_STORAGE) >= LIMIT_BYTES_MIN;
}

static bool has_no_counters(const struct ceilings *c)
{
        return !(c->present & CEILINGS_PROFILING);
}

static bool uses_all_cpus(const struct ceilings *c)
{
        return value_of(c, CEILING_CPU) >= CPUS_ALL;
}

static bool has_free_cpus(const struct ceilings *c)
{
        return has_ceiling(c, CEILING_CPU) && value_of(c, CEILING_CPU) < CPUS_FREE &&
               value_of(c, CEILING_CPU_CHILDREN) > CORES_NOTHING;
}

static bool threads_load(const struct ceilings *c)
{
        return has_ceiling(c, CEILING_CPU_CHILDREN) &&
               value_of(c, CEILING_CPU_CHILDREN) <= CORES_NOTHING;
}

static bool one_process_loads(const struct ceilings *c)
{
        bool one =
            has_ceiling(c, CEILING_WORKERS)
                ? value_of(c, CEILING_WORKERS) < WORKERS_FEW
                : has_ceiling(c, CEILING_CHILDREN) && value_of(c, CEILING_CHILDREN) < PROCESSES_FEW;
        return one && value_of(c, CEILING_CPU_CHILDREN) <= CORES_OF_ONE;
}

static bool workers_are_full(const struct ceilings *c)
{
        return limit_worker_share(c) >= LIMIT_WORKERS_FULL;
}

static bool workers_rest(const struct ceilings *c)
{
        double share = limit_worker_share(c);
        return share > 0 && share < LIMIT_WORKERS_FULL;
}

bool limit_lacks_cpus(const struct ceilings *c)
{
        return value_of(c, CEILING_CPU_QUEUED) >= LIMIT_QUEUED;
}

static bool lacks_cpus(const struct ceilings *c)
{
        return limit_lacks_cpus(c);
}

static bool encodes_most(const struct ceilings *c)
{
        return has_ceiling(c, CEILING_ENCODER) && value_of(c, CEILING_ENCODER) >= ceilings_codec(c);
}

static bool decodes_jpeg_most(const struct ceilings *c)
{
        return has_ceiling(c, CEILING_JPEG) && value_of(c, CEILING_JPEG) >= ceilings_codec(c);
}

static const struct {
        enum limiter limiter;
        bool (*holds)(const struct ceilings *c);
        const char *general, *torch, *jax;
} advice[] = {
#define ADVICE(limiter, holds, general, torch, jax) {LIMITER_##limiter, holds, general, torch, jax},
#include "model/advice.def"
};

static const char *in_words_of(enum framework framework, const char *general, const char *torch,
                               const char *jax)
{
        const char *own = framework == FRAMEWORK_TORCH ? torch
                          : framework == FRAMEWORK_JAX ? jax
                                                       : "";
        return own[0] ? own : general;
}

const char *limiter_try(enum limiter limiter, const struct ceilings *evidence,
                        enum framework framework)
{
        for (size_t i = 0; i < ARRAY_LEN(advice); i++) {
                if (advice[i].limiter == limiter && advice[i].holds(evidence))
                        return in_words_of(framework, advice[i].general, advice[i].torch,
                                           advice[i].jax);
        }
        const struct limiter_info *info = limiter_info(limiter);
        return in_words_of(framework, info->general, info->torch, info->jax);
}
