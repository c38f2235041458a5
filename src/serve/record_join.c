/* A job that paused, or was queued again, has a record for each stay: here they become one. */
#include "base/clock.h"
#include "compute/integrals.h"
#include "serve/records.h"

#include <stdio.h>
#include <string.h>

/* Numbers of jobs come again, but not within so short a time. */
#define PAUSE_MAX_NS (7 * 24 * 3600 * NS_PER_S)

bool record_continues(const struct record *newer, const struct record *older)
{
        /* A pod's name may be another pod's, and a user is not a job. */
        return newer->who.kind == OWNER_SLURM && owner_same(&newer->who, &older->who) &&
               strcmp(newer->who.user, older->who.user) == 0 &&
               newer->start_ns - older->end_ns <= PAUSE_MAX_NS;
}

static void keep_larger(struct value *a, struct value b)
{
        if (value_is_set(b) && (!value_is_set(*a) || b.v > a->v))
                *a = b;
}

static void keep_known(struct value *a, struct value b)
{
        if (!value_is_set(*a))
                *a = b;
}

/* A control group that lived through the pause counts all; a new one began again. */
static void join_cpu(struct value *newer, struct value older)
{
        if (value_is_set(*newer) && value_is_set(older) && newer->v < older.v)
                newer->v += older.v;
        keep_known(newer, older);
}

/* How long each of its GPUs was held, on average: the weight of shares. */
static double weight_of(const struct record *r)
{
        return r->n_gpus > 0 ? r->gpu_s / r->n_gpus : 0;
}

static void join_gpu(struct record_gpu *a, double weight_a, const struct record_gpu *b,
                     double weight_b)
{
        double weights = weight_a + weight_b;
        if (value_is_set(a->util) && value_is_set(b->util) && weights > 0)
                a->util.v = (a->util.v * weight_a + b->util.v * weight_b) / weights;
        keep_known(&a->util, b->util);
        keep_larger(&a->memory_peak, b->memory_peak);
        keep_known(&a->memory_total, b->memory_total);
}

static size_t find_gpu(const struct record *r, const char *name)
{
        char other[RECORD_GPUS_MAX];
        size_t i = 0;
        while (record_gpu_name(r, i, other, sizeof(other)) && strcmp(other, name) != 0)
                i++;
        return record_gpu_name(r, i, other, sizeof(other)) ? i : SIZE_MAX;
}

/* Those of the older stay that the newer had too are joined, others are added. */
static void join_gpus(struct record *a, const struct record *b)
{
        char name[RECORD_GPUS_MAX];
        double weight_a = weight_of(a), weight_b = weight_of(b);
        for (size_t i = 0; record_gpu_name(b, i, name, sizeof(name)); i++) {
                size_t at = find_gpu(a, name), len = strlen(a->gpus);
                const struct record_gpu *more = i < b->n_each ? &b->each[i] : NULL;
                if (at != SIZE_MAX) {
                        if (more && at < a->n_each)
                                join_gpu(&a->each[at], weight_a, more, weight_b);
                        continue;
                }
                if (len + strlen(name) + 2 > sizeof(a->gpus))
                        return;
                /* What is known of each is in the order of the names. */
                if (more && a->n_each == a->n_gpus && a->n_each < RECORD_EACH_MAX)
                        a->each[a->n_each++] = *more;
                snprintf(a->gpus + len, sizeof(a->gpus) - len, "%s%s", len > 0 ? "," : "", name);
                a->n_gpus++;
        }
}

void record_join(struct record *newer, const struct record *older)
{
        double peak = MAX(newer->sum.peak_memory, older->sum.peak_memory);
        join_gpus(newer, older);
        newer->n_stays = MAX(newer->n_stays, 1U) + 1;
        newer->paused_s += clock_to_seconds(MAX(newer->start_ns - older->end_ns, (int64_t)0));
        newer->start_ns = MIN(newer->start_ns, older->start_ns);
        newer->end_ns = MAX(newer->end_ns, older->end_ns);
        newer->gpu_s += older->gpu_s;
        newer->wasted_s += older->wasted_s;
        newer->findings |= older->findings;
        integrals_sum(&newer->sum, &older->sum);
        newer->sum.peak_memory = peak;
        join_cpu(&newer->use.cpu_s, older->use.cpu_s);
        keep_larger(&newer->use.memory_peak, older->use.memory_peak);
        keep_known(&newer->use.cpus, older->use.cpus);
        keep_known(&newer->use.memory_limit, older->use.memory_limit);
}
