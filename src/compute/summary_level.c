/* What a level did: the host's side of a summary. */
#include "base/clock.h"
#include "compute/summary.h"

static void summary_level_add(struct spread *s, struct value v)
{
        if (value_is_set(v))
                spread_add(s, v.v);
}

static double rate_times_seconds(struct value rate, double seconds)
{
        return value_is_set(rate) ? rate.v * seconds : 0;
}

static void summary_level_keep(struct value *to, struct value v)
{
        if (value_is_set(v))
                *to = v;
}

static void add_machine(struct level_summary *l, const struct host *host)
{
        const struct value *v = host->system;
        struct value usr = v[SYSTEM_USER], wait = v[SYSTEM_IOWAIT];
        usr.v += value_or(v[SYSTEM_NICE], 0);
        summary_level_add(&l->usr, usr);
        summary_level_add(&l->idle, v[SYSTEM_IDLE]);
        if (value_is_set(v[SYSTEM_CPUS_ONLINE])) {
                wait.v *= v[SYSTEM_CPUS_ONLINE].v;
                summary_level_add(&l->io_wait, wait);
        }
}

static void add_power(struct value power, double seconds, double *joules, double *known_s)
{
        if (!value_is_set(power))
                return;
        *joules += power.v * seconds;
        *known_s += seconds;
}

/* Upper bounds stand only until the first figure comes that is not one. */
static void add_memory(struct level_summary *l, const struct value *f)
{
        bool bound = value_is_set(f[FIGURE_MEMORY_BOUND]) && f[FIGURE_MEMORY_BOUND].v > 0;
        if (bound && l->memory.n > 0 && !l->memory_bound)
                return;
        if (!bound && l->memory_bound && value_is_set(f[FIGURE_MEMORY]))
                spread_finish(&l->memory);
        l->memory_bound = bound;
        summary_level_add(&l->memory, f[FIGURE_MEMORY]);
        summary_level_add(&l->memory_share, f[FIGURE_MEMORY_SHARE]);
}

/* After the last process has ended its use is not small: there is none to speak of. */
static void add_figures(struct level_summary *l, const struct value *f)
{
        if (value_is_set(f[FIGURE_PROCESSES]) && f[FIGURE_PROCESSES].v == 0)
                return;
        summary_level_add(&l->cpu, f[FIGURE_CPU]);
        summary_level_add(&l->cpu_share, f[FIGURE_CPU_SHARE]);
        add_memory(l, f);
        summary_level_add(&l->read, f[FIGURE_READ]);
        summary_level_add(&l->write, f[FIGURE_WRITE]);
}

static void add_gpu(struct level_gpu_summary *g, const struct level_gpu *use)
{
        bool util = value_is_set(use->util), memory = value_is_set(use->memory);
        g->util += util ? use->util.v : 0;
        g->n_util += util;
        g->memory += memory ? use->memory.v : 0;
        g->n_memory += memory;
        g->both += util && memory;
        g->allocated_unused +=
            util && memory && use->memory.v > LIMIT_HELD_BYTES && use->util.v <= SUMMARY_UNUSED;
}

void level_summary_add(struct level_summary *l, const struct host *host, enum level level)
{
        const struct level_state *now = &host->levels[level];
        const struct value *f = now->f;
        double seconds = clock_to_seconds(host->interval_ns);
        add_machine(l, host);
        add_power(host->system[SYSTEM_CPU_POWER], seconds, &l->energy.cpu_j, &l->energy.cpu_s);
        add_power(host->system[SYSTEM_NODE_POWER], seconds, &l->energy.node_j, &l->energy.node_s);
        if (!now->asked || !now->present)
                return;
        l->samples++;
        summary_level_add(&l->processes, f[FIGURE_PROCESSES]);
        add_figures(l, f);
        l->n_gpus = MAX(l->n_gpus, host->n_gpus);
        for (size_t i = 0; i < host->n_gpus; i++)
                add_gpu(&l->gpus[i], &now->gpus[i]);
        summary_level_keep(&l->cpus, f[FIGURE_CPUS]);
        summary_level_keep(&l->memory_limit, f[FIGURE_MEMORY_LIMIT]);
        l->cpu_s += rate_times_seconds(f[FIGURE_CPU], seconds);
        l->read_bytes += rate_times_seconds(f[FIGURE_READ], seconds);
        l->written_bytes += rate_times_seconds(f[FIGURE_WRITE], seconds);
}
